//! Queries whose names are bound and whose plans are not made yet.
//!
//! A statement is bound as a whole before any of its blocks is planned, so that a block can be rewritten together with the
//! blocks inside it: merged (`merge`), given conditions (`push`), joined as a semijoin (`semijoin`). Invariant: what is here
//! reads only frames of its own block, and slots. Made by the `bind_*` functions, turned into nodes by `build_query`.
use crate::block::Block;
use crate::planner::Planner;
use crate::queries::from::JoinTree;
use crate::queries::query::PlannedQuery;
use crate::queries::select_build::BoundSelect;
use datum::SqlError;
use expression::{Coercibility, Expr};
use plan::{Initialise, Initialiser, InitialiserKind, Node, NodeKind, OutputColumn, SortKey};

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

/// What a query does with rows.
#[derive(Clone)]
pub enum Logical {
    Select(Box<BoundBlock>),
    /// Planned where it was bound.
    Node(Box<Node>),
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

impl Planner<'_> {
    pub fn build_query(&mut self, query: BoundQuery) -> Result<PlannedQuery, SqlError> {
        let BoundQuery { logical, columns, count_found_rows, counted_limit, .. } = query;
        Ok(PlannedQuery { node: self.build_logical(logical)?, columns, count_found_rows, counted_limit })
    }

    /// Makes the plan.
    pub fn build_logical(&mut self, logical: Logical) -> Result<Node, SqlError> {
        Ok(match logical {
            Logical::Select(select) => self.build_block(*select)?,
            Logical::Node(node) => *node,
            Logical::Project { input, expressions } => {
                crate::queries::select_build::project(self.build_logical(*input)?, expressions)
            }
            Logical::Union(inputs) => {
                let inputs: Vec<Node> =
                    inputs.into_iter().map(|input| self.build_logical(input)).collect::<Result<_, _>>()?;
                let rows = inputs.iter().map(|input| input.estimate.rows).sum();
                let width = inputs.first().map_or(0, |input| input.width);
                Node::new(NodeKind::UnionAll { inputs }, width, rows)
            }
            Logical::Distinct { input, keys } => {
                let input = self.build_logical(*input)?;
                let (width, rows) = (input.width, input.estimate.rows);
                Node::new(NodeKind::Distinct { input: Box::new(input), keys }, width, rows)
            }
            Logical::Difference { sides, intersect, all, keys } => {
                let (left, right) = *sides;
                let (left, right) = (self.build_logical(left)?, self.build_logical(right)?);
                let (width, rows) = (left.width, left.estimate.rows);
                let (left, right) = (Box::new(left), Box::new(right));
                let (left_keys, right_keys) = (keys.clone(), keys);
                let kind = NodeKind::SetDifference { left, right, intersect, all, left_keys, right_keys };
                Node::new(kind, width, rows)
            }
            Logical::Sort { input, keys, limit } => {
                crate::queries::select_build::sort(self.build_logical(*input)?, keys, limit)
            }
            Logical::Limit { input, count, offset } => {
                crate::queries::select_build::limit(self.build_logical(*input)?, Some((count, offset)))
            }
            Logical::Initialise { input, initialisers } => {
                let node = self.build_logical(*input)?;
                self.initialised(node, initialisers)?
            }
        })
    }

    pub fn build_initialisers(
        &mut self,
        initialisers: Vec<BoundInitialiser>,
    ) -> Result<Vec<Initialiser>, SqlError> {
        let build = |BoundInitialiser { slot, kind, query }| {
            Ok(Initialiser { slot, kind, query: self.build_logical(query)? })
        };
        initialisers.into_iter().map(build).collect()
    }

    /// The node behind the subqueries that run once before it.
    pub fn initialised(&mut self, node: Node, initialisers: Vec<BoundInitialiser>) -> Result<Node, SqlError> {
        if initialisers.is_empty() {
            return Ok(node);
        }
        let initialisers = self.build_initialisers(initialisers)?;
        let (width, rows) = (node.width, node.estimate.rows);
        let initialise = Initialise { input: Box::new(node), initialisers };
        Ok(Node::new(NodeKind::Initialise(Box::new(initialise)), width, rows))
    }
}
