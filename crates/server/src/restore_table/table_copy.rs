//! The rows of one table of a restored database, as a new table elsewhere.
//!
//! Invariant: the new table has its name only when it is whole; until then it has another one, under which it is dropped if anything
//! fails. One statement of rows is under way while the next is read, so memory does not depend on the table. Called by `command` and
//! `statement`.
use std::path::Path;
use std::sync::Arc;

use client::Connection;
use datum::{SqlError, Value, error_code};
use engine::{Engine, EngineOptions};
use env::local::ThreadSpawner;
use instance::{Instance, InstanceConfig, ResultShape};
use replica::{InsertText, literal, quoted};
use session::{ClientGone, FlushFuture, OkInfo, ResultSink, Session, StatusInfo};
use tokio::sync::mpsc::{Sender, channel};

use crate::connection::text_row;
use crate::open_store::TokioTimer;
use crate::version::{PROTOCOL_VERSION, VERSION_COMMENT};

const POOL_BYTES: u64 = 64 << 20;
const SESSION_MEMORY_BYTES: u64 = 64 << 20;
/// What rows are read and written under: values that cannot be the same are errors.
pub(super) const SETTINGS: [&str; 2] = [
    "SET NAMES utf8mb4",
    "SET sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone = '+00:00', foreign_key_checks = 0, \
     unique_checks = 0",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableName {
    pub database: String,
    pub table: String,
}

impl TableName {
    pub fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.database), quoted(&self.table))
    }

    fn condition(&self) -> String {
        format!("table_schema = {} AND table_name = {}", literal(&self.database), literal(&self.table))
    }
}

/// Something that has no number of its own.
pub(super) fn told(what: &str) -> SqlError {
    error_code::ER_UNKNOWN_ERROR.with(&[&what])
}

/// The restored database, for this process alone.
pub(super) struct Source {
    session: Session,
    engine: Arc<Engine>,
}

impl Source {
    /// Its directory is changed: what recovery does goes there.
    pub async fn open(directory: &Path) -> Result<Source, SqlError> {
        let failed =
            |error: &dyn std::fmt::Display| told(&format!("the restored database cannot be opened: {error}"));
        let environment = env::real::real_env(directory, Arc::new(ThreadSpawner::new(1)));
        let environment = environment.map_err(|error| failed(&error))?;
        let options = EngineOptions { buffer_pool_bytes: POOL_BYTES, ..EngineOptions::default() };
        let engine = Engine::open(environment, options).await.map_err(|error| failed(&error))?;
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
        let instance = Instance::open(engine, config).await?;
        let engine = instance.engine().clone();
        let mut session = Session::of_server(instance, crate::FAMILIES);
        for statement in SETTINGS {
            session.obey(statement.as_bytes()).await?;
        }
        Ok(Source { session, engine })
    }

    /// Ends its tasks. The directory is of no use afterwards, so an error is none.
    pub async fn close(self) {
        self.session.close().await;
        let _ = self.engine.close().await;
    }

    pub async fn list(&mut self, query: &str) -> Result<Vec<String>, SqlError> {
        self.session.list(query).await
    }

    async fn count(&mut self, query: &str) -> Result<u64, SqlError> {
        let counted = self.list(query).await?;
        Ok(counted.first().and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// How many rows the table has, about. An error if it is none.
    pub async fn look_at(&mut self, table: &TableName) -> Result<u64, SqlError> {
        let of = table.condition();
        let kind = self.list(&format!("SELECT table_type FROM information_schema.tables WHERE {of}")).await?;
        match kind.first().map(String::as_str) {
            Some("BASE TABLE") => {}
            Some(_) => {
                return Err(told(&format!("{} was no table at that moment but a view", table.quoted())));
            }
            None => return Err(told(&format!("there was no table {} at that moment", table.quoted()))),
        }
        self.count(&format!(
            "SELECT CAST(IFNULL(table_rows, 0) AS CHAR) FROM information_schema.tables WHERE {of}"
        ))
        .await
    }

    /// How many foreign keys it has, and how many triggers.
    pub async fn left_out(&mut self, table: &TableName) -> Result<(u64, u64), SqlError> {
        let (database, name) = (literal(&table.database), literal(&table.table));
        let keys = format!(
            "SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.referential_constraints \
             WHERE constraint_schema = {database} AND table_name = {name}"
        );
        let triggers = format!(
            "SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.triggers \
             WHERE event_object_schema = {database} AND event_object_table = {name}"
        );
        Ok((self.count(&keys).await?, self.count(&triggers).await?))
    }

    /// The statement that makes the table under another name, without its foreign keys.
    async fn definition_of(&mut self, table: &TableName, new: &TableName) -> Result<String, SqlError> {
        let like = TableName { database: table.database.clone(), table: new.table.clone() };
        let create = format!("CREATE TABLE {} LIKE {}", like.quoted(), table.quoted());
        self.session.obey(create.as_bytes()).await?;
        let shown = self.list(&format!("SHOW CREATE TABLE {}", like.quoted())).await?;
        shown.into_iter().next().ok_or_else(|| told(&format!("{} has no definition", table.quoted())))
    }

    async fn inserts_of(&mut self, table: &TableName, new: &TableName) -> Result<InsertText, SqlError> {
        let mut columns = Vec::new();
        for what in ["column_name", "LOWER(data_type)", "IFNULL(character_set_name, '')"] {
            let query = format!(
                "SELECT {what} FROM information_schema.columns WHERE {} AND generation_expression = '' ORDER BY ordinal_position",
                table.condition()
            );
            columns.push(self.list(&query).await?);
        }
        let columns = columns[0].iter().zip(&columns[1]).zip(&columns[2]);
        Ok(InsertText::new(&new.quoted(), columns.map(|((name, kind), charset)| [name, kind, charset])))
    }
}

/// Who makes the new table.
pub(super) enum Target {
    /// A server elsewhere.
    Client(Box<Connection>),
    /// This one.
    Server(Box<Session>),
}

impl Target {
    pub async fn ask(&mut self, statement: &[u8]) -> Result<(), SqlError> {
        match self {
            Target::Server(session) => session.obey(statement).await.map(drop),
            Target::Client(connection) => {
                connection.send_query(statement);
                let mut answer = client::Answer::default();
                let answered = match connection.flush().await {
                    Ok(()) => connection.receive(&mut answer).await,
                    Err(error) => Err(error),
                };
                answered.map(drop).map_err(|error| told(&error.to_string()))
            }
        }
    }

    pub async fn close(self) {
        match self {
            Target::Client(connection) => connection.quit().await,
            Target::Server(session) => session.close().await,
        }
    }
}

/// What is to be made of what.
pub(super) struct TableCopy<'a> {
    pub table: &'a TableName,
    pub new: &'a TableName,
    /// Its name until it is whole.
    pub loading: &'a TableName,
    /// Is told of rows that were inserted; its error ends the copy.
    pub progress: &'a dyn Fn(u64) -> Result<(), SqlError>,
}

impl TableCopy<'_> {
    /// Answers how many rows there are.
    pub async fn run(&self, source: &mut Source, target: &mut Target) -> Result<u64, SqlError> {
        let TableCopy { table, new, loading, .. } = self;
        let definition = source.definition_of(table, loading).await?;
        let inserts = source.inserts_of(table, loading).await?;
        target.ask(format!("USE {}", quoted(&loading.database)).as_bytes()).await?;
        target.ask(definition.as_bytes()).await.map_err(|error| SqlError {
            message: format!("{} cannot be made: {}", loading.quoted(), error.message),
            ..error
        })?;
        let loaded = self.load(source, target, inserts).await;
        let renamed = match &loaded {
            Ok(_) => {
                let rename = format!("RENAME TABLE {} TO {}", loading.quoted(), new.quoted());
                target.ask(rename.as_bytes()).await
            }
            Err(_) => Ok(()),
        };
        let done = renamed.and(loaded);
        if done.is_err() {
            // The connection may be what has failed.
            let _ = target.ask(format!("DROP TABLE IF EXISTS {}", loading.quoted()).as_bytes()).await;
        }
        done
    }

    async fn load(
        &self,
        source: &mut Source,
        target: &mut Target,
        inserts: InsertText,
    ) -> Result<u64, SqlError> {
        let query = format!("SELECT {} FROM {}", inserts.selected(), self.table.quoted());
        let (sender, mut receiver) = channel(1);
        let read = async move {
            let mut loader =
                Loader { sender, inserts, shape: None, row: Vec::new(), rows: 0, waiting: 0, error: None };
            source.session.query(query.as_bytes(), &mut loader).await;
            if loader.error.is_none() {
                loader.send().await;
            }
            loader.error.map_or(Ok(loader.rows), Err)
        };
        let write = async move {
            while let Some((statement, rows)) = receiver.recv().await {
                let statement: Vec<u8> = statement;
                target.ask(&statement).await?;
                (self.progress)(rows)?;
            }
            Ok(())
        };
        let (read, written) = tokio::join!(read, write);
        // Who cannot write is why nobody reads any more.
        written.and(read)
    }
}

/// Takes the rows of a query and makes statements of them.
struct Loader {
    sender: Sender<(Vec<u8>, u64)>,
    inserts: InsertText,
    shape: Option<Arc<ResultShape>>,
    row: Vec<u8>,
    rows: u64,
    /// Rows that are not sent yet.
    waiting: u64,
    error: Option<SqlError>,
}

impl Loader {
    async fn send(&mut self) {
        let Some(statement) = self.inserts.statement() else { return };
        let sent = self.sender.send((statement.to_vec(), std::mem::take(&mut self.waiting))).await;
        self.inserts.clear();
        if sent.is_err() {
            self.error = Some(told("the rows cannot be written"));
        }
    }
}

impl ResultSink for Loader {
    fn columns(&mut self, shape: &Arc<ResultShape>) {
        self.shape = Some(shape.clone());
    }
    fn row(&mut self, values: &[Value]) {
        let Some(shape) = &self.shape else { return };
        self.row.clear();
        text_row(&mut self.row, &shape.columns, values);
        match self.inserts.add(&self.row) {
            Ok(()) => {
                self.rows += 1;
                self.waiting += 1;
            }
            Err(error) => self.error = Some(told(&error.to_string())),
        }
    }
    fn end_rows(&mut self, _: &StatusInfo) {}
    fn cursor_opened(&mut self, _: &StatusInfo) {}
    fn ok(&mut self, _: &OkInfo) {}
    fn error(&mut self, error: &SqlError) {
        self.error.get_or_insert_with(|| error.clone());
    }
    fn needs_flush(&self) -> bool {
        self.inserts.is_full() || self.error.is_some()
    }
    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async {
            if self.error.is_none() {
                self.send().await;
            }
            if self.error.is_some() { Err(ClientGone) } else { Ok(()) }
        })
    }
}
