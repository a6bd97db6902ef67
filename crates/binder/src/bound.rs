//! Queries whose names are bound and whose plans are not made yet.
//!
//! A statement is bound as a whole before any of its blocks is planned, so that a block can be rewritten together with the
//! blocks inside it: merged, given conditions, joined as a semijoin. Invariant: what is here reads only frames of its own
//! block, and slots. Made by the `bind_*` functions, rewritten and turned into nodes by crate `planner`.
use crate::block::Block;
use datum::ColumnType;
use expression::{Coercibility, Expr};
use plan::{InitialiserKind, Node, OutputColumn, SortKey};
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

/// A query expression; its rows are exactly the columns.
#[derive(Clone)]
pub struct BoundQuery {
    pub logical: Logical,
    pub columns: Vec<OutputColumn>,
    /// How strongly the columns' collations bind, for set operations.
    pub strengths: Vec<Coercibility>,
    /// SQL_CALC_FOUND_ROWS: the plan has no LIMIT, it is here.
    pub count_found_rows: bool,
    pub counted_limit: Option<(Expr, Option<Expr>)>,
}

/// A SELECT block with all that it consists of.
#[derive(Clone)]
pub struct BoundBlock {
    pub block: Block,
    pub bound: BoundSelect,
    pub tree: Option<JoinTree>,
    /// It takes values of the blocks around it, and so may run many times.
    pub is_correlated: bool,
}

#[derive(Clone)]
pub struct SelectItem {
    pub expr: Expr,
    pub name: String,
    /// Whether the name was given by AS.
    pub is_alias: bool,
}

/// What a SELECT block does with the rows of its tables.
#[derive(Clone)]
pub struct BoundSelect {
    pub items: Vec<SelectItem>,
    pub conditions: Vec<Expr>,
    pub groups: Option<Vec<Expr>>,
    pub rollup: bool,
    pub having: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub limit: Option<(Expr, Option<Expr>)>,
    pub distinct: bool,
    pub straight: bool,
    pub count_found_rows: bool,
}

impl BoundSelect {
    /// What is evaluated after rows are grouped.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let mut exprs: Vec<&mut Expr> = self.items.iter_mut().map(|item| &mut item.expr).collect();
        exprs.extend(&mut self.having);
        exprs.extend(self.order_by.iter_mut().map(|key| &mut key.expr));
        exprs
    }

    pub fn of_items(items: Vec<SelectItem>) -> BoundSelect {
        BoundSelect {
            items,
            conditions: Vec::new(),
            groups: None,
            rollup: false,
            having: Vec::new(),
            order_by: Vec::new(),
            limit: None,
            distinct: false,
            straight: false,
            count_found_rows: false,
        }
    }
}

/// The joins as written, right joins turned into left ones.
#[derive(Clone)]
pub enum JoinTree {
    Source(usize),
    Inner {
        left: Box<JoinTree>,
        right: Box<JoinTree>,
        on: Vec<Expr>,
        straight: bool,
    },
    Left {
        left: Box<JoinTree>,
        right: Box<JoinTree>,
        on: Vec<Expr>,
    },
    /// The rows of the left side for which the right one has a match, or (`anti`) has none. What is written as a subquery
    /// becomes one.
    Semi {
        left: Box<JoinTree>,
        right: Box<JoinTree>,
        on: Vec<Expr>,
        anti: bool,
    },
}

impl JoinTree {
    /// Every condition of ON.
    pub fn conditions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            JoinTree::Source(_) => Vec::new(),
            JoinTree::Inner { left, right, on, .. }
            | JoinTree::Left { left, right, on }
            | JoinTree::Semi { left, right, on, .. } => {
                let mut all = left.conditions_mut();
                all.extend(right.conditions_mut());
                all.extend(on);
                all
            }
        }
    }

    /// The sources of its rows as a bit set: not those that rows are only tested with.
    pub fn row_sources(&self) -> u64 {
        match self {
            JoinTree::Source(source) => 1 << source,
            JoinTree::Inner { left, right, .. } | JoinTree::Left { left, right, .. } => {
                left.row_sources() | right.row_sources()
            }
            JoinTree::Semi { left, .. } => left.row_sources(),
        }
    }

    /// The sources in it as a bit set.
    pub fn sources(&self) -> u64 {
        match self {
            JoinTree::Source(source) => 1 << source,
            JoinTree::Inner { left, right, .. }
            | JoinTree::Left { left, right, .. }
            | JoinTree::Semi { left, right, .. } => left.sources() | right.sources(),
        }
    }
}

/// What a query does with rows.
#[derive(Clone)]
pub enum Logical {
    Select(Box<BoundBlock>),
    /// VALUES.
    Values {
        rows: Vec<Vec<Expr>>,
        width: usize,
    },
    Recursive(Box<BoundRecursive>),
    Project {
        input: Box<Logical>,
        expressions: Vec<Expr>,
    },
    /// UNION ALL.
    Union(Vec<Logical>),
    Distinct {
        input: Box<Logical>,
        keys: Vec<Expr>,
    },
    /// EXCEPT and INTERSECT.
    Difference {
        sides: Box<(Logical, Logical)>,
        intersect: bool,
        all: bool,
        keys: Vec<Expr>,
    },
    Sort {
        input: Box<Logical>,
        keys: Vec<SortKey>,
        limit: Option<(Expr, Option<Expr>)>,
    },
    Limit {
        input: Box<Logical>,
        count: Expr,
        offset: Option<Expr>,
    },
    Initialise {
        input: Box<Logical>,
        initialisers: Vec<BoundInitialiser>,
    },
}

/// A subquery that runs once before its block.
#[derive(Clone)]
pub struct BoundInitialiser {
    pub slot: usize,
    pub kind: InitialiserKind,
    pub query: Logical,
}

impl Logical {
    /// The same behind the subqueries that run once before it.
    pub fn initialised(self, initialisers: Vec<BoundInitialiser>) -> Logical {
        if initialisers.is_empty() {
            return self;
        }
        Logical::Initialise { input: Box::new(self), initialisers }
    }

    pub fn limited(self, limit: Option<(Expr, Option<Expr>)>) -> Logical {
        match limit {
            Some((count, offset)) => Logical::Limit { input: Box::new(self), count, offset },
            None => self,
        }
    }
}

/// A table of WITH whose references share its rows, unless it is referenced once only.
pub struct BoundCommon {
    pub number: usize,
    /// Until its plan is made.
    pub(crate) query: RefCell<Option<Logical>>,
    pub(crate) node: OnceCell<Arc<Node>>,
    pub(crate) uses: Cell<usize>,
    pub columns: Vec<(String, ColumnType)>,
    /// Columns whose texts have no collation.
    pub(crate) mixed: Vec<usize>,
    /// The columns' types where its rows are kept.
    pub(crate) kept: Vec<ColumnType>,
    /// Columns from outside that it reads: (block, slot).
    pub references: Vec<(usize, usize)>,
}

impl BoundCommon {
    /// Slots from outside that it reads.
    pub fn slots(&self) -> Vec<usize> {
        self.references.iter().map(|(_, slot)| *slot).collect()
    }

    /// The query, for the only reference there is, which may make it part of its own plan.
    pub fn query_if_alone(&self) -> Option<Logical> {
        if self.uses.get() == 1 { self.query.borrow().clone() } else { None }
    }

    /// The query, if its plan has not been made.
    pub fn query(&self) -> Option<Logical> {
        self.query.borrow().clone()
    }

    /// The query, once: who gets it makes the plan that all references share.
    pub fn take_query(&self) -> Option<Logical> {
        self.query.take()
    }

    /// Keeps the plan.
    pub fn keep_node(&self, node: Node) {
        self.node.get_or_init(|| Arc::new(node));
    }

    /// The plan, if it has been made.
    pub fn planned(&self) -> Option<Arc<Node>> {
        self.node.get().cloned()
    }

    /// The plan, which was made when the block around the reference was built.
    pub fn node(&self) -> Arc<Node> {
        self.node.get().expect("a shared table is planned before the joins around it").clone()
    }
}

/// WITH RECURSIVE: the rows of the seed, and those that each round makes of the round before.
#[derive(Clone)]
pub struct BoundRecursive {
    pub name: String,
    pub seed: Logical,
    pub distinct: bool,
    pub branches: Vec<BoundBranch>,
    pub columns: Vec<(String, ColumnType)>,
    /// The number under which the branches read the round before.
    pub round: usize,
}

#[derive(Clone)]
pub struct BoundBranch {
    pub query: Logical,
    pub types: Vec<ColumnType>,
}
