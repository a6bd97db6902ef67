//! Aggregate functions: the call is noted in its block and stands in the tree as a numbered slot.
use crate::binder::{Binder, not_supported};
use crate::block::Clause;
use crate::queries::set_operation::ordinal;
use crate::walk::AGGREGATE_BASE;
use datum::{SqlError, SqlMode, error_code};
use expression::{AggregateCall, AggregateFunction, AggregateOrder, Expr};
use parser::ast::{self, AggregateKind};

impl<'p> Binder<'p> {
    pub fn bind_aggregate(&mut self, aggregate: &ast::Aggregate<'p>) -> Result<Expr, SqlError> {
        // It is none: a value of its row, that ONLY_FULL_GROUP_BY does not ask about.
        if aggregate.kind == AggregateKind::AnyValue {
            let arguments = self.bind_all(aggregate.arguments)?;
            return self.context.bind.call("any_value", arguments);
        }
        if let Some(over) = aggregate.over {
            return self.bind_window_aggregate(aggregate, over);
        }
        let first = self.outer_references.len();
        let noted: Vec<usize> =
            self.blocks.iter().map(|block| block.correlations.last().map_or(0, Vec::len)).collect();
        let was_inside = std::mem::replace(&mut self.block().inside_aggregate, true);
        let before = self.outer_aggregate.take();
        let call = self.bind_aggregate_call(aggregate);
        self.block().inside_aggregate = was_inside;
        let call = call?;
        let depth = self.aggregating_block(&call, first).or_else(|| self.allowing_block(&call, first));
        // An aggregate of one of a block around it belongs to a block further inside.
        let depth = depth.filter(|depth| self.outer_aggregate.is_none_or(|inner| *depth > inner));
        self.outer_aggregate = before.max(depth);
        if let Some(depth) = depth {
            for (block, noted) in self.blocks.iter_mut().zip(noted) {
                if let Some(correlation) = block.correlations.last_mut() {
                    correlation.truncate(noted);
                }
            }
            self.outer_references.truncate(first);
            return self.bind_outer_aggregate(aggregate, depth);
        }
        // The standard has no aggregate in the block that it stands in if all its columns are from outside.
        let is_foreign = !reads_own(&call) && self.outer_references.len() > first;
        if is_foreign && self.context.bind.sql_mode.contains(SqlMode::ANSI) {
            return Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain());
        }
        let block = self.block();
        let allowed = block.allows_aggregates();
        if !allowed || was_inside {
            return Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain());
        }
        let block = self.block();
        let number = match block.aggregates.iter().position(|known| *known == call) {
            Some(number) => number,
            None => {
                block.aggregates.push(call.clone());
                block.aggregates.len() - 1
            }
        };
        let mut expr = Expr::slot(AGGREGATE_BASE + number, call.ty.column.clone());
        let name = call_name(&call);
        expr.ty = call.ty;
        expr.ty.name = name.map(Into::into);
        Ok(expr)
    }

    /// An aggregate of nothing but outer columns belongs to the innermost block that has one of them.
    fn aggregating_block(&self, call: &AggregateCall, first: usize) -> Option<usize> {
        let own = self.blocks.len() - 1;
        if reads_own(call) {
            return None;
        }
        let outer = self.outer_references[first..].iter().map(|(block, _)| *block);
        let nearest = outer.filter(|block| *block < own).max()?;
        self.blocks[nearest].allows_aggregates().then_some(nearest)
    }

    /// An aggregate without columns that stands where its own block has none belongs to the next block around it that has
    /// them there.
    fn allowing_block(&self, call: &AggregateCall, first: usize) -> Option<usize> {
        let own = self.blocks.len() - 1;
        if self.blocks[own].allows_aggregates() || self.outer_references.len() > first || reads_own(call) {
            return None;
        }
        self.blocks[..own].iter().rposition(|block| !block.hidden && block.allows_aggregates())
    }

    fn bind_outer_aggregate(
        &mut self,
        aggregate: &ast::Aggregate<'p>,
        depth: usize,
    ) -> Result<Expr, SqlError> {
        let inner = self.blocks.split_off(depth + 1);
        let before = self.outer_aggregate;
        let bound = self.bind_aggregate(aggregate);
        self.outer_aggregate = before;
        self.blocks.extend(inner);
        Ok(self.carry_inward(depth, bound?))
    }

    pub fn bind_aggregate_call(&mut self, aggregate: &ast::Aggregate<'p>) -> Result<AggregateCall, SqlError> {
        let function = aggregate_function(aggregate.kind)?;
        let mut arguments = self.bind_all(aggregate.arguments)?;
        if aggregate.kind == AggregateKind::CountAll {
            arguments.clear();
        }
        let is_ordered = !aggregate.order_by.is_empty();
        let values = if is_ordered { arguments.clone() } else { Vec::new() };
        let mut call = AggregateCall::new(&self.context.bind, function, arguments, aggregate.distinct)?;
        if function == AggregateFunction::GroupConcat {
            let mut order_by = Vec::with_capacity(aggregate.order_by.len());
            for item in aggregate.order_by {
                let expr = match ordinal(&item.expr) {
                    Some(number) => place_of(&values, number)?,
                    None => self.bind(&item.expr)?,
                };
                order_by.push(AggregateOrder { expr, descending: item.descending });
            }
            let separator = match aggregate.separator.map(|literal| literal.value) {
                None => b",".to_vec(),
                Some(ast::LiteralValue::String { bytes, .. }) => {
                    let bind = &self.context.bind;
                    bind.text_charset.convert_to(call.ty.collation().charset(), bytes).bytes
                }
                Some(_) => return Err(not_supported("a separator that is no string")),
            };
            call = call.with_order(order_by, separator);
        }
        Ok(call)
    }
}

/// Whether the arguments read columns or subqueries of the block that they stand in.
fn reads_own(call: &AggregateCall) -> bool {
    let is_own = |part: &Expr| part.as_column().is_some() || crate::walk::subquery_number(part).is_some();
    call.arguments.iter().any(|argument| crate::walk::any(argument, &is_own))
}

/// What `ORDER BY 2` inside an aggregate means.
fn place_of(values: &[Expr], number: usize) -> Result<Expr, SqlError> {
    let value = number.checked_sub(1).and_then(|place| values.get(place)).cloned();
    value.ok_or_else(|| error_code::ER_BAD_FIELD_ERROR.with(&[&number, &Clause::Order.text()]))
}

/// The call as error messages show it.
fn call_name(call: &AggregateCall) -> Option<String> {
    use AggregateFunction::{Avg, Count, Max, Min, Sum};
    let argument = call.arguments.first().map_or_else(|| "0".to_owned(), ToString::to_string);
    let is_simple = call.arguments.len() < 2 && matches!(call.function, Avg | Count | Max | Min | Sum);
    let distinct = if call.distinct { "distinct " } else { "" };
    is_simple.then(|| format!("{}({distinct}{argument})", format!("{:?}", call.function).to_lowercase()))
}

fn aggregate_function(kind: AggregateKind) -> Result<AggregateFunction, SqlError> {
    Ok(match kind {
        AggregateKind::CountAll | AggregateKind::Count => AggregateFunction::Count,
        AggregateKind::Sum => AggregateFunction::Sum,
        AggregateKind::Average => AggregateFunction::Avg,
        AggregateKind::Minimum => AggregateFunction::Min,
        AggregateKind::Maximum => AggregateFunction::Max,
        AggregateKind::BitAnd => AggregateFunction::BitAnd,
        AggregateKind::BitOr => AggregateFunction::BitOr,
        AggregateKind::BitXor => AggregateFunction::BitXor,
        AggregateKind::StandardDeviation => AggregateFunction::StddevPop,
        AggregateKind::StandardDeviationSample => AggregateFunction::StddevSamp,
        AggregateKind::Variance => AggregateFunction::VarPop,
        AggregateKind::VarianceSample => AggregateFunction::VarSamp,
        AggregateKind::GroupConcat => AggregateFunction::GroupConcat,
        AggregateKind::AnyValue => return Err(not_supported("ANY_VALUE here")),
        AggregateKind::JsonArray => AggregateFunction::JsonArray,
        AggregateKind::JsonObject => AggregateFunction::JsonObject,
        AggregateKind::StCollect => return Err(not_supported("ST_Collect")),
    })
}
