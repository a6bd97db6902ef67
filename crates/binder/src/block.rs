//! One query block while it is bound: its tables, its frame layout and what its expressions collected.
//!
//! Invariant: a frame position is given to a table's column when an expression first reads it, and never moves, so
//! expressions bound early stay valid while later ones add positions.
use crate::bound::{BoundInitialiser, Logical};
use crate::hints::BlockHints;
use crate::same_name::same_name;
use datum::{SqlError, error_code};
use expression::{AggregateCall, Coercibility, Expr, ExprKind, ExprType};
use plan::{Apply, ApplyKind, Frame, InitialiserKind, Node, SortKey, WindowFunction};
use schema::{ColumnDef, ViewDef};
use std::sync::Arc;

pub use crate::source::{LateralSource, Origin, QuerySource, Source, SourceColumn, SourceKind};

/// Where an expression stands, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    FieldList,
    Where,
    On,
    Group,
    Having,
    Order,
    TableFunction,
    WindowPartition,
    WindowOrder,
}

impl Clause {
    pub fn text(self) -> &'static str {
        match self {
            Clause::FieldList => "field list",
            Clause::Where => "where clause",
            Clause::On => "on clause",
            Clause::Group => "group statement",
            Clause::Having => "having clause",
            Clause::Order => "order clause",
            Clause::TableFunction => "a table function argument",
            Clause::WindowPartition => "window partition by",
            Clause::WindowOrder => "window order by",
        }
    }

    pub fn allows_aggregates(self) -> bool {
        matches!(
            self,
            Clause::FieldList
                | Clause::Having
                | Clause::Order
                | Clause::WindowPartition
                | Clause::WindowOrder
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    Column {
        source: usize,
        column: usize,
    },
    /// A row's clustered key.
    RowKey {
        source: usize,
    },
    /// Filled by an `Apply`.
    Subquery,
    /// Filled by an `Apply` among the joins; what that reads, as a bit set.
    OnSubquery {
        sources: u64,
    },
    /// Filled by a window.
    Computed,
}

/// A subquery before and after its own plan is made.
#[derive(Clone)]
pub enum SubqueryPlan {
    Bound(Box<Logical>),
    Built {
        node: Box<Node>,
        /// Nothing in it is another value each time.
        is_steady: bool,
    },
}

/// A subquery whose value is found row by row.
#[derive(Clone)]
pub struct PendingSubquery {
    pub kind: ApplyKind,
    pub query: SubqueryPlan,
    pub left: Vec<(usize, Expr)>,
    pub correlation: Vec<(usize, Expr)>,
    /// It has its position and its `Apply`.
    pub placed: bool,
}

/// A window function of a block.
#[derive(Clone, PartialEq)]
pub struct WindowCall {
    /// Among the block's windows.
    pub window: usize,
    pub function: WindowFunction,
    pub frame: Frame,
}

/// A window of a block.
#[derive(Clone)]
pub struct BlockWindow {
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    /// Windows are evaluated in this order.
    pub rank: usize,
}

/// A view whose tables are part of a block.
#[derive(Clone)]
pub struct MergedView {
    /// Its place among the block's sources.
    pub source: usize,
    pub view: Arc<ViewDef>,
    /// The expressions behind its columns, over the block's frame.
    pub columns: Vec<Expr>,
    /// The tables that it brought, as a bit set.
    pub sources: u64,
    /// Not yet among the statement's.
    pub conditions: Vec<Expr>,
    /// Every condition of it and of the views below.
    pub(crate) all: Vec<Expr>,
    /// The reference of the statement that brought it.
    pub reference: usize,
    /// Those that new rows must fulfil.
    pub(crate) checked: Vec<Expr>,
}

/// What a block needs of each group of rows that have the same values: any row, and those with the least and the
/// greatest value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupWish {
    pub columns: Vec<usize>,
    pub extreme: Option<usize>,
    pub least: bool,
    pub greatest: bool,
}

#[derive(Clone, Default)]
pub struct Block {
    pub hints: BlockHints,
    pub sources: Vec<Source>,
    pub frame: Vec<Position>,
    pub aggregates: Vec<AggregateCall>,
    pub subqueries: Vec<PendingSubquery>,
    pub initialisers: Vec<BoundInitialiser>,
    /// Names of select items that are visible now, with the bound expressions.
    pub aliases: Vec<(String, Expr)>,
    /// Aliases of select items that are not bound yet.
    pub later_aliases: Vec<String>,
    pub alias_use: AliasUse,
    /// While a query of its FROM is bound, which sees only what is around the block.
    pub hidden: bool,
    /// In a branch of CASE or the like, which need not be evaluated.
    pub optional_depth: usize,
    /// What is wrong with a condition in ON, until WHERE has been bound.
    pub on_error: Option<SqlError>,
    /// What fills the positions of subqueries in ON; taken as they are stacked.
    pub on_applies: Vec<Apply>,
    /// Views whose tables are among the sources.
    pub merged: Vec<MergedView>,
    /// In HAVING outside of aggregates: the only expressions a column may stand for.
    pub visible: Option<Vec<Expr>>,
    pub clause: Option<Clause>,
    /// Of the rows that a statement changes, which are in no groups.
    pub is_change: bool,
    /// About so many rows are taken of the joined tables, because a LIMIT ends the reading.
    pub row_goal: Option<f64>,
    /// All that is needed of the rows of its only table.
    pub group_wish: Option<GroupWish>,
    /// The only sources that names may mean, as a bit set: in ON those of its join, in the right side of a RIGHT JOIN
    /// all but those of its left side.
    pub joined: Option<u64>,
    /// In ON DUPLICATE KEY UPDATE: the source that stands for the row that was to be inserted; the first one is
    /// the table.
    pub new_row: Option<usize>,
    pub inside_aggregate: bool,
    /// In the arguments of a window function.
    pub inside_window: bool,
    /// Window functions may stand in the select list and ORDER BY.
    pub allows_windows: bool,
    /// The arguments of each GROUPING().
    pub groupings: Vec<Vec<Expr>>,
    pub windows: Vec<BlockWindow>,
    pub window_calls: Vec<WindowCall>,
    /// The window whose keys are being bound, if it has a name.
    pub window_name: Option<String>,
    /// One list for each subquery being bound right now, innermost last: the values it takes from this block.
    pub correlations: Vec<Vec<(usize, Expr)>>,
}

/// How names see the select list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AliasUse {
    #[default]
    None,
    /// Tables first (GROUP BY, parts of ORDER BY expressions).
    AfterColumns,
    /// The select list first (HAVING).
    BeforeColumns,
}

impl Block {
    /// Whether an aggregate of its rows may stand where it is now.
    pub fn allows_aggregates(&self) -> bool {
        !self.is_change && self.clause.is_some_and(|clause| clause.allows_aggregates())
    }

    /// The value, which is the same for all rows, is computed once before them, and the slot takes its place. `shown` is what
    /// EXPLAIN has for it.
    pub fn compute_once(&mut self, slot: usize, value: Expr, shown: String) -> Expr {
        let ty = ExprType { name: Some(shown.into()), ..value.ty.clone() };
        let query = Logical::Values { rows: vec![vec![value]], width: 1 };
        self.initialisers.push(BoundInitialiser { slot, kind: InitialiserKind::Call, query });
        Expr { kind: ExprKind::Slot(slot), ty }
    }

    pub fn clause_text(&self) -> &'static str {
        self.clause.unwrap_or(Clause::FieldList).text()
    }

    /// The frame position of a table's column.
    pub fn position(&mut self, source: usize, column: usize) -> usize {
        self.place(Position::Column { source, column })
    }

    pub fn row_key_position(&mut self, source: usize) -> usize {
        self.place(Position::RowKey { source })
    }

    fn place(&mut self, wanted: Position) -> usize {
        match self.frame.iter().position(|position| *position == wanted) {
            Some(position) => position,
            None => {
                self.frame.push(wanted);
                self.frame.len() - 1
            }
        }
    }

    /// Makes an expression over the row of a source's table one over the frame.
    pub fn read_row_of(&mut self, source: usize, expr: &mut Expr) {
        crate::walk::replace(expr, &mut |part| match part.kind {
            ExprKind::Column(column) => Some(self.column_expr(source, column)),
            _ => None,
        });
    }

    /// A column of a source as an expression over the frame.
    pub fn column_expr(&mut self, source: usize, column: usize) -> Expr {
        if let Some(merged) = self.merged_at(source) {
            return self.merged_expr(source, column, merged.columns[column].clone());
        }
        let mut column_type = self.sources[source].columns[column].column_type.clone();
        column_type.nullable |= self.sources[source].optional;
        let mut expr = Expr::column(self.position(source, column), column_type);
        if self.sources[source].mixed.contains(&column) {
            expr.ty.coercibility = Coercibility::NoCollation;
        }
        expr.ty.name = Some(self.sources[source].full_name(column));
        expr
    }

    /// A column of a view that is merged, as its tables have it now: outer joins may have made it optional.
    fn merged_expr(&mut self, source: usize, column: usize, mut expr: Expr) -> Expr {
        if let Some((base, own)) = self.column_behind(&expr) {
            expr = self.column_expr(base, own);
        }
        expr.ty.name = Some(self.sources[source].full_name(column));
        expr
    }

    /// Looks a name up among the sources. `None` when no source has it.
    pub fn find_column(
        &self,
        database: Option<&str>,
        table: Option<&str>,
        name: &str,
    ) -> Result<Option<(usize, usize)>, SqlError> {
        let mut found = None;
        for (source_number, source) in self.sources.iter().enumerate() {
            if !self.is_in_reach(source_number) || !source.is_named(database, table) {
                continue;
            }
            for (column_number, column) in source.columns.iter().enumerate() {
                if !same_name(&column.name, name) || (table.is_none() && column.hidden) {
                    continue;
                }
                if found.is_some() {
                    let full = table.map_or(name.to_owned(), |table| format!("{table}.{name}"));
                    return Err(error_code::ER_NON_UNIQ_ERROR.with(&[&full, &self.clause_text()]));
                }
                found = Some((source_number, column_number));
            }
        }
        Ok(found)
    }

    /// Whether a name may mean a column of the source.
    fn is_in_reach(&self, source: usize) -> bool {
        let sources = self.merged_at(source).map_or(1 << source, |merged| merged.sources);
        self.joined.is_none_or(|joined| joined & sources != 0)
    }

    /// Whether a name has no table at all to be looked for in.
    pub fn reaches_nothing(&self) -> bool {
        !(0..self.sources.len()).any(|source| self.is_in_reach(source))
    }

    /// The sources an expression reads.
    pub fn sources_of(&self, expr: &Expr) -> u64 {
        let mut positions = Vec::new();
        crate::walk::positions(expr, &mut positions);
        positions.iter().fold(0, |set, &position| match self.frame[position] {
            Position::Column { source, .. } | Position::RowKey { source } => set | 1 << source,
            Position::OnSubquery { sources } => set | sources,
            Position::Subquery | Position::Computed => set,
        })
    }
}

impl Block {
    /// The name of the column behind a reference, where that is what the result shows.
    pub fn own_name(&self, expr: &Expr) -> Option<String> {
        let (source, column) = self.column_behind(expr)?;
        let source = &self.sources[source];
        source.names_results.then(|| source.columns[column].name.clone())
    }

    /// The name of a column that is read as it is.
    pub fn column_name(&self, expr: &Expr) -> Option<&str> {
        let (source, column) = self.column_behind(expr)?;
        Some(&self.sources[source].columns[column].name)
    }

    /// The column of a stored table, not of a view, that is read as it is.
    pub fn table_column(&self, expr: &Expr) -> Option<&ColumnDef> {
        let (source, column) = self.column_behind(expr)?;
        let source = &self.sources[source];
        match &source.kind {
            SourceKind::Stored { table, .. } if source.origin.view.is_none() => table.columns.get(column),
            _ => None,
        }
    }

    pub fn column_behind(&self, expr: &Expr) -> Option<(usize, usize)> {
        let ExprKind::Column(position) = expr.kind else { return None };
        let Position::Column { source, column } = *self.frame.get(position)? else { return None };
        Some((source, column))
    }
}
