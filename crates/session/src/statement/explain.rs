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
        if explain.into.is_some() || explain.database.is_some() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"EXPLAIN INTO and FOR DATABASE"]));
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
                self.require_shown_views(&plan)?;
                if !explain.analyze {
                    plan.conditions
                        .iter()
                        .for_each(|condition| self.shared.diagnostics.lock().add(condition.clone()));
                }
                let format: String = match explain.format {
                    ExplainFormat::Unspecified => {
                        self.variables.by_name("explain_format").as_text().to_owned()
                    }
                    ExplainFormat::Traditional => "TRADITIONAL".to_owned(),
                    ExplainFormat::Tree => "TREE".to_owned(),
                    ExplainFormat::Json => "JSON".to_owned(),
                };
                if explain.analyze {
                    return self.explain_analyze(plan, explain.format, &format, shield).await;
                }
                explain_plan(&plan, &format)
            }
        }
    }

    /// Runs the query, throws its rows away and shows what each operator did.
    async fn explain_analyze(
        &mut self,
        mut plan: plan::Plan,
        written: ExplainFormat,
        format: &str,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        match (written, format) {
            (ExplainFormat::Unspecified, "TRADITIONAL") | (_, "TREE") => {}
            (_, "JSON") => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"EXPLAIN ANALYZE with JSON format"]));
            }
            _ => {
                let what = "EXPLAIN ANALYZE with TRADITIONAL format";
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
            }
        }
        let plan::PlanKind::Query(query) = &mut plan.kind else {
            let mut rows = MadeRows::new(&[MadeColumn::LongText("EXPLAIN")]);
            rows.push(vec![Value::bytes("<not executable by iterator executor>\n")]);
            return Ok(Done::Made(rows));
        };
        let nothing = plan::Node::new(plan::NodeKind::Nothing, 0, 0.0);
        query.root = plan::measured(std::mem::replace(&mut query.root, nothing));
        let prepared = self.prepare_plan(plan)?;
        self.lock_plan(&prepared).await?;
        let mut no_rows = Discard;
        self.execute_plan(&prepared.plan, Vec::new(), &mut no_rows).await?;
        self.end_statement_transaction(shield).await?;
        explain_plan(&prepared.plan, "TREE")
    }
}

/// Takes rows that nobody wants.
struct Discard;

impl executor::RowSink for Discard {
    fn row(&mut self, _row: &[Value]) -> Result<(), SqlError> {
        Ok(())
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
