//! What nobody waits for is synced too, in time.

mod support;

use env::sim::{Outcome, SimOptions, World};
use support::{group, on_log};
use wal::{FlushMode, WalOptions};

#[test]
fn lazy_modes_sync_within_a_second_and_then_sleep() {
    for mode in [FlushMode::Lazy, FlushMode::Written] {
        let world = World::new(16, SimOptions::default());
        on_log(&world, WalOptions { flush_mode: mode, ..WalOptions::tiny() }, async |env, wal| {
            let lsns = wal.append(&group(2)).unwrap();
            wal.wait_commit(lsns.end).await.unwrap();
            assert!(wal.durable_lsn() < lsns.end);
            env.clock.sleep(1_100_000).await;
            assert_eq!(wal.durable_lsn(), lsns.end);
        });
        let idle = world.block_on(env::sync::Notify::new().notified());
        assert_eq!(idle, Outcome::Stalled, "an idle log has no timer and no work");
    }
}

#[test]
fn the_interval_of_lazy_syncs_changes_at_once() {
    let world = World::new(17, SimOptions::default());
    on_log(&world, WalOptions { flush_mode: FlushMode::Lazy, ..WalOptions::tiny() }, async |env, wal| {
        wal.set_lazy_sync_us(10_000_000);
        let end = wal.append(&group(2)).unwrap().end;
        wal.wait_commit(end).await.unwrap();
        env.clock.sleep(9_000_000).await;
        assert!(wal.durable_lsn() < end, "ten seconds are not over");
        wal.set_lazy_sync_us(100_000);
        env.clock.sleep(50_000).await;
        assert_eq!(wal.durable_lsn(), end, "what waited is synced with the change");
        let end = wal.append(&group(2)).unwrap().end;
        wal.wait_commit(end).await.unwrap();
        env.clock.sleep(150_000).await;
        assert_eq!(wal.durable_lsn(), end, "the timer of ten seconds does not count any more");
    });
}
