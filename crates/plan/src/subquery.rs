//! Subqueries in expressions.
//!
//! Expressions never run queries. A subquery that depends on nothing outside runs once, before its block, and its
//! value is an `ExprKind::Slot` (`Initialise`). One whose value can differ from row to row runs for each row and puts
//! its value into the row's frame (`Apply`); the outer columns it reads reach it through slots.
use crate::node::Node;
use expression::Expr;

/// Runs the initialisers each time the input is started, then passes the input's rows through.
#[derive(Debug, Clone)]
pub struct Initialise {
    pub input: Box<Node>,
    pub initialisers: Vec<Initialiser>,
}

impl Initialise {
    /// What EXPLAIN shows of them.
    pub fn shown(&self) -> impl Iterator<Item = &Initialiser> {
        self.initialisers.iter().filter(|initialiser| initialiser.kind != InitialiserKind::Call)
    }
}

#[derive(Debug, Clone)]
pub struct Initialiser {
    /// The slot that receives the value.
    pub slot: usize,
    pub kind: InitialiserKind,
    pub query: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialiserKind {
    /// The only row's only column; NULL without a row, error 1242 with more than one.
    Scalar,
    /// 1 or 0.
    Exists,
    /// As `Scalar`, of a query that is nothing but a call of a stored function: EXPLAIN does not show it.
    Call,
}

/// For each input row: sets the slots of `correlation`, runs the query (or looks into its kept rows) and fills `position`.
#[derive(Debug, Clone)]
pub struct Apply {
    pub input: Box<Node>,
    pub query: Box<Node>,
    pub kind: ApplyKind,
    /// (slot, expression over the input's frame): the left side of a comparison, set before rows are compared.
    pub left: Vec<(usize, Expr)>,
    /// The frame position that receives the value.
    pub position: usize,
    /// (slot, expression over the input's frame). Empty for a query that is the same for all rows: its rows
    /// are then kept.
    pub correlation: Vec<(usize, Expr)>,
    /// Over the input's frame: where one of these is not true, nobody asks for the value and the query does not run.
    pub guard: Vec<Expr>,
    /// Its value is the same whenever the values that it takes are: it may be remembered.
    pub is_steady: bool,
}

/// A query in FROM that reads columns of tables before it (LATERAL), or of a query around its own: its rows are made anew
/// whenever one of these has another value.
#[derive(Debug, Clone)]
pub struct Lateral {
    pub input: Box<Node>,
    pub alias: String,
    /// (slot, expression over the base frame).
    pub correlation: Vec<(usize, Expr)>,
    /// All slots from outside that the query reads.
    pub slots: Vec<usize>,
    /// (column of the input, frame position).
    pub projection: Vec<(usize, usize)>,
    pub filter: Vec<Expr>,
}

#[derive(Debug, Clone)]
pub enum ApplyKind {
    Scalar,
    Exists,
    /// `left comparison ANY|ALL (query)`; IN is `= ANY`, NOT IN its negation.
    Quantified {
        comparison: Comparison,
        quantifier: Quantifier,
    },
}

/// The comparison of the left side with a row of the query: an expression over the query's row that reads the left
/// side's values from their slots.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub condition: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    Any,
    All,
}
