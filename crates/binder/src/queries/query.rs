//! Query expressions: WITH, set operations, and the ORDER BY and LIMIT that belong to the whole.
use crate::binder::Binder;
use crate::bound::{BoundQuery, Logical};
use datum::{SqlError, error_code};
use expression::{Expr, ExprType};
use parser::ast;
use plan::OutputColumn;

/// ORDER BY, LIMIT and locking of a query that apply to its only SELECT block.
#[derive(Clone, Copy, Default)]
pub struct Tail<'p> {
    pub order_by: &'p [ast::OrderItem<'p>],
    pub limit: Option<ast::Limit<'p>>,
    pub locking: &'p [ast::Locking<'p>],
}

impl<'p> Binder<'p> {
    pub fn bind_query(&mut self, query: &ast::Query<'p>) -> Result<BoundQuery, SqlError> {
        self.enter()?;
        let common_before = self.common_tables.len();
        if let Some(with) = query.with {
            self.enter_with(with)?;
        }
        let bound = self.bind_query_body(query).and_then(|bound| self.check_counted(bound));
        self.common_tables.truncate(common_before);
        self.leave();
        bound
    }

    /// Only the outermost SELECT may count its rows.
    fn check_counted(&self, bound: BoundQuery) -> Result<BoundQuery, SqlError> {
        if bound.count_found_rows && (self.depth > 1 || !self.blocks.is_empty()) {
            return Err(error_code::ER_CANT_USE_OPTION_HERE.with(&[&"SQL_CALC_FOUND_ROWS"]));
        }
        Ok(bound)
    }

    fn bind_query_body(&mut self, query: &ast::Query<'p>) -> Result<BoundQuery, SqlError> {
        let tail = Tail { order_by: query.order_by, limit: query.limit, locking: query.locking };
        match query.body {
            ast::QueryBody::Select(select) => self.bind_select_block(select, tail),
            ast::QueryBody::Parenthesized(inner) => {
                if tail.order_by.is_empty() && tail.limit.is_none() {
                    return self.bind_query(inner);
                }
                let bound = self.bind_query(inner)?;
                self.finish_set(bound, tail)
            }
            body => {
                let bound = self.bind_body(body)?;
                self.finish_set(bound, tail)
            }
        }
    }

    /// A branch of a set operation.
    pub fn bind_body(&mut self, body: ast::QueryBody<'p>) -> Result<BoundQuery, SqlError> {
        match body {
            ast::QueryBody::Select(select) => self.bind_select_block(select, Tail::default()),
            ast::QueryBody::Parenthesized(query) => self.bind_query(query),
            ast::QueryBody::Table(name) => self.bind_table_block(name),
            ast::QueryBody::Values(rows) => self.bind_values(rows),
            ast::QueryBody::Set(chain) => self.bind_set_chain(chain),
        }
    }

    fn bind_values(&mut self, rows: &'p [&'p [ast::Expr<'p>]]) -> Result<BoundQuery, SqlError> {
        // The rows' literals decide the types of the result.
        self.shareable &= self.context.literals == crate::context::Literals::Inline;
        let mut branches = Vec::with_capacity(rows.len());
        self.blocks.push(crate::block::Block::default());
        let bound = rows.iter().try_for_each(|row| {
            let mut branch = Vec::with_capacity(row.len());
            for expr in row.iter() {
                let value = self.bind(expr)?;
                branch.push(self.settle_subqueries(value)?);
            }
            branches.push(branch);
            Ok(())
        });
        let block = self.blocks.pop().expect("pushed above");
        bound?;
        let width = branches[0].len();
        if let Some(position) = branches.iter().position(|row| row.len() != width) {
            return Err(error_code::ER_WRONG_VALUE_COUNT_ON_ROW.with(&[&(position + 1)]));
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
        Ok(BoundQuery {
            logical: Logical::Values { rows: unified, width }.initialised(block.initialisers),
            columns,
            strengths: types.iter().map(|ty| ty.coercibility).collect(),
            count_found_rows: false,
            counted_limit: None,
        })
    }
}
