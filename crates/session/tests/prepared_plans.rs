//! Prepared statements of several sessions: their plans are shared, and each session still gets what is its own.
mod support;

use std::sync::Arc;

use datum::Value;
use instance::{Instance, ResultShape};
use session::{CursorKind, PreparedInfo};
use support::{Client, Printer, run};

async fn client_in_database(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client.query("create database if not exists d; use d").await;
    client
}

async fn prepare(client: &mut Client, text: &str) -> PreparedInfo {
    client.session.prepare(text.as_bytes()).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

async fn execute(client: &mut Client, info: &PreparedInfo, values: &[Value]) -> (String, Arc<ResultShape>) {
    let mut printer = Printer::default();
    client.session.execute(info.id, values.to_vec(), CursorKind::None, &mut printer).await;
    let none = || Arc::new(ResultShape { id: 0, columns: Vec::new() });
    (printer.text, printer.shape.unwrap_or_else(none))
}

#[test]
fn sessions_share_the_plan_of_a_text() {
    run(async |server| {
        let (mut one, mut two) = (client_in_database(&server).await, client_in_database(&server).await);
        one.query("create table t (a int primary key, b int); insert into t values (1, 10), (2, 20)").await;
        let text = "select b from t where a = ?";
        let (first, second) = (prepare(&mut one, text).await, prepare(&mut two, text).await);
        let shape = |info: &PreparedInfo| info.columns.clone().expect("a query");
        assert!(Arc::ptr_eq(&shape(&first), &shape(&second)), "one plan before the types are known");
        let (rows, shape_of_one) = execute(&mut one, &first, &[Value::Int(1)]).await;
        assert_eq!(rows, "b\n10\n");
        let (rows, shape_of_two) = execute(&mut two, &second, &[Value::Int(2)]).await;
        assert_eq!(rows, "b\n20\n");
        assert!(Arc::ptr_eq(&shape_of_one, &shape_of_two), "one plan for integers");
        // Another kind of value is another plan, in one session as in the other.
        assert_eq!(execute(&mut two, &second, &[Value::bytes("1")]).await.0, "b\n10\n");
        // A changed table makes all kept plans stale.
        one.query("alter table t modify b varchar(9); update t set b = 'new' where a = 1").await;
        assert_eq!(execute(&mut two, &second, &[Value::Int(1)]).await.0, "b\nnew\n");
        assert_eq!(execute(&mut one, &first, &[Value::Int(1)]).await.0, "b\nnew\n");
        // FLUSH TABLES forgets what is kept; statements keep what they hold.
        one.query("flush tables").await;
        assert_eq!(execute(&mut two, &second, &[Value::Int(2)]).await.0, "b\n20\n");
    });
}

#[test]
fn modes_and_databases_have_their_own_plans() {
    run(async |server| {
        let (mut one, mut two) = (client_in_database(&server).await, client_in_database(&server).await);
        one.query("create table t (abc int); insert into t values (7)").await;
        let text = "select \"abc\" as x from t";
        let info = prepare(&mut one, text).await;
        assert_eq!(execute(&mut one, &info, &[]).await.0, "x\nabc\n");
        two.query("set sql_mode = 'ANSI_QUOTES'").await;
        let info = prepare(&mut two, text).await;
        assert_eq!(execute(&mut two, &info, &[]).await.0, "x\n7\n");
        two.query("create database e; use e; create table t (abc int); insert into t values (8)").await;
        let info = prepare(&mut two, text).await;
        assert_eq!(execute(&mut two, &info, &[]).await.0, "x\n8\n");
    });
}

#[test]
fn a_kept_plan_is_no_way_around_privileges() {
    run(async |server| {
        let mut root = client_in_database(&server).await;
        root.query("create table t (a int); create table u (a int); create user low@localhost").await;
        root.query("grant select on d.u to low@localhost").await;
        let mut low = Client::connect_as(&server, "low").await;
        low.query("use d").await;
        prepare(&mut root, "select a from t").await;
        let refused = low.session.prepare(b"select a from t").await.expect_err("no privilege");
        assert_eq!(refused.errno, 1142, "{refused}");
        prepare(&mut root, "select a from u").await;
        let info = prepare(&mut low, "select a from u").await;
        root.query("revoke select on d.u from low@localhost").await;
        let (text, _) = execute(&mut low, &info, &[]).await;
        assert!(text.starts_with("ERROR 1142"), "{text}");
    });
}

#[test]
fn a_plan_that_reads_the_session_is_made_anew() {
    run(async |server| {
        let mut client = client_in_database(&server).await;
        let info = prepare(&mut client, "select @@sql_select_limit as l, @a as a").await;
        client.query("set sql_select_limit = 7, @a = 1").await;
        assert_eq!(execute(&mut client, &info, &[]).await.0, "l\ta\n7\t1\n");
        client.query("set sql_select_limit = 9, @a = 'x'").await;
        assert_eq!(execute(&mut client, &info, &[]).await.0, "l\ta\n9\tx\n");
    });
}

#[test]
fn a_text_parameter_has_the_length_of_no_value() {
    run(async |server| {
        let (mut one, mut two) = (client_in_database(&server).await, client_in_database(&server).await);
        for (client, value) in [(&mut one, "long enough"), (&mut two, "x")] {
            let info = prepare(client, "select ? as a").await;
            let (rows, shape) = execute(client, &info, &[Value::bytes(value)]).await;
            assert_eq!((rows, shape.columns[0].length), (format!("a\n{value}\n"), 65_532));
        }
    });
}
