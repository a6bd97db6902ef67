//! INSERT, REPLACE, UPDATE and DELETE.
use crate::node::Node;
use crate::row_rules::RowRules;
use crate::subquery::Initialiser;
use datum::Value;
use expression::Expr;
use schema::TableDef;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct InsertPlan {
    pub table: Arc<TableDef>,
    /// The column that each value of a source row is for.
    pub columns: Vec<usize>,
    /// For every column of the table that the list leaves out.
    pub omitted: Vec<(usize, DefaultSource)>,
    pub source: InsertSource,
    /// The source query reads the target: its rows are all read before the first is inserted.
    pub reads_target: bool,
    pub duplicates: DuplicateRule,
    /// Subqueries among the values, run once before the first row.
    pub initialisers: Vec<Initialiser>,
    /// Those that run before a row of VALUES, in the order of rows, because they read the target.
    pub row_initialisers: Vec<(usize, Initialiser)>,
    /// Of the table, if it has any.
    pub rules: Option<Arc<RowRules>>,
    /// The view that the statement names instead of the table.
    pub view: Option<InsertView>,
    /// INSERT IGNORE: errors of a row become warnings and the row is left out or adjusted.
    pub ignore: bool,
}

/// A view through which rows are inserted.
#[derive(Debug, Clone)]
pub struct InsertView {
    pub database: String,
    pub view: String,
    /// Columns of the table with their names in the view, in the view's order.
    pub columns: Vec<(usize, String)>,
}

#[derive(Debug, Clone)]
pub enum InsertSource {
    /// Expressions see a frame with the row's columns as far as they are assigned.
    Rows(Vec<Vec<InsertValue>>),
    /// A row for each row of the query, in the order of `columns`.
    Query(Box<Node>),
}

#[derive(Debug, Clone)]
pub enum InsertValue {
    Expr(Expr),
    /// A bare DEFAULT.
    Default(DefaultSource),
}

/// Where the value of a column comes from that the statement does not give.
#[derive(Debug, Clone)]
pub enum DefaultSource {
    /// Already of the column's type.
    Value(Value),
    /// The counter.
    AutoIncrement,
    /// CURRENT_TIMESTAMP or a default expression, over the row's columns.
    Expr(Expr),
    /// Error 1364 in strict mode, else the type's implicit default and a warning.
    Missing,
}

#[derive(Debug, Clone)]
pub enum DuplicateRule {
    Fail,
    Replace,
    /// ON DUPLICATE KEY UPDATE. The frame: the existing row's columns, then the new row's columns (`VALUES(c)`),
    /// then the source query's row.
    Update {
        assignments: Vec<Assignment>,
        subqueries: Vec<RowSubquery>,
    },
}

/// A subquery in an assignment that reads the frame.
#[derive(Debug, Clone)]
pub struct RowSubquery {
    /// It runs before this assignment.
    pub assignment: usize,
    /// The slots that take values of the frame, with their positions there.
    pub reads: Vec<(usize, usize)>,
    pub initialiser: Initialiser,
}

#[derive(Debug, Clone)]
pub struct Assignment {
    pub column: usize,
    pub value: InsertValue,
}

#[derive(Debug, Clone)]
pub struct UpdatePlan {
    pub input: Node,
    pub targets: Vec<UpdateTarget>,
    pub ignore: bool,
    /// Rows are collected before the first change: an index that the input reads contains an assigned column, or
    /// the input joins tables.
    pub collect_first: bool,
}

#[derive(Debug, Clone)]
pub struct UpdateTarget {
    pub table: Arc<TableDef>,
    pub row_key_position: usize,
    /// The frame position of every column of the table.
    pub column_positions: Vec<usize>,
    /// In the order written; later ones see the new values of earlier ones in the frame.
    pub assignments: Vec<Assignment>,
    /// Of the table, if it has any.
    pub rules: Option<Arc<RowRules>>,
    /// The table is read first and changed as it is read: targets after this one see its new values. What other
    /// targets assign is made from the rows as they were.
    pub is_seen: bool,
}

#[derive(Debug, Clone)]
pub struct DeletePlan {
    pub input: Node,
    pub targets: Vec<DeleteTarget>,
    pub ignore: bool,
    pub collect_first: bool,
}

#[derive(Debug, Clone)]
pub struct DeleteTarget {
    pub table: Arc<TableDef>,
    pub row_key_position: usize,
    /// (column, frame position) of the columns that indexes need.
    pub index_columns: Vec<(usize, usize)>,
}

impl InsertPlan {
    /// REPLACE rather than INSERT.
    pub fn duplicates_replace(&self) -> bool {
        matches!(self.duplicates, DuplicateRule::Replace)
    }
}
