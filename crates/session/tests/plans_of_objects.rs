//! Kept plans depend on the tables they name: a change of another definition leaves them, a change of their own does
//! not, and a name that means something else now is never answered by what it meant.
mod support;

use std::sync::Arc;

use datum::Value;
use instance::{Instance, ResultShape};
use session::{CursorKind, PreparedInfo};
use support::{Client, Printer};

fn run(test: impl AsyncFnOnce(Arc<Instance>, Client)) {
    support::run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("create database d; use d").await;
        client
            .query("create table t1 (a int primary key, b int); insert into t1 values (1, 10), (2, 20)")
            .await;
        client.query("create table t2 (a int primary key, b int); insert into t2 values (1, 11)").await;
        // The first use of a table is a guess that is planned anew.
        client.query("select * from t1; select * from t2").await;
        test(server, client).await;
    });
}

/// Definitions that are not `t1`'s.
const OTHERS: [&str; 12] = [
    "alter table t2 add c int",
    "alter table t2 add key (c)",
    "create table t3 (a int)",
    "rename table t3 to t4",
    "truncate table t2",
    "drop table t4",
    "create database e",
    "alter database e character set latin1",
    "drop database e",
    "create user somebody",
    "grant select on d.* to somebody",
    "set persist max_connections = 100",
];

async fn misses(client: &mut Client) -> u64 {
    let answer = client.query("show session status like 'Evenkeel_plan_cache_misses'").await;
    let number = answer.split_whitespace().last().and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("a counter: {answer}"))
}

/// How often the statement is planned in one run of it.
async fn planned(client: &mut Client, text: &str, answer: &str) -> u64 {
    let before = misses(client).await;
    assert_eq!(client.query(text).await, answer, "{text}");
    misses(client).await - before
}

/// Runs the statement until its plan is kept. A changed table gets new statistics in the background, which make the
/// plan anew once more, whenever they are there.
async fn settle(client: &mut Client, text: &str, answer: &str) {
    let mut plans = 0;
    while planned(client, text, answer).await > 0 {
        plans += 1;
        assert!(plans <= 2, "planned again and again: {text}");
    }
}

#[test]
fn definitions_of_other_tables_leave_a_plan() {
    run(async |_, mut client| {
        let text = "select b from t1 where a = 1";
        assert_eq!(planned(&mut client, text, "b\n10\n").await, 1);
        client.query("analyze table t1").await;
        settle(&mut client, text, "b\n10\n").await;
        for other in OTHERS {
            let answer = client.query(other).await;
            assert!(answer.starts_with("ok"), "{other}: {answer}");
            assert_eq!(planned(&mut client, text, "b\n10\n").await, 0, "{other}");
        }
        for own in ["alter table t1 add c int", "alter table t1 modify b bigint", "create index i on t1 (b)"]
        {
            let answer = client.query(own).await;
            assert!(answer.starts_with("ok"), "{own}: {answer}");
            assert!(planned(&mut client, text, "b\n10\n").await > 0, "{own}");
            settle(&mut client, text, "b\n10\n").await;
        }
    });
}

#[test]
fn a_name_that_means_something_else_is_planned_anew() {
    run(async |_, mut client| {
        let text = "select b from t1 where a = 1";
        planned(&mut client, text, "b\n10\n").await;
        client.query("rename table t1 to x, t2 to t1, x to t2").await;
        assert_eq!(client.query(text).await, "b\n11\n");
        client
            .query("drop table t1; create table t1 (b varchar(9), a int); insert into t1 values ('new', 1)")
            .await;
        assert_eq!(client.query(text).await, "b\nnew\n");
        client.query("drop table t1").await;
        assert_eq!(client.query(text).await, "ERROR 1146 (42S02): Table 'd.t1' doesn't exist\n");
        client.query("rename table t2 to t1").await;
        assert_eq!(client.query(text).await, "b\n10\n");
        client.query("drop database d; create database d; use d").await;
        assert_eq!(client.query(text).await, "ERROR 1146 (42S02): Table 'd.t1' doesn't exist\n");
    });
}

async fn prepare(client: &mut Client, text: &str) -> PreparedInfo {
    client.session.prepare(text.as_bytes()).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

async fn execute(client: &mut Client, info: &PreparedInfo) -> (String, Arc<ResultShape>) {
    let mut printer = Printer::default();
    client.session.execute(info.id, vec![Value::Int(1)], CursorKind::None, &mut printer).await;
    (printer.text, printer.shape.expect("a query"))
}

#[test]
fn prepared_statements_keep_their_plans_too() {
    run(async |server, mut client| {
        let mut other = Client::connect(&server).await;
        let info = prepare(&mut client, "select b from t1 where a = ?").await;
        client.query("analyze table t1").await;
        execute(&mut client, &info).await;
        let (_, before) = execute(&mut client, &info).await;
        for change in OTHERS {
            other.query(&format!("use d; {change}")).await;
            let (rows, after) = execute(&mut client, &info).await;
            assert_eq!(rows, "b\n10\n", "{change}");
            assert!(Arc::ptr_eq(&before, &after), "{change}");
        }
        other.query("alter table t1 modify b varchar(20)").await;
        let again = prepare(&mut client, "select b from t1 where a = ?").await;
        let told = again.columns.expect("a query");
        assert_eq!(told.columns[0].column_type.0, 253, "PREPARE tells the new type");
        let (rows, after) = execute(&mut client, &info).await;
        assert!(rows == "b\n10\n" && !Arc::ptr_eq(&before, &after));
    });
}

#[test]
fn a_new_relation_changes_the_plan_of_a_parent() {
    run(async |_, mut client| {
        let text = "delete from t1 where a = 1";
        client.query("begin").await;
        client.query(text).await;
        client.query("rollback").await;
        client.query("create table c (a int primary key, foreign key (a) references t1 (a)); insert into c values (1)").await;
        let answer = client.query(text).await;
        assert!(answer.starts_with("ERROR 1451"), "{answer}");
        client.query("drop table c").await;
        assert_eq!(client.query(text).await, "ok 1 rows\n");
    });
}
