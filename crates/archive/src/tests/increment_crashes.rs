//! Increments on a machine that stops anywhere, by power cuts and by kills: the map of changes forgets no page.
use super::failures::take_up;
use super::increments::{Made, end_of_chain, make};
use super::*;
use env::sim::Outcome;

type Chain = Arc<Mutex<Vec<Made>>>;

/// Makes increments beside a writer until the machine stops or there are so many.
async fn life(env: Env, notes: Arc<Notes>, chain: Chain, increments: usize, seed: u64) {
    let (engine, archive) = open(&env, &notes).await;
    take_up(&env, &engine, &notes).await;
    start_writer(&env, &engine, &notes, 300);
    let random = SeededRandom::new(seed);
    for _ in 0..increments {
        wait_for(&env, &notes, notes.count() + random.below(60) as u64).await;
        let base = chain.lock().pop();
        // Put back first: one that is cut off is none.
        let base = base.inspect(|base| chain.lock().push(base.copy()));
        let made = make(&engine, &notes, base.as_ref(), None).await;
        chain.lock().push(made);
    }
    stop_writer(&env, &notes).await;
    archive.unwrap().close().await.unwrap();
    engine.close().await.unwrap();
}

impl Made {
    fn copy(&self) -> Made {
        Made { bytes: self.bytes.clone(), head: self.head, ..*self }
    }
}

/// Answers how often the machine stopped, and how many increments knew what had changed.
fn run(seed: u64) -> (usize, usize) {
    let (notes, chain) = (Arc::new(Notes::default()), Chain::default());
    let random = SeededRandom::new(seed);
    let mut world = World::new(seed, SimOptions::default());
    world.block_on(life(world.env(), notes.clone(), chain.clone(), 1, seed)).unwrap();
    let mut stops = 0;
    for number in 0..8 {
        let operations = [60, 250, 900][random.below(3)];
        world.set_crash_at(Some(world.changes() + random.below(operations) as u64));
        let life = life(world.env(), notes.clone(), chain.clone(), 3, seed * 100 + number);
        match world.block_on(life) {
            Outcome::Done(_) => {}
            Outcome::Stalled => panic!("seed {seed}: stalled"),
            _ => stops += 1,
        }
        let next = SimOptions::default();
        world = if random.below(2) == 0 { world.kill(next) } else { world.crash(next) };
    }
    world.block_on(life(world.env(), notes.clone(), chain.clone(), 1, seed)).unwrap();
    let env = world.env();
    let partial = chain.lock().iter().filter(|made| made.head.is_partial).count();
    let check = async move {
        let chain = std::mem::take(&mut *chain.lock());
        for length in [chain.len(), 1 + random.below(chain.len())] {
            let part: Vec<&Made> = chain[..length].iter().collect();
            let found = end_of_chain(&env, &part, &format!("chain-{length}")).await;
            let (least, most) = part[length - 1].counts;
            assert!((least..=most).contains(&found), "seed {seed}, {length}: {found} of {least} to {most}");
        }
    };
    world.block_on(check).unwrap();
    (stops, partial)
}

#[test]
fn a_chain_is_whole_wherever_the_machine_stops() {
    let seeds = std::env::var("ARCHIVE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let runs: Vec<(usize, usize)> = (0..seeds).map(run).collect();
    let stops: usize = runs.iter().map(|run| run.0).sum();
    let partial: usize = runs.iter().map(|run| run.1).sum();
    assert!(
        stops > 2 * seeds as usize && partial > 4 * seeds as usize,
        "{stops} stops, {partial} increments"
    );
}
