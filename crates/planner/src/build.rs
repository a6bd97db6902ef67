//! From a bound query to its plan: what set operations, ORDER BY and LIMIT do with the rows of its blocks. Called by
//! `statement`, and for each query inside another one.
use crate::planner::Planner;
use crate::queries::nodes::{limit, order, project};
use binder::bound::{BoundBranch, BoundInitialiser, BoundRecursive, Logical};
use datum::SqlError;
use plan::{Initialise, Initialiser, Node, NodeKind, Recursive, RecursiveBranch};

/// How many rows a recursion is thought to make of one.
const RECURSION_GUESS: f64 = 10.0;

impl Planner<'_> {
    /// Makes the plan.
    pub fn build_logical(&mut self, logical: Logical) -> Result<Node, SqlError> {
        Ok(match logical {
            Logical::Select(select) => self.build_block(*select)?,
            Logical::Values { rows, width } => {
                let count = rows.len() as f64;
                Node::new(NodeKind::Values { rows }, width, count)
            }
            Logical::Recursive(recursive) => self.build_recursive(*recursive)?,
            Logical::Project { input, expressions } => project(self.build_logical(*input)?, expressions),
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
            Logical::Sort { input, keys, limit } => order(self.build_logical(*input)?, keys, limit),
            Logical::Limit { input, count, offset } => {
                limit(self.build_logical(*input)?, Some((count, offset)))
            }
            Logical::Initialise { input, initialisers } => {
                let node = self.build_logical(*input)?;
                self.initialised(node, initialisers)?
            }
        })
    }

    fn build_recursive(&mut self, recursive: BoundRecursive) -> Result<Node, SqlError> {
        let BoundRecursive { name, seed, distinct, branches, columns, round } = recursive;
        let seed = Box::new(self.build_logical(seed)?);
        let build =
            |BoundBranch { query, types }| Ok(RecursiveBranch { query: self.build_logical(query)?, types });
        let branches = branches.into_iter().map(build).collect::<Result<_, SqlError>>()?;
        let (width, rows) = (columns.len(), seed.estimate.rows * RECURSION_GUESS);
        let recursive = Recursive { name, seed, distinct, branches, columns, round };
        Ok(Node::new(NodeKind::Recursive(Box::new(recursive)), width, rows))
    }

    pub fn build_initialiser(&mut self, initialiser: BoundInitialiser) -> Result<Initialiser, SqlError> {
        let BoundInitialiser { slot, kind, query } = initialiser;
        Ok(Initialiser { slot, kind, query: self.build_logical(query)? })
    }

    pub fn build_initialisers(
        &mut self,
        initialisers: Vec<BoundInitialiser>,
    ) -> Result<Vec<Initialiser>, SqlError> {
        initialisers.into_iter().map(|initialiser| self.build_initialiser(initialiser)).collect()
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
