//! Filling new trees: no versions and no undo for each record, and all or nothing.

use super::*;

const ROWS: u32 = 3_000;

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

async fn load_rows(transaction: &mut Transaction) -> TreeId {
    let tree = transaction.create_tree().await.expect("create");
    for number in 0..ROWS {
        let value = if number % 1000 == 7 { vec![7; 9_000] } else { vec![number as u8; 50] };
        transaction.load(tree, &key(number), &value, Uniqueness::Key).await.expect("load");
    }
    tree
}

#[test]
fn a_loaded_tree_is_seen_by_those_who_see_its_commit() {
    with_engine(|engine| async move {
        let mut old = repeatable(&engine);
        old.take_snapshot();
        let mut transaction = repeatable(&engine);
        let tree = load_rows(&mut transaction).await;
        assert!(engine.rows.len() < 10, "{} rows are remembered", engine.rows.len());
        let own = transaction.get(tree, &key(7), ReadMode::Snapshot).await.unwrap();
        assert_eq!(own.map(|value| value.len()), Some(9_000));
        transaction.commit().await.expect("commit");

        assert_eq!(old.get(tree, &key(1), ReadMode::Snapshot).await, Err(EngineError::SnapshotTooOld));
        let mut cursor = old.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let scanned = cursor.next_batch(&mut old, 10, &mut EntryBatch::default()).await;
        assert_eq!(scanned, Err(EngineError::SnapshotTooOld));
        let mut new = repeatable(&engine);
        assert_eq!(new.get(tree, &key(1), ReadMode::Snapshot).await, Ok(Some(vec![1; 50])));
        assert_eq!(engine.count_records(tree).await, Ok(u64::from(ROWS)));
    });
}

#[test]
fn a_load_is_undone_with_its_tree() {
    with_engine(|engine| async move {
        let mut transaction = repeatable(&engine);
        let tree = load_rows(&mut transaction).await;
        transaction.rollback().await.expect("rollback");
        assert_eq!(engine.count_records(tree).await, Err(EngineError::NoSuchTree(tree)));
        engine.verify().await.expect("no page is lost");
    });
}

#[test]
fn keys_and_unique_prefixes_are_checked() {
    with_engine(|engine| async move {
        let mut transaction = repeatable(&engine);
        let tree = transaction.create_tree().await.expect("create");
        let prefix = Uniqueness::Prefix(2);
        transaction.load(tree, b"ab1", b"", prefix).await.expect("load");
        transaction.load(tree, b"ac1", b"", prefix).await.expect("load");
        for (key, unique, existing) in [(b"ab2", prefix, b"ab1"), (b"ac1", Uniqueness::Key, b"ac1")] {
            let refused = transaction.load(tree, key, b"", unique).await;
            assert_eq!(refused, Err(EngineError::DuplicateKey { existing_key: existing.to_vec() }));
        }
        transaction.rollback().await.expect("rollback");
    });
}

#[test]
fn records_in_order_and_records_that_go_again() {
    with_engine(|engine| async move {
        for commits in [true, false] {
            let mut transaction = repeatable(&engine);
            let tree = transaction.create_tree().await.expect("create");
            for piece in 0..6 {
                let mut records = EntryBatch::default();
                for number in piece * 500..(piece + 1) * 500 {
                    let value = if number % 100 == 7 { vec![7; 9_000] } else { vec![number as u8; 50] };
                    records.push(&key(number), &value);
                }
                transaction.load_in_order(tree, &records).await.expect("load");
            }
            for number in (0..ROWS).step_by(3) {
                assert_eq!(transaction.unload(tree, &key(number)).await, Ok(true));
                assert_eq!(transaction.unload(tree, &key(number)).await, Ok(false));
            }
            transaction.load(tree, &key(3), &[9; 9_000], Uniqueness::Key).await.expect("load");
            // Short and long values in the place of long and short ones, of the same, and of none.
            for (number, value) in
                [(7, vec![8; 9_000]), (107, vec![8; 9]), (8, vec![8; 9_000]), (8, vec![6; 9])]
            {
                transaction.reload(tree, &key(number), &value).await.expect("reload");
            }
            transaction.reload(tree, &key(8), &[6; 9]).await.expect("reload");
            transaction.reload(tree, &key(ROWS), &[5; 9_000]).await.expect("reload");
            if !commits {
                transaction.rollback().await.expect("rollback");
                assert_eq!(engine.count_records(tree).await, Err(EngineError::NoSuchTree(tree)));
                continue;
            }
            transaction.commit().await.expect("commit");
            assert_eq!(engine.count_records(tree).await, Ok(u64::from(ROWS) * 2 / 3 + 2));
            let mut reader = repeatable(&engine);
            assert_eq!(reader.get(tree, &key(3), ReadMode::Snapshot).await, Ok(Some(vec![9; 9_000])));
            assert_eq!(reader.get(tree, &key(7), ReadMode::Snapshot).await, Ok(Some(vec![8; 9_000])));
            assert_eq!(reader.get(tree, &key(107), ReadMode::Snapshot).await, Ok(Some(vec![8; 9])));
            assert_eq!(reader.get(tree, &key(8), ReadMode::Snapshot).await, Ok(Some(vec![6; 9])));
            assert_eq!(reader.get(tree, &key(ROWS), ReadMode::Snapshot).await, Ok(Some(vec![5; 9_000])));
            assert_eq!(reader.get(tree, &key(207), ReadMode::Snapshot).await, Ok(None));
            assert_eq!(reader.get(tree, &key(6), ReadMode::Snapshot).await, Ok(None));
        }
        engine.verify().await.expect("no page is lost");
    });
}
