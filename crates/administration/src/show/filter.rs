//! LIKE and WHERE of SHOW.
use std::sync::Arc;

use binder::{CatalogView, Literals, ResolvedTable};
use collation::{CollationId, LikePattern};
use datum::{SqlError, Value};
use parser::ast::{
    Expr, Ident, NamedTable, ObjectName, Query, QueryBody, Select, SelectItem, SelectOptions, ShowFilter,
    Span, Statement, StatementKind, TableReference,
};
use planner::Estimates;
use schema::{ColumnDef, LocalFuture, TableDef, TableId, VirtualTable};

use crate::caller::Caller;
use session::MadeRows;
use session::{Request, Shield};

impl Caller<'_> {
    /// Keeps the rows that a filter lets through. LIKE compares one column, mostly the first, ignoring case.
    pub(super) async fn filter_rows(
        &mut self,
        mut rows: MadeRows,
        filter: ShowFilter<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<MadeRows, SqlError> {
        match filter {
            ShowFilter::None => {}
            ShowFilter::Like(_) => {
                let Some(pattern) = name_pattern(filter) else { return Ok(rows) };
                let column = rows.like_column;
                rows.rows.retain(|row| matches!(&row[column], Value::Bytes(name) if pattern.matches(name)));
            }
            ShowFilter::Where(condition) => {
                let catalog = MadeCatalog(Arc::new(MadeTable::of(&rows)));
                let plan = self.plan_filter(&catalog, condition, request)?;
                let prepared = self.prepare_plan(plan)?;
                let mut kept = executor::CollectRows::default();
                self.execute_plan(&prepared.plan, request.parameters.to_vec(), &mut kept).await?;
                self.end_statement_transaction(shield).await?;
                rows.rows = kept.rows;
            }
        }
        Ok(rows)
    }

    /// `SELECT * FROM rows WHERE condition`
    fn plan_filter(
        &self,
        catalog: &MadeCatalog,
        condition: &Expr<'_>,
        request: Request<'_>,
    ) -> Result<plan::Plan, SqlError> {
        let span = Span::default();
        let table = NamedTable {
            name: ObjectName { database: None, name: Ident { name: MADE_TABLE, span } },
            partitions: &[],
            alias: None,
            index_hints: &[],
            span,
        };
        let select = Select {
            number: 1,
            options: SelectOptions::default(),
            hints: None,
            items: &[SelectItem::Wildcard(span)],
            from: &[TableReference::Table(&table)],
            from_dual: false,
            filter: Some(condition),
            group_by: None,
            having: None,
            windows: &[],
            qualify: None,
            span,
        };
        let body = QueryBody::Select(&select);
        let query =
            Query { with: None, body, order_by: &[], limit: None, locking: &[], into: None, span, height: 0 };
        let statement = Statement { kind: StatementKind::Query(&query), span, hints: &[] };
        let mut context = self.planner_context(Literals::Inline, request.parameter_types);
        context.binder.current_database = Some(MADE_TABLE);
        planner::plan_statement(&statement, catalog, &context)
    }
}

/// What the first column has to be like.
pub(super) fn name_pattern(filter: ShowFilter<'_>) -> Option<LikePattern> {
    let ShowFilter::Like(pattern) = filter else { return None };
    Some(LikePattern::new(CollationId::UTF8MB3_GENERAL_CI, pattern, Some(u32::from(b'\\'))))
}

/// The name under which SHOW's own rows are planned.
const MADE_TABLE: &str = "rows";

/// A catalog with one table.
struct MadeCatalog(Arc<MadeTable>);

impl CatalogView for MadeCatalog {
    fn table(&self, _: &str, _: &str) -> Result<ResolvedTable, SqlError> {
        Ok(ResolvedTable::Virtual(self.0.clone()))
    }
}

impl Estimates for MadeCatalog {}

/// Rows that SHOW made, as a table that a condition can be applied to.
struct MadeTable {
    definition: Arc<TableDef>,
    rows: Vec<Vec<Value>>,
}

impl MadeTable {
    fn of(rows: &MadeRows) -> MadeTable {
        let mut definition = TableDef::new(TableId(0), "", "");
        let columns = rows.column_names().iter().zip(rows.column_types());
        definition.columns = columns.map(|(name, kind)| ColumnDef::new(name.as_str(), kind)).collect();
        MadeTable { definition: Arc::new(definition), rows: rows.rows.clone() }
    }
}

impl VirtualTable for MadeTable {
    fn definition(&self) -> &Arc<TableDef> {
        &self.definition
    }

    fn rows<'a>(&'a self, _: &'a dyn std::any::Any) -> LocalFuture<'a, Result<Vec<Vec<Value>>, SqlError>> {
        Box::pin(async { Ok(self.rows.clone()) })
    }
}
