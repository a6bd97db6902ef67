//! What the statements that servers run most cost in memory that is taken and given back: so many allocations and bytes, and no more.
//!
//! Invariant: the numbers are those of the code, the same on each machine and under any load. Whoever makes one greater has to say here why.
mod support;

use std::sync::Arc;

use datum::{SqlError, Value};
use env::coroutine::{Allocations, CountedAllocator, thread_allocations};
use instance::ResultShape;
use session::{CursorKind, FlushFuture, OkInfo, ResultSink, Session, StatusInfo};
use support::{Client, run};

#[global_allocator]
static ALLOCATOR: CountedAllocator<std::alloc::System> = CountedAllocator(std::alloc::System);

const ROWS: i64 = 200;
const EXECUTIONS: i64 = 101;

/// Counts what it is told.
#[derive(Default)]
struct Silent {
    rows: u64,
    changed: u64,
}

impl ResultSink for Silent {
    fn columns(&mut self, _: &Arc<ResultShape>) {}

    fn row(&mut self, _: &[Value]) {
        self.rows += 1;
    }

    fn end_rows(&mut self, _: &StatusInfo) {}

    fn cursor_opened(&mut self, _: &StatusInfo) {}

    fn ok(&mut self, ok: &OkInfo) {
        self.changed += ok.affected_rows;
    }

    fn error(&mut self, error: &SqlError) {
        panic!("{error}");
    }

    fn needs_flush(&self) -> bool {
        false
    }

    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Ok(()) })
    }
}

/// What one execution takes, the middle one of many: now and then something grows that serves many statements.
async fn cost_of(mut execute: impl AsyncFnMut(i64, &mut Silent)) -> Allocations {
    let mut sink = Silent::default();
    let mut costs = Vec::new();
    for number in 0..EXECUTIONS {
        let before = thread_allocations();
        execute(number, &mut sink).await;
        let after = thread_allocations();
        costs.push((after.count - before.count, after.bytes - before.bytes));
    }
    let rows = sink.rows + sink.changed;
    assert!(rows > 0 && rows.is_multiple_of(EXECUTIONS as u64), "each finds or changes as many: {rows}");
    costs.sort_unstable();
    let (count, bytes) = costs[costs.len() / 2];
    Allocations { count, bytes }
}

async fn cost_of_prepared(
    session: &mut Session,
    text: &str,
    values: impl Fn(i64) -> Vec<Value>,
) -> Allocations {
    let info = session.prepare(text.as_bytes()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    // The values come from the connection, whose cost they are.
    let mut all: Vec<Vec<Value>> = (0..EXECUTIONS).map(values).collect();
    cost_of(async |number, sink| {
        let values = std::mem::take(&mut all[number as usize]);
        session.execute(info.id, values, CursorKind::None, sink).await;
    })
    .await
}

async fn cost_of_text(session: &mut Session, text: impl Fn(i64) -> String) -> Allocations {
    let texts: Vec<String> = (0..EXECUTIONS).map(text).collect();
    cost_of(async |number, sink| session.query(texts[number as usize].as_bytes(), sink).await).await
}

#[test]
fn statements_take_no_more_memory_than_they_did() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("create database d; use d").await;
        client
            .query("create table t (id int primary key, k int not null, c char(120) not null, key (k))")
            .await;
        for id in 1..=ROWS {
            client.query(&format!("insert into t values ({id}, {id}, repeat('x', 119))")).await;
        }
        client.query("create table r as select id, concat(400 - id, c) as c from t").await;
        client.query("alter table r add primary key (id)").await;
        let costs = costs(&mut client.session).await;
        let are_too_high: Vec<_> =
            costs.iter().filter(|(_, cost, most)| cost.count > most.0 || cost.bytes > most.1).collect();
        assert!(are_too_high.is_empty(), "more than the count and the bytes behind them: {are_too_high:#?}");
    });
}

/// How often a program's loop runs a statement.
const ITERATIONS: u64 = 1_000;

/// What one iteration of a loop around the statements takes, its counter and condition included.
async fn cost_in_program(session: &mut Session, statements: &str) -> Allocations {
    let mut sink = Silent::default();
    session.query(b"drop procedure if exists p", &mut sink).await;
    let text = format!(
        "create procedure p() begin declare i int default 0; declare v int;
             while i < {ITERATIONS} do {statements} set i = i + 1; end while; end"
    );
    session.query(text.as_bytes(), &mut sink).await;
    // What is made once is made by the first call.
    session.query(b"call p()", &mut sink).await;
    let before = thread_allocations();
    session.query(b"call p()", &mut sink).await;
    let after = thread_allocations();
    Allocations {
        count: (after.count - before.count) / ITERATIONS,
        bytes: (after.bytes - before.bytes) / ITERATIONS,
    }
}

/// A statement that were read or planned in each iteration would take hundreds.
#[test]
fn programs_read_and_plan_their_statements_once() {
    run(async |server| {
        let mut client = Client::connect(&server).await;
        client.query("create database d; use d; set @x = 1").await;
        client.query("create function f(a int) returns int deterministic return a + 1").await;
        client.query("create procedure nothing() begin end").await;
        client
            .query("create procedure two(in a int, out b int) begin set b = a + 1; set b = b * 2; end")
            .await;
        client.query("prepare s from 'do 1'").await;
        client.query("prepare t from 'select ? + 1 from dual where 1 = 0'").await;
        let session = &mut client.session;
        let costs = [
            ("nothing", cost_in_program(session, "").await, (2, 100)),
            ("SET of a user variable", cost_in_program(session, "set @y = i;").await, (5, 200)),
            ("SET with one", cost_in_program(session, "set @x = @x + i;").await, (5, 200)),
            ("DO", cost_in_program(session, "do i + @x;").await, (4, 150)),
            ("CALL", cost_in_program(session, "call nothing();").await, (6, 17_000)),
            ("CALL with arguments", cost_in_program(session, "call two(i + 1, v);").await, (13, 18_000)),
            ("EXECUTE", cost_in_program(session, "execute s;").await, (38, 45_000)),
            ("EXECUTE with a value", cost_in_program(session, "execute t using @x;").await, (17, 19_000)),
            ("a function", cost_in_program(session, "set v = f(i);").await, (32, 11_000)),
        ];
        let are_too_high: Vec<_> =
            costs.iter().filter(|(_, cost, most)| cost.count > most.0 || cost.bytes > most.1).collect();
        assert!(are_too_high.is_empty(), "more than the count and the bytes behind them: {are_too_high:#?}");
    });
}

/// Each with the most that it may be; changes have room for a wait for the log, whose waker is kept somewhere.
async fn costs(session: &mut Session) -> Vec<(&'static str, Allocations, (u64, u64))> {
    let point = |number| vec![Value::Int(number + 1)];
    let select = "select c from t where id = ?";
    let select = cost_of_prepared(session, select, point).await;
    let select_text = |number| format!("select c from t where id = {}", number + 1);
    let select_text = cost_of_text(session, select_text).await;
    let values = |number| vec![Value::bytes(format!("{number:0>119}").as_str()), Value::Int(number + 1)];
    let update = cost_of_prepared(session, "update t set c = ? where id = ?", values).await;
    let update_index = "update t set k = k + 1000 where id = ?";
    let update_index = cost_of_prepared(session, update_index, point).await;
    let values = |number| vec![Value::Int(number + 1 + ROWS)];
    let insert = cost_of_prepared(session, "insert into t values (?, 5, 'y')", values).await;
    let insert_text = |number| format!("insert into t values ({}, 5, 'y')", number + 1 + 2 * ROWS);
    let insert_text = cost_of_text(session, insert_text).await;
    let range = |number| vec![Value::Int(number % 100 + 1), Value::Int(number % 100 + 100)];
    let ordered = "select c from r where id between ? and ? order by c";
    let ordered = cost_of_prepared(session, ordered, range).await;
    let distinct = "select distinct c from r where id between ? and ? order by c";
    let distinct = cost_of_prepared(session, distinct, range).await;
    vec![
        ("prepared range of 100 rows in order", ordered, (200, 115_000)),
        ("prepared range of 100 distinct rows in order", distinct, (320, 210_000)),
        ("prepared point select", select, (5, 375)),
        ("point select as text", select_text, (6, 503)),
        ("prepared update", update, (22, 2_500)),
        ("prepared update of an index", update_index, (34, 12_000)),
        ("prepared insert", insert, (17, 1_400)),
        ("insert as text", insert_text, (19, 1_500)),
    ]
}
