//! Looking for rows in the spills of others: what is found there, and with how little memory.

use super::spill::{ROWS, Rows, change_all, key, old_rows, rows, settle, spilled, tiny, with_rows};
use super::*;

/// The pages of all these spills do not fit into memory together.
#[test]
fn a_row_is_found_behind_more_spills_than_there_are_frames() {
    const SPILLS: u32 = 60;
    let world = World::new(18, SimOptions::default());
    let env = world.env();
    let run = async move {
        let few = EngineOptions { buffer_pool_bytes: 32 * 4096, ..tiny() };
        let engine = Engine::open(env.clone(), few).await.expect("open");
        let middle = key(ROWS / 2);
        let mut filler = repeatable(&engine);
        for number in 0..ROWS {
            filler.insert(CATALOG, &key(number), &[b'o'; 40], Uniqueness::Key, WAIT).await.unwrap();
        }
        filler.commit().await.unwrap();
        let mut before = repeatable(&engine);
        before.take_snapshot();
        let mut locker = repeatable(&engine);
        locker.set_snapshot_isolation(true);
        locker.get(CATALOG, &middle, ReadMode::Snapshot).await.unwrap();
        for spill in 0..SPILLS {
            // Rows on either side of the one in the middle, which only the last changes.
            let mut writer = repeatable(&engine);
            for number in (0..ROWS).step_by(5) {
                if number != ROWS / 2 {
                    writer.update(CATALOG, &key(number), &[spill as u8; 40], WAIT).await.unwrap();
                }
            }
            if spill + 1 == SPILLS {
                writer.update(CATALOG, &middle, b"new", WAIT).await.unwrap();
            }
            writer.commit().await.unwrap();
        }
        assert!(spilled(&engine) > u64::from(SPILLS * 20), "{}", spilled(&engine));
        let reads = async {
            let read = before.get(CATALOG, &middle, ReadMode::Snapshot).await.unwrap();
            assert_eq!(read, Some(vec![b'o'; 40]));
            let unchanged = before.get(CATALOG, &key(ROWS / 2 + 1), ReadMode::Snapshot).await.unwrap();
            assert_eq!(unchanged, Some(vec![b'o'; 40]));
            let old: Rows = (0..ROWS).map(|number| (key(number).to_vec(), vec![b'o'; 40])).collect();
            assert!(rows(&mut before, Direction::Forward, ReadMode::Snapshot).await == old);
            let mut plain = repeatable(&engine);
            let locked = plain.get(CATALOG, &middle, EXCLUSIVE).await;
            assert_eq!(locked.unwrap(), Some(b"new".to_vec()));
            plain.rollback().await.unwrap();
            // Who may lock only what has not changed asks all spills as well.
            let locked = locker.get(CATALOG, &key(ROWS / 2 + 1), EXCLUSIVE).await;
            assert_eq!(locked.unwrap(), Some(vec![b'o'; 40]));
            assert_eq!(locker.get(CATALOG, &middle, EXCLUSIVE).await, Err(EngineError::RecordChanged));
        };
        let (mut reads, mut too_long) = (pin!(reads), env.clock.sleep(60_000_000));
        let ends = std::future::poll_fn(|context| match reads.as_mut().poll(context) {
            Poll::Pending => too_long.as_mut().poll(context).map(|()| false),
            Poll::Ready(()) => Poll::Ready(true),
        });
        assert!(ends.await, "the pages of the spills come and go for ever");
    };
    world.block_on(run).unwrap();
}

/// A condition is tested with what was committed, also where what was changed since is in a spill.
#[test]
fn a_locked_row_is_tested_as_it_was_before_a_spilled_change() {
    with_rows(|engine| async move {
        let mut other = repeatable(&engine);
        change_all(&mut other).await;
        assert!(spilled(&engine) > 0);
        // None of these is so long that its old version could be freed meanwhile.
        let few = KeyRange { lower: Some(key(1).to_vec()), upper: Some(key(15).to_vec()), ..KeyRange::all() };
        let mut one = begin(&engine, Isolation::ReadCommitted);
        one.begin_statement();
        let mut cursor = one.scan(CATALOG, few, Direction::Forward, EXCLUSIVE);
        cursor.test_before_waiting();
        let (mut batch, mut seen, mut more) = (EntryBatch::default(), Rows::new(), true);
        while more {
            batch.clear();
            more = cursor.next_batch(&mut one, 100, &mut batch).await.unwrap();
            assert!((0..batch.len()).all(|index| batch.is_unlocked(index)));
            seen.extend(batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        }
        assert!(seen == old_rows()[1..=15], "{} rows", seen.len());
        one.rollback().await.unwrap();
        other.rollback().await.unwrap();
        settle(&engine).await;
    });
}
