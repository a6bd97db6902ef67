//! UPDATE of the `setup_*` tables of `performance_schema`: consumers are switched; what is always measured stays.
//!
//! The condition is a query of the table's rows; the values are constants, as tools write them.
use std::sync::atomic::Ordering::Relaxed;

use auth::Privilege;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use parser::ast::{Span, Update};

use crate::caller::Caller;
use session::Shield;
use session::{Done, Effects, Request};

/// The tables whose rows can be updated in MySQL.
const TABLES: &[&str] =
    &["setup_consumers", "setup_instruments", "setup_actors", "setup_objects", "setup_threads", "threads"];

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
        let names = self.matching_names(&table, update.filter.map(|filter| filter.span), request).await?;
        let mut changed = 0;
        for assignment in update.assignments {
            let (value, column_type) = self.evaluate_one(&assignment.value, request, shield).await?;
            let text = match &value {
                Value::Bytes(_) => String::from_utf8_lossy(&value.to_text(&column_type)).into_owned(),
                other => {
                    String::from_utf8_lossy(&other.to_text(&ColumnType::new(TypeKind::LongText))).into_owned()
                }
            };
            for row in &names {
                changed += self.set_up(&table, row, assignment.column.name, &text)?;
            }
        }
        let info = format!("Rows matched: {}  Changed: {changed}  Warnings: 0", names.len());
        Ok(Some(Done::Ok(Effects { affected_rows: changed, info: info.into(), ..Effects::default() })))
    }

    /// The first column of the rows that the condition lets through.
    async fn matching_names(
        &mut self,
        table: &str,
        filter: Option<Span>,
        request: Request<'_>,
    ) -> Result<Vec<String>, SqlError> {
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
        let first = rows.rows.into_iter().filter_map(|row| row.into_iter().next());
        Ok(first
            .map(|value| match value {
                Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                other => {
                    String::from_utf8_lossy(&other.to_text(&ColumnType::new(TypeKind::LongText))).into_owned()
                }
            })
            .collect())
    }

    /// How many rows changed: one or none. Error 1235 for what would stop measuring, or begin what is not measured.
    fn set_up(&self, table: &str, row: &str, column: &str, value: &str) -> Result<u64, SqlError> {
        let is_on = value.eq_ignore_ascii_case("YES");
        let refused = || {
            let what = format!("performance_schema.{table} SET {column} = '{value}' for {row}");
            Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]))
        };
        if table != "setup_consumers" {
            // Everything that is listed is on, and timed.
            return if is_on { Ok(0) } else { refused() };
        }
        if !column.eq_ignore_ascii_case("enabled") {
            return refused();
        }
        match self.instance().telemetry.consumers.switch(row) {
            Some(switch) => Ok(u64::from(switch.swap(is_on, Relaxed) != is_on)),
            None => {
                let is_kept = matches!(
                    row,
                    "events_statements_current"
                        | "events_transactions_current"
                        | "events_transactions_history"
                        | "thread_instrumentation"
                );
                if is_on == is_kept { Ok(0) } else { refused() }
            }
        }
    }
}
