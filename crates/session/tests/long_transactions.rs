//! Definitions beside transactions that last longer than their requests: nobody who reads waits long, and the definition comes to
//! its end whatever the others do.
mod support;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use instance::Instance;
use support::{Client, run};

async fn client(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client.query("use d").await;
    client
}

async fn table(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    for text in ["create database d", "use d", "create table t (id int primary key, a int)"] {
        assert!(client.query(text).await.starts_with("ok"));
    }
    client.query("insert into t with recursive n as (select 1 i union all select i + 1 from n where i < 500) select i, i from n").await;
    client
}

/// Reads and writes a row again and again until told to stop; the longest that one statement took.
fn others(mut client: Client, stop: &Rc<Cell<bool>>) -> tokio::task::JoinHandle<Duration> {
    let stop = stop.clone();
    tokio::task::spawn_local(async move {
        let (mut longest, mut number) = (Duration::ZERO, 0);
        while !stop.get() {
            number += 1;
            let began = Instant::now();
            let text = match number % 2 {
                0 => format!("select a from t where id = {}", number % 500),
                _ => format!("update t set a = a + 1 where id = {}", number % 500),
            };
            let answer = client.query(&text).await;
            assert!(!answer.starts_with("ERROR"), "{answer}");
            longest = longest.max(began.elapsed());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        longest
    })
}

/// Long transactions of several sessions, so that the table is never free of one.
fn long_ones(mut client: Client, lasts: Duration, stop: &Rc<Cell<bool>>) -> tokio::task::JoinHandle<()> {
    let stop = stop.clone();
    tokio::task::spawn_local(async move {
        while !stop.get() {
            client.query("begin").await;
            client.query("select count(*) from t").await;
            tokio::time::sleep(lasts).await;
            client.query("commit").await;
        }
    })
}

const CHANGES: [&str; 4] = [
    "alter table t add index (a)",
    "alter table t modify a bigint",
    "alter table t add column c int",
    "optimize table t",
];

#[test]
fn nobody_waits_behind_a_definition_that_waits_for_one_transaction() {
    run(async |server| {
        let mut client = table(&server).await;
        for change in CHANGES {
            let stop = Rc::new(Cell::new(false));
            let mut holder = self::client(&server).await;
            holder.query("begin").await;
            holder.query("update t set a = a + 1 where id = 500").await;
            // It is not young any more.
            tokio::time::sleep(Duration::from_millis(60)).await;
            let beside = others(self::client(&server).await, &stop);
            let began = Instant::now();
            let ended = tokio::task::spawn_local(async move {
                tokio::time::sleep(Duration::from_secs(3)).await;
                holder.query("commit").await;
            });
            let answer = client.query(change).await;
            let took = began.elapsed();
            assert!(!answer.contains("rror"), "{change}: {answer}");
            ended.await.expect("it ends");
            stop.set(true);
            let longest = beside.await.expect("it ends");
            // The transaction ends in 3 s; a request that waited for it would stop others for a step at least.
            assert!(longest < Duration::from_millis(400), "{change}: {longest:?}");
            assert!(took < Duration::from_secs(10), "{change}: {took:?}");
            println!("{change}: {took:?}, the longest of the others {longest:?}");
        }
    });
}

#[test]
fn a_definition_gets_its_lock_between_transactions_that_leave_no_gap() {
    run(async |server| {
        let mut client = table(&server).await;
        let stop = Rc::new(Cell::new(false));
        let mut longs = Vec::new();
        for _ in 0..3 {
            longs.push(long_ones(self::client(&server).await, Duration::from_millis(300), &stop));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let beside = others(self::client(&server).await, &stop);
        let began = Instant::now();
        let answer = client.query("alter table t modify a bigint").await;
        let took = began.elapsed();
        stop.set(true);
        let longest = beside.await.expect("it ends");
        for long in longs {
            long.await.expect("it ends");
        }
        assert!(answer.starts_with("ok"), "{answer}");
        println!("{took:?}, the longest of the others {longest:?}");
        // A tenth of what the definition waited, and the machine's own.
        assert!(took < Duration::from_secs(20), "{took:?}");
        assert!(longest < took / 4 + Duration::from_millis(400), "{longest:?} of {took:?}");
    });
}
