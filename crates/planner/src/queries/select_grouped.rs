//! A grouped SELECT block: rows, groups, HAVING, window functions, order, limit, projection.
use crate::paths::choice::WantedOrder;
use crate::paths::loose_scan::wish_of_groups;
use crate::planner::Planner;
use crate::queries::dependence::Equalities;
use crate::queries::group_count::group_count;
use crate::queries::grouping::{Grouping, ORDER_BY, Place, SELECT_LIST};
use crate::queries::nodes::{apply_all, filter, limit, order, project, sort};
use crate::queries::select_build::{RowSource, sort_limit, values_taken, wanted_order};
use crate::queries::select_subquery::{pending_of, place_before_groups, place_mapped};
use crate::queries::window::{PlacedWindows, take_windows};
use binder::block::{Block, PendingSubquery, Position, SourceKind};
use binder::bound::{BoundSelect, JoinTree};
use binder::bound_exprs::call_exprs;
use binder::starts_with;
use binder::walk::{any, subquery_number};
use datum::{ColumnType, SqlError, error_code};
use expression::{AggregateCall, AggregateFunction, ComparisonOperator, Expr, ExprKind, TruthTest};
use plan::{Aggregate, AggregateColumn, Apply, ApplyKind, Node, NodeKind, SortKey};

/// What is asked of the rows that are grouped.
struct Wishes {
    wanted: Option<WantedOrder>,
    straight: bool,
    /// The columns whose MIN and MAX are all that is asked, and their order.
    extremes: Vec<(usize, bool)>,
    /// No subquery reads the rows themselves.
    ends_suffice: bool,
}

impl Planner<'_> {
    pub fn build_grouped(
        &mut self,
        block: &mut Block,
        tree: Option<JoinTree>,
        bound: &mut BoundSelect,
    ) -> Result<Node, SqlError> {
        let mut groups = bound.groups.take().unwrap_or_default();
        let explicit = !groups.is_empty();
        let single = !explicit;
        // One row has no order, so that ORDER BY may name any column.
        bound.order_by.retain(|_| explicit);
        let conditions = std::mem::take(&mut bound.conditions);
        let extremes = if single { extremes_of(block) } else { Vec::new() };
        let wanted = if extremes.is_empty() { wanted_groups(block, &groups) } else { None };
        let made = self.made_columns(block)?;
        let equalities = Equalities::of(block, tree.as_ref(), &conditions, made);
        let mut aggregates = std::mem::take(&mut block.aggregates);
        let unanswered = if single { unanswered_items(block, bound) } else { Vec::new() };
        let row_count = aggregates.len();
        if !unanswered.is_empty() {
            let bind = &self.context.bind;
            aggregates.push(AggregateCall::new(bind, AggregateFunction::Count, Vec::new(), false)?);
        }
        let applies = place_before_groups(
            block,
            groups.iter_mut().chain(aggregates.iter_mut().flat_map(call_exprs)).collect(),
            bound.exprs_mut(),
        );
        if applies.is_empty() && !bound.rollup {
            block.group_wish = wish_of_groups(block, &groups, &aggregates);
        }
        let ends_suffice = applies.is_empty() && block.subqueries.is_empty();
        let wishes = Wishes { wanted, straight: bound.straight, extremes, ends_suffice };
        let source = self.rows_to_group(block, tree, conditions, wishes)?;
        let input = apply_all(source.node, applies);
        let mut windows = take_windows(block);
        let sql_mode = self.context.bind.sql_mode;
        let mut grouping = Grouping::of(block, bound, (groups, aggregates.len()), &equalities, sql_mode);
        let subqueries = map_bound(&mut grouping, bound, &mut windows)?;
        let base = grouping.width();
        let Grouping { groups, carried, .. } = grouping;
        let count = group_count(block, &groups, &equalities, input.estimate.rows);
        let kept = |exprs: Vec<Expr>| self.kept(exprs);
        for call in aggregates.iter_mut().filter(|call| is_extreme(call.function)) {
            call.arguments = kept(std::mem::take(&mut call.arguments));
        }
        if bound.rollup && !explicit {
            return Err(error_code::ER_WRONG_USAGE.with(&[&"ROLLUP", &"no GROUP BY"]));
        }
        let aggregate = Aggregate {
            ordered: source.ordered && explicit && !bound.rollup,
            input: Box::new(input),
            aggregates: aggregates.into_iter().map(|call| AggregateColumn { call }).collect(),
            groups: kept(groups),
            carried: kept(carried),
            single,
            rollup: bound.rollup,
        };
        let is_sorted = single || aggregate.ordered && sorted_by_groups(&bound.order_by);
        let node = self.aggregate_node(aggregate, count, base + subqueries.len() + windows.count());
        self.keep_before_windows(bound, &mut windows);
        windows.place(bound, base + subqueries.len());
        let applies = place_mapped(subqueries, base, bound, &mut windows);
        for item in unanswered {
            let expr = &mut bound.items[item].expr;
            *expr = self.null_without_rows(expr.clone(), row_count)?;
        }
        self.finish_groups(block, (node, applies), bound, windows, is_sorted)
    }

    /// What follows the groups: HAVING, window functions, DISTINCT, order and limit.
    fn finish_groups(
        &mut self,
        block: &mut Block,
        (node, applies): (Node, Vec<Apply>),
        bound: &mut BoundSelect,
        windows: PlacedWindows,
        is_sorted: bool,
    ) -> Result<Node, SqlError> {
        let taken = if bound.distinct { values_taken(&applies) } else { Vec::new() };
        let node = filter(apply_all(node, applies), std::mem::take(&mut bound.having));
        let is_sorted = is_sorted && windows.is_empty();
        let (mut node, mut ordering) = (node, Vec::new());
        if windows.follow_order_by(bound) {
            node = sort(node, bound.order_by.clone(), None);
            ordering = bound.order_by.clone();
        }
        let (mut node, ordering) = windows.stack(node, ordering);
        if bound.distinct {
            return self.finish_distinct(block, node, bound, &taken);
        }
        if !is_sorted && !starts_with(&ordering, &bound.order_by) {
            node = order(node, std::mem::take(&mut bound.order_by), sort_limit(bound));
        }
        node = limit(node, bound.limit.take());
        Ok(project(node, bound.items.drain(..).map(|item| item.expr).collect()))
    }

    /// `value`, but NULL where the number of rows in the column `count` is 0.
    fn null_without_rows(&self, value: Expr, count: usize) -> Result<Expr, SqlError> {
        let bind = &self.context.bind;
        let ty = value.ty.clone();
        let count = Expr::column(count, ColumnType::bigint().not_null());
        let has_none = bind.compare(ComparisonOperator::Equal, count, Expr::int(0))?;
        let choice = bind.case(None, vec![(has_none, Expr::null())], Some(value))?;
        Ok(Expr { ty, ..choice })
    }

    fn kept(&self, exprs: Vec<Expr>) -> Vec<Expr> {
        exprs.into_iter().map(|expr| self.context.bind.kept(expr)).collect()
    }

    /// The rows that are grouped: the ends of indexes where those alone answer every MIN and MAX.
    fn rows_to_group(
        &mut self,
        block: &mut Block,
        tree: Option<JoinTree>,
        conditions: Vec<Expr>,
        wishes: Wishes,
    ) -> Result<RowSource, SqlError> {
        if let (Some(JoinTree::Source(source)), true) = (&tree, wishes.ends_suffice)
            && let Some(node) = self.read_ends(block, *source, &conditions, &wishes.extremes)?
        {
            return Ok(RowSource { node, ordered: true });
        }
        self.build_row_source(block, tree, conditions, wishes.wanted, wishes.straight)
    }

    /// The node of the groups. ROLLUP works on sorted input, and on groups without it where these are fewer than the rows.
    fn aggregate_node(&self, mut aggregate: Aggregate, rows: f64, width: usize) -> Node {
        if aggregate.rollup {
            aggregate = match self.partial_groups(&aggregate, rows) {
                Some(rolled) => rolled,
                None => aggregate,
            };
            let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: false };
            let keys = aggregate.groups.iter().map(key).collect();
            aggregate.input = Box::new(sort(*aggregate.input, keys, None));
        }
        Node::new(NodeKind::Aggregate(Box::new(aggregate)), width, rows)
    }

    /// MIN and MAX by indexes: for each the first row in its order that is not NULL. `None` where an index gives not all of
    /// these orders.
    fn read_ends(
        &mut self,
        block: &mut Block,
        source: usize,
        conditions: &[Expr],
        extremes: &[(usize, bool)],
    ) -> Result<Option<Node>, SqlError> {
        let mut ends = Vec::with_capacity(extremes.len());
        for (position, descending) in extremes {
            let wanted = wanted_column(block, *position, *descending);
            let tree = Some(JoinTree::Source(source));
            // NULLs stand together at one end of what the other conditions leave of an index, which begins behind them.
            let mut conditions = conditions.to_vec();
            conditions.extend(self.not_null(block, *position)?);
            let row = self.build_row_source(block, tree, conditions, wanted, false)?;
            if !row.ordered {
                return Ok(None);
            }
            ends.push(limit(row.node, Some((Expr::int(1), None))));
        }
        Ok(match ends.len() {
            0 => None,
            1 => ends.pop(),
            count => {
                let width = block.frame.len();
                Some(Node::new(NodeKind::UnionAll { inputs: ends }, width, count as f64))
            }
        })
    }

    /// The condition that a column of a table is not NULL, if it can be.
    fn not_null(&self, block: &Block, position: usize) -> Result<Option<Expr>, SqlError> {
        let Position::Column { source, column } = block.frame[position] else { return Ok(None) };
        let column_type = block.sources[source].columns[column].column_type.clone();
        if !column_type.nullable {
            return Ok(None);
        }
        self.context.bind.truth_test(TruthTest::NotNull, Expr::column(position, column_type)).map(Some)
    }
}

/// The select items that are scalar subqueries which read the outer row: of no rows at all they are NULL.
fn unanswered_items(block: &Block, bound: &BoundSelect) -> Vec<usize> {
    let is_unanswered = |expr: &Expr| {
        subquery_number(expr).is_some_and(|number| {
            let subquery = &block.subqueries[number];
            matches!(subquery.kind, ApplyKind::Scalar) && !subquery.correlation.is_empty()
        })
    };
    let items = bound.items.iter().enumerate();
    items.filter(|(_, item)| is_unanswered(&item.expr)).map(|(number, _)| number).collect()
}

fn is_extreme(function: AggregateFunction) -> bool {
    matches!(function, AggregateFunction::Min | AggregateFunction::Max)
}

/// Maps everything after the groups; a select item or clause that names an ungrouped column is an error there.
/// Answers the subqueries of these clauses, with their numbers.
fn map_bound(
    grouping: &mut Grouping<'_>,
    bound: &mut BoundSelect,
    windows: &mut PlacedWindows,
) -> Result<Vec<(usize, PendingSubquery)>, SqlError> {
    for (number, item) in bound.items.iter_mut().enumerate() {
        grouping.map(&mut item.expr, Place { number: number + 1, clause: SELECT_LIST })?;
    }
    for (number, having) in bound.having.iter_mut().enumerate() {
        grouping.map(having, Place { number: number + 1, clause: "HAVING clause" })?;
    }
    for (number, key) in bound.order_by.iter_mut().enumerate() {
        grouping.map(&mut key.expr, Place { number: number + 1, clause: ORDER_BY })?;
    }
    for expr in windows.exprs_mut() {
        grouping.map(expr, Place { number: 1, clause: SELECT_LIST })?;
    }
    let mut subqueries = pending_of(grouping.block);
    for (number, subquery) in &mut subqueries {
        let is_it = |part: &Expr| subquery_number(part) == Some(*number);
        let item = bound.items.iter().position(|item| any(&item.expr, &is_it)).unwrap_or(0);
        for (_, expr) in subquery.left.iter_mut().chain(&mut subquery.correlation) {
            grouping.map(expr, Place { number: item + 1, clause: SELECT_LIST })?;
        }
    }
    Ok(subqueries)
}

fn wanted_groups(block: &Block, groups: &[Expr]) -> Option<WantedOrder> {
    let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: false };
    let keys: Vec<SortKey> = groups.iter().map(key).collect();
    wanted_order(block, &keys, &None).map(|wanted| WantedOrder { for_groups: true, ..wanted })
}

fn wanted_column(block: &Block, position: usize, descending: bool) -> Option<WantedOrder> {
    let Position::Column { source, column } = block.frame[position] else { return None };
    let columns = vec![(column, descending)];
    Some(WantedOrder { source, columns, for_groups: false, limit: Some(1.0) })
}

/// More ends of indexes than this are not read one by one.
const EXTREMES_MAX: usize = 8;

/// All aggregates are MIN or MAX of a column of the only table: (frame position, descending).
fn extremes_of(block: &Block) -> Vec<(usize, bool)> {
    let mut extremes = Vec::new();
    for call in &block.aggregates {
        let descending = match call.function {
            AggregateFunction::Min => false,
            AggregateFunction::Max => true,
            _ => return Vec::new(),
        };
        let [Expr { kind: ExprKind::Column(position), .. }] = call.arguments.as_slice() else {
            return Vec::new();
        };
        if !extremes.contains(&(*position, descending)) {
            extremes.push((*position, descending));
        }
    }
    let is_plain = block.sources.len() == 1
        && extremes.len() <= EXTREMES_MAX
        && matches!(block.sources[0].kind, SourceKind::Stored { .. });
    if is_plain { extremes } else { Vec::new() }
}

/// Groups that come in ascending order of their expressions need no sort by the same.
fn sorted_by_groups(keys: &[SortKey]) -> bool {
    keys.iter().enumerate().all(|(number, key)| !key.descending && key.expr.kind == ExprKind::Column(number))
}
