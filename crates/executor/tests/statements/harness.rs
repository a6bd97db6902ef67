//! A database without a session: tables made from descriptors, statements planned and run one by one.
use binder::{BinderContext, CatalogView, Literals, ResolvedTable, SessionValues, TableStatistics};
use bumpalo::Bump;
use collation::CollationId;
use datum::{ColumnType, Condition, SqlError, SqlMode, TypeKind, Value};
use engine::{AccessMode, Engine, Isolation, Transaction};
use env::TemporarySpace;
use executor::{
    CollectRows, ExecContext, ExecSettings, Interrupt, MemoryBudget, Outcome, StrictSession, execute,
};
use expression::{BindContext, EvalContext, SessionServices, StatementSettings};
use parser::ast::{DataType, VariableScope};
use plan::{Plan, PlanKind};
use planner::{Estimates, PlannerContext, plan_statement};
use schema::{ColumnDef, ColumnDefault, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableId};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};
use table::{ReadyTable, Relations, TableHandle, TableResolver};

/// Longer than any statement of these tests takes on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Wakes the test's thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread; it waits for the engine's own thread at most.
pub fn run_now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let start = Instant::now();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        let left = WAIT_MAX.checked_sub(start.elapsed()).expect("the future ends");
        std::thread::park_timeout(left);
    }
}

#[derive(Default)]
pub struct Warnings(Mutex<Vec<Condition>>);

impl SessionServices for Warnings {
    fn warn(&self, condition: Condition) {
        self.0.lock().expect("no panic while locked").push(condition);
    }
    fn user_variable(&self, _name: &str) -> Option<(Value, ColumnType)> {
        None
    }
    fn set_user_variable(
        &self,
        _name: &str,
        _value: Value,
        _column_type: ColumnType,
    ) -> Result<(), SqlError> {
        Ok(())
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&self, _id: u64) {}
    fn row_count(&self) -> i64 {
        0
    }
    fn found_rows(&self) -> u64 {
        0
    }
}

struct NoSession;

impl SessionValues for NoSession {
    fn system_variable(&self, _scope: VariableScope, name: &str) -> Result<(Value, ColumnType), SqlError> {
        Err(datum::error_code::ER_UNKNOWN_SYSTEM_VARIABLE.with(&[&name]))
    }
    fn column_type(&self, _data_type: &DataType<'_>, column: &str) -> Result<ColumnType, SqlError> {
        Err(datum::error_code::ER_NOT_SUPPORTED_YET.with(&[&column]))
    }
    fn user_variable_type(&self, _name: &str) -> Option<ColumnType> {
        None
    }
}

pub struct Database {
    pub engine: Arc<Engine>,
    transaction: Option<Transaction>,
    tables: HashMap<TableId, ReadyTable>,
    pub sql_mode: SqlMode,
    pub settings: ExecSettings,
    pub literals: Literals,
    pub memory_bytes: usize,
    pub temporary: Arc<TemporarySpace>,
    /// A statement that was polled so often is killed.
    pub polls_until_killed: Option<u32>,
    pub warnings: Arc<Warnings>,
}

impl CatalogView for Database {
    fn table(&self, database: &str, name: &str) -> Result<ResolvedTable, SqlError> {
        let found = self.tables.values().find(|table| {
            table.definition().name.eq_ignore_ascii_case(name) && table.definition().database == database
        });
        match found {
            Some(table) => Ok(ResolvedTable::Stored {
                table: table.definition().clone(),
                statistics: TableStatistics {
                    rows: Some(table.estimated_rows()),
                    indexes: Vec::new(),
                    histograms: Vec::new(),
                },
            }),
            None => Err(datum::error_code::ER_NO_SUCH_TABLE.with(&[&database, &name])),
        }
    }
}

impl Estimates for Database {}

impl TableResolver for Database {
    fn table(&self, id: TableId) -> Result<Arc<TableHandle>, SqlError> {
        Ok(self.tables[&id].handle().clone())
    }

    fn relations(&self, _: TableId) -> Option<Arc<Relations>> {
        None
    }
}

/// `"id int key"`-style descriptions: name, type, then any of `null`, `auto`, `default=..`.
fn column(text: &str) -> ColumnDef {
    let mut words = text.split_whitespace();
    let (name, kind) = (words.next().expect("a name"), words.next().expect("a type"));
    let text_type = |length| ColumnType::varchar(length, CollationId::UTF8MB4_0900_AI_CI);
    let mut column_type = match kind {
        "int" => ColumnType::int(),
        "bigint" => ColumnType::bigint(),
        "tinyint" => ColumnType::new(TypeKind::Tiny),
        "uint" => ColumnType { unsigned: true, ..ColumnType::int() },
        "double" => ColumnType::double(),
        "decimal" => ColumnType::decimal(10, 2),
        "varchar" => text_type(40),
        "char" => ColumnType { kind: TypeKind::Char, ..text_type(120) },
        "text" => ColumnType { kind: TypeKind::Text, length: 65535, ..text_type(0) },
        "varbinary" => ColumnType::varbinary(40),
        "datetime" => ColumnType::new(TypeKind::DateTime { fsp: 0 }),
        "date" => ColumnType::new(TypeKind::Date),
        other => panic!("type {other}"),
    };
    let words: Vec<&str> = words.collect();
    column_type.nullable = words.contains(&"null");
    let mut column = ColumnDef::new(name, column_type);
    column.auto_increment = words.contains(&"auto");
    if let Some(text) = words.iter().find_map(|word| word.strip_prefix("default=")) {
        let value = text.parse().map(Value::Int).unwrap_or_else(|_| Value::bytes(text));
        column.default = ColumnDefault::Value { value, text: text.to_owned() };
    }
    column
}

impl Database {
    pub fn new() -> Database {
        let engine = Engine::in_memory();
        Database {
            temporary: engine.temporary_space(),
            polls_until_killed: None,
            engine,
            transaction: None,
            tables: HashMap::new(),
            sql_mode: SqlMode::DEFAULT,
            settings: ExecSettings::default(),
            literals: Literals::Inline,
            memory_bytes: 1 << 24,
            warnings: Arc::default(),
        }
    }

    /// Creates a table; indexes as `"primary id"`, `"unique name a b(3)"`, `"index name a desc"`.
    pub fn create(&mut self, name: &str, columns: &[&str], indexes: &[&str]) {
        let mut transaction = self.engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
        let mut new_tree = || run_now(transaction.create_tree()).expect("a tree").0;
        let mut table = TableDef::new(TableId(self.tables.len() as u64 + 1), "qtest", name);
        table.columns = columns.iter().map(|text| column(text)).collect();
        table.tree = new_tree();
        for (number, text) in indexes.iter().enumerate() {
            let mut words = text.split_whitespace().peekable();
            let (kind, name) = match words.next().expect("a kind") {
                "primary" => (IndexKind::Primary, "PRIMARY"),
                "unique" => (IndexKind::Unique, words.next().expect("a name")),
                _ => (IndexKind::Plain, words.next().expect("a name")),
            };
            let mut parts = Vec::new();
            while let Some(word) = words.next() {
                let (column, length) = match word.split_once('(') {
                    Some((column, length)) => (column, length.trim_end_matches(')').parse().ok()),
                    None => (word, None),
                };
                let mut part = IndexPart::column(table.column_named(column).expect("a column"));
                part.prefix_length = length;
                part.descending = words.next_if_eq(&"desc").is_some();
                parts.push(part);
            }
            let tree = if kind == IndexKind::Primary { table.tree } else { new_tree() };
            let id = IndexId(number as u32 + 1);
            let name = name.to_owned();
            let comment = String::new();
            table.indexes.push(IndexDef {
                id,
                name,
                kind,
                parts,
                tree,
                invisible: false,
                generated: false,
                comment,
            });
        }
        table.arrange_indexes();
        table.choose_clustering();
        if let Some(id) = table.clustered_by {
            table.tree = table.index_by_id(id).expect("just chosen").tree;
        }
        run_now(transaction.commit()).expect("commits");
        self.tables.insert(table.id, ReadyTable::of_new_trees(Arc::new(table)));
    }

    pub fn plan(&self, sql: &str) -> Result<Plan, SqlError> {
        let arena = Bump::new();
        let options = parser::ParseOptions { mode: parser::SqlMode::default(), parameters: true };
        let parsed =
            parser::parse(sql.as_bytes(), options, &arena).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let binder = BinderContext {
            bind: BindContext {
                sql_mode: self.sql_mode,
                functions: functions::MYSQL,
                ..BindContext::default()
            },
            current_database: Some("qtest"),
            literals: self.literals,
            parameter_types: &[],
            session: &NoSession,
            lock_source_rows: true,
            switches: binder::Switches::default(),
        };
        let context = PlannerContext { binder, values: &[], trace: None };
        plan_statement(&parsed.statement, self, &context)
    }

    pub fn run(&mut self, sql: &str) -> Result<(Vec<Vec<Value>>, Outcome, Plan), SqlError> {
        let plan = self.plan(sql)?;
        let (rows, outcome) = self.run_plan(&plan, Vec::new())?;
        Ok((rows, outcome, plan))
    }

    pub fn run_plan(
        &mut self,
        plan: &Plan,
        parameters: Vec<Value>,
    ) -> Result<(Vec<Vec<Value>>, Outcome), SqlError> {
        *self.warnings.0.lock().expect("no panic while locked") = plan.conditions.clone();
        let mut transaction = self
            .transaction
            .take()
            .unwrap_or_else(|| self.engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite));
        let settings = StatementSettings { sql_mode: self.sql_mode, ..StatementSettings::default() };
        let mut eval =
            EvalContext::new(Arc::new(settings), self.warnings.clone()).with_parameters(parameters);
        let interrupt = Interrupt::default();
        let savepoint = transaction.savepoint();
        let strict = Arc::new(StrictSession::new(self.warnings.clone()));
        let mut context = ExecContext {
            host: &mut Host(&mut transaction),
            triggers: executor::Triggers::default(),
            eval: &mut eval,
            strict: &strict,
            tables: self,
            cascade_rules: &plan.cascade_rules,
            viewer: &(),
            interrupt: &interrupt,
            settings: self.settings.clone(),
            memory: MemoryBudget::new(self.memory_bytes, executor::SessionMemory::unbounded()),
            temporary: &self.temporary,
            kept: executor::KeptRows::default(),
            uses: Default::default(),
            work: executor::Work::default(),
        };
        let mut sink = CollectRows::default();
        let mut polls_left = self.polls_until_killed;
        let mut execution = Box::pin(execute(plan, &mut context, &mut sink));
        let result = run_now(poll_fn(|waiting| {
            polls_left = polls_left.map(|left| left.saturating_sub(1));
            if polls_left == Some(0) {
                interrupt.kill();
            }
            execution.as_mut().poll(waiting)
        }));
        drop(execution);
        match result {
            Ok(outcome) => {
                run_now(transaction.commit()).expect("commits");
                Ok((sink.rows, outcome))
            }
            Err(error) => {
                run_now(transaction.rollback_to(savepoint)).expect("rolls back");
                Err(error)
            }
        }
    }

    /// Rows as text, a line each; a change gives its counts; an error its number and message.
    pub fn show(&mut self, sql: &str) -> String {
        let (rows, outcome, plan) = match self.run(sql) {
            Ok(result) => result,
            Err(error) => return format!("{} {}", error.errno, error.message),
        };
        let PlanKind::Query(query) = &plan.kind else {
            return format!("{} affected", outcome.affected_rows);
        };
        let lines: Vec<String> = rows
            .iter()
            .map(|row| {
                let values: Vec<String> = row
                    .iter()
                    .zip(&query.columns)
                    .map(|(value, column)| match value {
                        Value::Null => "NULL".to_owned(),
                        value => String::from_utf8_lossy(&value.to_text(&column.column_type)).into_owned(),
                    })
                    .collect();
                values.join(" ")
            })
            .collect();
        lines.join("\n")
    }

    pub fn check(&mut self, sql: &str, expected: &str) {
        let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert_eq!(self.show(sql), expected.join("\n"), "{sql}");
    }

    pub fn warning_texts(&self) -> Vec<String> {
        let warnings = self.warnings.0.lock().expect("no panic while locked");
        warnings.iter().map(|warning| format!("{} {}", warning.error.errno, warning.error.message)).collect()
    }

    /// Access type and key of each table, in the order read.
    pub fn paths(&self, sql: &str) -> String {
        let plan = self.plan(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows = plan::explain_rows(&plan);
        let text = rows.iter().map(|row| {
            let word = |text: &Option<String>| text.clone().unwrap_or("-".to_owned());
            format!(
                "{} {} {} [{}]",
                word(&row.table),
                row.access_type.unwrap_or("-"),
                word(&row.key),
                row.extra.clone().unwrap_or_default()
            )
        });
        text.collect::<Vec<_>>().join("\n")
    }
}

/// Statements here have neither functions nor triggers.
struct Host<'a>(&'a mut engine::Transaction);

impl executor::StatementHost for Host<'_> {
    fn transaction(&mut self) -> &mut engine::Transaction {
        self.0
    }

    fn seen_transaction(&self) -> &engine::Transaction {
        self.0
    }

    fn call_function(
        &mut self,
        _: u64,
        _: Option<Arc<str>>,
        _: Vec<Value>,
    ) -> schema::LocalFuture<'_, Result<Value, SqlError>> {
        unreachable!("no plan here has a stored function")
    }

    fn load_file(&mut self, _: String, _: u64) -> schema::LocalFuture<'_, Result<Value, SqlError>> {
        unreachable!("no plan here reads files")
    }

    fn fire<'a>(&'a mut self, _: executor::Firing<'a>) -> schema::LocalFuture<'a, Result<(), SqlError>> {
        unreachable!("no table here has triggers")
    }

    fn may_fill(&self, _: &table::ReadyTable) -> bool {
        false
    }

    fn begin_fill<'a>(
        &'a mut self,
        _: &'a table::ReadyTable,
        _: bool,
    ) -> schema::LocalFuture<'a, Result<bool, SqlError>> {
        unreachable!("rows are inserted one by one")
    }

    fn fill(&mut self, _: Vec<Vec<Value>>) -> schema::LocalFuture<'_, Result<(), SqlError>> {
        unreachable!("rows are inserted one by one")
    }

    fn end_fill(&mut self) -> schema::LocalFuture<'_, Result<executor::LeftOutRows, SqlError>> {
        unreachable!("rows are inserted one by one")
    }
}
