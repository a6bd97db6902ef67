//! EXPLAIN of statements and of what other connections run: they are planned as they would be there, and the plan is shown.
//! DESCRIBE of a table is a SHOW, in `administration`.
use binder::Literals;
use bumpalo::Bump;
use datum::{ColumnType, Condition, ErrorCode, Severity, SqlError, TypeKind, Value, error_code};
use expression::SessionServices;
use instance::ConnectionId;
use parser::ast::{Explain, ExplainFormat, ExplainTarget, Query, Statement, StatementKind};
use parser::parse_one;

use instance::PlanShape;
use session::{Done, MadeColumn, MadeRows, Occasion, Request, Session, Shield, optional_text};

use crate::caller::Caller;

const ER_EXPLAIN_NOT_SUPPORTED: ErrorCode = ErrorCode::new(
    3012,
    "HY000",
    "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE",
);
const ER_EXPLAIN_INTO_IMPLICIT_FORMAT: ErrorCode =
    ErrorCode::new(6006, "0A000", "EXPLAIN INTO does not support implicit FORMAT.");
const ER_EXPLAIN_INTO_FORMAT: ErrorCode =
    ErrorCode::new(6007, "0A000", "EXPLAIN INTO does not support FORMAT=%s.");
const ER_EXPLAIN_INTO_FOR_CONNECTION: ErrorCode =
    ErrorCode::new(6009, "0A000", "EXPLAIN FOR CONNECTION does not support the INTO clause.");
const ER_EXPLAIN_ANALYZE_JSON_VERSION: ErrorCode = ErrorCode::new(
    6412,
    "0A000",
    "EXPLAIN ANALYZE does not support FORMAT=JSON with explain_json_format_version=1.",
);

impl Caller<'_> {
    /// The name of the form that is asked for, which INTO does not go with in every case.
    pub(crate) fn explain_form(&self, explain: &Explain<'_>) -> Result<String, SqlError> {
        let format = match explain.format {
            ExplainFormat::Unspecified => self.variables().by_name("explain_format").as_text().to_owned(),
            ExplainFormat::Traditional => "TRADITIONAL".to_owned(),
            ExplainFormat::Tree => "TREE".to_owned(),
            ExplainFormat::Json => "JSON".to_owned(),
        };
        if explain.into.is_some() {
            match (&explain.target, explain.format) {
                (ExplainTarget::Connection(_), _) => return Err(ER_EXPLAIN_INTO_FOR_CONNECTION.plain()),
                (_, ExplainFormat::Unspecified) => return Err(ER_EXPLAIN_INTO_IMPLICIT_FORMAT.plain()),
                (_, ExplainFormat::Json) => {}
                _ => return Err(ER_EXPLAIN_INTO_FORMAT.with(&[&format])),
            }
        }
        Ok(format)
    }

    pub(crate) async fn explain(
        &mut self,
        explain: &Explain<'_>,
        format: &str,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        match explain.target {
            // Given to the family of SHOW.
            ExplainTarget::Table { .. } => Err(error_code::ER_INTERNAL_ERROR.with(&[&"DESCRIBE in EXPLAIN"])),
            ExplainTarget::Connection(_) if explain.analyze => {
                Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"EXPLAIN ANALYZE FOR CONNECTION"]))
            }
            ExplainTarget::Connection(id) => {
                let id = self.constant(&id).map_or(0, |(value, _)| match value {
                    Value::Int(id) => u64::try_from(id).unwrap_or(0),
                    Value::UInt(id) => id,
                    _ => 0,
                });
                self.explain_connection(id, format).await
            }
            ExplainTarget::Statement(statement) => {
                self.explain_statement(explain, statement, format, request, shield).await
            }
        }
    }

    async fn explain_statement(
        &mut self,
        explain: &Explain<'_>,
        statement: &Statement<'_>,
        format: &str,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        if !planner::is_plannable(statement) {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"EXPLAIN of this statement"]));
        }
        let database = explain.database.map(|name| name.name);
        if let Some(name) = database {
            self.instance().catalog().require_database(name)?;
        }
        // INTO tells where rows would go, not how they are found.
        let (plain, without);
        let statement = match statement.kind {
            StatementKind::Query(query) if query.into.is_some() => {
                plain = Query { into: None, ..*query };
                without = Statement { kind: StatementKind::Query(&plain), ..*statement };
                &without
            }
            _ => statement,
        };
        let request = Request { statement, ..request };
        let make = |session: &Session| match database {
            None => session.plan_request(request, Literals::Inline, Vec::new()),
            Some(_) => {
                let mut context = session.planner_context(Literals::Inline, request.parameter_types);
                context.values = request.parameters;
                context.binder.current_database = database;
                planner::plan_statement(statement, session, &context)
            }
        };
        let plan = self.plan_knowing(make).await?;
        if PlanShape::of(&plan).has_sources {
            self.require_usable_xa()?;
        }
        self.require_plan(&plan)?;
        self.require_shown_views(&plan)?;
        if self.settings().optimizer_trace {
            let text = String::from_utf8_lossy(request.text).into_owned();
            let occasion = if explain.analyze { Occasion::Run } else { Occasion::Explain };
            Box::pin(self.trace_plan(request, database, &text, occasion)).await;
        }
        let expanded = self.expanded_text(statement, database);
        if !explain.analyze {
            let mut conditions = plan.conditions.clone();
            let is_rows = format.starts_with("TRADITIONAL") || format == "JSON" && self.json_version() == 1;
            if let Some(text) = expanded.as_ref().filter(|_| is_rows) {
                conditions
                    .push(Condition { severity: Severity::Note, error: error_code::ER_YES.with(&[text]) });
            }
            conditions.into_iter().for_each(|condition| self.shared().diagnostics.lock().add(condition));
        }
        let text = expanded.unwrap_or_else(|| statement_text(request.text, statement));
        let done = match explain.analyze {
            true => self.explain_analyze(plan, explain.format, format, &text, shield).await?,
            false => self.explain_plan(&plan, format, &text),
        };
        match (explain.into, done) {
            (Some(variable), Done::Made(rows)) => {
                self.keep_document(variable.name, rows)?;
                Ok(Done::ok())
            }
            (_, done) => Ok(done),
        }
    }

    /// EXPLAIN .. INTO: the document becomes the value of a variable.
    fn keep_document(&self, variable: &str, rows: MadeRows) -> Result<(), SqlError> {
        let document = rows.rows.into_iter().flatten().next().unwrap_or(Value::Null);
        let collation = collation::Charset::Utf8mb4.default_collation();
        let column_type = ColumnType { collation, ..ColumnType::new(TypeKind::LongText) };
        self.shared().set_user_variable(&variable.to_lowercase(), document, column_type)
    }

    /// What the query means, name by name. Changes have no such text.
    fn expanded_text(&self, statement: &Statement<'_>, database: Option<&str>) -> Option<String> {
        let StatementKind::Query(query) = statement.kind else { return None };
        let mut context = self.binder_context(Literals::Inline, &[]);
        context.current_database = database.or(context.current_database);
        binder::expanded_query(query, None, &*self.0, &context).ok()
    }

    fn json_version(&self) -> u64 {
        self.variables().by_name("explain_json_format_version").as_unsigned()
    }

    /// The plan of the statement that another session runs: it is planned here as it would be there.
    async fn explain_connection(&mut self, id: u64, format: &str) -> Result<Done, SqlError> {
        let number = u32::try_from(id).ok().map(ConnectionId);
        let entry = number.and_then(|id| self.instance().processes().find(id));
        let entry = entry.ok_or_else(|| error_code::ER_NO_SUCH_THREAD.with(&[&id]))?;
        let activity = entry.activity();
        let is_own = activity.user == self.connection().user;
        if !is_own && !self.privileges().has_global(auth::Privilege::Process) {
            return Err(self.account_denied());
        }
        if entry.id == self.connection().id {
            return Err(ER_EXPLAIN_NOT_SUPPORTED.plain());
        }
        let text = match activity.info() {
            Some(text) if activity.command != "Sleep" => text.to_owned(),
            _ => return Ok(Done::ok()),
        };
        let arena = Bump::new();
        let parsed = parse_one(text.as_bytes(), self.parse_options(true), &arena);
        let parsed = parsed.map_err(|_| ER_EXPLAIN_NOT_SUPPORTED.plain())?;
        if !planner::is_plannable(&parsed.statement) {
            return Err(ER_EXPLAIN_NOT_SUPPORTED.plain());
        }
        let make = |session: &Session| {
            let mut context = session.planner_context(Literals::Inline, &[]);
            context.binder.current_database = activity.database.as_deref();
            planner::plan_statement(&parsed.statement, session, &context)
        };
        let plan = self.plan_knowing(make).await?;
        self.require_plan(&plan)?;
        self.require_shown_views(&plan)?;
        Ok(self.explain_plan(&plan, format, ""))
    }

    /// Runs the query, throws its rows away and shows what each operator did.
    async fn explain_analyze(
        &mut self,
        mut plan: plan::Plan,
        written: ExplainFormat,
        format: &str,
        text: &str,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let format = match (written, format) {
            (ExplainFormat::Unspecified, "TRADITIONAL" | "TRADITIONAL_STRICT") | (_, "TREE") => "TREE",
            (_, "JSON") if self.json_version() == 1 => {
                return Err(ER_EXPLAIN_ANALYZE_JSON_VERSION.plain());
            }
            (_, "JSON") => "JSON",
            _ => {
                let what = "EXPLAIN ANALYZE with TRADITIONAL format";
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
            }
        };
        let plan::PlanKind::Query(query) = &mut plan.kind else {
            let mut rows = MadeRows::new(&[MadeColumn::LongText("EXPLAIN")]);
            rows.push(vec![Value::bytes("-> <not executable by iterator executor>\n")]);
            return Ok(Done::Made(rows));
        };
        let nothing = plan::Node::new(plan::NodeKind::Nothing, 0, 0.0);
        query.root = plan::measured(std::mem::replace(&mut query.root, nothing));
        let prepared = self.prepare_plan(plan)?;
        self.lock_plan(&prepared).await?;
        let mut no_rows = Discard;
        self.execute_plan(&prepared.plan, Vec::new(), &mut no_rows).await?;
        self.end_statement_transaction(shield).await?;
        Ok(self.explain_plan(&prepared.plan, format, text))
    }

    fn explain_plan(&self, plan: &plan::Plan, format: &str, text: &str) -> Done {
        let document = match format {
            "TREE" => plan::explain_tree(plan, &planner::plan_price),
            "JSON" => match self.json_version() {
                1 => self.with_end_markers(plan::explain_json_rows(plan, &planner::plan_price)),
                _ => plan::explain_json(plan, text, &planner::plan_price),
            },
            _ => return Done::Made(traditional(plan)),
        };
        let mut rows = MadeRows::new(&[MadeColumn::LongText("EXPLAIN")]);
        rows.push(vec![Value::bytes(document)]);
        Done::Made(rows)
    }
}

fn statement_text(text: &[u8], statement: &Statement<'_>) -> String {
    let part = text.get(statement.span.start as usize..statement.span.end as usize).unwrap_or_default();
    String::from_utf8_lossy(part).into_owned()
}

/// Takes rows that nobody wants.
struct Discard;

impl executor::RowSink for Discard {
    fn row(&mut self, _row: &[Value]) -> Result<(), SqlError> {
        Ok(())
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
