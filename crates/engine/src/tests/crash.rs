//! A mixed workload on a machine that stops at some operation on the disk, again and again, also during
//! recovery; afterwards a model says what must and what may be there.

use super::*;
use env::sim::{Outcome, SeededRandom};
use parking_lot::Mutex;
use std::collections::BTreeMap;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// What the client knows: acknowledged rows, and what one commit under way would make of them.
#[derive(Default, Clone)]
struct Model {
    acknowledged: Rows,
    /// Set while a commit is under way.
    uncertain: Option<Rows>,
}

async fn workload(engine: Arc<Engine>, model: Arc<Mutex<Model>>, random: SeededRandom, transactions: usize) {
    for _ in 0..transactions {
        let mut rows = model.lock().acknowledged.clone();
        let mut transaction = repeatable(&engine);
        for _ in 0..1 + random.below(8) {
            let key = vec![b'k', random.below(40) as u8];
            let length = if random.below(10) == 0 { 3000 } else { random.below(300) };
            let value = vec![random.below(256) as u8; length];
            let savepoint = transaction.savepoint();
            let before = rows.clone();
            let exists = rows.contains_key(&key);
            if !exists {
                transaction.insert(CATALOG, &key, &value, Uniqueness::Key, WAIT).await.expect("insert");
                rows.insert(key, value);
            } else if random.below(3) == 0 {
                transaction.delete(CATALOG, &key, WAIT).await.expect("delete");
                rows.remove(&key);
            } else {
                transaction.update(CATALOG, &key, &value, WAIT).await.expect("update");
                rows.insert(key, value);
            }
            if random.below(6) == 0 {
                transaction.rollback_to(savepoint).await.expect("rollback to savepoint");
                rows = before;
            }
        }
        if random.below(5) == 0 {
            transaction.rollback().await.expect("rollback");
            continue;
        }
        model.lock().uncertain = Some(rows.clone());
        transaction.commit().await.expect("commit");
        *model.lock() = Model { acknowledged: rows, uncertain: None };
    }
}

async fn contents(engine: &Arc<Engine>) -> Rows {
    let mut reader = repeatable(engine);
    let mut cursor = reader.scan(CATALOG, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
    let mut batch = EntryBatch::default();
    while cursor.next_batch(&mut reader, 7, &mut batch).await.expect("scan") {}
    batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Opens, checks against the model, and works on; every open may be cut off at its own crash point.
fn run(seed: u64) {
    let model = Arc::new(Mutex::new(Model::default()));
    let random = SeededRandom::new(seed);
    let crash_at = |limit| SimOptions { crash_at: Some(random.below(limit) as u64), ..SimOptions::default() };
    let mut world = World::new(seed, crash_at(60));
    for life in 0..6 {
        let env = world.env();
        let (shared, seed) = (model.clone(), seed * 31 + life);
        let work = async move {
            let engine = Engine::open(env, options()).await.expect("open");
            let found = contents(&engine).await;
            {
                let mut model = shared.lock();
                let uncertain = model.uncertain.take();
                if uncertain.as_ref() == Some(&found) {
                    model.acknowledged = found;
                } else {
                    assert!(model.acknowledged == found, "acknowledged work is lost or changed");
                }
            }
            engine.verify().await.expect("verify");
            workload(engine.clone(), shared, SeededRandom::new(seed), 12).await;
            engine.close().await.expect("close");
        };
        let last = life == 4;
        match world.block_on(work) {
            Outcome::Done(()) | Outcome::Crashed => {}
            Outcome::Stalled => panic!("seed {seed}: stalled"),
        }
        world = world.crash(if last { SimOptions::default() } else { crash_at(120) });
    }
}

#[test]
fn nothing_acknowledged_is_lost_wherever_the_machine_stops() {
    let seeds: u64 = std::env::var("ENGINE_CRASH_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let first: u64 = std::env::var("ENGINE_CRASH_FIRST").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    for seed in first..first + seeds {
        let result = std::panic::catch_unwind(|| run(seed));
        if let Err(panic) = result {
            eprintln!("replay with ENGINE_CRASH_FIRST={seed} ENGINE_CRASH_SEEDS=1");
            std::panic::resume_unwind(panic);
        }
    }
}
