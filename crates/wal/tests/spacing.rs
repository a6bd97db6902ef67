//! Flushes keep a distance while commits wait for pages, and not otherwise where each takes as long as the others.

mod support;

use env::Env;
use env::sim::{SimOptions, World};
use support::on_log;
use wal::{Wal, WalGroup, WalOptions};

fn world(seed: u64) -> World {
    World::new(seed, SimOptions::default())
}

/// One commit after the other, each after a page that was waited for so long. Answers how long ten took when the pace has settled.
async fn ten_commits_us(env: &Env, wal: &Wal, page_wait_us: u64) -> u64 {
    let mut since_us = 0;
    for number in 0..1000 {
        if number == 990 {
            since_us = env.clock.now_us();
        }
        wal.note_page_wait(page_wait_us);
        commit(wal, number).await;
    }
    env.clock.now_us() - since_us
}

async fn commit(wal: &Wal, number: u64) {
    let mut group = WalGroup::new();
    group.push(1, number, b"a change");
    let lsns = wal.append(&group).unwrap();
    wal.wait_commit(lsns.end).await.unwrap();
}

#[test]
fn flushes_are_apart_while_pages_are_slow_to_come() {
    on_log(&world(21), WalOptions::default(), async |env, wal| {
        let quick = ten_commits_us(env, &wal, 100).await;
        let slow = ten_commits_us(env, &wal, 15_000).await;
        assert!((73_000..=85_000).contains(&slow), "half of 15 ms apart: {slow}, without {quick}");
        let slower = ten_commits_us(env, &wal, 1_000_000).await;
        assert!((98_000..=110_000).contains(&slower), "at most 10 ms apart: {slower}");
        assert_eq!(wal.stats().flush_spacing_us, 10_000);
        let again = ten_commits_us(env, &wal, 100).await;
        assert!(again < 20_000 && wal.stats().flush_spacing_us < 100, "{again}");
    });
}

#[test]
fn the_end_of_the_log_waits_for_nothing() {
    on_log(&world(22), WalOptions::default(), async |env, wal| {
        ten_commits_us(env, &wal, 1_000_000).await;
        let mut group = WalGroup::new();
        group.push(1, 1, b"the last change");
        wal.append(&group).unwrap();
        let since_us = env.clock.now_us();
        wal.close().await.unwrap();
        assert_eq!(wal.durable_lsn(), wal.end_lsn());
        let took_us = env.clock.now_us() - since_us;
        assert!(took_us < 5_000, "{took_us}");
    });
}
