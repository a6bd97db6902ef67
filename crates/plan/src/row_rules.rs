//! What a row needs before it is written, beside the values that the statement gives it.
//!
//! Expressions read the row itself: column n of the table stands at frame position n. Binding makes the rules from
//! the table's definition; the executor obeys them wherever it makes a row.
use expression::Expr;

#[derive(Debug, Clone, Default)]
pub struct RowRules {
    /// In an order in which none reads a later one.
    pub generated: Vec<GeneratedColumn>,
    /// Those that are enforced.
    pub checks: Vec<RowCheck>,
    /// Of the views that the statement goes through.
    pub view_checks: Vec<RowViewCheck>,
}

#[derive(Debug, Clone)]
pub struct GeneratedColumn {
    pub column: usize,
    pub expr: Expr,
}

/// A CHECK constraint: the row is refused where it is false, not where it is NULL.
#[derive(Debug, Clone)]
pub struct RowCheck {
    pub name: String,
    pub condition: Expr,
}

/// WITH CHECK OPTION: the row is refused where one of the conditions is not true.
#[derive(Debug, Clone)]
pub struct RowViewCheck {
    pub database: String,
    pub view: String,
    pub conditions: Vec<Expr>,
}
