//! Changes of the `setup_*` tables of `performance_schema`: consumers, instruments and threads are switched, actors come and go;
//! what is always measured stays.
//!
//! The condition is a query of the table's rows; the values are constants, as tools write them.
use std::sync::atomic::Ordering::Relaxed;

use auth::Privilege;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use instance::ConnectionId;
use parser::ast::{Delete, DeleteTarget, Insert, InsertSource, ObjectName, Span, Update};
use telemetry::instruments::TABLE_IO;
use telemetry::{Actor, CONSUMERS};

use crate::caller::Caller;
use session::Shield;
use session::{Done, Effects, Request};

fn text_of(value: &Value) -> String {
    let text = value.to_text(&ColumnType::new(TypeKind::LongText));
    String::from_utf8_lossy(&text).into_owned()
}

/// The tables whose rows can be updated in MySQL.
const TABLES: &[&str] =
    &["setup_consumers", "setup_instruments", "setup_actors", "setup_objects", "setup_threads", "threads"];

const ACTORS: &str = "setup_actors";

impl Caller<'_> {
    pub(crate) async fn update_setup(
        &mut self,
        update: &Update<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Option<Done>, SqlError> {
        let Some(target) = update.single_table() else { return Ok(None) };
        let Ok(name) = self.table_name(target.name) else { return Ok(None) };
        let table = name.name.to_lowercase();
        if !name.database.eq_ignore_ascii_case("performance_schema") || !TABLES.contains(&table.as_str()) {
            return Ok(None);
        }
        self.require_table(Privilege::Update.into(), &name.database, &table)?;
        let rows = self.matching_rows(&table, update.filter.map(|filter| filter.span), request).await?;
        let mut wanted = Vec::new();
        for assignment in update.assignments {
            let (value, column_type) = self.evaluate_one(&assignment.value, request, shield).await?;
            let text = match &value {
                Value::Bytes(_) => String::from_utf8_lossy(&value.to_text(&column_type)).into_owned(),
                other => text_of(other),
            };
            wanted.push((assignment.column.name, text));
        }
        let mut changed = 0;
        for row in &rows {
            let mut is_changed = false;
            for (column, text) in &wanted {
                is_changed |= self.set_up(&table, row, column, text)? > 0;
            }
            changed += u64::from(is_changed);
        }
        let info = format!("Rows matched: {}  Changed: {changed}  Warnings: 0", rows.len());
        Ok(Some(Done::Ok(Effects { affected_rows: changed, info: info.into(), ..Effects::default() })))
    }

    /// INSERT of a row of `setup_actors`.
    pub(crate) async fn insert_setup(
        &mut self,
        insert: &Insert<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Option<Done>, SqlError> {
        if !self.is_actors(insert.table, "INSERT")? {
            return Ok(None);
        }
        self.require_table(Privilege::Insert.into(), "performance_schema", ACTORS)?;
        let rows = match insert.source {
            InsertSource::Values(rows) if !insert.replace && insert.on_duplicate.is_empty() => rows,
            _ => {
                return Err(error_code::ER_NOT_SUPPORTED_YET
                    .with(&[&"this INSERT of performance_schema.setup_actors"]));
            }
        };
        let columns: Vec<String> = match insert.columns {
            Some(columns) if !columns.is_empty() => {
                columns.iter().map(|column| column.name.to_ascii_lowercase()).collect()
            }
            _ => ["host", "user", "role", "enabled", "history"].map(str::to_owned).into(),
        };
        for (number, row) in rows.iter().enumerate() {
            if !row.is_empty() && row.len() != columns.len() {
                return Err(error_code::ER_WRONG_VALUE_COUNT_ON_ROW.with(&[&(number + 1)]));
            }
            let mut actor = Actor::default();
            for (column, expression) in columns.iter().zip(row.iter()) {
                let (value, column_type) = self.evaluate_one(expression, request, shield).await?;
                let text = String::from_utf8_lossy(&value.to_text(&column_type)).into_owned();
                let is_on = || match text.to_ascii_uppercase().as_str() {
                    "YES" => Ok(true),
                    "NO" => Ok(false),
                    _ => Err(error_code::WARN_DATA_TRUNCATED.with(&[&column.to_uppercase(), &(number + 1)])),
                };
                match column.as_str() {
                    "host" => actor.host = text,
                    "user" => actor.user = text,
                    "role" => actor.role = text,
                    "enabled" => actor.is_on = is_on()?,
                    "history" => actor.has_history = is_on()?,
                    _ => return Err(error_code::ER_BAD_FIELD_ERROR.with(&[column, &"field list"])),
                }
            }
            if !self.instance().telemetry.actors.add(actor) {
                return Err(error_code::ER_DUP_KEY.with(&[&ACTORS]));
            }
        }
        Ok(Some(Done::Ok(Effects { affected_rows: rows.len() as u64, ..Effects::default() })))
    }

    /// DELETE of rows of `setup_actors`.
    pub(crate) async fn delete_setup(
        &mut self,
        delete: &Delete<'_>,
        request: Request<'_>,
    ) -> Result<Option<Done>, SqlError> {
        let DeleteTarget::Single(table) = delete.target else { return Ok(None) };
        if !self.is_actors(table.name, "DELETE")? {
            return Ok(None);
        }
        self.require_table(Privilege::Delete.into(), "performance_schema", ACTORS)?;
        let rows = self.matching_rows(ACTORS, delete.filter.map(|filter| filter.span), request).await?;
        let is_gone = |actor: &Actor| rows.iter().any(|row| row.is_actor(actor));
        let affected_rows = self.instance().telemetry.actors.retain(|actor| !is_gone(actor));
        Ok(Some(Done::Ok(Effects { affected_rows, ..Effects::default() })))
    }

    /// False for tables elsewhere; error 1142 for those of `performance_schema` whose rows are not changed.
    fn is_actors(&self, table: ObjectName<'_>, command: &str) -> Result<bool, SqlError> {
        let name = self.table_name(table).ok();
        let Some(name) = name.filter(|name| name.database.eq_ignore_ascii_case("performance_schema")) else {
            return Ok(false);
        };
        let is_there = self.instance().virtual_tables.find(&name.database, &name.name).is_some();
        if !is_there || name.name.eq_ignore_ascii_case(ACTORS) {
            return Ok(is_there);
        }
        let (user, host) = (&self.connection().user, &self.connection().host);
        Err(error_code::ER_TABLEACCESS_DENIED_ERROR.with(&[&command, user, host, &name.name]))
    }

    /// The rows that the condition lets through.
    async fn matching_rows(
        &mut self,
        table: &str,
        filter: Option<Span>,
        request: Request<'_>,
    ) -> Result<Vec<SetupRow>, SqlError> {
        let mut text = format!("SELECT * FROM performance_schema.{table}").into_bytes();
        if let Some(span) = filter {
            text.extend_from_slice(b" WHERE ");
            text.extend_from_slice(span.of(request.text));
        }
        let arena = bumpalo::Bump::new();
        let parsed = parser::parse(&text, self.parse_options(false), &arena)
            .map_err(|error| session::parse_error(&error))?;
        let nested = Request {
            statement: &parsed.statement,
            text: &text,
            parameters: request.parameters,
            parameter_types: request.parameter_types,
            locals: &[],
        };
        let mut rows = executor::CollectRows::default();
        let shield = Shield::default();
        self.run_nested(nested, |_| Ok(()), &shield, &mut rows).await?;
        self.end_statement_transaction(&shield).await?;
        Ok(rows.rows.into_iter().map(|row| SetupRow(row.iter().map(text_of).collect())).collect())
    }

    /// How many rows changed: one or none. Error 1235 for what would stop measuring, or begin what is not measured.
    fn set_up(&self, table: &str, row: &SetupRow, column: &str, value: &str) -> Result<u64, SqlError> {
        let column = column.to_ascii_lowercase();
        if !matches!(column.as_str(), "enabled" | "timed" | "history" | "instrumented") {
            return Err(error_code::ER_WRONG_PERFSCHEMA_USAGE.plain());
        }
        let is_on = match value.to_ascii_uppercase().as_str() {
            "YES" => true,
            "NO" => false,
            _ => return Err(error_code::WARN_DATA_TRUNCATED.with(&[&column.to_uppercase(), &1])),
        };
        let (name, telemetry) = (row.first(), &self.instance().telemetry);
        let refused = || {
            let what = format!("performance_schema.{table} SET {column} = '{value}' for {name}");
            Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]))
        };
        match (table, column.as_str()) {
            ("setup_consumers", "enabled") => match telemetry.consumers.switch(name) {
                Some(switch) => Ok(u64::from(switch.swap(is_on, Relaxed) != is_on)),
                None => {
                    let kept = CONSUMERS.iter().find(|(consumer, _)| *consumer == name);
                    if kept.is_some_and(|(_, is_kept)| *is_kept == is_on) { Ok(0) } else { refused() }
                }
            },
            ("setup_instruments", "enabled" | "timed") => {
                match telemetry.instruments.switch(name, column == "timed", is_on) {
                    // Nobody takes the time of each row.
                    _ if name == TABLE_IO && column == "timed" && is_on => Ok(0),
                    Some(is_changed) => Ok(u64::from(is_changed)),
                    // Everything else that is listed is on, and timed.
                    None if is_on => Ok(0),
                    None => refused(),
                }
            }
            ("setup_actors", "enabled" | "history") => Ok(telemetry.actors.change(|actor| {
                if !row.is_actor(actor) {
                    return false;
                }
                let switch = if column == "enabled" { &mut actor.is_on } else { &mut actor.has_history };
                std::mem::replace(switch, is_on) != is_on
            })),
            ("threads", "instrumented" | "history") => {
                let id = name.parse().map(ConnectionId).ok();
                let Some(process) = id.and_then(|id| self.instance().processes().find(id)) else {
                    return Ok(0);
                };
                let is_changed = match column.as_str() {
                    "history" => process.set_history(is_on),
                    _ => process.set_instrumented(is_on),
                };
                Ok(u64::from(is_changed))
            }
            ("setup_objects" | "setup_threads", "enabled" | "timed" | "history") if is_on => Ok(0),
            ("setup_objects" | "setup_threads", "enabled" | "timed" | "history") => refused(),
            _ => Err(error_code::ER_WRONG_PERFSCHEMA_USAGE.plain()),
        }
    }
}

/// A row that the condition of a statement has let through, as texts.
struct SetupRow(Vec<String>);

impl SetupRow {
    /// What it is called by.
    fn first(&self) -> &str {
        self.0.first().map_or("", |name| name)
    }

    fn is_actor(&self, actor: &Actor) -> bool {
        self.0.iter().map(String::as_str).take(3).eq([&*actor.host, &*actor.user, &*actor.role])
    }
}
