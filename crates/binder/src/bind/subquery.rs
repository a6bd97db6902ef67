//! Subqueries in expressions. One that reads nothing outside is an initialiser of its block and stands in the tree as
//! its slot; others are noted as pending and get a frame position when the block's plan is made.
use crate::bind::comparison::comparison_operator;
use crate::binder::{Binder, not_supported};
use crate::block::{Clause, PendingSubquery, SubqueryPlan};
use crate::bound::{BoundInitialiser, BoundQuery, Logical};
use crate::walk::SUBQUERY_BASE;
use datum::{ColumnType, SqlError, TypeKind, error_code};
use expression::{Coercibility, ComparisonOperator, Expr, ExprKind};
use parser::ast::{self, ExprKind as Kind};
use plan::{ApplyKind, Comparison, InitialiserKind, Quantifier};

/// A bound subquery and what it takes from the block around it.
struct Bound {
    query: BoundQuery,
    correlation: Vec<(usize, Expr)>,
}

impl<'p> Binder<'p> {
    pub fn bind_subquery_expr(&mut self, expr: &ast::Expr<'p>) -> Result<Expr, SqlError> {
        match expr.kind {
            Kind::Subquery(query) => {
                let bound = self.bind_subquery(query)?;
                if bound.query.columns.len() != 1 {
                    return Err(error_code::ER_OPERAND_COLUMNS.with(&[&1]));
                }
                let column_type = bound.query.columns[0].column_type.clone();
                let column_type = match column_type.kind {
                    TypeKind::Year => ColumnType::chosen_year(),
                    _ if is_one_row(&bound.query.logical) => column_type,
                    // Of a table's rows a number in hexadecimal is its bytes alone.
                    _ => ColumnType { nullable: true, ..column_type.as_bytes() },
                };
                let strength = bound.query.strengths[0];
                let value =
                    self.place_value(bound, column_type, InitialiserKind::Scalar, ApplyKind::Scalar)?;
                Ok(with_strength(value, strength))
            }
            Kind::Exists(query) => {
                if let (None, ast::QueryBody::Select(select)) = (query.with, query.body) {
                    self.existence_block = Some(select.number);
                }
                let bound = self.bind_subquery(query)?;
                let column_type = ColumnType::bigint().not_null();
                let exists =
                    self.place_value(bound, column_type, InitialiserKind::Exists, ApplyKind::Exists)?;
                Ok(exists.as_truth())
            }
            Kind::InSubquery { negated, operand, query } => {
                let found =
                    self.bind_quantified(operand, ComparisonOperator::Equal, Quantifier::Any, query)?;
                if negated { self.context.bind.not(found) } else { Ok(found) }
            }
            Kind::Quantified(quantified) => {
                let operator = comparison_operator(quantified.operator)
                    .ok_or_else(|| not_supported("this operator with ANY or ALL"))?;
                let quantifier = match quantified.quantifier {
                    ast::Quantifier::Any => Quantifier::Any,
                    ast::Quantifier::All => Quantifier::All,
                };
                self.bind_quantified(quantified.left, operator, quantifier, quantified.query)
            }
            _ => unreachable!("only subquery expressions are passed here"),
        }
    }

    fn bind_subquery(&mut self, query: &'p ast::Query<'p>) -> Result<Bound, SqlError> {
        self.subquery_depth += 1;
        let bound = self.bind_in_block(query);
        self.subquery_depth -= 1;
        bound
    }

    fn bind_in_block(&mut self, query: &'p ast::Query<'p>) -> Result<Bound, SqlError> {
        if self.blocks.is_empty() {
            let query = self.bind_query(query)?;
            return Ok(Bound { query, correlation: Vec::new() });
        }
        self.block().correlations.push(Vec::new());
        let query = self.bind_query(query);
        let correlation = self.block().correlations.pop().expect("pushed above");
        Ok(Bound { query: query?, correlation })
    }

    fn place_value(
        &mut self,
        bound: Bound,
        column_type: ColumnType,
        once: InitialiserKind,
        each: ApplyKind,
    ) -> Result<Expr, SqlError> {
        if bound.correlation.is_empty() && self.block().optional_depth == 0 {
            let slot = self.new_slot();
            let initialiser = BoundInitialiser { slot, kind: once, query: bound.query.logical };
            self.block().initialisers.push(initialiser);
            return Ok(Expr::slot(slot, column_type));
        }
        self.place_pending(bound, each, Vec::new(), column_type)
    }

    fn place_pending(
        &mut self,
        bound: Bound,
        kind: ApplyKind,
        left: Vec<(usize, Expr)>,
        column_type: ColumnType,
    ) -> Result<Expr, SqlError> {
        let block = self.block();
        block.subqueries.push(PendingSubquery {
            kind,
            query: SubqueryPlan::Bound(Box::new(bound.query.logical)),
            left,
            correlation: bound.correlation,
            placed: false,
        });
        let number = block.subqueries.len() - 1;
        Ok(Expr::slot(SUBQUERY_BASE + number, column_type))
    }

    /// The members of a row: written ones, or the columns of a subquery.
    pub fn bind_row_operand(&mut self, expr: &ast::Expr<'p>) -> Result<Vec<Expr>, SqlError> {
        match expr.kind {
            Kind::Row(members) => self.bind_all(members),
            Kind::Subquery(query) => {
                let bound = self.bind_subquery(query)?;
                let types: Vec<ColumnType> =
                    bound.query.columns.iter().map(|column| column.column_type.clone()).collect();
                let mut members = Vec::with_capacity(types.len());
                for (position, column_type) in types.iter().enumerate() {
                    let column_type = ColumnType { nullable: true, ..column_type.clone() };
                    let part = self.column_of(&bound, position, types.len());
                    let (once, each) = (InitialiserKind::Scalar, ApplyKind::Scalar);
                    let member = self.place_value(part, column_type, once, each)?;
                    members.push(with_strength(member, bound.query.strengths[position]));
                }
                Ok(members)
            }
            _ => Ok(vec![self.bind(expr)?]),
        }
    }

    /// One column of a subquery that stands for a row.
    fn column_of(&self, bound: &Bound, position: usize, width: usize) -> Bound {
        let mut logical = bound.query.logical.clone();
        let column = bound.query.columns[position].clone();
        if width > 1 {
            let expressions = vec![Expr::column(position, column.column_type.clone())];
            logical = Logical::Project { input: Box::new(logical), expressions };
        }
        let query = BoundQuery {
            logical,
            columns: vec![column],
            strengths: vec![bound.query.strengths[position]],
            count_found_rows: false,
            counted_limit: None,
        };
        Bound { query, correlation: bound.correlation.clone() }
    }

    /// Whether a value is a constant of the statement's text, of which no marker is a part.
    fn is_written_constant(&self, value: &Expr) -> bool {
        let has_markers = self.context.bind.markers.is_of_statement()
            && crate::walk::any(value, &|part| matches!(part.kind, ExprKind::Parameter(_)));
        !has_markers && expression::is_computed_of_constants(value)
    }

    fn bind_quantified(
        &mut self,
        left: &ast::Expr<'p>,
        operator: ComparisonOperator,
        quantifier: Quantifier,
        query: &'p ast::Query<'p>,
    ) -> Result<Expr, SqlError> {
        if has_limit(query) {
            return Err(not_supported("LIMIT & IN/ALL/ANY/SOME subquery"));
        }
        let left = self.bind_row_operand(left)?;
        let is_set_test = matches!(
            (operator, quantifier),
            (ComparisonOperator::Equal, Quantifier::Any) | (ComparisonOperator::NotEqual, Quantifier::All)
        );
        if left.len() > 1 && !is_set_test {
            return Err(error_code::ER_OPERAND_COLUMNS.with(&[&1]));
        }
        let bound = self.bind_subquery(query)?;
        if bound.query.columns.len() != left.len() {
            return Err(error_code::ER_OPERAND_COLUMNS.with(&[&left.len()]));
        }
        let mut slots = Vec::with_capacity(left.len());
        let mut comparisons = Vec::with_capacity(left.len());
        for (position, (mut value, column)) in left.into_iter().zip(&bound.query.columns).enumerate() {
            self.context.bind.told_text_marker(&mut value);
            let selected = selected(&bound.query.logical, position);
            let strength = bound.query.strengths[position];
            let mut member = with_strength(Expr::column(position, column.column_type.clone()), strength);
            let slot = self.new_slot();
            // A constant beside a table's column is what the column would store of it, as with `=`.
            let is_of_column = selected.is_some_and(|selected| selected.as_column().is_some());
            // A text that is computed has to be a moment only where a condition joins the subquery.
            let is_literal = matches!(value.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
            let is_joined = matches!(self.block().clause, Some(Clause::Where | Clause::On))
                && (operator, quantifier) == (ComparisonOperator::Equal, Quantifier::Any);
            let is_text = value.ty.column.kind.is_string();
            let is_free = column.column_type.kind.has_date() && is_text && !is_literal && !is_joined;
            if is_of_column && !is_free && self.is_written_constant(&value) {
                member.ty.name = selected.and_then(|selected| selected.ty.name.clone());
                let mut comparison = self.context.bind.compare(operator, value, member)?;
                slots.push((slot, take_left(&mut comparison, slot)));
                comparisons.push(comparison);
                continue;
            }
            if column.column_type.kind.has_date() && !is_free {
                // A constant beside moments has to be one, whether or not there are rows.
                let moment = Expr::slot(slot, column.column_type.clone());
                self.context.bind.compare(operator, value.clone(), moment)?;
            } else if value.ty.column.kind.has_date()
                && (is_set_test || quantifier == Quantifier::Any)
                && let Some(constant) =
                    selected.filter(|selected| expression::is_computed_of_constants(selected))
            {
                self.context.bind.compare(operator, value.clone(), constant.clone())?;
            }
            let mut stand_in = Expr::slot(slot, value.ty.column.clone());
            stand_in.ty = value.ty.clone();
            comparisons.push(self.context.bind.compare(operator, stand_in, member)?);
            slots.push((slot, value));
        }
        let condition = match operator {
            ComparisonOperator::NotEqual => self.any_of(comparisons)?,
            _ => self.all_of(comparisons)?,
        };
        let kind = ApplyKind::Quantified { comparison: Comparison { condition }, quantifier };
        Ok(self.place_pending(bound, kind, slots, ColumnType::bigint())?.as_truth())
    }
}

/// A SELECT without tables and conditions always gives a row.
fn is_one_row(logical: &Logical) -> bool {
    let Logical::Select(select) = logical else { return false };
    let bound = &select.bound;
    select.block.sources.is_empty()
        && select.block.aggregates.is_empty()
        && bound.conditions.is_empty()
        && bound.having.is_empty()
        && bound.limit.is_none()
}

/// What a subquery selects for a column, in the first of several queries.
fn selected(logical: &Logical, position: usize) -> Option<&Expr> {
    match logical {
        Logical::Select(block) => Some(&block.bound.items.get(position)?.expr),
        Logical::Project { input, expressions } => match expressions.get(position)?.as_column() {
            Some(position) => selected(input, position),
            None => expressions.get(position),
        },
        Logical::Union(queries) => selected(queries.first()?, position),
        Logical::Difference { sides, .. } => selected(&sides.0, position),
        Logical::Distinct { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Limit { input, .. }
        | Logical::Initialise { input, .. } => selected(input, position),
        _ => None,
    }
}

/// Puts the slot in place of a comparison's left side, which it gives.
fn take_left(comparison: &mut Expr, slot: usize) -> Expr {
    let ExprKind::Compare(_, _, left, _) = &mut comparison.kind else {
        unreachable!("what compares two values is a comparison");
    };
    let stand_in = Expr { kind: ExprKind::Slot(slot), ty: left.ty.clone() };
    std::mem::replace(left, stand_in)
}

/// What a subquery gives, binding its collation as strongly as what it selects.
fn with_strength(mut value: Expr, strength: Coercibility) -> Expr {
    value.ty.coercibility = strength;
    value
}

/// Whether the query as a whole, however it is bracketed, is cut by LIMIT.
fn has_limit(query: &ast::Query<'_>) -> bool {
    match query.body {
        _ if query.limit.is_some() => true,
        ast::QueryBody::Parenthesized(inner) => has_limit(inner),
        _ => false,
    }
}
