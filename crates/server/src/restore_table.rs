//! `evenkeel restore-table`: one table as it was at a moment, of a backup and the archive, as a new table of a running server.
//!
//! The backup is restored into a working directory, which is opened inside of this process, and the rows go to the server as any
//! client's would. Invariant: the new table has its name only when it is whole; the working directory goes at the end, however that
//! comes but by a kill. Called by `main`.
use std::path::PathBuf;
use std::sync::Arc;

use archive::Restored;
use client::{Connection, Dsn};
use datum::{SqlError, Value};
use engine::{Engine, EngineOptions};
use env::local::ThreadSpawner;
use instance::{Instance, InstanceConfig, ResultShape};
use replica::{InsertText, literal, quoted};
use session::{ClientGone, FlushFuture, OkInfo, ResultSink, Session, StatusInfo};

use crate::connection::text_row;
use crate::options::name_and_value;
use crate::restore::{Progress, RestorePlan, make, moment_of};
use crate::start::TokioTimer;
use crate::version::{PROTOCOL_VERSION, VERSION_COMMENT};

const POOL_BYTES: u64 = 64 << 20;
const SESSION_MEMORY_BYTES: u64 = 64 << 20;
/// What rows are read and written under: values that cannot be the same are errors.
const SETTINGS: [&str; 2] = [
    "SET NAMES utf8mb4",
    "SET sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone = '+00:00', foreign_key_checks = 0, \
     unique_checks = 0",
];

/// What was asked for.
#[derive(Debug, PartialEq)]
pub struct RestoreTablePlan {
    restore: RestorePlan,
    dsn: Dsn,
    table: TableName,
    new: TableName,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TableName {
    database: String,
    table: String,
}

impl TableName {
    fn parse(text: &str) -> Result<TableName, String> {
        match text.split_once('.') {
            Some((database, table)) if !database.is_empty() && !table.is_empty() => {
                Ok(TableName { database: database.to_owned(), table: table.to_owned() })
            }
            _ => Err(format!("restore-table: '{text}' is not DATABASE.TABLE")),
        }
    }

    fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.database), quoted(&self.table))
    }
}

impl RestoreTablePlan {
    /// The arguments behind `restore-table`.
    pub fn parse(arguments: &[String]) -> Result<RestoreTablePlan, String> {
        let (mut dsn, mut table, mut new, mut work) = (None, None, None, PathBuf::from("."));
        let mut of_restore = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, value) = name_and_value("restore-table", word, &mut words)?;
            match name {
                "--dsn" => dsn = Some(Dsn::parse(value).map_err(|error| error.to_string())?),
                "--table" => table = Some(TableName::parse(value)?),
                "--as" => new = Some(TableName::parse(value)?),
                "--work" => work = PathBuf::from(value),
                "--from" | "--increment" | "--key-file" | "--archive" | "--until" => {
                    of_restore.extend([name.to_owned(), value.to_owned()]);
                }
                _ => {
                    return Err(format!(
                        "restore-table takes --dsn, --table, --as, --work and what restore takes but --to, not '{name}'"
                    ));
                }
            }
        }
        let (Some(dsn), Some(table), Some(new)) = (dsn, table, new) else {
            return Err(
                "restore-table needs --dsn DSN, --table DATABASE.TABLE and --as DATABASE.TABLE".to_owned()
            );
        };
        let to = work.join(format!("evenkeel-restore-table-{}", std::process::id()));
        of_restore.extend(["--to".to_owned(), to.display().to_string()]);
        Ok(RestoreTablePlan { restore: RestorePlan::parse(&of_restore)?, dsn, table, new })
    }
}

/// Does it and says what came out.
pub fn restore_table(plan: &RestoreTablePlan) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("restore-table: {error}"))?;
    // Before the long part.
    runtime.block_on(refuse_existing(plan))?;
    let restored = make(&plan.restore)?;
    let copied = runtime.block_on(copy(plan));
    let removed = std::fs::remove_dir_all(&plan.restore.to);
    let rows = copied?;
    println!("{}", describe(plan, rows, &restored));
    removed.map_err(|error| format!("cannot remove {}: {error}", plan.restore.to.display()))
}

fn describe(plan: &RestoreTablePlan, rows: u64, restored: &Restored) -> String {
    format!(
        "{} has the {rows} rows of {} as of {}",
        plan.new.quoted(),
        plan.table.quoted(),
        moment_of(restored)
    )
}

async fn connect(plan: &RestoreTablePlan) -> Result<Connection, String> {
    let connected = Connection::connect(&plan.dsn).await;
    let mut target = connected.map_err(|error| format!("cannot connect to {}: {error}", plan.dsn))?;
    for statement in SETTINGS {
        ask(&mut target, statement).await?;
    }
    Ok(target)
}

async fn ask(target: &mut Connection, statement: &str) -> Result<client::Answer, String> {
    target.ask(statement).await.map_err(|error| error.to_string())
}

async fn refuse_existing(plan: &RestoreTablePlan) -> Result<(), String> {
    let mut target = connect(plan).await?;
    let new = plan.new.quoted();
    match target.ask(&format!("SELECT 1 FROM {new} LIMIT 0")).await {
        Ok(_) => Err(format!("{new} is there already: name a new table with --as")),
        Err(client::Error::Server { code: NO_SUCH_TABLE, .. }) => {
            target.quit().await;
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// ER_NO_SUCH_TABLE.
const NO_SUCH_TABLE: u16 = 1146;

/// The restored database, for this process alone.
async fn open(plan: &RestoreTablePlan) -> Result<Session, String> {
    let environment = env::real::scratch_env(&plan.restore.to, Arc::new(ThreadSpawner::new(1)));
    let options = EngineOptions { buffer_pool_bytes: POOL_BYTES, ..EngineOptions::default() };
    let engine = Engine::open(environment, options).await;
    let engine = engine.map_err(|error| format!("the restored database cannot be opened: {error}"))?;
    let config = InstanceConfig {
        version: PROTOCOL_VERSION.to_owned(),
        version_comment: VERSION_COMMENT.to_owned(),
        variables: Vec::new(),
        initial_root_password: String::new(),
        digest_seed: (0, 0),
        timer: Arc::new(TokioTimer),
        session_memory_bytes: SESSION_MEMORY_BYTES,
        system_tables: system_tables::join,
    };
    let instance = Instance::open(engine, config).await.map_err(|error| error.message)?;
    let mut session = Session::of_server(instance, crate::FAMILIES);
    for statement in SETTINGS {
        obey(&mut session, statement).await?;
    }
    Ok(session)
}

async fn obey(session: &mut Session, statement: &str) -> Result<(), String> {
    session.obey(statement.as_bytes()).await.map(drop).map_err(|error| told(&error))
}

async fn list(session: &mut Session, query: &str) -> Result<Vec<String>, String> {
    session.list(query).await.map_err(|error| told(&error))
}

fn told(error: &SqlError) -> String {
    format!("error {}: {}", error.errno, error.message)
}

/// Answers how many rows there are.
async fn copy(plan: &RestoreTablePlan) -> Result<u64, String> {
    let mut source = open(plan).await?;
    let mut target = connect(plan).await?;
    let loading = TableName { table: format!("{}_restoring", plan.new.table), ..plan.new.clone() };
    let copied = fill(plan, &mut source, &mut target, &loading).await;
    source.close().await;
    if copied.is_ok() {
        target.quit().await;
    }
    copied
}

async fn fill(
    plan: &RestoreTablePlan,
    source: &mut Session,
    target: &mut Connection,
    loading: &TableName,
) -> Result<u64, String> {
    let definition = definition_of(source, &plan.table, loading).await?;
    let inserts = inserts_of(source, &plan.table, loading).await?;
    ask(target, &format!("USE {}", quoted(&loading.database))).await?;
    ask(target, &definition)
        .await
        .map_err(|error| format!("{} cannot be made: {error}", loading.quoted()))?;
    let loaded = load(source, target, &plan.table, inserts).await;
    let renamed = match &loaded {
        Ok(_) => {
            let rename = format!("RENAME TABLE {} TO {}", loading.quoted(), plan.new.quoted());
            ask(target, &rename).await.map(drop)
        }
        Err(_) => Ok(()),
    };
    let done = renamed.and(loaded);
    if done.is_err() {
        // The connection may be what has failed.
        let _ = ask(target, &format!("DROP TABLE IF EXISTS {}", loading.quoted())).await;
    }
    done
}

/// The statement that makes the table under another name, without its foreign keys.
async fn definition_of(source: &mut Session, table: &TableName, new: &TableName) -> Result<String, String> {
    let like = TableName { database: table.database.clone(), table: new.table.clone() };
    obey(source, &format!("CREATE TABLE {} LIKE {}", like.quoted(), table.quoted())).await?;
    let shown = list(source, &format!("SHOW CREATE TABLE {}", like.quoted())).await?;
    shown.into_iter().next().ok_or_else(|| format!("{} has no definition", table.quoted()))
}

async fn inserts_of(source: &mut Session, table: &TableName, new: &TableName) -> Result<InsertText, String> {
    let mut columns = Vec::new();
    for what in ["column_name", "LOWER(data_type)", "IFNULL(character_set_name, '')"] {
        let query = format!(
            "SELECT {what} FROM information_schema.columns WHERE table_schema = {} AND table_name = {} AND generation_expression = '' \
             ORDER BY ordinal_position",
            literal(&table.database),
            literal(&table.table)
        );
        columns.push(list(source, &query).await?);
    }
    let columns = columns[0].iter().zip(&columns[1]).zip(&columns[2]);
    Ok(InsertText::new(&new.quoted(), columns.map(|((name, kind), charset)| [name, kind, charset])))
}

async fn load(
    source: &mut Session,
    target: &mut Connection,
    table: &TableName,
    inserts: InsertText,
) -> Result<u64, String> {
    let query = format!("SELECT {} FROM {}", inserts.selected(), table.quoted());
    let progress = Progress::default();
    let mut loader =
        Loader { target, inserts, shape: None, row: Vec::new(), rows: 0, error: None, progress: &progress };
    source.query(query.as_bytes(), &mut loader).await;
    if loader.error.is_none() {
        let sent = loader.send().await;
        loader.error = sent.err();
    }
    progress.end();
    loader.error.map_or(Ok(loader.rows), Err)
}

/// Takes the rows of a query and inserts them elsewhere.
struct Loader<'a> {
    target: &'a mut Connection,
    inserts: InsertText,
    shape: Option<Arc<ResultShape>>,
    row: Vec<u8>,
    rows: u64,
    error: Option<String>,
    progress: &'a Progress,
}

impl Loader<'_> {
    async fn send(&mut self) -> Result<(), String> {
        let Some(statement) = self.inserts.statement() else { return Ok(()) };
        self.target.send_query(statement);
        self.progress.add(statement.len() as u64);
        let mut answer = client::Answer::default();
        let answered = match self.target.flush().await {
            Ok(()) => self.target.receive(&mut answer).await,
            Err(error) => Err(error),
        };
        self.inserts.clear();
        answered.map_err(|error| error.to_string())
    }
}

impl ResultSink for Loader<'_> {
    fn columns(&mut self, shape: &Arc<ResultShape>) {
        self.shape = Some(shape.clone());
    }
    fn row(&mut self, values: &[Value]) {
        let Some(shape) = &self.shape else { return };
        self.row.clear();
        text_row(&mut self.row, &shape.columns, values);
        match self.inserts.add(&self.row) {
            Ok(()) => self.rows += 1,
            Err(error) => self.error = Some(error.to_string()),
        }
    }
    fn end_rows(&mut self, _: &StatusInfo) {}
    fn cursor_opened(&mut self, _: &StatusInfo) {}
    fn ok(&mut self, _: &OkInfo) {}
    fn error(&mut self, error: &SqlError) {
        self.error = Some(told(error));
    }
    fn needs_flush(&self) -> bool {
        self.inserts.is_full() || self.error.is_some()
    }
    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async {
            if self.error.is_none() {
                self.error = self.send().await.err();
            }
            if self.error.is_some() { Err(ClientGone) } else { Ok(()) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            RestoreTablePlan::parse(&words)
        };
        let whole =
            ["--dsn=mysql://u@h", "--table", "a.b", "--as=c.d", "--from", "x", "--work=/w", "--until=7"];
        let plan = parse(&whole).expect("valid");
        assert_eq!(plan.new.quoted(), "`c`.`d`");
        assert_eq!(plan.restore.from, PathBuf::from("x"));
        assert!(plan.restore.to.starts_with("/w"));
        for left_out in [0, 1, 3, 4] {
            let mut words = whole.to_vec();
            words.remove(left_out);
            assert!(parse(&words).is_err(), "{words:?}");
        }
        assert!(parse(&[&whole[..], &["--to=z"]].concat()).is_err());
        assert!(parse(&["--dsn=mysql://u@h", "--table=a", "--as=c.d", "--from=x"]).is_err());
    }
}
