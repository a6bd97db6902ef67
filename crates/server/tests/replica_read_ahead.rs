//! A replica that is behind has the pages of waiting transactions read before it applies them.

mod support;

use support::replicas::{REPLICA, SOURCE, follow, one, wait_until_equal};
use support::{Random, RawClient, TestServer};

const ROWS: u64 = 40_000;
const CHANGES: u64 = 3_000;
/// Far less than the table, which has about 40 MB.
const SMALL_POOL: &str = "--innodb-buffer-pool-size=8M";

fn counter(client: &mut RawClient, name: &str) -> u64 {
    let rows = client.query(&format!("show global status like '{name}'")).expect("a counter");
    rows[0][1].as_deref().expect("a value").parse().expect("a number")
}

/// Changes at the source, a row each, while the replica's applier is stopped; the pages that were read ahead when it goes on.
fn pages_ahead(source: &TestServer, replica: &TestServer, seed: u64) -> u64 {
    let (mut from, mut to) = (source.log_in(), replica.log_in());
    to.execute("stop replica sql_thread").expect("it stops");
    let mut random = Random::new(seed);
    for _ in 0..CHANGES {
        let id = random.below(ROWS);
        from.execute(&format!("update d.t set n = n + 1 where id = {id}")).expect("an update");
    }
    let before = counter(&mut to, "Innodb_buffer_pool_read_ahead");
    to.execute("start replica sql_thread").expect("it starts");
    wait_until_equal(source, replica);
    counter(&mut to, "Innodb_buffer_pool_read_ahead") - before
}

#[test]
fn pages_of_waiting_transactions_are_read_ahead() {
    let source = TestServer::start(SOURCE);
    let mut from = source.log_in();
    for sql in [
        "create database d",
        "create table d.t (id int primary key, n int not null, filler varchar(1000) not null)",
        "set cte_max_recursion_depth = 100000",
        &format!(
            "insert into d.t with recursive r as (select 0 id union all select id + 1 from r where id + 1 < {ROWS}) \
             select id, 0, repeat(char(97 + id % 26), 900) from r"
        ),
    ] {
        from.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    let replica = TestServer::start(&[REPLICA, &[SMALL_POOL]].concat());
    follow(&replica, &source);
    wait_until_equal(&source, &replica);
    let mut to = replica.log_in();
    to.execute("set global replica_read_ahead_size = 0").expect("off");
    let without = pages_ahead(&source, &replica, 1);
    to.execute("set global replica_read_ahead_size = default").expect("on");
    let with = pages_ahead(&source, &replica, 2);
    // Most rows are in pages of their own that are not in memory.
    assert!(with > CHANGES / 4 && without < with / 4, "{with} pages with, {without} without");
    let sum = "select concat(count(*), ' ', sum(n), ' ', sum(crc32(concat(id, n, filler)))) from d.t";
    assert_eq!(one(&mut source.log_in(), sum), one(&mut to, sum));
}
