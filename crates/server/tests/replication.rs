//! Two servers, one the replica of the other: after kills of either at random moments under load nothing is lost and nothing is
//! applied twice, and the tables are equal.

mod support;

use std::time::{Duration, Instant};

use support::replicas::{PATIENCE, REPLICA, SOURCE, follow, one, status, wait_until_equal};
use support::{Random, RawClient, TestServer};

/// Without identifiers, and without a log of its own.
const PLAIN_SOURCE: &[&str] = &["--log-bin", "--server-id=1"];
const PLAIN_REPLICA: &[&str] = &["--server-id=2"];
const WRITERS: u64 = 3;

const TABLES: [&str; 3] = ["d.t", "d.nokey", "d.made"];

fn rows(server: &TestServer, table: &str) -> Vec<Vec<Option<String>>> {
    let mut rows = server.log_in().query(&format!("select * from {table}")).expect("rows");
    rows.sort();
    rows
}

fn assert_same_tables(source: &TestServer, replica: &TestServer) {
    for table in TABLES {
        assert_eq!(rows(source, table), rows(replica, table), "{table}");
    }
}

fn make_tables(server: &TestServer) {
    let mut client = server.log_in();
    for sql in [
        "create database d",
        "create table d.t (id int primary key, n int not null, s varchar(50), u int, unique (u))",
        "create table d.nokey (a int, b varchar(20))",
        "create table d.made (id int primary key auto_increment, a int, g int generated always as (a + 1) stored, key (g))",
    ] {
        client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

/// Until the server is gone.
fn write(mut client: RawClient, writer: u64, seed: u64) {
    let mut numbers = Random::new(seed);
    let mut random = |end| numbers.below(end);
    loop {
        let id = writer * 1000 + random(60);
        let number = random(1000);
        let statements: Vec<String> = match random(7) {
            0 => vec![format!("delete from d.t where id = {id}")],
            1 => vec![
                "begin".to_owned(),
                format!("replace into d.t values ({id}, {number}, 'two', {id})"),
                format!("insert into d.made (a) values ({number}), ({id})"),
                (if number % 3 == 0 { "rollback" } else { "commit" }).to_owned(),
            ],
            2 => vec![format!("update d.t set s = concat('u', n), n = n + 1 where id = {id}")],
            3 => vec![format!("insert into d.nokey values ({id}, 'x{number}')")],
            4 => vec![format!("delete from d.nokey where a = {id} limit 1")],
            _ => vec![format!(
                "insert into d.t values ({id}, {number}, null, null) on duplicate key update n = n + {number}"
            )],
        };
        for sql in statements {
            match client.execute(&sql) {
                Ok(()) => {}
                Err(error) if error.number == 1213 || error.number == 1205 => break,
                Err(_) => return,
            }
        }
    }
}

/// Writes to the source for a while, and lets `during` happen meanwhile.
fn under_load<T>(source: &TestServer, cycle: u64, length: Duration, during: impl FnOnce() -> T) -> T {
    let clients: Vec<(RawClient, RawClient)> =
        (0..WRITERS).map(|_| (source.log_in(), source.log_in())).collect();
    std::thread::scope(|scope| {
        let mut ids = Vec::new();
        for (writer, (mut client, killer)) in (0..).zip(clients) {
            let id = one(&mut client, "select connection_id()");
            scope.spawn(move || {
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    write(client, writer, cycle * 7919 + writer * 104_729 + 1);
                }));
            });
            ids.push((id, killer));
        }
        std::thread::sleep(length);
        let done = during();
        for (id, mut killer) in ids {
            let _ = killer.execute(&format!("kill {id}"));
        }
        done
    })
}

#[test]
fn a_replica_has_the_same_rows_after_kills_of_it() {
    let source = TestServer::start(SOURCE);
    make_tables(&source);
    let mut replica = TestServer::start(REPLICA);
    follow(&replica, &source);
    for cycle in 0..4u64 {
        let length = Duration::from_millis(200 + cycle * 150);
        let directory = under_load(&source, cycle, length, || replica.kill_nine());
        replica = TestServer::start_in(directory, REPLICA);
        wait_until_equal(&source, &replica);
        assert_same_tables(&source, &replica);
    }
    let count = one(&mut replica.log_in(), "select count(*) from d.t");
    assert_ne!(count, "0", "there was something to do");
    // What it has applied is in its own log under the same identifiers, so it is never applied here again.
    let (mut from, mut to) = (source.log_in(), replica.log_in());
    let [wanted, present] = [&mut from, &mut to].map(|client| one(client, "select @@global.gtid_executed"));
    assert_eq!(wanted, present);
}

/// Until the replica is where the source's log ends.
fn wait_until_position(source: &TestServer, replica: &TestServer) {
    let wanted = source.log_in().query("show binary log status").expect("a row").remove(0);
    let mut client = replica.log_in();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = status(&mut client);
        if now[9] == wanted[0] && now[21] == wanted[1] {
            return;
        }
        assert_eq!(now[36].as_deref(), Some("0"), "the applier has stopped: {:?}", now[37]);
        assert!(Instant::now() < deadline, "the replica does not follow to {wanted:?}: {now:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_position_alone_says_what_is_applied_after_kills() {
    let source = TestServer::start(PLAIN_SOURCE);
    let mut replica = TestServer::start(PLAIN_REPLICA);
    let change = format!(
        "change replication source to source_host = '127.0.0.1', source_port = {}, source_user = 'root', \
         source_connect_retry = 1",
        source.port
    );
    let mut client = replica.log_in();
    client.execute(&change).expect("a source");
    client.execute("start replica").expect("a start");
    make_tables(&source);
    for cycle in 0..4u64 {
        let length = Duration::from_millis(200 + cycle * 150);
        let directory = under_load(&source, cycle + 17, length, || replica.kill_nine());
        replica = TestServer::start_in(directory, PLAIN_REPLICA);
        wait_until_position(&source, &replica);
        assert_same_tables(&source, &replica);
    }
    // Rows that are applied twice would stay here.
    let count = one(&mut replica.log_in(), "select count(*) from d.nokey");
    assert_ne!(count, "0", "there was something to do");
}

#[test]
fn a_replica_has_the_same_rows_after_kills_of_its_source() {
    let mut source = TestServer::start(SOURCE);
    make_tables(&source);
    let replica = TestServer::start(REPLICA);
    follow(&replica, &source);
    for cycle in 0..4u64 {
        let clients: Vec<RawClient> = (0..WRITERS).map(|_| source.log_in()).collect();
        let directory = std::thread::scope(|scope| {
            for (writer, client) in (0..).zip(clients) {
                scope.spawn(move || {
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        write(client, writer, cycle * 31 + writer * 104_729 + 5);
                    }));
                });
            }
            std::thread::sleep(Duration::from_millis(200 + cycle * 150));
            source.kill_nine()
        });
        source = TestServer::start_in(directory, SOURCE);
        follow(&replica, &source);
        wait_until_equal(&source, &replica);
        assert_same_tables(&source, &replica);
    }
}

#[test]
fn a_source_that_ends_is_waited_for() {
    let source = TestServer::start(SOURCE);
    make_tables(&source);
    let replica = TestServer::start(REPLICA);
    follow(&replica, &source);
    wait_until_equal(&source, &replica);
    let (ended, _, directory) = source.terminate();
    assert!(ended.success(), "{ended}");
    let mut client = replica.log_in();
    let deadline = Instant::now() + PATIENCE;
    let told = loop {
        let now = status(&mut client);
        if now[34].as_deref() != Some("0") {
            break now;
        }
        assert!(Instant::now() < deadline, "the end is not noticed: {now:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(told[10].as_deref(), Some("Connecting"), "{:?}", told[35]);
    let source = TestServer::start_in(directory, SOURCE);
    source.log_in().execute("insert into d.t values (1, 1, 'later', 1)").expect("a row");
    follow(&replica, &source);
    wait_until_equal(&source, &replica);
    assert_same_tables(&source, &replica);
}

#[test]
fn options_are_obeyed_or_refused_and_encryption_is_never_given_up() {
    let source = TestServer::start(&["--log-bin", "--gtid-mode=ON", "--server-id=1", "--tls=OFF"]);
    source.log_in().execute("create user z identified by 'zz'").expect("an account");
    source.log_in().execute("grant replication slave on *.* to z").expect("a right");
    let replica = TestServer::start(REPLICA);
    let mut client = replica.log_in();
    for refused in [
        "source_bind = '127.0.0.1'",
        "source_tls_version = 'TLSv1.3'",
        "require_row_format = 1",
        "relay_log_pos = 4",
    ] {
        let error = client.execute(&format!("change replication source to {refused}")).expect_err(refused);
        assert_eq!(error.number, 1235, "{refused}");
    }
    client
        .execute("change replication source to source_bind = '', require_row_format = 0")
        .expect("not used");
    let mut fails_with = |options: &str, number: &str| {
        let change = format!(
            "change replication source to source_host = '127.0.0.1', source_port = {}, source_user = 'z', \
             source_password = 'zz', source_connect_retry = 1, source_retry_count = 0, {options}",
            source.port
        );
        client.execute(&change).expect("a source");
        client.execute("start replica io_thread").expect("a start");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = status(&mut client);
            if now[34].as_deref() == Some(number) {
                break;
            }
            assert!(
                now[10].as_deref() != Some("Yes") && Instant::now() < deadline,
                "{options}: {:?}",
                now[35]
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        client.execute("stop replica").expect("a stop");
    };
    fails_with("source_ssl = 1", "2026");
    fails_with("source_ssl = 0", "2061");
}

#[test]
fn equal_server_ids_are_refused_and_two_servers_follow_each_other() {
    let one_server = TestServer::start(SOURCE);
    let other = TestServer::start(REPLICA);
    let same = TestServer::start(SOURCE);
    follow(&same, &one_server);
    let mut client = same.log_in();
    let deadline = Instant::now() + PATIENCE;
    let refused = loop {
        let now = status(&mut client);
        if now[34].as_deref() != Some("0") {
            break now[35].clone().unwrap_or_default();
        }
        assert!(Instant::now() < deadline, "it is not refused: {now:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(refused.contains("equal MySQL server ids"), "{refused}");

    make_tables(&one_server);
    follow(&other, &one_server);
    wait_until_equal(&one_server, &other);
    follow(&one_server, &other);
    for round in 0..5 {
        one_server.log_in().execute(&format!("insert into d.nokey values ({round}, 'here')")).expect("a row");
        other.log_in().execute(&format!("insert into d.nokey values ({round}, 'there')")).expect("a row");
    }
    wait_until_equal(&one_server, &other);
    wait_until_equal(&other, &one_server);
    assert_same_tables(&one_server, &other);
    assert_eq!(rows(&other, "d.nokey").len(), 10, "nothing goes round");
}

/// Until the applier has ended by itself.
fn wait_until_ended(client: &mut RawClient) -> Vec<Option<String>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = status(client);
        if now[11].as_deref() == Some("No") {
            assert_eq!(now[36].as_deref(), Some("0"), "{:?}", now[37]);
            return now;
        }
        assert!(Instant::now() < deadline, "the applier does not end: {now:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_applier_ends_where_until_says() {
    let source = TestServer::start(SOURCE);
    make_tables(&source);
    let replica = TestServer::start(REPLICA);
    follow(&replica, &source);
    wait_until_equal(&source, &replica);
    let mut client = replica.log_in();
    client.execute("stop replica").expect("a stop");
    let mut writer = source.log_in();
    let mut places = Vec::new();
    for id in 1..=8 {
        writer.execute(&format!("insert into d.t values ({id}, 0, null, null)")).expect("a row");
        places.push(writer.query("show binary log status").expect("a row").remove(0));
    }
    let uuid = one(&mut writer, "select @@server_uuid");
    let last: u64 =
        places[7][4].as_deref().and_then(|set| set.rsplit('-').next()?.parse().ok()).expect("a set");
    let mut run_until = |condition: &str, name: &str, count: &str| {
        client.execute(&format!("start replica until {condition}")).expect("a start");
        let ended = wait_until_ended(&mut client);
        assert_eq!(ended[23].as_deref(), Some(name), "{condition}");
        assert_eq!(one(&mut client, "select count(*) from d.t"), count, "{condition}");
        client.execute("stop replica").expect("a stop");
    };
    run_until(&format!("sql_before_gtids = '{uuid}:{}'", last - 5), "SQL_BEFORE_GTIDS", "2");
    run_until(&format!("sql_after_gtids = '{uuid}:{}-{}'", last - 6, last - 4), "SQL_AFTER_GTIDS", "4");
    // Both are so already.
    run_until(&format!("sql_before_gtids = '{uuid}:{}'", last - 5), "SQL_BEFORE_GTIDS", "4");
    run_until(&format!("sql_after_gtids = '{uuid}:1-{}'", last - 4), "SQL_AFTER_GTIDS", "4");
    let [file, position] = [0, 1].map(|field| places[5][field].clone().unwrap_or_default());
    let place = format!("source_log_file = '{file}', source_log_pos = {position}");
    run_until(&place, "Source", "6");
    run_until("sql_after_mts_gaps", "DONE", "6");
    client.execute("start replica").expect("a start");
    wait_until_equal(&source, &replica);
    let shown = client
        .query("select last_applied_transaction, service_state from performance_schema.replication_applier_status_by_worker")
        .expect("a worker");
    assert_eq!(shown, [[Some(format!("{uuid}:{last}")), Some("ON".to_owned())]]);
    let receiver = "select service_state, source_uuid from performance_schema.replication_connection_status";
    assert_eq!(client.query(receiver).expect("a receiver"), [[Some("ON".to_owned()), Some(uuid)]]);
    assert_eq!(status(&mut client)[23].as_deref(), Some("None"));
}

#[test]
fn conflicts_stop_the_applier_and_a_replica_that_only_reads_follows() {
    let source = TestServer::start(SOURCE);
    make_tables(&source);
    let replica = TestServer::start(REPLICA);
    replica.log_in().execute("set global super_read_only = on").expect("a setting");
    follow(&replica, &source);
    source.log_in().execute("insert into d.t values (1, 1, 'a', 1), (2, 2, 'b', 2)").expect("rows");
    wait_until_equal(&source, &replica);
    let mut client = replica.log_in();
    let refused = client.execute("delete from d.t").expect_err("it only reads");
    assert_eq!(refused.number, 1290);
    client.execute("set global super_read_only = off, global read_only = off").expect("a setting");
    client.execute("set sql_log_bin = 0").expect("a setting");
    client.execute("delete from d.t where id = 1").expect("one row less");
    source.log_in().execute("update d.t set n = 5 where id = 1").expect("a row");
    let deadline = Instant::now() + PATIENCE;
    while status(&mut client)[36].as_deref() != Some("1032") {
        assert!(Instant::now() < deadline, "the missing row is not noticed");
        std::thread::sleep(Duration::from_millis(20));
    }
    client.execute("set global replica_exec_mode = 'IDEMPOTENT'").expect("a setting");
    client.execute("start replica").expect("a start");
    wait_until_equal(&source, &replica);
    assert_same_tables(&source, &replica);
}

/// Each update is a transaction of its own; the unique value goes from row to row.
fn hand_on(source: &TestServer, round: u64) {
    let mut client = source.log_in();
    for id in 0..30 {
        client.execute(&format!("update d.t set n = n + {round}, u = null where id = {id}")).expect("a row");
        client.execute(&format!("update d.t set u = 100 where id = {id}")).expect("a row");
        client.execute(&format!("update d.t set n = n + 1 where id = {}", 30 + id)).expect("a row");
        client.execute(&format!("update d.t set u = null where id = {id}")).expect("a row");
    }
}

#[test]
fn workers_keep_the_order_and_give_way_to_local_locks() {
    let source = TestServer::start(SOURCE);
    make_tables(&source);
    let mut writer = source.log_in();
    for id in 0..60 {
        writer.execute(&format!("insert into d.t values ({id}, 0, null, null)")).expect("a row");
    }
    let replica = TestServer::start(REPLICA);
    follow(&replica, &source);
    wait_until_equal(&source, &replica);
    let mut local = replica.log_in();
    for (round, (lock, unlock)) in (1..).zip([
        ("select * from d.t where id = 7 for update", "commit"),
        ("lock tables d.t write", "unlock tables"),
        ("lock tables d.t read", "unlock tables"),
        ("flush tables with read lock", "unlock tables"),
    ]) {
        local.execute("begin").expect("a transaction");
        local.query(lock).map_or_else(|error| panic!("{lock}: {error:?}"), drop);
        hand_on(&source, round);
        std::thread::sleep(Duration::from_millis(1500));
        local.execute(unlock).expect("an end");
        wait_until_equal(&source, &replica);
        assert_same_tables(&source, &replica);
    }
    let retries = "select count_transactions_retries from performance_schema.replication_applier_status";
    assert_ne!(one(&mut local, retries), "0", "a worker has waited for a later one or for a local lock");
    let workers = "select count(*) from performance_schema.processlist where user = 'system user'";
    assert_eq!(one(&mut local, workers), "5", "an applier and its four workers");
}
