//! Inner statements against a server in memory: what they undo, what they leave, and what KILL leaves of them.
use std::sync::Arc;
use std::time::Duration;

use bumpalo::Bump;
use executor::CollectRows;
use instance::{Instance, InstanceConfig, KillKind, ResultShape, SleepFuture, Timer};

use schema::{ColumnDef, DatabaseDef, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableId};

use super::*;
use crate::families::{Families, FamilyFuture};
use crate::statement::Done;
use session_state::connection_info::{ClientCapabilities, ConnectionInfo};
use session_state::sink::{FlushFuture, OkInfo, ResultSink, StatusInfo};

/// These tests run no statement of a family.
struct NoFamilies;

impl Families for NoFamilies {
    fn claim<'a>(
        &'static self,
        _: &'a mut Session,
        _: Request<'a>,
        _: &'a Shield,
    ) -> FamilyFuture<'a, Option<Done>> {
        Box::pin(async { Ok(None) })
    }

    fn carry_out<'a>(
        &'static self,
        _: &'a mut Session,
        _: Request<'a>,
        _: &'a Shield,
        _: &'a mut dyn ResultSink,
    ) -> FamilyFuture<'a, Done> {
        Box::pin(async { Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"a family of statements"])) })
    }
}

struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, duration: Duration) -> SleepFuture {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The rows or the error of a client's statement.
#[derive(Default)]
struct Answer {
    rows: Vec<Vec<Value>>,
    error: Option<SqlError>,
}

impl ResultSink for Answer {
    fn columns(&mut self, _: &Arc<ResultShape>) {}
    fn row(&mut self, values: &[Value]) {
        self.rows.push(values.to_vec());
    }
    fn end_rows(&mut self, _: &StatusInfo) {}
    fn cursor_opened(&mut self, _: &StatusInfo) {}
    fn ok(&mut self, _: &OkInfo) {}
    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }
    fn needs_flush(&self) -> bool {
        false
    }
    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Ok(()) })
    }
}

fn run(test: impl AsyncFnOnce(Arc<Instance>)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let config = InstanceConfig {
            version: "9.7.0".to_owned(),
            version_comment: String::new(),
            variables: Vec::new(),
            initial_root_password: String::new(),
            digest_seed: (1, 2),
            timer: Arc::new(TokioTimer),
            session_memory_bytes: 1 << 30,
            system_tables: system_tables::join,
        };
        test(Instance::open(engine::Engine::in_memory(), config).await.expect("the instance opens")).await;
    });
}

async fn connect(instance: &Arc<Instance>) -> Session {
    let information = ConnectionInfo {
        id: instance.next_connection_id(),
        user: "root".to_owned(),
        host: "localhost".to_owned(),
        account_user: "root".to_owned(),
        account_host: "localhost".to_owned(),
        peer: None,
        attributes: Vec::new(),
        capabilities: ClientCapabilities { multi_statements: true, ..ClientCapabilities::default() },
        collation_id: 255,
        tls: None,
    };
    let mut session = Session::new(instance.clone(), &NoFamilies, information);
    if instance.catalog().database("d").is_none() {
        make_table(instance).await.expect("a new table");
    }
    query(&mut session, "use d").await;
    session
}

/// Table `t` of database `d` with a primary key `a`. Definitions are a family of statements, which there are none of here.
async fn make_table(instance: &Arc<Instance>) -> Result<(), SqlError> {
    let mut table = TableDef::new(TableId(0), "d", "t");
    table.columns.push(ColumnDef::new("a", ColumnType::int().not_null()));
    table.indexes.push(IndexDef {
        id: IndexId(1),
        name: "PRIMARY".to_owned(),
        kind: IndexKind::Primary,
        parts: vec![IndexPart::column(0)],
        tree: 0,
        invisible: false,
        generated: false,
        comment: String::new(),
    });
    table.choose_clustering();
    let mut change = instance.catalog().begin_change();
    let collation = collation::CollationId::UTF8MB4_0900_AI_CI;
    change.create_database(DatabaseDef { name: "d".to_owned(), collation }).await?;
    change.create_table(table).await?;
    change.commit().await
}

async fn query(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    let mut answer = Answer::default();
    session.query(text.as_bytes(), &mut answer).await;
    assert_eq!(answer.error, None, "{text}");
    answer.rows
}

/// Runs an inner statement of whatever runs in the session.
async fn inner(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>, SqlError> {
    let arena = Bump::new();
    let parsed = parser::parse(text.as_bytes(), session.parse_options(true), &arena).expect("a statement");
    let request = Request {
        statement: &parsed.statement,
        text: text.as_bytes(),
        parameters: &[Value::Int(2)],
        parameter_types: &[ColumnType::bigint()],
        locals: &[],
    };
    let mut rows = CollectRows::default();
    session.run_nested(request, |_| Ok(()), &Shield::default(), &mut rows).await?;
    Ok(rows.rows)
}

async fn count_inside(session: &mut Session) -> Value {
    inner(session, "select count(*) from t").await.expect("it runs")[0][0].clone()
}

#[test]
fn an_inner_statement_is_undone_alone_and_an_outer_one_with_its_inner_ones() {
    run(async |instance| {
        let mut session = connect(&instance).await;
        for (number, begin) in ["begin", "do 0"].into_iter().enumerate() {
            query(&mut session, &format!("{begin}; insert into t values (1)")).await;
            session.start_statement(false);
            inner(&mut session, "insert into t values (?)").await.expect("a new row");
            let twice = inner(&mut session, "insert into t values (3), (?)").await.expect_err("a duplicate");
            assert!(twice.is(&error_code::ER_DUP_ENTRY), "{twice}");
            assert_eq!(count_inside(&mut session).await, Value::Int(2), "{begin}: what failed left nothing");
            // Two deep: the one in the middle fails after what it ran inside of it.
            let depth = session.statements.depth();
            session.statements.enter();
            inner(&mut session, "insert into t values (4)").await.expect("a new row");
            session.undo_statement(twice.clone()).await;
            session.statements.leave_to(depth);
            assert_eq!(count_inside(&mut session).await, Value::Int(2), "{begin}");
            session.undo_statement(twice).await;
            assert_eq!(session.has_open_transaction(), number == 0);
            assert_eq!(query(&mut session, "select a from t").await, [[Value::Int(1)]], "{begin}");
            query(&mut session, "rollback").await;
        }
    });
}

#[test]
fn a_lost_transaction_takes_every_savepoint_with_it() {
    run(async |instance| {
        let mut session = connect(&instance).await;
        query(&mut session, "begin; insert into t values (1)").await;
        session.start_statement(false);
        inner(&mut session, "insert into t values (?)").await.expect("a new row");
        let depth = session.statements.depth();
        session.statements.enter();
        session.undo_statement(error_code::ER_LOCK_DEADLOCK.plain()).await;
        session.statements.leave_to(depth);
        assert_eq!(session.statements.savepoint(), None);
        assert!(!session.has_open_transaction());
        assert_eq!(count_inside(&mut session).await, Value::Int(0), "the next one begins another");
        session.undo_statement(error_code::ER_DUP_ENTRY.plain()).await;
        assert!(query(&mut session, "select a from t").await.is_empty());
    });
}

#[test]
fn kill_in_an_inner_statement_ends_the_outer_one_alone() {
    run(async |instance| {
        let (mut holder, mut session) = (connect(&instance).await, connect(&instance).await);
        query(&mut holder, "insert into t values (1); begin; select a from t where a = 1 for update").await;
        query(&mut session, "begin; insert into t values (5)").await;
        let process = session.process().clone();
        let killer = async {
            while instance.engine().stats().lock_waits_current == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            process.kill.kill(KillKind::Query);
        };
        let mut answer = Answer::default();
        tokio::join!(session.query(b"select a into @a from t where a = 1 for update", &mut answer), killer);
        assert!(answer.error.is_some_and(|error| error.is(&error_code::ER_QUERY_INTERRUPTED)));
        assert_eq!(session.statements.depth(), 0);
        assert!(session.has_open_transaction());
        query(&mut holder, "rollback").await;
        query(&mut session, "select a into @a from t where a = 5 for update; commit").await;
        assert_eq!(
            query(&mut session, "select a, @a from t where a = 5").await,
            [[Value::Int(5), Value::Int(5)]]
        );
    });
}
