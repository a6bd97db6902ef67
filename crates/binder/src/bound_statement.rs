//! A bound statement: a query, or what INSERT, UPDATE and DELETE change and by which queries. Made by `statement`; crate `planner`
//! makes the plan of it.
use crate::block::Block;
use crate::bound::{BoundInitialiser, BoundQuery, JoinTree, Logical};
use datum::{ColumnType, Condition};
use expression::Expr;
use plan::{
    Assignment, DefaultSource, FunctionUse, InsertValue, InsertView, RowRules, SortKey, TableNeed, TableUse,
};
use schema::{TableDef, ViewDef};
use std::sync::Arc;

/// A statement whose names and types are settled.
pub struct BoundStatement {
    pub kind: BoundKind,
    /// The fields below are those of `plan::Plan`.
    pub tables: Vec<TableUse>,
    pub views: Vec<Arc<ViewDef>>,
    pub needs: Vec<TableNeed>,
    pub functions: Vec<FunctionUse>,
    pub slot_count: usize,
    pub parameter_types: Vec<Option<ColumnType>>,
    pub user_variables: Vec<(String, Option<ColumnType>)>,
    /// Some expression assigns a user variable.
    pub assigns_variables: bool,
    pub shareable: bool,
    pub is_guess: bool,
    pub conditions: Vec<Condition>,
}

pub enum BoundKind {
    Query(Box<BoundQuery>),
    Insert(Box<BoundInsert>),
    Update(Box<BoundUpdate>),
    Delete(Box<BoundDelete>),
}

/// INSERT, REPLACE and LOAD DATA; the fields are those of `plan::InsertPlan`.
pub struct BoundInsert {
    pub table: Arc<TableDef>,
    pub view: Option<InsertView>,
    pub columns: Vec<usize>,
    pub omitted: Vec<(usize, DefaultSource)>,
    pub source: BoundSource,
    pub reads_target: bool,
    pub duplicates: BoundDuplicates,
    pub initialisers: Vec<BoundInitialiser>,
    /// Those that run before a certain row of VALUES.
    pub row_initialisers: Vec<(usize, BoundInitialiser)>,
    pub rules: Option<Arc<RowRules>>,
    pub ignore: bool,
}

/// The rows that are inserted.
pub enum BoundSource {
    Rows(Vec<Vec<InsertValue>>),
    Query(Box<Logical>),
}

/// What becomes of a row whose key is taken.
pub enum BoundDuplicates {
    Fail,
    Replace,
    Update { assignments: Vec<Assignment>, subqueries: Vec<BoundRowSubquery> },
}

/// A subquery of ON DUPLICATE KEY UPDATE that reads the row.
pub struct BoundRowSubquery {
    pub assignment: usize,
    /// (slot, position in the row).
    pub reads: Vec<(usize, usize)>,
    pub initialiser: BoundInitialiser,
}

/// The rows that UPDATE and DELETE change.
pub struct BoundRows {
    pub block: Block,
    pub tree: JoinTree,
    pub conditions: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub limit: Option<(Expr, Option<Expr>)>,
    /// The tables that are changed.
    pub targets: Vec<usize>,
    /// Rows of the other tables are locked too.
    pub locks_others: bool,
}

pub struct BoundUpdate {
    pub rows: BoundRows,
    pub targets: Vec<BoundUpdateTarget>,
    pub ignore: bool,
    /// All rows are found before the first one is changed.
    pub collect_first: bool,
}

/// A table that an UPDATE changes.
pub struct BoundUpdateTarget {
    pub source: usize,
    pub assignments: Vec<Assignment>,
    pub rules: Option<Arc<RowRules>>,
}

pub struct BoundDelete {
    pub rows: BoundRows,
    pub ignore: bool,
    pub collect_first: bool,
}
