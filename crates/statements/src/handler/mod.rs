//! HANDLER: a table that a session has open by a name, read row by row along an index or as it lies.
//!
//! Invariant: an open table keeps no lock between statements; where it has been is remembered as a key, so rows that come
//! and go meanwhile do no harm. A table that others have changed begins anew, one that its own session has changed or
//! dropped is closed. A read is a query of one table whose access path is the span of keys behind that place.
mod walk;

use binder::Literals;
use datum::{ColumnType, Severity, SqlError, TypeKind, Value, error_code};
use executor::RowSink;
use parser::ast::{
    Expr, ExprKind, Handler, HandlerAction, HandlerRead, Ident, IndexHint, IndexHintAction, IndexHintScope,
    Limit, Literal, LiteralOrdinal, LiteralValue, NamedTable, ObjectName, Query, QueryBody, Select,
    SelectItem, SelectOptions, Span, Statement, StatementKind, TableReference,
};
use plan::{KeySpan, Node, NodeKind, Plan, PlanKind};
use schema::LocalFuture;
use table::ReadyTable;

use self::walk::{Walk, above, aim, below, place_of};
use crate::caller::Caller;
use definition::TableName;
use session::{Done, Request, ResultSink, Session, Shield};
use session_state::open_handlers::{At, OpenHandler, Place};
use session_state::result::{ClientRows, conversions, shape_of};

impl Caller<'_> {
    pub(crate) async fn handler(
        &mut self,
        handler: &Handler<'_>,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let name = handler.table.name.name;
        if !self.holds_no_locked_tables() {
            return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        match handler.action {
            HandlerAction::Close => match self.handlers_mut().open.remove(&name.to_lowercase()) {
                Some(_) => Ok(Done::ok()),
                None => Err(unknown(name)),
            },
            HandlerAction::Open { alias } => self.open_handler(handler.table, alias),
            HandlerAction::Read(read) => self.read_handler(name, read, request, shield, sink).await,
        }
    }

    fn open_handler(&mut self, table: ObjectName<'_>, alias: Option<Ident<'_>>) -> Result<Done, SqlError> {
        let alias = alias.map_or(table.name.name, |alias| alias.name);
        if self.handlers().open.contains_key(&alias.to_lowercase()) {
            return Err(error_code::ER_NONUNIQ_TABLE.with(&[&alias]));
        }
        let table = self.table_name(table)?;
        if !self.has_temporary(&table) {
            self.require_table(auth::Privilege::Select.into(), &table.database, &table.name)?;
            let is_view = self.instance().catalog().view(&table.database, &table.name).is_some();
            let system = self.instance().virtual_tables.find(&table.database, &table.name);
            if is_view || system.is_some() {
                let shown = system.map_or(table.name.clone(), |system| system.definition().name.clone());
                return Err(error_code::ER_WRONG_OBJECT.with(&[&table.database, &shown, &"BASE TABLE"]));
            }
        }
        self.stored_table(&table)?;
        let opened = OpenHandler { table, alias: alias.to_owned(), place: None };
        self.handlers_mut().open.insert(alias.to_lowercase(), opened);
        Ok(Done::ok())
    }

    async fn read_handler(
        &mut self,
        name: &str,
        read: &HandlerRead<'_>,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let handler = self.handlers().open.get(&name.to_lowercase()).ok_or_else(|| unknown(name))?;
        let (table, alias) = (handler.table.clone(), handler.alias.clone());
        let handle = self.stored_table(&table)?;
        let ready = handle.clone().ready(self.instance().engine()).await?;
        let query_of = |session: &Session| plan_read(session, read, &table, &alias, request);
        let mut plan = self.plan_knowing(query_of).await.map_err(as_field_list)?;
        if !plan.functions.is_empty() {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"stored functions in HANDLER ... READ"]));
        }
        let walk = self.walk_of(read, &ready, name)?;
        let wanted = self.wanted_rows(read)?;
        let PlanKind::Query(query) = &mut plan.kind else { return Ok(Done::ok()) };
        let shown = query.columns.len();
        let adds = match walk.is_empty {
            true => {
                query.root = Node::new(NodeKind::Nothing, shown, 0.0);
                true
            }
            false => {
                let types: Vec<ColumnType> =
                    query.columns.iter().map(|column| column.column_type.clone()).collect();
                aim(&mut query.root, &walk, handle.definition(), &types)?
            }
        };
        let prepared = self.prepare_plan(plan)?;
        self.enter_plan(&prepared).await?;
        let PlanKind::Query(query) = &prepared.plan.kind else { return Ok(Done::ok()) };
        let types: Vec<ColumnType> = query.columns.iter().map(|column| column.column_type.clone()).collect();
        sink.columns(&shape_of(&query.columns, self.settings()));
        let (settings, conversions) = (self.settings().clone(), conversions(&types, self.settings()));
        let client = ClientRows::new(sink, &conversions, &settings);
        let mut rows = HandlerRows { client, shown, adds: adds && !walk.is_empty, last: None, count: 0 };
        let outcome = self.execute_plan(&prepared.plan, request.parameters.to_vec(), &mut rows).await?;
        let (last, found) = (rows.last.take(), rows.count);
        self.end_statement_transaction(shield).await?;
        if let Some(at) = place_of(&walk, last, found < wanted, &ready)?
            && let Some(handler) = self.handlers_mut().open.get_mut(&name.to_lowercase())
        {
            handler.place = Some(Place { table_id: handle.definition().id, index: walk.index, at });
        }
        Ok(Done::Rows { found: outcome.found_rows })
    }

    /// How many rows a read may give.
    fn wanted_rows(&self, read: &HandlerRead<'_>) -> Result<u64, SqlError> {
        let Some(limit) = &read.limit else { return Ok(1) };
        match self.constant(&limit.count) {
            Some((Value::Int(count), _)) if count >= 0 => Ok(count as u64),
            Some((Value::UInt(count), _)) => Ok(count),
            _ => Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"LIMIT"])),
        }
    }

    fn walk_of(&self, read: &HandlerRead<'_>, table: &ReadyTable, name: &str) -> Result<Walk, SqlError> {
        let definition = table.handle().definition();
        let index = match read.index {
            None => None,
            Some(index) => {
                let is_it = |known: &schema::IndexDef| known.name.eq_ignore_ascii_case(index.name);
                let found = definition.indexes.iter().position(is_it);
                let missing = || error_code::ER_KEY_DOES_NOT_EXITS.with(&[&index.name, &name]);
                Some(found.ok_or_else(missing)?)
            }
        };
        let place = self.handlers().open.get(&name.to_lowercase()).and_then(|handler| handler.place.as_ref());
        let place = place.filter(|place| place.index == index && place.table_id == definition.id);
        let at = place.map(|place| place.at.clone());
        Ok(match read.direction {
            "FIRST" => Walk::forward(index, KeySpan::default()),
            "LAST" => Walk::back(index, KeySpan::default()),
            "NEXT" => match at.unwrap_or(At::Begin) {
                At::Begin => Walk::forward(index, KeySpan::default()),
                At::End => Walk { is_empty: true, ..Walk::forward(index, KeySpan::default()) },
                At::Key(key) => Walk::forward(index, above(key, false)),
                At::Gap(key) => Walk::forward(index, above(key, true)),
            },
            "PREV" => match at.unwrap_or(At::End) {
                At::End => Walk::back(index, KeySpan::default()),
                At::Begin => Walk { is_empty: true, ..Walk::back(index, KeySpan::default()) },
                At::Key(key) | At::Gap(key) => Walk::back(index, below(key)),
            },
            comparison => {
                let key = self.handler_key(read, table, index.unwrap_or_default())?;
                Walk::compared(index, comparison, &key)
            }
        })
    }

    /// The bytes that the keys of entries with these values begin with.
    fn handler_key(
        &self,
        read: &HandlerRead<'_>,
        table: &ReadyTable,
        index: usize,
    ) -> Result<Vec<u8>, SqlError> {
        let definition = table.handle().definition();
        let parts = &table.handle().layout().indexes[index].parts;
        if read.values.len() > parts.len() {
            return Err(error_code::ER_TOO_MANY_KEY_PARTS.with(&[&parts.len()]));
        }
        let mut settings = (*self.settings()).clone();
        settings.sql_mode = datum::SqlMode::default();
        let conversion = self.conversion_of(&settings);
        let mut key = Vec::new();
        for (part, expr) in parts.iter().zip(read.values) {
            let wrong = || error_code::ER_WRONG_ARGUMENTS.with(&[&"HANDLER ... READ"]);
            let context = self.planner_context(Literals::Inline, &[]);
            planner::plan_expressions(std::slice::from_ref(expr), &*self.0, &context)
                .map_err(as_field_list)?;
            let (value, from) = self.constant(expr).ok_or_else(wrong)?;
            if value.is_null() {
                part.write_null(&mut key);
                continue;
            }
            let column = &definition.columns[part.column];
            let (value, problem) = conversion.column_value(&value, &from, column, 1)?;
            let is_moment = column.column_type.kind.has_date() || column.column_type.kind == TypeKind::Year;
            if is_moment && problem.is_some_and(|problem| problem.severity == Severity::Warning) {
                return Err(wrong());
            }
            part.write(&value, &mut key)?;
        }
        Ok(key)
    }
}

/// The query whose rows a read gives, without its path.
fn plan_read(
    session: &Session,
    read: &HandlerRead<'_>,
    table: &TableName,
    alias: &str,
    request: Request<'_>,
) -> Result<Plan, SqlError> {
    let no_index = [IndexHint { action: IndexHintAction::Use, scope: IndexHintScope::All, indexes: &[] }];
    let nowhere = Span::default();
    let from = NamedTable {
        name: ObjectName { database: Some(ident(&table.database)), name: ident(&table.name) },
        partitions: &[],
        alias: Some(ident(alias)),
        index_hints: &no_index,
        span: nowhere,
    };
    let one = Expr {
        kind: ExprKind::Literal(Literal { value: LiteralValue::Integer(1), ordinal: LiteralOrdinal(0) }),
        span: nowhere,
        height: 1,
    };
    let select = Select {
        number: 1,
        options: SelectOptions::default(),
        hints: None,
        items: &[SelectItem::Wildcard(nowhere)],
        from: &[TableReference::Table(&from)],
        from_dual: false,
        filter: read.filter,
        group_by: None,
        having: None,
        windows: &[],
        qualify: None,
        span: nowhere,
    };
    let query = Query {
        with: None,
        body: QueryBody::Select(&select),
        order_by: &[],
        limit: Some(read.limit.unwrap_or(Limit { count: one, offset: None })),
        locking: &[],
        into: None,
        span: nowhere,
        height: read.filter.map_or(1, |filter| filter.height + 1),
    };
    let statement = Statement { kind: StatementKind::Query(&query), span: nowhere, hints: &[] };
    session.plan_request(Request { statement: &statement, ..request }, Literals::Inline, Vec::new())
}

fn ident(name: &str) -> Ident<'_> {
    Ident { name, span: Span::default() }
}

fn unknown(name: &str) -> SqlError {
    error_code::ER_UNKNOWN_TABLE.with(&[&name, &"HANDLER"])
}

/// MySQL names the wrong clause here.
fn as_field_list(error: SqlError) -> SqlError {
    let message = error.message.replace("'where clause'", "'field list'");
    SqlError { message, ..error }
}

/// Shows the client the columns it asked for and keeps what tells the place of the last row.
struct HandlerRows<'a> {
    client: ClientRows<'a>,
    shown: usize,
    adds: bool,
    last: Option<Vec<Value>>,
    count: u64,
}

impl RowSink for HandlerRows<'_> {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let (shown, added) = row.split_at(self.shown.min(row.len()));
        if self.adds {
            self.last = Some(added.to_vec());
        }
        self.count += 1;
        self.client.row(shown)
    }

    fn is_full(&self) -> bool {
        self.client.is_full()
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<(), SqlError>> {
        self.client.flush()
    }
}
