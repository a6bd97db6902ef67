//! EXPLAIN and DESCRIBE.
use datum::{SqlError, Value, error_code};
use parser::ast::{Explain, ExplainFormat, ExplainTarget};
use planner::Literals;

use super::guard::Shield;
use super::{Done, Request};
use crate::result::{MadeColumn, MadeRows, optional_text};
use crate::session::Session;
use instance::PlanShape;

impl Session {
    pub(super) async fn explain(
        &mut self,
        explain: &Explain<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if explain.analyze || explain.into.is_some() || explain.database.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"EXPLAIN ANALYZE, INTO and FOR DATABASE"]));
        }
        match explain.target {
            ExplainTarget::Table { table, column } => self.describe(table, column, request, shield).await,
            ExplainTarget::Connection(_) => {
                Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"EXPLAIN FOR CONNECTION"]))
            }
            ExplainTarget::Statement(statement) => {
                if !planner::is_plannable(statement) {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"EXPLAIN of this statement"]));
                }
                let request = Request { statement, ..request };
                let make = |session: &Session| session.plan_request(request, Literals::Inline, Vec::new());
                let plan = self.plan_knowing(make).await?;
                if PlanShape::of(&plan).has_sources {
                    self.require_usable_xa()?;
                }
                self.require_plan(&plan)?;
                let format = match explain.format {
                    ExplainFormat::Unspecified => self.variables.by_name("explain_format").as_text(),
                    ExplainFormat::Traditional => "TRADITIONAL",
                    ExplainFormat::Tree => "TREE",
                    ExplainFormat::Json => "JSON",
                };
                explain_plan(&plan, format)
            }
        }
    }
}

fn explain_plan(plan: &plan::Plan, format: &str) -> Result<Done, SqlError> {
    match format {
        "TREE" => {
            let mut rows = MadeRows::new(&[MadeColumn::LongText("EXPLAIN")]);
            rows.push(vec![Value::bytes(plan::explain_tree(plan))]);
            Ok(Done::Made(rows))
        }
        "JSON" => Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"EXPLAIN FORMAT=JSON"])),
        _ => Ok(Done::Made(traditional(plan))),
    }
}

fn traditional(plan: &plan::Plan) -> MadeRows {
    let mut rows = MadeRows::new(&[
        MadeColumn::NullableNumber("id"),
        MadeColumn::Text("select_type", 19),
        MadeColumn::NullableText("table", 64),
        MadeColumn::LongText("partitions"),
        MadeColumn::NullableText("type", 10),
        MadeColumn::NullableText("possible_keys", 4096),
        MadeColumn::NullableText("key", 64),
        MadeColumn::NullableText("key_len", 4096),
        MadeColumn::NullableText("ref", 1024),
        MadeColumn::NullableNumber("rows"),
        MadeColumn::NullableText("filtered", 10),
        MadeColumn::NullableText("Extra", 255),
    ]);
    for row in plan::explain_rows(plan) {
        rows.push(explain_row(row));
    }
    rows
}

fn explain_row(row: plan::ExplainRow) -> Vec<Value> {
    vec![
        row.id.map_or(Value::Null, Value::UInt),
        Value::bytes(row.select_type),
        optional_text(row.table),
        Value::Null,
        optional_text(row.access_type),
        optional_text(row.possible_keys),
        optional_text(row.key),
        optional_text(row.key_len),
        optional_text(row.reference),
        row.rows.map_or(Value::Null, Value::UInt),
        optional_text(row.filtered.map(|share| format!("{share:.2}"))),
        optional_text(row.extra),
    ]
}
