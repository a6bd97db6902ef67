//! Late changes: those of index leaves that are not in memory, and everybody who meets them.

use super::*;
use env::Env;
use std::collections::BTreeMap;

const ENTRIES: u32 = 1500;
/// Leaves of 4 KiB hold few of these.
const VALUE: [u8; 150] = [7; 150];

pub(super) fn tiny() -> EngineOptions {
    // The smallest pool there can be, and no bound for what waits but the log's.
    EngineOptions { buffer_pool_bytes: 1, late_change_bytes: Some(u64::MAX), ..options() }
}

pub(super) fn entry(number: u32) -> Vec<u8> {
    // Even numbers are there from the start.
    number.to_be_bytes().to_vec()
}

/// An index whose leaves are full and not in memory.
async fn index(engine: &Arc<Engine>) -> TreeId {
    let mut transaction = repeatable(engine);
    let tree = transaction.create_tree().await.unwrap();
    let filler = transaction.create_tree().await.unwrap();
    transaction.commit().await.unwrap();
    for first in (0..ENTRIES).step_by(100) {
        let mut transaction = repeatable(engine);
        for number in first..first + 100 {
            transaction.insert(tree, &entry(2 * number), &VALUE, Uniqueness::Key, WAIT).await.unwrap();
            transaction.insert(filler, &entry(number), &VALUE, Uniqueness::Key, WAIT).await.unwrap();
        }
        transaction.commit().await.unwrap();
    }
    evict(engine, filler).await;
    tree
}

/// Reads so much else that nothing of the index stays but its upper nodes.
async fn evict(engine: &Arc<Engine>, filler: TreeId) {
    let mut transaction = repeatable(engine);
    for _ in 0..3 {
        for number in (0..ENTRIES).step_by(10) {
            transaction.get(filler, &entry(number), ReadMode::Snapshot).await.unwrap();
        }
    }
    transaction.rollback().await.unwrap();
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn full() -> Model {
    (0..ENTRIES).map(|number| (entry(2 * number), VALUE.to_vec())).collect()
}

async fn add(transaction: &mut Transaction, tree: TreeId, model: &mut Model, number: u32) {
    transaction.insert_unseen(tree, &entry(number), &VALUE, WAIT).await.unwrap();
    assert_eq!(model.insert(entry(number), VALUE.to_vec()), None);
}

async fn take(transaction: &mut Transaction, tree: TreeId, model: &mut Model, number: u32) {
    transaction.delete_unseen(tree, &entry(number), &VALUE, WAIT).await.unwrap();
    assert!(model.remove(&entry(number)).is_some());
}

/// Moves so many entries to a new place each, all over the index.
async fn shift(transaction: &mut Transaction, tree: TreeId, model: &mut Model, range: std::ops::Range<u32>) {
    for number in range {
        let scattered = number.wrapping_mul(367) % ENTRIES;
        take(transaction, tree, model, 2 * scattered).await;
        add(transaction, tree, model, 2 * scattered + 1).await;
    }
}

pub(super) async fn entries(transaction: &mut Transaction, tree: TreeId, direction: Direction) -> Model {
    let mut cursor = transaction.scan(tree, KeyRange::all(), direction, ReadMode::Snapshot);
    let mut batch = EntryBatch::default();
    while cursor.next_batch(transaction, 50, &mut batch).await.expect("a scan") {}
    batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

async fn check(engine: &Arc<Engine>, tree: TreeId, model: &Model) {
    for direction in [Direction::Forward, Direction::Backward] {
        assert!(entries(&mut repeatable(engine), tree, direction).await == *model, "{direction:?}");
    }
}

/// Runs lives one after the other on one disk; the machine stops after each.
fn lives<F: Future<Output = ()>>(
    options: &EngineOptions,
    lives: &mut [&mut dyn FnMut(Env, Arc<Engine>) -> F],
) {
    let mut world = World::new(7, SimOptions::default());
    for life in lives {
        let env = world.env();
        world
            .block_on(async {
                let engine = Engine::open(env.clone(), options.clone()).await.expect("open");
                life(env, engine).await;
            })
            .unwrap();
        world = world.crash(SimOptions::default());
    }
}

fn life<F: Future<Output = ()>>(test: impl FnMut(Env, Arc<Engine>) -> F) {
    let mut test = test;
    lives(&tiny(), &mut [&mut test]);
}

#[test]
fn changes_wait_for_their_leaves_and_everybody_sees_them() {
    life(|_, engine| async move {
        let tree = index(&engine).await;
        let mut model = full();
        let reads = engine.stats().pool_reads;
        let mut writer = repeatable(&engine);
        shift(&mut writer, tree, &mut model, 0..100).await;
        let stats = engine.stats();
        assert!(stats.late_changes_pending > 150, "{}", stats.late_changes_pending);
        assert!(stats.pool_reads - reads < 50, "{} leaves were read", stats.pool_reads - reads);
        assert!(entries(&mut writer, tree, Direction::Forward).await == model, "its own changes");
        check(&engine, tree, &full()).await;
        writer.commit().await.unwrap();
        check(&engine, tree, &model).await;
        assert_eq!(engine.stats().late_changes_pending, 0);
        let key = entry(2 * (367 % ENTRIES));
        let mut reader = repeatable(&engine);
        assert_eq!(reader.get(tree, &key, ReadMode::Snapshot).await, Ok(None));
        assert_eq!(reader.get(tree, &key, SHARED).await, Ok(None));
        engine.verify().await.unwrap();
    });
}

#[test]
fn an_older_snapshot_sees_what_was_before() {
    life(|_, engine| async move {
        let tree = index(&engine).await;
        let mut model = full();
        let mut reader = repeatable(&engine);
        reader.get(CATALOG, b"-", ReadMode::Snapshot).await.unwrap();
        let mut writer = repeatable(&engine);
        shift(&mut writer, tree, &mut model, 0..60).await;
        writer.commit().await.unwrap();
        // Pruning keeps what the reader needs, and ghosts that wait with it.
        fill(&engine, &[("a", "1")]).await;
        let mut writer = repeatable(&engine);
        shift(&mut writer, tree, &mut model, 60..90).await;
        writer.commit().await.unwrap();
        assert!(engine.stats().late_changes_pending > 100);
        assert!(entries(&mut reader, tree, Direction::Backward).await == full());
        drop(reader);
        check(&engine, tree, &model).await;
    });
}

#[test]
fn rollbacks_undo_late_changes() {
    life(|_, engine| async move {
        let tree = index(&engine).await;
        let mut model = full();
        let mut writer = repeatable(&engine);
        shift(&mut writer, tree, &mut model, 0..30).await;
        let savepoint = writer.savepoint();
        let kept = model.clone();
        shift(&mut writer, tree, &mut model, 30..60).await;
        // There and away again, and away and there again, without the leaf.
        take(&mut writer, tree, &mut model, 2 * (367 * 59 % ENTRIES) + 1).await;
        add(&mut writer, tree, &mut model, 2 * (367 * 59 % ENTRIES)).await;
        writer.rollback_to(savepoint).await.unwrap();
        assert!(entries(&mut writer, tree, Direction::Forward).await == kept);
        writer.commit().await.unwrap();
        check(&engine, tree, &kept).await;
        let mut writer = repeatable(&engine);
        let mut model = kept.clone();
        shift(&mut writer, tree, &mut model, 100..130).await;
        writer.rollback().await.unwrap();
        check(&engine, tree, &kept).await;
        engine.verify().await.unwrap();
    });
}

#[test]
fn late_changes_outlive_crashes_and_closes() {
    let tree = std::cell::Cell::new(TreeId(0));
    let model = std::cell::RefCell::new(full());
    let (tree, model) = (&tree, &model);
    let mut first = |_: Env, engine: Arc<Engine>| {
        let work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
            tree.set(index(&engine).await);
            let mut writer = repeatable(&engine);
            let mut new = model.borrow().clone();
            shift(&mut writer, tree.get(), &mut new, 0..60).await;
            writer.commit().await.unwrap();
            model.replace(new.clone());
            // A loser, whose changes are durable with the other's commit.
            let mut loser = repeatable(&engine);
            shift(&mut loser, tree.get(), &mut new, 60..70).await;
            fill(&engine, &[("a", "1")]).await;
            std::mem::forget(loser);
            assert!(engine.stats().late_changes_pending > 90);
        });
        work
    };
    let mut second = |_: Env, engine: Arc<Engine>| {
        let work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
            assert!(engine.stats().late_changes_pending > 50, "they are not applied by a start");
            let mut writer = repeatable(&engine);
            let mut new = model.borrow().clone();
            shift(&mut writer, tree.get(), &mut new, 200..230).await;
            writer.commit().await.unwrap();
            model.replace(new);
            let before = engine.stats().late_changes_pending;
            engine.close().await.unwrap();
            assert_eq!(engine.stats().late_changes_pending, before, "nor by a close");
        });
        work
    };
    let mut third = |_: Env, engine: Arc<Engine>| {
        let work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
            assert!(engine.stats().late_changes_pending > 50);
            let model = model.borrow().clone();
            check(&engine, tree.get(), &model).await;
            engine.verify().await.unwrap();
        });
        work
    };
    lives(&tiny(), &mut [&mut first, &mut second, &mut third]);
}

#[test]
fn full_leaves_are_split_for_what_waits() {
    life(|_, engine| async move {
        let tree = index(&engine).await;
        let mut model = full();
        let mut writer = repeatable(&engine);
        // Several for each leaf, as many as a leaf may have waiting.
        for number in (0..ENTRIES).step_by(5) {
            add(&mut writer, tree, &mut model, 2 * number + 1).await;
        }
        writer.commit().await.unwrap();
        assert!(engine.stats().late_changes_pending > 100);
        check(&engine, tree, &model).await;
        engine.verify().await.unwrap();
    });
}

#[test]
fn the_budget_is_kept_by_those_who_write() {
    let options = EngineOptions { late_change_bytes: Some(40_000), ..tiny() };
    lives(
        &options,
        &mut [&mut |_: Env, engine: Arc<Engine>| async move {
            let tree = index(&engine).await;
            let mut model = full();
            for step in 0..30 {
                let mut writer = repeatable(&engine);
                shift(&mut writer, tree, &mut model, step * 40..step * 40 + 40).await;
                writer.commit().await.unwrap();
                assert!(engine.stats().late_change_bytes < 42_000, "{}", engine.stats().late_change_bytes);
            }
            let stats = engine.stats();
            assert!(stats.late_changes_buffered > 3 * stats.late_leaves_merged, "{stats:?}");
            check(&engine, tree, &model).await;
        }],
    );
}

#[test]
fn a_dropped_index_leaves_nothing_behind() {
    life(|env, engine| async move {
        let tree = index(&engine).await;
        let before = engine.verify().await.unwrap();
        let mut model = full();
        let mut writer = repeatable(&engine);
        shift(&mut writer, tree, &mut model, 0..60).await;
        writer.drop_tree(tree).await.unwrap();
        writer.commit().await.unwrap();
        while engine.life.tasks.load(std::sync::atomic::Ordering::SeqCst) > 0 {
            env.clock.sleep(1000).await;
        }
        assert_eq!(engine.stats().late_changes_pending, 0);
        let report = engine.verify().await.unwrap();
        assert_eq!(report.other_pages, before.other_pages);
        assert!(report.tree_pages < before.tree_pages);
        // Its pages are used again.
        let tree = index(&engine).await;
        check(&engine, tree, &full()).await;
        engine.close().await.unwrap();
        let again = Engine::open(env, tiny()).await.unwrap();
        check(&again, tree, &full()).await;
    });
}

#[test]
fn a_protected_gap_keeps_late_inserts_out() {
    life(|env, engine| async move {
        let tree = index(&engine).await;
        let mut reader = repeatable(&engine);
        let range = KeyRange { lower: Some(entry(100)), upper: Some(entry(140)), ..KeyRange::default() };
        let mode = ReadMode::Locking(LockMode::Shared, WAIT);
        let found = collect(&mut reader, tree, range, Direction::Forward, mode).await.unwrap();
        assert_eq!(found.len(), 21);
        // Pushes the leaf out.
        index(&engine).await;
        let mut writer = repeatable(&engine);
        {
            let key = entry(121);
            let mut insert = pin!(writer.insert_unseen(tree, &key, &VALUE, WAIT));
            assert!(waits(&mut insert));
            reader.rollback().await.unwrap();
            insert.await.unwrap();
        }
        assert_eq!(engine.stats().late_changes_pending, 1);
        // Whoever wants the key has to wait for its writer, as for any other.
        let mut other = repeatable(&engine);
        let key = entry(121);
        let mut locked = pin!(other.get(tree, &key, EXCLUSIVE));
        for _ in 0..20 {
            assert!(waits(&mut locked), "for the lock, not only for the leaf");
            env.clock.sleep(100).await;
        }
        writer.rollback().await.unwrap();
        assert_eq!(locked.await, Ok(None));
    });
}

#[test]
fn checkpoints_go_on_while_changes_wait() {
    life(|_, engine| async move {
        let tree = index(&engine).await;
        let mut model = full();
        let mut writer = repeatable(&engine);
        shift(&mut writer, tree, &mut model, 0..60).await;
        writer.commit().await.unwrap();
        let (begun, pending) = (engine.stats().log_end_lsn, engine.stats().late_changes_pending);
        for round in 0..40 {
            let value = "v".repeat(800);
            let keys: Vec<String> = (0..200).map(|key| format!("{round}-{key}")).collect();
            let rows: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), value.as_str())).collect();
            fill(&engine, &rows).await;
        }
        let stats = engine.stats();
        assert!(stats.checkpoint_lsn > begun, "{} {begun}", stats.checkpoint_lsn);
        assert!(stats.late_changes_pending * 2 > pending, "{} {pending}", stats.late_changes_pending);
        check(&engine, tree, &model).await;
    });
}

#[test]
fn a_victim_whose_rollback_is_cut_off_cannot_go_on() {
    for polls in 1..6 {
        life(|_, engine| async move {
            let tree = index(&engine).await;
            fill(&engine, &[("a", "0"), ("b", "0"), ("c", "0")]).await;
            let (mut one, mut two) = (repeatable(&engine), repeatable(&engine));
            for _ in 0..30 {
                set(&mut one, "a", "one").await.unwrap();
            }
            set(&mut two, "b", "two").await.unwrap();
            let savepoint = two.savepoint();
            set(&mut two, "c", "two").await.unwrap();
            shift(&mut two, tree, &mut full(), 0..5).await;
            let ended = {
                let mut first = pin!(set(&mut one, "b", "one"));
                assert!(waits(&mut first));
                // Each leaf that the rollback has to read is a place to be cut off at.
                let ended = cut_off(set(&mut two, "a", "two"), polls).await;
                assert!(ended.is_none() || ended == Some(Err(EngineError::Deadlock)));
                if ended.is_none() {
                    let undone = match polls % 3 {
                        0 => two.rollback_to(savepoint).await,
                        1 => {
                            // Refused; what is left is undone when it is dropped.
                            let refused = set(&mut two, "c", "again").await;
                            drop(two);
                            refused
                        }
                        _ => two.commit().await,
                    };
                    assert_eq!(undone, Err(EngineError::Deadlock));
                }
                first.await
            };
            ended.unwrap();
            one.commit().await.unwrap();
            check(&engine, tree, &full()).await;
            assert_eq!(committed(&engine, "c").await.as_deref(), Some("0"));
        });
    }
}
