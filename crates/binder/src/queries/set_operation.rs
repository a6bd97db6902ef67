//! UNION, EXCEPT and INTERSECT.
use crate::binder::{Binder, not_supported};
use crate::block::{Block, Clause, QuerySource, Source, SourceColumn, SourceKind};
use crate::bound::{BoundBlock, BoundQuery, BoundSelect, JoinTree, Logical, SelectItem};
use crate::queries::query::Tail;
use crate::queries::temporary;
use datum::{ColumnType, SqlError, error_code};
use expression::{Expr, ExprType, Merging};
use parser::ast;
use plan::{OutputColumn, SortKey};

impl<'p> Binder<'p> {
    pub fn bind_set_chain(&mut self, chain: &ast::SetChain<'p>) -> Result<BoundQuery, SqlError> {
        let mut left = self.bind_set_branch(chain.first)?;
        for branch in chain.rest {
            let right = self.bind_set_branch(branch.body)?;
            left = self.combine(left, right, branch.operator, branch.all)?;
        }
        Ok(left)
    }

    pub fn bind_set_branch(&mut self, body: ast::QueryBody<'p>) -> Result<BoundQuery, SqlError> {
        self.enter()?;
        let bound = self.bind_body(body);
        self.leave();
        bound
    }

    pub fn combine(
        &mut self,
        left: BoundQuery,
        right: BoundQuery,
        operator: ast::SetOperator,
        all: bool,
    ) -> Result<BoundQuery, SqlError> {
        if left.columns.len() != right.columns.len() {
            return Err(error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain());
        }
        let mut columns = Vec::with_capacity(left.columns.len());
        let mut types = Vec::with_capacity(left.columns.len());
        let name = match operator {
            ast::SetOperator::Union => "UNION",
            ast::SetOperator::Except => "EXCEPT",
            ast::SetOperator::Intersect => "INTERSECT",
        };
        for (left, right) in left.types().zip(right.types()) {
            types.push(self.common_type(name, &[left, right])?);
        }
        for (left, ty) in left.columns.iter().zip(&types) {
            columns.push(OutputColumn::computed(left.name.clone(), ty.column.clone()));
        }
        let strengths = types.iter().map(|ty| ty.coercibility).collect();
        let left_types: Vec<ColumnType> = left.columns.into_iter().map(|column| column.column_type).collect();
        let right_types: Vec<ColumnType> =
            right.columns.into_iter().map(|column| column.column_type).collect();
        let left = self.convert_columns(self.with_kept_digits(left.logical), &left_types, &types)?;
        let right = self.convert_columns(self.with_kept_digits(right.logical), &right_types, &types)?;
        let key = |(at, column): (usize, &OutputColumn)| Expr::column(at, column.column_type.clone());
        let keys: Vec<Expr> = columns.iter().enumerate().map(key).collect();
        let logical = match operator {
            ast::SetOperator::Union => {
                let union = Logical::Union(flatten(left, right, all));
                if all { union } else { Logical::Distinct { input: Box::new(union), keys } }
            }
            ast::SetOperator::Except | ast::SetOperator::Intersect => {
                let intersect = operator == ast::SetOperator::Intersect;
                Logical::Difference { sides: Box::new((left, right)), intersect, all, keys }
            }
        };
        Ok(BoundQuery { logical, columns, strengths, count_found_rows: false, counted_limit: None })
    }

    /// The DECIMALs that a query chooses have the digits of their types here, as in a temporary table.
    pub(super) fn with_kept_digits(&self, mut query: Logical) -> Logical {
        if let Logical::Select(select) = &mut query {
            for item in &mut select.bound.items {
                let expr = std::mem::replace(&mut item.expr, Expr::null());
                item.expr = self.context.bind.kept(expr);
            }
        }
        temporary::cut_constants(&self.context.bind, &mut query);
        query
    }

    fn convert_columns(
        &self,
        input: Logical,
        from: &[ColumnType],
        to: &[ExprType],
    ) -> Result<Logical, SqlError> {
        if from.iter().zip(to).all(|(from, to)| same_domain(from, &to.column)) {
            return Ok(input);
        }
        let mut expressions = Vec::with_capacity(from.len());
        for (position, (from, to)) in from.iter().zip(to).enumerate() {
            expressions.push(self.converted(Expr::column(position, from.clone()), to)?);
        }
        Ok(Logical::Project { input: Box::new(input), expressions })
    }

    /// The type of a column that takes values of all these types.
    pub fn common_type(&self, operation: &str, types: &[ExprType]) -> Result<ExprType, SqlError> {
        let column = |(position, ty): (usize, &ExprType)| Expr {
            ty: ty.clone(),
            ..Expr::column(position, ty.column.clone())
        };
        let mut columns: Vec<Expr> = types.iter().enumerate().map(column).collect();
        self.context.bind.unified_type(operation, &mut columns, Merging::Column)
    }

    /// The expression as a value of the target type.
    pub fn converted(&self, expr: Expr, target: &ExprType) -> Result<Expr, SqlError> {
        if same_domain(&expr.ty.column, &target.column) {
            return Ok(expr);
        }
        // A column of bits joins texts as the number it is.
        let is_bits = matches!(expr.ty.column.kind, datum::TypeKind::Bit(_));
        let mut expr = expr;
        // Zeros that fill numbers up are not among its texts.
        expr.ty.column.zerofill &= expr.ty.column.kind.is_string();
        let expr = match is_bits && target.column.kind.is_string() {
            true => self.context.bind.cast(expr, ColumnType::bigint_unsigned())?,
            false => expr,
        };
        self.context.bind.convert_to(expr, target)
    }

    /// ORDER BY and LIMIT over the result of a set operation: names are those of the result's columns.
    pub fn finish_set(&mut self, bound: BoundQuery, tail: Tail<'p>) -> Result<BoundQuery, SqlError> {
        if !tail.locking.is_empty() {
            return Err(not_supported("FOR UPDATE or FOR SHARE after a set operation"));
        }
        let BoundQuery { mut logical, columns, strengths, .. } = bound;
        if !tail.order_by.is_empty() {
            let (keys, block) = self.set_sort_keys(&columns, tail.order_by)?;
            let limit = self.bind_limit(tail.limit)?;
            logical = match block.subqueries.is_empty() {
                true => {
                    let sorted = Logical::Sort { input: Box::new(logical), keys, limit };
                    sorted.initialised(block.initialisers)
                }
                false => self.sorted_by_subqueries(logical, (keys, block), &columns, limit),
            };
        }
        let logical = logical.limited(self.bind_limit(tail.limit)?);
        Ok(BoundQuery { logical, columns, strengths, count_found_rows: false, counted_limit: None })
    }

    /// The rows of a set operation as a derived table, of which subqueries of ORDER BY read columns.
    fn sorted_by_subqueries(
        &self,
        rows: Logical,
        (order_by, mut block): (Vec<SortKey>, Block),
        columns: &[OutputColumn],
        limit: Option<(Expr, Option<Expr>)>,
    ) -> Logical {
        let source = QuerySource { query: rows, correlation: Vec::new(), slots: Vec::new(), merges: false };
        block.sources[0].kind = SourceKind::Query(Box::new(source));
        let item = |(position, column): (usize, &OutputColumn)| SelectItem {
            expr: Expr::column(position, column.column_type.clone()),
            name: column.name.clone(),
            is_alias: false,
        };
        let items = columns.iter().enumerate().map(item).collect();
        let bound = BoundSelect { order_by, limit, ..BoundSelect::of_items(items) };
        let is_correlated = !self.blocks.is_empty();
        Logical::Select(Box::new(BoundBlock { block, bound, tree: Some(JoinTree::Source(0)), is_correlated }))
    }

    /// The keys of ORDER BY with the block that they are bound in.
    fn set_sort_keys(
        &mut self,
        columns: &[OutputColumn],
        order_by: &[ast::OrderItem<'p>],
    ) -> Result<(Vec<SortKey>, Block), SqlError> {
        let mut block = Block { clause: Some(Clause::Order), ..Block::default() };
        let source_column = |column: &OutputColumn| SourceColumn {
            name: column.name.clone(),
            column_type: column.column_type.clone(),
            hidden: false,
            invisible: false,
        };
        block.sources.push(Source::made(
            String::new(),
            columns.iter().map(source_column).collect(),
            SourceKind::Derived(None),
        ));
        // Positions are the result's columns, whichever are used.
        for column in 0..columns.len() {
            block.position(0, column);
        }
        self.blocks.push(block);
        let keys =
            order_by.iter().map(|item| self.set_sort_key(columns, item)).collect::<Result<Vec<_>, _>>();
        let block = self.blocks.pop().expect("pushed above");
        if !block.aggregates.is_empty() {
            return Err(not_supported("ORDER BY with an aggregate after a set operation"));
        }
        Ok((keys?, block))
    }

    fn set_sort_key(
        &mut self,
        columns: &[OutputColumn],
        item: &ast::OrderItem<'p>,
    ) -> Result<SortKey, SqlError> {
        let expr = match ordinal(&item.expr) {
            Some(number) => {
                let position = number.checked_sub(1).filter(|position| *position < columns.len());
                let Some(position) = position else {
                    return Err(error_code::ER_BAD_FIELD_ERROR.with(&[&number, &Clause::Order.text()]));
                };
                Expr::column(position, columns[position].column_type.clone())
            }
            None => self.bind(&item.expr)?,
        };
        Ok(SortKey { expr, descending: item.descending })
    }
}

/// `ORDER BY 2`: the number, if the item is one.
pub fn ordinal(expr: &ast::Expr<'_>) -> Option<usize> {
    match expr.kind {
        ast::ExprKind::Literal(ast::Literal { value: ast::LiteralValue::Integer(number), .. }) => {
            Some(usize::try_from(number).unwrap_or(usize::MAX))
        }
        _ => None,
    }
}

/// The inputs of a UNION ALL below another one side by side.
fn flatten(left: Logical, right: Logical, all: bool) -> Vec<Logical> {
    match left {
        Logical::Union(mut inputs) if all => {
            inputs.push(right);
            inputs
        }
        left => vec![left, right],
    }
}

impl BoundQuery {
    fn types(&self) -> impl Iterator<Item = ExprType> {
        let columns = self.columns.iter().zip(&self.strengths);
        columns.map(|(column, strength)| ExprType::new(column.column_type.clone(), *strength))
    }
}

/// Values of the one type can stand as values of the other without conversion.
fn same_domain(from: &ColumnType, to: &ColumnType) -> bool {
    from.kind == to.kind
        && from.unsigned == to.unsigned
        && from.collation == to.collation
        && (from.kind != datum::TypeKind::Binary || from.length == to.length)
}
