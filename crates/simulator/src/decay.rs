//! Damage at rest: after an orderly close, bytes of the files change behind the store's back. Whatever happens
//! then, it must not be a wrong answer: the damage is noticed, repaired, or lies where nothing is stored.

use crate::history::Contents;
use crate::run::{Report, RunOptions, Violation, caught, recover_and_check};
use crate::subject::Subject;
use crate::workload::{self, Shared, WorkloadOptions};
use env::sim::{Outcome, SECTOR_BYTES, SeededRandom, SimOptions, World};
use env::sync::Mutex;

/// Runs a workload, closes the store and damages `samples` copies of what it left, one place in each.
pub fn run_decay<S: Subject>(options: &RunOptions, samples: u64) -> Result<Report, Violation> {
    let what = caught(|| decay::<S>(options, samples));
    what.map_err(|what| Violation { seed: options.seed, crash_point: None, fault: None, subject: "", what })
}

fn decay<S: Subject>(options: &RunOptions, samples: u64) -> Result<Report, String> {
    let world = World::new(options.seed, SimOptions::default());
    let transactions = options.workload.transactions / 2;
    let life = WorkloadOptions { transactions, ..options.workload.clone() };
    let shared = Shared::new(&Contents::new(), &life);
    let mut early = Vec::new();
    let env = world.env();
    let outcome = world.block_on(async {
        let subject = S::open(env.clone()).await?;
        workload::run(env.clone(), subject.clone(), shared.clone(), life.clone(), options.seed).await;
        // Sectors of now are stale after the second half.
        early = files(&world);
        shared.refill(transactions);
        workload::run(env, subject.clone(), shared.clone(), life, options.seed + 1).await;
        subject.close().await
    });
    match outcome {
        Outcome::Done(result) => result?,
        Outcome::Crashed | Outcome::Stalled => return Err("the workload hangs".into()),
    }
    let random = SeededRandom::new(options.seed ^ 0xdeca);
    let mut report = Report::default();
    for _ in 0..samples {
        let image = world.crash_image(0, SimOptions::default());
        let Some(described) = damage(&image, &early, &random) else { continue };
        report.damages += 1;
        let history = Mutex::new(shared.history.lock().clone());
        let checked = caught(|| match image.block_on(recover_and_check::<S>(image.env(), &history)) {
            Outcome::Done(result) => Ok(result.map(drop)),
            Outcome::Crashed | Outcome::Stalled => Err("recovery hangs".into()),
        });
        match checked {
            Ok(Ok(())) => {}
            // Noticed, unless it is the comparison that noticed it.
            Ok(Err(what)) if !what.contains(crate::history::UNEXPLAINED) => report.damages_noticed += 1,
            Ok(Err(what)) | Err(what) => return Err(format!("{what} with {described}")),
        }
    }
    Ok(report)
}

fn files(world: &World) -> Vec<(String, Vec<u8>)> {
    let content = |path: String| world.content(&path).map(|bytes| (path, bytes));
    world.paths().into_iter().filter_map(content).collect()
}

/// Damages one place; returns what was done, if anything has changed.
fn damage(world: &World, early: &[(String, Vec<u8>)], random: &SeededRandom) -> Option<String> {
    let candidates: Vec<(String, Vec<u8>)> =
        files(world).into_iter().filter(|(_, content)| content.len() >= 2 * SECTOR_BYTES).collect();
    let (path, content) = &candidates[random.below(candidates.len())];
    // Most of a file is empty space: aim at what is written.
    let used: Vec<usize> = (0..content.len() / SECTOR_BYTES)
        .filter(|sector| content[sector * SECTOR_BYTES..][..SECTOR_BYTES].iter().any(|byte| *byte != 0))
        .collect();
    if used.is_empty() {
        return None;
    }
    let start = used[random.below(used.len())] * SECTOR_BYTES;
    let range = start..start + SECTOR_BYTES;
    let described = match random.below(5) {
        0 => {
            world.damage(path, |content| content[range].fill(0));
            format!("a zeroed sector in '{path}' at {start}")
        }
        1 => {
            let old = early.iter().find(|(other, _)| other == path)?.1.get(range.clone())?;
            world.damage(path, |content| content[range].copy_from_slice(old));
            format!("a stale sector in '{path}' at {start}")
        }
        2 => {
            let other = used[random.below(used.len())] * SECTOR_BYTES;
            world.damage(path, |content| content.copy_within(other..other + SECTOR_BYTES, start));
            format!("a copy of the sector at {other} in '{path}' at {start}")
        }
        _ => {
            let bit = start * 8 + random.below(SECTOR_BYTES * 8);
            world.flip_bit(path, bit);
            format!("bit {bit} of '{path}' flipped")
        }
    };
    (world.content(path).as_ref() != Some(content)).then_some(described)
}
