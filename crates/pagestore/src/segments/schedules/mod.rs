//! Every order in which a load, the cleaner, a write-back, a free, the reuse of a segment and a checkpoint can meet.
//!
//! A model of the protocol around the page's word that runs the store's own words, gates, segment table and log state,
//! one call after another, on a disk of four-page segments in memory. A step is what the store does without giving up
//! its lock, or an access to a word, a gate or the disk. All interleavings of the steps are tried; with a checkpoint, all
//! those in which few actors are interrupted. After each step replay from the durable checkpoint must give the words.

mod actors;
mod model;

use super::summary::Effect;
use actors::{Actor, Step, checkpoint, clean, load, write};
use model::{Model, PAGE};

/// Runs one schedule: `choose` says which of so many actors goes on, if that is not the one that may (its number is
/// given). All blocked is an end like any other.
fn run<'m>(
    model: &'m Model,
    mut actors: Vec<Actor<'m>>,
    mut choose: impl FnMut(usize, Option<usize>) -> usize,
) {
    let mut blocked: Vec<Actor<'m>> = Vec::new();
    let mut current = None;
    while !actors.is_empty() {
        let chosen = choose(actors.len(), current);
        current = None;
        match actors[chosen]() {
            Step::Blocked => blocked.push(actors.remove(chosen)),
            Step::Done => {
                drop(actors.remove(chosen));
                actors.append(&mut blocked);
            }
            Step::More => {
                current = Some(chosen);
                actors.append(&mut blocked);
            }
        }
        assert_eq!(model.replayed(), model.map.load(PAGE), "replay finds the page elsewhere");
    }
    drop(blocked);
    model.check();
}

/// Runs all schedules in which at most so many actors are interrupted; answers how many there are.
fn explore(
    interruptions: usize,
    model: impl Fn() -> Model,
    actors: impl for<'m> Fn(&'m Model) -> Vec<Actor<'m>>,
) -> u64 {
    // Choice and number of choices, step by step.
    let mut schedule: Vec<(usize, usize)> = Vec::new();
    let mut count = 0;
    loop {
        let model = model();
        let (mut depth, mut left) = (0, interruptions);
        run(&model, actors(&model), |choices, current| {
            assert!(depth < 100, "an actor does not come to its end");
            let choices = if current.is_some() && left == 0 { 1 } else { choices };
            if depth == schedule.len() {
                schedule.push((0, choices));
            }
            let chosen = schedule[depth].0;
            depth += 1;
            // Choice 0 is to go on with the same.
            let Some(current) = current else { return chosen };
            left -= usize::from(chosen > 0);
            match chosen {
                0 => current,
                other if other <= current => other - 1,
                other => other,
            }
        });
        count += 1;
        while schedule.last().is_some_and(|(chosen, choices)| chosen + 1 == *choices) {
            schedule.pop();
        }
        let Some((chosen, _)) = schedule.last_mut() else { return count };
        *chosen += 1;
    }
}

/// Fills whole segments, so that segment 0 is used again as soon as it may be.
const OTHERS: [&[u64]; 2] = [&[11, 12, 13, 14], &[21, 22, 23, 24]];

#[test]
fn a_load_and_the_cleaner_meet_the_reuse_of_the_segment() {
    let count = explore(
        usize::MAX,
        || Model::new(1),
        |model| vec![load(model), clean(model), write(model, OTHERS[0], Effect::Set)],
    );
    assert!(count > 3_000, "{count}");
}

#[test]
fn a_load_meets_a_write_back_and_the_reuse_of_the_segment() {
    let rewrite = &[0, 31, 32];
    let count = explore(
        usize::MAX,
        || Model::new(1),
        |model| vec![load(model), write(model, rewrite, Effect::Set), write(model, OTHERS[0], Effect::Set)],
    );
    assert!(count > 500, "{count}");
}

#[test]
fn the_cleaner_meets_a_write_back_and_a_free() {
    for effect in [Effect::Set, Effect::Free] {
        let count = explore(
            usize::MAX,
            || Model::new(2),
            |model| vec![load(model), clean(model), write(model, &[0], effect)],
        );
        assert!(count > 3_000, "{count}");
    }
    explore(
        usize::MAX,
        || Model::new(2),
        |model| vec![clean(model), write(model, &[0], Effect::Free), write(model, &[0], Effect::Set)],
    );
}

/// More at once than can be tried in every order.
#[test]
fn all_of_them_meet() {
    for seed in 0..20_000 {
        let random = env::sim::SeededRandom::new(seed);
        let model = Model::new(1 + seed as u32 % 3);
        let actors = vec![
            load(&model),
            load(&model),
            clean(&model),
            write(&model, &[0], Effect::Set),
            write(&model, &[0], Effect::Free),
            write(&model, &[0], Effect::Set),
            write(&model, OTHERS[0], Effect::Set),
            write(&model, OTHERS[1], Effect::Set),
        ];
        run(&model, actors, |choices, _| random.below(choices));
    }
}

/// A page goes away from a segment and comes back to the same address in the next use of it, while a checkpoint is being
/// written and a copy of the first use is late.
fn come_back(careless: bool) -> u64 {
    explore(
        3,
        || Model::of_single_pages(3, careless),
        |model| {
            let (rewrite, other) = (write(model, &[0], Effect::Set), write(model, &[7], Effect::Set));
            vec![rewrite, clean(model), other, clean(model), checkpoint(model)]
        },
    )
}

#[test]
fn a_late_copy_never_takes_effect_at_replay() {
    let count = come_back(false);
    assert!(count > 10_000, "{count}");
}

#[test]
#[should_panic(expected = "replay finds the page elsewhere")]
fn without_the_rule_about_late_copies_it_would() {
    come_back(true);
}

/// The same with everything else that changes the page.
#[test]
fn replay_finds_what_is_there_whoever_meets() {
    for seed in 0..20_000 {
        let random = env::sim::SeededRandom::new(seed);
        let model = Model::of_single_pages(2 + seed as u32 % 4, false);
        let actors = vec![
            clean(&model),
            clean(&model),
            clean(&model),
            write(&model, &[0], Effect::Set),
            write(&model, &[0], Effect::Set),
            write(&model, &[0], Effect::Free),
            write(&model, &[7], Effect::Set),
            write(&model, &[8], Effect::Set),
            checkpoint(&model),
        ];
        // Mostly goes on with the same.
        run(&model, actors, |choices, current| {
            current.filter(|_| random.below(3) > 0).unwrap_or_else(|| random.below(choices))
        });
    }
}
