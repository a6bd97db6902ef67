//! Marks of trees: they outlive rollbacks, restarts, crashes and the log in which they were, and end with their trees.

use super::*;
use std::sync::atomic::Ordering;

/// One life on the machine; `is_closed`: it ends in an orderly way, else with a crash.
fn life<F, T>(world: World, is_closed: bool, work: impl FnOnce(Arc<Engine>) -> F) -> (World, T)
where
    F: Future<Output = T>,
{
    let env = world.env();
    let run = async move {
        let engine = Engine::open(env, options()).await.expect("open");
        let done = work(engine.clone()).await;
        if is_closed {
            engine.close().await.expect("close");
        }
        done
    };
    let done = world.block_on(run).unwrap();
    (world.crash(SimOptions::default()), done)
}

/// Inserts a record that raises the mark.
async fn insert(transaction: &mut Transaction, tree: TreeId, key: u32, mark: u128) {
    transaction.raise_mark(tree, mark);
    transaction.insert(tree, &key.to_be_bytes(), b"row", Uniqueness::Key, WAIT).await.expect("insert");
}

async fn new_tree(engine: &Arc<Engine>) -> TreeId {
    let mut transaction = repeatable(engine);
    let tree = transaction.create_tree().await.expect("create");
    transaction.commit().await.expect("commit");
    tree
}

/// So much log that what is old comes out of it.
async fn fill_log(engine: &Arc<Engine>) {
    let tree = new_tree(engine).await;
    let goal = engine.wal.end_lsn().0 + 3 * engine.checkpointer.capacity_bytes();
    while engine.wal.end_lsn().0 < goal {
        let mut transaction = repeatable(engine);
        for key in 0u32..50 {
            transaction
                .insert(tree, &key.to_be_bytes(), &[7; 1000], Uniqueness::Key, WAIT)
                .await
                .expect("insert");
        }
        transaction.commit().await.expect("commit");
        let mut transaction = repeatable(engine);
        for key in 0u32..50 {
            transaction.delete(tree, &key.to_be_bytes(), WAIT).await.expect("delete");
        }
        transaction.commit().await.expect("commit");
    }
}

#[test]
fn a_mark_outlives_its_row_its_transaction_and_the_server() {
    for is_closed in [false, true] {
        let world = World::new(21, SimOptions::default());
        let (world, tree) = life(world, is_closed, |engine| async move {
            let tree = new_tree(&engine).await;
            let mut one = repeatable(&engine);
            insert(&mut one, tree, 7, 7).await;
            insert(&mut one, tree, 5, 5).await;
            one.commit().await.unwrap();
            assert_eq!(engine.mark(tree), 7);
            let mut two = repeatable(&engine);
            two.delete(tree, &7u32.to_be_bytes(), WAIT).await.unwrap();
            two.raise_mark(tree, 8);
            two.update(tree, &5u32.to_be_bytes(), b"new", WAIT).await.unwrap();
            two.commit().await.unwrap();
            let mut undone = repeatable(&engine);
            insert(&mut undone, tree, 9, 9).await;
            undone.rollback().await.unwrap();
            assert_eq!(engine.mark(tree), 9);
            // Whatever is durable later makes it durable too.
            fill(&engine, &[("a", "1")]).await;
            tree
        });
        let (world, ()) = life(world, is_closed, |engine| async move {
            assert_eq!(engine.mark(tree), 9);
            let mut loser = repeatable(&engine);
            insert(&mut loser, tree, 12, 12).await;
            fill(&engine, &[("b", "1")]).await;
            match is_closed {
                true => loser.rollback().await.unwrap(),
                false => std::mem::forget(loser),
            }
        });
        life(world, true, |engine| async move {
            assert_eq!(engine.mark(tree), 12);
            engine.finish_background().await;
            let mut reader = repeatable(&engine);
            assert_eq!(reader.get(tree, &12u32.to_be_bytes(), ReadMode::Snapshot).await, Ok(None));
            reader.commit().await.unwrap();
            engine.verify().await.unwrap();
        });
    }
}

#[test]
fn a_mark_belongs_to_the_next_write_only_if_that_is_of_its_tree() {
    with_engine(|engine| async move {
        let (one, two) = (new_tree(&engine).await, new_tree(&engine).await);
        let mut transaction = repeatable(&engine);
        transaction.raise_mark(one, 5);
        transaction.insert(two, b"k", b"v", Uniqueness::Key, WAIT).await.unwrap();
        transaction.insert(one, b"k", b"v", Uniqueness::Key, WAIT).await.unwrap();
        transaction.raise_mark(one, 6);
        let duplicate = transaction.insert(one, b"k", b"v", Uniqueness::Key, WAIT).await;
        assert!(matches!(duplicate, Err(EngineError::DuplicateKey { .. })));
        transaction.update(one, b"k", b"w", WAIT).await.unwrap();
        assert_eq!((engine.mark(one), engine.mark(two)), (0, 0));
        transaction.commit().await.unwrap();
    });
}

#[test]
fn a_mark_is_logged_once() {
    with_engine(|engine| async move {
        let tree = new_tree(&engine).await;
        let mut transaction = repeatable(&engine);
        let mut log_bytes = Vec::new();
        for (key, mark) in [(1, 1000), (2, 1001), (3, 1001), (4, 900), (5, 1002)] {
            let before = engine.wal.end_lsn().0;
            insert(&mut transaction, tree, key, mark).await;
            log_bytes.push(engine.wal.end_lsn().0 - before);
        }
        // A header of 13 bytes, a length, and two numbers of two bytes.
        let without = log_bytes[2];
        assert_eq!(log_bytes[1..], [without + 18, without, without, without + 18]);
        transaction.commit().await.unwrap();
    });
}

#[test]
fn a_mark_outlives_the_log_in_which_it_was() {
    for is_closed in [false, true] {
        let (world, (low, high)) =
            life(World::new(22, SimOptions::default()), is_closed, |engine| async move {
                let (low, high) = (new_tree(&engine).await, new_tree(&engine).await);
                let mut transaction = repeatable(&engine);
                insert(&mut transaction, low, 1, 3).await;
                insert(&mut transaction, high, 1, u128::MAX).await;
                transaction.commit().await.unwrap();
                let behind = engine.wal.end_lsn().0;
                assert!(engine.trees.marks.oldest_lsn().is_some_and(|lsn| lsn < behind));
                fill_log(&engine).await;
                engine.finish_background().await;
                assert_eq!(engine.trees.marks.oldest_lsn(), None);
                assert!(engine.checkpointer.checkpoint_lsn() > behind);
                // Its row changes: it may have chains from now on.
                let mut transaction = repeatable(&engine);
                transaction.insert(low, b"long", &[1; 30_000], Uniqueness::Key, WAIT).await.unwrap();
                transaction.commit().await.unwrap();
                (low, high)
            });
        life(world, true, |engine| async move {
            assert_eq!((engine.mark(low), engine.mark(high)), (3, u128::MAX));
            let mut transaction = repeatable(&engine);
            insert(&mut transaction, low, 2, 4).await;
            transaction.commit().await.unwrap();
            assert_eq!(engine.mark(low), 4);
            engine.verify().await.unwrap();
        });
    }
}

#[test]
fn an_orderly_end_leaves_no_mark_in_the_log_alone() {
    let (world, trees) = life(World::new(23, SimOptions::default()), true, |engine| async move {
        let mut trees = Vec::new();
        for number in 1..=40 {
            let tree = new_tree(&engine).await;
            let mut transaction = repeatable(&engine);
            insert(&mut transaction, tree, 1, number).await;
            transaction.commit().await.unwrap();
            trees.push((tree, number));
        }
        trees
    });
    life(world, true, |engine| async move {
        assert_eq!(engine.trees.marks.oldest_lsn(), None);
        for (tree, number) in trees {
            assert_eq!(engine.mark(tree), number);
        }
    });
}

#[test]
fn a_dropped_tree_has_no_mark() {
    let (world, tree) = life(World::new(24, SimOptions::default()), false, |engine| async move {
        let tree = new_tree(&engine).await;
        let mut transaction = repeatable(&engine);
        insert(&mut transaction, tree, 1, 5).await;
        transaction.commit().await.unwrap();
        let mut transaction = repeatable(&engine);
        let unmade = transaction.create_tree().await.unwrap();
        insert(&mut transaction, unmade, 1, 5).await;
        transaction.rollback().await.unwrap();
        assert_eq!((engine.mark(tree), engine.mark(unmade)), (5, 0));
        let mut transaction = repeatable(&engine);
        transaction.drop_tree(tree).await.unwrap();
        transaction.commit().await.unwrap();
        assert_eq!((engine.mark(tree), engine.trees.marks.oldest_lsn()), (0, None));
        tree
    });
    life(world, true, |engine| async move {
        engine.finish_background().await;
        assert_eq!((engine.mark(tree), engine.trees.marks.oldest_lsn()), (0, None));
        assert!(engine.life.tasks.load(Ordering::Acquire) == 0);
        engine.verify().await.unwrap();
    });
}
