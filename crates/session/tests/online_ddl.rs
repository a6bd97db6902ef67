//! Changes of a table beside sessions that read and write it: nobody is stopped, and the result is what a copy made offline
//! would be.
mod support;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use instance::{Instance, KillKind};
use support::{Client, run};

const SOUND: &str = "Table\tOp\tMsg_type\tMsg_text\nd.t\tcheck\tstatus\tOK\n";

async fn client(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client.query("use d").await;
    client
}

/// A table with `rows` rows (a power of two).
async fn table(server: &Arc<Instance>, rows: u32) -> Client {
    let mut client = Client::connect(server).await;
    for text in [
        "create database d",
        "use d",
        "create table t (id int primary key, a int, b varchar(40), c int, l longtext)",
    ] {
        assert!(client.query(text).await.starts_with("ok"));
    }
    client.query("insert into t values (0, 0, 'row 0', 0, null)").await;
    let mut present = 1;
    while present < rows {
        let text = format!(
            "insert into t select id + {present}, (id + {present}) * 7, concat('row ', id + {present}), 0, null from t"
        );
        assert!(client.query(&text).await.starts_with("ok"));
        present *= 2;
    }
    client
}

/// What a writer does next: changes, some of them undone, in whole or in part.
fn texts(number: u64) -> Vec<String> {
    let (id, other) = (number * 7919 % 1500, number * 104_729 % 1500);
    let own = 1_000_000 + number;
    match number % 7 {
        0 => vec![format!("update t set a = a + 100000, b = left(concat(b, '!'), 40) where id = {id}")],
        1 => vec![format!("delete from t where id = {id}")],
        2 => vec![format!("insert into t (id, a, b, c) values ({own}, {own}, 'new', 1)")],
        3 => vec![
            "begin".to_owned(),
            format!("update t set a = {own} where id = {id}"),
            format!("insert into t (id, a, b, c) values ({own}, {own}, 'gone', 1)"),
            "rollback".to_owned(),
        ],
        4 => vec![
            "begin".to_owned(),
            format!("update t set a = {own} where id = {id}"),
            "savepoint s".to_owned(),
            format!("update t set a = a + 1, b = 'undone' where id in ({id}, {other})"),
            "rollback to s".to_owned(),
            "commit".to_owned(),
        ],
        5 => vec![format!("update t set id = {own} where id = {other}")],
        _ => vec![
            format!("update t set c = c + 1 where id = {id}"),
            format!("update t set l = repeat('long', {}) where id = {other}", id * 10),
        ],
    }
}

/// Writes until told to stop; the number of statements that did not succeed.
fn writer(mut client: Client, first: u64, stop: &Rc<Cell<bool>>) -> tokio::task::JoinHandle<(u64, u64)> {
    let stop = stop.clone();
    tokio::task::spawn_local(async move {
        let (mut done, mut failed) = (0, 0);
        let mut number = first;
        while !stop.get() {
            for text in texts(number) {
                let answer = client.query(&text).await;
                done += 1;
                failed += u64::from(answer.starts_with("ERROR"));
            }
            number += 10;
            tokio::task::yield_now().await;
        }
        (done, failed)
    })
}

/// Makes the change while three others write; afterwards every row has its entries.
async fn beside_writers(server: &Arc<Instance>, client: &mut Client, change: &str, round: u64) -> u64 {
    let stop = Rc::new(Cell::new(false));
    let mut writers = Vec::new();
    for number in 0..3 {
        let own = self::client(server).await;
        writers.push(writer(own, round * 100_000 + number, &stop));
    }
    tokio::time::sleep(Duration::from_millis(5)).await;
    let answer = client.query(change).await;
    assert!(answer.starts_with("ok"), "{change}: {answer}");
    stop.set(true);
    let mut written = 0;
    for writer in writers {
        let (done, failed) = writer.await.expect("it ends");
        assert_eq!(failed, 0, "{change}");
        written += done;
    }
    assert_eq!(client.query("check table t").await, SOUND, "{change}");
    written
}

#[test]
fn indexes_are_built_beside_writers() {
    run(async |server| {
        let mut client = table(&server, 2048).await;
        let mut written = 0;
        let changes = [
            "alter table t add index (a), lock=none",
            "create index b_part on t (b(5), a desc) algorithm=inplace lock=none",
            "alter table t add unique u (a, id), add index (c)",
            "alter table t add column d int not null default 5, add index (d, a)",
        ];
        for (round, change) in changes.into_iter().enumerate() {
            written += beside_writers(&server, &mut client, change, round as u64 + 1).await;
        }
        assert!(written > 100, "{written} statements beside");
        let by_index =
            client.query("select count(*), sum(a) from t force index (u) where a is not null").await;
        let by_row = client.query("select count(*), sum(a) from t ignore index (u, a)").await;
        assert_eq!(by_index.lines().nth(1), by_row.lines().nth(1));
    });
}

#[test]
fn tables_are_copied_beside_writers() {
    run(async |server| {
        let mut client = table(&server, 1024).await;
        let mut written = 0;
        let changes = [
            "alter table t force, lock=none",
            "alter table t add unique u (a, id), engine=innodb, algorithm=inplace, lock=none",
            "alter table t modify c int not null, lock=none",
            "alter table t add index (c, b), force",
        ];
        for (round, change) in changes.into_iter().enumerate() {
            written += beside_writers(&server, &mut client, change, round as u64 + 1).await;
        }
        assert!(written > 100, "{written} statements beside");
        client.query("create table k like t").await;
        client.query("insert into k select * from t").await;
        let sums =
            |table| format!("select count(*), sum(a), sum(c), sum(length(b)), sum(crc32(l)) from {table}");
        assert_eq!(client.query(&sums("t")).await, client.query(&sums("k")).await);
        // Readers go on where writers have to wait.
        let stop = Rc::new(Cell::new(false));
        let (mut reader, until) = (self::client(&server).await, stop.clone());
        let reading = tokio::task::spawn_local(async move {
            let mut reads = 0;
            while !until.get() {
                assert!(reader.query("select c from t where id = 5").await.starts_with('c'));
                reads += 1;
                tokio::task::yield_now().await;
            }
            reads
        });
        assert!(client.query("alter table t modify a bigint, lock=shared").await.starts_with("ok"));
        assert!(
            client
                .query("alter table t drop primary key, add primary key (a, id), lock=shared")
                .await
                .starts_with("ok")
        );
        stop.set(true);
        assert!(reading.await.expect("it ends") > 1);
        assert_eq!(client.query("check table t").await, SOUND);
        server.engine().verify().await.expect("no page is lost");
    });
}

/// The same change in both tables, or in none.
async fn change_both(client: &mut Client, texts: &[String]) -> bool {
    let mut both = vec!["begin".to_owned()];
    for text in texts.iter().filter(|text| !["begin", "commit", "rollback"].contains(&text.as_str())) {
        both.push(text.clone());
        if text.contains(" t ") {
            both.push(text.replacen(" t ", " s ", 1).replace("from t ", "from s "));
        }
    }
    both.push(
        if texts.last().is_some_and(|last| last == "rollback") { "rollback" } else { "commit" }.to_owned(),
    );
    for text in both {
        let answer = client.query(&text).await;
        if answer.starts_with("ERROR") {
            // Two of them that wait for each other; the loser has changed nothing.
            assert!(answer.starts_with("ERROR 1213"), "{text}: {answer}");
            return false;
        }
    }
    true
}

/// Makes the change while three others write to the table and to one that stays as it is; then both hold the same.
async fn beside_twin(server: &Arc<Instance>, client: &mut Client, change: &str, round: u64) -> u64 {
    let stop = Rc::new(Cell::new(false));
    let mut writers = Vec::new();
    for number in 0..3 {
        let (mut own, stop) = (self::client(server).await, stop.clone());
        writers.push(tokio::task::spawn_local(async move {
            let (mut done, mut next) = (0, round * 100_000 + number);
            while !stop.get() {
                done += u64::from(change_both(&mut own, &texts(next)).await);
                next += 10;
                tokio::task::yield_now().await;
            }
            done
        }));
    }
    tokio::time::sleep(Duration::from_millis(5)).await;
    let answer = client.query(change).await;
    stop.set(true);
    let mut written = 0;
    for writer in writers {
        written += writer.await.expect("it ends");
    }
    assert!(answer.starts_with("ok"), "{change}: {answer}");
    assert_eq!(client.query("check table t").await, SOUND, "{change}");
    let columns = "count(*), sum(id), sum(a), sum(crc32(convert(b using utf8mb4))), sum(c), sum(length(l))";
    let (changed, twin) = (
        client.query(&format!("select {columns} from t")).await,
        client.query(&format!("select {columns} from s")).await,
    );
    assert_eq!(changed, twin, "{change}");
    written
}

#[test]
fn rows_are_made_anew_beside_writers() {
    run(async |server| {
        let mut client = table(&server, 512).await;
        assert!(client.query("create table s as select * from t").await.starts_with("ok"));
        assert!(client.query("alter table s add primary key (id)").await.starts_with("ok"));
        let mut written = 0;
        let changes = [
            "alter table t modify a bigint",
            "alter table t convert to character set latin1",
            "alter table t change c c varchar(20), add index (c, b(3))",
            "alter table t drop primary key, add primary key (a, id), add unique (id), lock=none",
            "alter table t modify a varchar(30) not null, modify c int",
            "alter table t drop primary key, drop index id, add index (id)",
            "alter table t modify b varchar(60), add unique u (id, b), add primary key (id), algorithm=inplace",
            "alter table t drop primary key, drop index u, add index (id), algorithm=copy",
            "alter table t add primary key (id desc), modify a int, add check (c >= 0)",
            "alter table t add index ((a + c)), add d int as (a + 1) stored",
        ];
        for (round, change) in changes.into_iter().enumerate() {
            written += beside_twin(&server, &mut client, change, round as u64 + 1).await;
        }
        assert!(written > 100, "{written} statements beside");
        server.engine().verify().await.expect("no page is lost");
    });
}

#[test]
fn a_row_that_cannot_be_made_anew_ends_the_change() {
    run(async |server| {
        let mut client = table(&server, 256).await;
        let before = client.query("show create table t").await;
        let cases = [
            ("alter table t modify a smallint", "(9000000, 100000, 'x', 0, null)", "ERROR 1264 (22003)"),
            ("alter table t modify b int", "(9000000, 1, 'row x', 0, null)", "ERROR 1366 (HY000)"),
            (
                "alter table t drop primary key, add primary key (a)",
                "(9000000, 7, 'x', 0, null)",
                "ERROR 1062",
            ),
            (
                "alter table t modify a int not null, force",
                "(9000000, null, 'x', 0, null)",
                "ERROR 1138 (22004)",
            ),
        ];
        client.query("create table t_2 like t").await;
        client.query("insert into t_2 select id, a, id, c, l from t").await;
        client.query("drop table t").await;
        client.query("rename table t_2 to t").await;
        for (change, row, error) in cases {
            // Keeps the change from its end.
            let mut reader = self::client(&server).await;
            reader.query("begin").await;
            reader.query("select count(*) from t").await;
            let mut own = self::client(&server).await;
            let changing = tokio::task::spawn_local(async move { own.query(change).await });
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(!changing.is_finished());
            assert!(client.query(&format!("insert into t values {row}")).await.starts_with("ok"), "{change}");
            reader.query("commit").await;
            let answer = changing.await.expect("it ends");
            assert!(answer.starts_with(error), "{change}: {answer}");
            assert_eq!(client.query("show create table t").await, before);
            assert_eq!(client.query("delete from t where id = 9000000").await, "ok 1 rows\n");
            assert_eq!(client.query("check table t").await, SOUND);
        }
        server.engine().verify().await.expect("no page is lost");
    });
}

#[test]
fn rivals_that_come_meanwhile_are_found() {
    run(async |server| {
        let mut client = table(&server, 2048).await;
        let mut other = self::client(&server).await;
        let stop = Rc::new(Cell::new(false));
        let until = stop.clone();
        let beside = tokio::task::spawn_local(async move {
            let mut number = 0;
            while !until.get() {
                number += 1;
                // A pair that is there for a moment, then one that stays.
                other.query("begin").await;
                other
                    .query(&format!("insert into t values ({}, 7, 'pair', 0, null)", 5_000_000 + number))
                    .await;
                other.query("rollback").await;
                tokio::task::yield_now().await;
            }
            other.query("insert into t values (9000000, 7, 'pair', 0, null)").await
        });
        assert!(client.query("alter table t add unique (a)").await.starts_with("ok"));
        stop.set(true);
        let refused = beside.await.expect("it ends");
        assert!(refused.starts_with("ERROR 1062"), "{refused}");
        assert_eq!(client.query("check table t").await, SOUND);
        client.query("alter table t drop index a").await;
        client.query("insert into t values (9000000, 7, 'pair', 0, null)").await;
        let answer = client.query("alter table t add unique (a)").await;
        assert_eq!(answer, "ERROR 1062 (23000): Duplicate entry '7' for key 't.a'\n");
        assert_eq!(client.query("check table t").await, SOUND);
    });
}

#[test]
fn kill_takes_a_build_back() {
    run(async |server| {
        let mut client = table(&server, 1024).await;
        // It keeps the change from its end.
        let mut reader = self::client(&server).await;
        reader.query("begin").await;
        reader.query("select count(*) from t").await;
        let own = self::client(&server).await;
        let process = own.session.process().clone();
        let building = tokio::task::spawn_local(async move {
            let mut own = own;
            own.query("alter table t add index (b), add unique (a)").await
        });
        tokio::time::sleep(Duration::from_millis(400)).await;
        let stages = "select event_name, work_completed > 0, work_completed <= work_estimated
            from performance_schema.events_stages_current";
        let shown = client.query(stages).await;
        assert!(shown.contains("stage/innodb/alter table ("), "{shown}");
        assert!(shown.ends_with("\t1\t1\n"), "{shown}");
        process.kill.kill(KillKind::Query);
        let answer = building.await.expect("it ends");
        assert!(answer.starts_with("ERROR 1317"), "{answer}");
        assert!(client.query("insert into t values (-1, -1, 'x', 0, null)").await.starts_with("ok"));
        reader.query("rollback").await;
        let shown = client.query("show create table t").await;
        assert!(!shown.contains("KEY `b`"), "{shown}");
        assert!(client.query("alter table t add index (b), add unique (a)").await.starts_with("ok"));
        assert_eq!(client.query("check table t").await, SOUND);
    });
}

#[test]
fn a_definition_that_waits_stops_nobody_for_long() {
    run(async |server| {
        let mut client = table(&server, 16).await;
        let (mut holder, mut later) = (self::client(&server).await, self::client(&server).await);
        holder.query("begin").await;
        holder.query("select count(*) from t").await;
        let altering = tokio::task::spawn_local(async move {
            let answer = client.query("alter table t drop column c").await;
            (client, answer)
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!altering.is_finished());
        let began = std::time::Instant::now();
        assert!(later.query("select count(*) from t").await.starts_with("count"));
        assert!(later.query("insert into t values (100, 1, 'x', 0, null)").await.starts_with("ok"));
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        // Who has read the table may also write to it.
        assert!(holder.query("insert into t values (101, 1, 'x', 0, null)").await.starts_with("ok"));
        let state = "select state from information_schema.processlist where info like 'alter%'";
        assert_eq!(later.query(state).await, "state\nWaiting for table metadata lock\n");
        holder.query("commit").await;
        let (mut client, answer) = altering.await.expect("it ends");
        assert!(answer.starts_with("ok"), "{answer}");
        client.query("set lock_wait_timeout = 1").await;
        holder.query("begin").await;
        holder.query("select count(*) from t").await;
        let answer = client.query("drop table t").await;
        assert!(answer.starts_with("ERROR 1205"), "{answer}");
    });
}
