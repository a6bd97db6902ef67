//! A whole planned statement.
use crate::change::{DeletePlan, InsertPlan, UpdatePlan};
use crate::estimate_check::EstimateCheck;
use crate::need::TableNeed;
use crate::node::Node;
use crate::output::OutputColumn;
use crate::row_rules::RowRules;
use datum::{ColumnType, Condition};
use expression::{Expr, ReadParameter};
use schema::{TableDef, TableId, TriggerSet, ViewDef};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct Plan {
    pub kind: PlanKind,
    /// Every stored table the plan touches, for metadata locks and to see that the plan is still valid.
    pub tables: Vec<TableUse>,
    /// Every view that the plan went through; it is valid as long as they are the same.
    pub views: Vec<Arc<ViewDef>>,
    /// What rows need of tables that the statement changes through foreign keys; filled in by who knows those.
    pub cascade_rules: Vec<(TableId, Arc<RowRules>)>,
    /// What whoever runs it must be allowed.
    pub needs: Vec<TableNeed>,
    /// The stored functions that it calls.
    pub functions: Vec<FunctionUse>,
    /// The triggers of tables that it changes, where there are any; filled in by who knows those.
    pub triggers: Vec<(TableId, TriggerSet)>,
    /// Parameters the statement's text has (`?`, or its literals when the plan is shared by digest).
    pub parameter_count: usize,
    /// The length of `EvalContext::slots` that the plan needs: values of subqueries and of outer columns.
    pub slot_count: usize,
    /// The types that binding gave the statement's own parameters where their use told one.
    pub parameter_types: Vec<Option<ColumnType>>,
    /// Values made from the parameters; they follow the statement's own. A value that cannot be read so needs another
    /// plan.
    pub readings: Vec<ReadParameter>,
    /// The parameters are the text's literals.
    pub literals_are_parameters: bool,
    /// The user variables that it reads (in lower case), with the types they had; with others it is another plan.
    pub user_variables: Vec<(String, Option<ColumnType>)>,
    /// False when the plan depends on the session or on the moment and must not be kept.
    pub shareable: bool,
    /// The plan reads tables of which nothing was known. It is right, and another one may be much faster.
    pub is_guess: bool,
    /// What was counted for the parameters at hand; for values with other counts there may be a better plan.
    pub checks: Vec<EstimateCheck>,
    /// Warnings and notes found while planning (deprecated syntax, for instance).
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a plan is made once and then only borrowed")]
pub enum PlanKind {
    Query(QueryPlan),
    Insert(Box<InsertPlan>),
    Update(Box<UpdatePlan>),
    Delete(Box<DeletePlan>),
}

#[derive(Debug, Clone)]
pub struct QueryPlan {
    pub root: Node,
    pub columns: Vec<OutputColumn>,
    /// SQL_CALC_FOUND_ROWS.
    pub count_found_rows: bool,
    /// The LIMIT, with SQL_CALC_FOUND_ROWS only: it decides what is sent, not what is read.
    pub counted_limit: Option<(Expr, Option<Expr>)>,
    /// Any table is read with locks.
    pub locking: bool,
}

#[derive(Debug, Clone)]
pub struct TableUse {
    pub id: TableId,
    pub table: Arc<TableDef>,
    /// What the statement calls it.
    pub alias: String,
    pub usage: TableUsage,
    /// A view names it, not the statement.
    pub is_below_view: bool,
}

/// A stored function under the number that its name stood for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionUse {
    pub id: u64,
    pub database: String,
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableUsage {
    Read,
    /// FOR SHARE.
    ReadLocking,
    /// FOR UPDATE: others must not be promised that nobody changes the table.
    ReadForUpdate,
    Insert,
    Update,
    Delete,
}

impl Plan {
    /// INSERT IGNORE and its kin, whose errors become warnings.
    pub fn ignores_errors(&self) -> bool {
        match &self.kind {
            PlanKind::Query(_) => false,
            PlanKind::Insert(insert) => insert.ignore,
            PlanKind::Update(update) => update.ignore,
            PlanKind::Delete(delete) => delete.ignore,
        }
    }

    /// Whether it changes rows.
    pub fn is_change(&self) -> bool {
        !matches!(self.kind, PlanKind::Query(_))
    }
}
