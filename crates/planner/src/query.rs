//! Query expressions: WITH, set operations, and the ORDER BY and LIMIT that belong to the whole.
use crate::planner::{Planner, not_supported};
use datum::{SqlError, error_code};
use expression::{Coercibility, Expr, ExprType};
use parser::ast;
use plan::{Initialise, Initialiser, Node, NodeKind, OutputColumn};

/// A query's plan; its rows are exactly the columns.
pub struct PlannedQuery {
    pub node: Node,
    pub columns: Vec<OutputColumn>,
    /// How strongly the columns' collations bind, for set operations.
    pub strengths: Vec<Coercibility>,
    /// SQL_CALC_FOUND_ROWS: the plan has no LIMIT, it is here.
    pub count_found_rows: bool,
    pub counted_limit: Option<(Expr, Option<Expr>)>,
}

/// ORDER BY, LIMIT and locking of a query that apply to its only SELECT block.
#[derive(Clone, Copy, Default)]
pub struct Tail<'p> {
    pub order_by: &'p [ast::OrderItem<'p>],
    pub limit: Option<ast::Limit<'p>>,
    pub locking: &'p [ast::Locking<'p>],
}

impl<'p> Planner<'p> {
    pub fn plan_query(&mut self, query: &ast::Query<'p>) -> Result<PlannedQuery, SqlError> {
        self.enter()?;
        let common_before = self.common_tables.len();
        if let Some(with) = query.with {
            self.enter_with(with)?;
        }
        let planned = self.plan_query_body(query).and_then(|planned| self.check_counted(planned));
        self.common_tables.truncate(common_before);
        self.leave();
        planned
    }

    /// Only the outermost SELECT may count its rows.
    fn check_counted(&self, planned: PlannedQuery) -> Result<PlannedQuery, SqlError> {
        if planned.count_found_rows && (self.depth > 1 || !self.blocks.is_empty()) {
            return Err(error_code::ER_CANT_USE_OPTION_HERE.with(&[&"SQL_CALC_FOUND_ROWS"]));
        }
        Ok(planned)
    }

    fn plan_query_body(&mut self, query: &ast::Query<'p>) -> Result<PlannedQuery, SqlError> {
        let tail = Tail { order_by: query.order_by, limit: query.limit, locking: query.locking };
        match query.body {
            ast::QueryBody::Select(select) => self.plan_select(select, tail),
            ast::QueryBody::Parenthesized(inner) => {
                if tail.order_by.is_empty() && tail.limit.is_none() {
                    return self.plan_query(inner);
                }
                let planned = self.plan_query(inner)?;
                self.finish_set(planned, tail)
            }
            body => {
                let planned = self.plan_body(body)?;
                self.finish_set(planned, tail)
            }
        }
    }

    /// A branch of a set operation.
    pub fn plan_body(&mut self, body: ast::QueryBody<'p>) -> Result<PlannedQuery, SqlError> {
        match body {
            ast::QueryBody::Select(select) => self.plan_select(select, Tail::default()),
            ast::QueryBody::Parenthesized(query) => self.plan_query(query),
            ast::QueryBody::Table(name) => self.plan_table_statement(name),
            ast::QueryBody::Values(rows) => self.plan_values(rows),
            ast::QueryBody::Set(chain) => self.plan_set_chain(chain),
        }
    }

    fn plan_values(&mut self, rows: &'p [&'p [ast::Expr<'p>]]) -> Result<PlannedQuery, SqlError> {
        // The rows' literals decide the types of the result.
        self.shareable &= self.context.literals == crate::context::Literals::Inline;
        let mut branches = Vec::with_capacity(rows.len());
        self.blocks.push(crate::block::Block::default());
        let bound = rows.iter().try_for_each(|row| {
            branches.push(self.bind_all(row)?);
            Ok(())
        });
        let block = self.blocks.pop().expect("pushed above");
        bound?;
        let width = branches[0].len();
        if let Some(position) = branches.iter().position(|row| row.len() != width) {
            return Err(error_code::ER_WRONG_VALUE_COUNT_ON_ROW.with(&[&(position + 1)]));
        }
        if !block.subqueries.is_empty() {
            return Err(not_supported("a subquery in a VALUES statement"));
        }
        let mut rows = branches.into_iter();
        let mut unified: Vec<Vec<Expr>> = vec![rows.next().expect("VALUES has a row")];
        unified.extend(rows);
        let mut types: Vec<ExprType> = Vec::with_capacity(width);
        for column in 0..width {
            let all: Vec<ExprType> = unified.iter().map(|row| row[column].ty.clone()).collect();
            types.push(self.common_type("VALUES", &all)?);
        }
        for row in &mut unified {
            for (expr, target) in row.iter_mut().zip(&types) {
                *expr = self.converted(std::mem::replace(expr, Expr::null()), target)?;
            }
        }
        let named = |(position, ty): (usize, &ExprType)| {
            OutputColumn::computed(format!("column_{position}"), ty.column.clone())
        };
        let columns = types.iter().enumerate().map(named).collect();
        let count = unified.len() as f64;
        Ok(PlannedQuery {
            node: initialised(
                Node::new(NodeKind::Values { rows: unified }, width, count),
                block.initialisers,
            ),
            columns,
            strengths: types.iter().map(|ty| ty.coercibility).collect(),
            count_found_rows: false,
            counted_limit: None,
        })
    }
}

/// The node behind the subqueries that run once before it.
pub fn initialised(node: Node, initialisers: Vec<Initialiser>) -> Node {
    if initialisers.is_empty() {
        return node;
    }
    let (width, rows) = (node.width, node.estimate.rows);
    let initialise = Initialise { input: Box::new(node), initialisers };
    Node::new(NodeKind::Initialise(Box::new(initialise)), width, rows)
}
