//! From a bound SELECT block to its plan: tables, filter, groups, order, limit, projection.
use crate::block::{Block, PendingSubquery, Position};
use crate::dependence::Equalities;
use crate::from::{JoinTree, Joined};
use crate::grouping::{Grouping, Place};
use crate::join_order::WantedOrder;
use crate::planner::{Planner, not_supported};
use crate::query::PlannedQuery;
use crate::select_items::{SelectItem, output_column};
use crate::walk::{has_subquery, replace, subquery_number};
use datum::{SqlError, SqlMode, error_code};
use expression::{AggregateFunction, Expr, ExprKind, TruthTest};
use plan::{Aggregate, AggregateColumn, Apply, Initialise, Node, NodeKind, OutputColumn, SortKey};

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

/// The input of a statement's rows before grouping or projection.
pub struct RowSource {
    pub node: Node,
    /// The rows come in the wanted order.
    pub ordered: bool,
}

impl Planner<'_> {
    pub fn build_select(
        &mut self,
        mut block: Block,
        mut bound: BoundSelect,
        joined: Option<Joined>,
    ) -> Result<PlannedQuery, SqlError> {
        let columns: Vec<OutputColumn> = bound.items.iter().map(|item| output_column(&block, item)).collect();
        let tree = joined.map(|joined| joined.tree);
        let aggregated = bound.groups.is_some() || !block.aggregates.is_empty();
        let initialisers = std::mem::take(&mut block.initialisers);
        let count_found_rows = bound.count_found_rows;
        let counted_limit = if count_found_rows { bound.limit.take() } else { None };
        let mut node = if aggregated {
            self.build_grouped(&mut block, tree, &mut bound)?
        } else {
            self.build_plain(&mut block, tree, &mut bound)?
        };
        if !initialisers.is_empty() {
            let (width, rows) = (node.width, node.estimate.rows);
            let initialise = Initialise { input: Box::new(node), initialisers };
            node = Node::new(NodeKind::Initialise(Box::new(initialise)), width, rows);
        }
        Ok(PlannedQuery { node, columns, count_found_rows, counted_limit })
    }

    fn build_plain(
        &mut self,
        block: &mut Block,
        tree: Option<JoinTree>,
        bound: &mut BoundSelect,
    ) -> Result<Node, SqlError> {
        let wanted = if bound.distinct { None } else { wanted_order(block, &bound.order_by, &bound.limit) };
        let mut early: Vec<&mut Expr> = bound.having.iter_mut().collect();
        early.extend(bound.order_by.iter_mut().map(|key| &mut key.expr));
        let mut applies = place_subqueries(block, early);
        let late = place_subqueries(block, bound.items.iter_mut().map(|item| &mut item.expr).collect());
        let conditions = std::mem::take(&mut bound.conditions);
        let source = self.build_row_source(block, tree, conditions, wanted, bound.straight)?;
        let mut node = source.node;
        if bound.distinct {
            // Sorting happens on the projected rows.
            applies.extend(late);
            node = apply_all(node, applies);
            node = filter(node, std::mem::take(&mut bound.having));
            return self.finish_distinct(block, node, bound);
        }
        node = apply_all(node, applies);
        node = filter(node, std::mem::take(&mut bound.having));
        if !source.ordered {
            node = sort(node, std::mem::take(&mut bound.order_by), sort_limit(bound));
        }
        node = limit(node, bound.limit.take());
        node = apply_all(node, late);
        Ok(project(node, bound.items.drain(..).map(|item| item.expr).collect()))
    }

    /// Tables and WHERE.
    pub fn build_row_source(
        &mut self,
        block: &mut Block,
        tree: Option<JoinTree>,
        conditions: Vec<Expr>,
        wanted: Option<WantedOrder>,
        straight: bool,
    ) -> Result<RowSource, SqlError> {
        let (mut with_subquery, plain): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(has_subquery);
        let applies = place_subqueries(block, with_subquery.iter_mut().collect());
        let (mut node, ordered) = match tree {
            Some(tree) => self.plan_joins(block, tree, plain, wanted, straight)?,
            None => (filter(Node::new(NodeKind::Dual, block.frame.len(), 1.0), plain), true),
        };
        node = apply_all(node, applies);
        Ok(RowSource { node: filter(node, with_subquery), ordered })
    }

    fn build_grouped(
        &mut self,
        block: &mut Block,
        tree: Option<JoinTree>,
        bound: &mut BoundSelect,
    ) -> Result<Node, SqlError> {
        let groups = bound.groups.take().unwrap_or_default();
        let explicit = !groups.is_empty();
        let single = !explicit;
        let conditions = std::mem::take(&mut bound.conditions);
        let extreme = if single { lone_extreme(block) } else { None };
        let wanted = match &extreme {
            Some((position, descending)) => wanted_column(block, *position, *descending),
            None => wanted_groups(block, &groups),
        };
        let equalities = Equalities::of(tree.as_ref(), &conditions);
        let has_extreme_order = extreme.is_some() && wanted.is_some();
        let source = self.build_row_source(block, tree, conditions, wanted, bound.straight)?;
        let mut input = source.node;
        if let (true, true, Some((position, _))) = (has_extreme_order, source.ordered, extreme) {
            input = self.first_not_null(block, input, position)?;
        }
        let aggregates = std::mem::take(&mut block.aggregates);
        let mut grouping = Grouping {
            block,
            groups,
            aggregate_count: aggregates.len(),
            carried: Vec::new(),
            explicit,
            sql_mode: self.context.bind.sql_mode,
            equalities: &equalities,
            determined: None,
        };
        map_bound(&mut grouping, bound)?;
        let mut subqueries_mapped = Vec::new();
        let pending = pending_of(grouping.block);
        for (number, subquery) in pending {
            let mut subquery = subquery;
            for (_, expr) in subquery.left.iter_mut().chain(&mut subquery.correlation) {
                grouping.map(expr, Place { number: 1, clause: "SELECT list" })?;
            }
            subqueries_mapped.push((number, subquery));
        }
        let base = grouping.width();
        let Grouping { groups, carried, .. } = grouping;
        let width = base + subqueries_mapped.len();
        let rows = group_estimate(&input, &groups);
        if bound.rollup && !explicit {
            return Err(error_code::ER_WRONG_USAGE.with(&[&"ROLLUP", &"no GROUP BY"]));
        }
        let aggregate = Aggregate {
            ordered: source.ordered && explicit && !bound.rollup,
            input: Box::new(self.rollup_input(input, &groups, bound.rollup)),
            aggregates: aggregates.into_iter().map(|call| AggregateColumn { call }).collect(),
            groups,
            carried,
            single,
            rollup: bound.rollup,
        };
        let keeps_order = aggregate.ordered;
        let mut node = Node::new(NodeKind::Aggregate(Box::new(aggregate)), width, rows);
        let applies = place_mapped(subqueries_mapped, base, bound);
        node = apply_all(node, applies);
        node = filter(node, std::mem::take(&mut bound.having));
        if bound.distinct {
            return self.finish_distinct(block, node, bound);
        }
        if !(single || keeps_order && sorted_by_groups(&bound.order_by)) {
            node = sort(node, std::mem::take(&mut bound.order_by), sort_limit(bound));
        }
        node = limit(node, bound.limit.take());
        Ok(project(node, bound.items.drain(..).map(|item| item.expr).collect()))
    }

    /// ROLLUP works on sorted input.
    fn rollup_input(&self, input: Node, groups: &[Expr], rollup: bool) -> Node {
        if !rollup {
            return input;
        }
        let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: false };
        sort(input, groups.iter().map(key).collect(), None)
    }

    /// MIN or MAX by an index: the first row in that order which is not NULL.
    fn first_not_null(&self, block: &Block, input: Node, position: usize) -> Result<Node, SqlError> {
        let Position::Column { source, column } = block.frame[position] else { return Ok(input) };
        let column_type = block.sources[source].columns[column].column_type.clone();
        let is_set = self.context.bind.truth_test(TruthTest::NotNull, Expr::column(position, column_type))?;
        Ok(limit(filter(input, vec![is_set]), Some((Expr::int(1), None))))
    }

    /// DISTINCT: project, drop duplicates, then order by what is left.
    fn finish_distinct(
        &mut self,
        block: &Block,
        node: Node,
        bound: &mut BoundSelect,
    ) -> Result<Node, SqlError> {
        let items: Vec<Expr> = bound.items.drain(..).map(|item| item.expr).collect();
        let mut keys = std::mem::take(&mut bound.order_by);
        for (number, key) in keys.iter_mut().enumerate() {
            replace(&mut key.expr, &mut |part| {
                let position = items.iter().position(|item| item.kind == part.kind)?;
                // Marked first, so that a position of the projection is not taken for one of the frame.
                let mut column = Expr::slot(PROJECTED_BASE + position, part.ty.column.clone());
                column.ty = part.ty.clone();
                Some(column)
            });
            if crate::walk::any(&key.expr, &|part| matches!(part.kind, ExprKind::Column(_))) {
                if !self.context.bind.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY) {
                    return Err(not_supported("SELECT DISTINCT ordered by something it does not select"));
                }
                let name = column_name_in(block, &key.expr);
                return Err(error_code::ER_FIELD_IN_ORDER_NOT_SELECT.with(&[
                    &(number + 1),
                    &"ORDER BY clause",
                    &name,
                    &"DISTINCT",
                ]));
            }
            replace(&mut key.expr, &mut |part| match part.kind {
                ExprKind::Slot(slot) if (PROJECTED_BASE..PROJECTED_BASE * 2).contains(&slot) => {
                    let mut column = Expr::column(slot - PROJECTED_BASE, part.ty.column.clone());
                    column.ty = part.ty.clone();
                    Some(column)
                }
                _ => None,
            });
        }
        let distinct_keys = items
            .iter()
            .enumerate()
            .map(|(position, item)| Expr::column(position, item.ty.column.clone()))
            .collect();
        let node = project(node, items);
        let (width, rows) = (node.width, node.estimate.rows);
        let node = Node::new(NodeKind::Distinct { input: Box::new(node), keys: distinct_keys }, width, rows);
        let node = sort(node, keys, sort_limit(bound));
        Ok(limit(node, bound.limit.take()))
    }
}

/// Slots from here on mark positions of the projected row while sort keys are rewritten.
const PROJECTED_BASE: usize = 1 << 42;

fn column_name_in(block: &Block, expr: &Expr) -> String {
    let mut positions = Vec::new();
    crate::walk::positions(expr, &mut positions);
    match positions.first().and_then(|&position| block.frame.get(position)) {
        Some(Position::Column { source, column }) => {
            let source = &block.sources[*source];
            format!("{}.{}.{}", source.database, source.alias, source.columns[*column].name)
        }
        _ => String::new(),
    }
}

/// Maps everything after the groups; a select item or clause that names an ungrouped column is an error there.
fn map_bound(grouping: &mut Grouping<'_>, bound: &mut BoundSelect) -> Result<(), SqlError> {
    for (number, item) in bound.items.iter_mut().enumerate() {
        grouping.map(&mut item.expr, Place { number: number + 1, clause: "SELECT list" })?;
    }
    for (number, having) in bound.having.iter_mut().enumerate() {
        grouping.map(having, Place { number: number + 1, clause: "HAVING clause" })?;
    }
    for (number, key) in bound.order_by.iter_mut().enumerate() {
        grouping.map(&mut key.expr, Place { number: number + 1, clause: "ORDER BY clause" })?;
    }
    Ok(())
}

/// The subqueries that have no position yet (those outside of WHERE), with their numbers.
fn pending_of(block: &Block) -> Vec<(usize, PendingSubquery)> {
    let waiting = block.subqueries.iter().enumerate().filter(|(_, subquery)| !subquery.placed);
    waiting.map(|(number, subquery)| (number, subquery.clone())).collect()
}

/// Gives each subquery in `exprs` a position in the block's frame and returns what fills them.
pub fn place_subqueries(block: &mut Block, exprs: Vec<&mut Expr>) -> Vec<Apply> {
    let mut applies: Vec<Apply> = Vec::new();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for expr in exprs {
        replace(expr, &mut |part| {
            let number = subquery_number(part)?;
            let position = match places.iter().find(|(known, _)| *known == number) {
                Some((_, position)) => *position,
                None => {
                    let position = block.new_subquery_position();
                    let subquery = &mut block.subqueries[number];
                    subquery.placed = true;
                    applies.push(apply_of(subquery.clone(), position));
                    places.push((number, position));
                    position
                }
            };
            Some(value_at(position, part))
        });
    }
    applies
}

/// The column that has a subquery's value.
fn value_at(position: usize, subquery: &Expr) -> Expr {
    let value = Expr::column(position, subquery.ty.column.clone());
    if subquery.ty.is_truth { value.as_truth() } else { value }
}

/// As `place_subqueries`, in the frame of the groups' results.
fn place_mapped(
    subqueries: Vec<(usize, PendingSubquery)>,
    base: usize,
    bound: &mut BoundSelect,
) -> Vec<Apply> {
    let numbers: Vec<usize> = subqueries.iter().map(|(number, _)| *number).collect();
    let mut replacement = |part: &Expr| {
        let number = subquery_number(part)?;
        let place = numbers.iter().position(|known| *known == number)?;
        Some(value_at(base + place, part))
    };
    for item in &mut bound.items {
        replace(&mut item.expr, &mut replacement);
    }
    for having in &mut bound.having {
        replace(having, &mut replacement);
    }
    for key in &mut bound.order_by {
        replace(&mut key.expr, &mut replacement);
    }
    subqueries
        .into_iter()
        .enumerate()
        .map(|(place, (_, subquery))| apply_of(subquery, base + place))
        .collect()
}

fn apply_of(subquery: PendingSubquery, position: usize) -> Apply {
    Apply {
        // The input is set when the operator is stacked.
        input: Box::new(Node::new(NodeKind::Nothing, 0, 0.0)),
        query: Box::new(subquery.query),
        kind: subquery.kind,
        left: subquery.left,
        position,
        correlation: subquery.correlation,
    }
}

pub fn apply_all(node: Node, applies: Vec<Apply>) -> Node {
    applies.into_iter().fold(node, |node, apply| {
        let (width, rows) = (node.width, node.estimate.rows);
        let apply = Apply { input: Box::new(node), ..apply };
        Node::new(NodeKind::Apply(Box::new(apply)), width, rows)
    })
}

pub fn filter(node: Node, predicates: Vec<Expr>) -> Node {
    if predicates.is_empty() {
        return node;
    }
    let (width, rows) = (node.width, node.estimate.rows);
    let kept = rows / 3f64.powi(predicates.len().min(8) as i32);
    Node::new(NodeKind::Filter { input: Box::new(node), predicates }, width, kept.max(1.0))
}

pub fn sort(node: Node, keys: Vec<SortKey>, limit: Option<(Expr, Option<Expr>)>) -> Node {
    if keys.is_empty() {
        return node;
    }
    let (width, rows) = (node.width, node.estimate.rows);
    Node::new(NodeKind::Sort { input: Box::new(node), keys, limit }, width, rows)
}

fn sort_limit(bound: &BoundSelect) -> Option<(Expr, Option<Expr>)> {
    if bound.count_found_rows { None } else { bound.limit.clone() }
}

pub fn limit(node: Node, limit: Option<(Expr, Option<Expr>)>) -> Node {
    let Some((count, offset)) = limit else { return node };
    let (width, rows) = (node.width, node.estimate.rows);
    let rows = limit_estimate(&count).map_or(rows, |count| rows.min(count));
    Node::new(NodeKind::Limit { input: Box::new(node), count, offset }, width, rows)
}

pub fn limit_estimate(count: &Expr) -> Option<f64> {
    match count.kind {
        ExprKind::Literal(datum::Value::Int(number)) => Some(number as f64),
        // A parameter: LIMITs are mostly small.
        ExprKind::Parameter(_) => Some(10.0),
        _ => None,
    }
}

pub fn project(node: Node, expressions: Vec<Expr>) -> Node {
    let (width, rows) = (expressions.len(), node.estimate.rows);
    Node::new(NodeKind::Project { input: Box::new(node), expressions }, width, rows)
}

fn group_estimate(input: &Node, groups: &[Expr]) -> f64 {
    if groups.is_empty() { 1.0 } else { (input.estimate.rows / 10.0).max(1.0) }
}

/// The order an index could give: plain columns of one table.
pub fn wanted_order(
    block: &Block,
    keys: &[SortKey],
    limit: &Option<(Expr, Option<Expr>)>,
) -> Option<WantedOrder> {
    let mut wanted = WantedOrder {
        source: 0,
        columns: Vec::with_capacity(keys.len()),
        for_groups: false,
        limit: limit.as_ref().and_then(|(count, _)| limit_estimate(count)),
    };
    for (number, key) in keys.iter().enumerate() {
        let ExprKind::Column(position) = key.expr.kind else { return None };
        let Position::Column { source, column } = block.frame[position] else { return None };
        if number > 0 && source != wanted.source {
            return None;
        }
        wanted.source = source;
        wanted.columns.push((column, key.descending));
    }
    (!keys.is_empty()).then_some(wanted)
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

/// The only aggregate is MIN or MAX of a column: (frame position, descending).
fn lone_extreme(block: &Block) -> Option<(usize, bool)> {
    let [call] = block.aggregates.as_slice() else { return None };
    let descending = match call.function {
        AggregateFunction::Min => false,
        AggregateFunction::Max => true,
        _ => return None,
    };
    match call.arguments.as_slice() {
        [Expr { kind: ExprKind::Column(position), .. }] if block.sources.len() == 1 => {
            Some((*position, descending))
        }
        _ => None,
    }
}

/// Groups that come in ascending order of their expressions need no sort by the same.
fn sorted_by_groups(keys: &[SortKey]) -> bool {
    keys.iter().enumerate().all(|(number, key)| !key.descending && key.expr.kind == ExprKind::Column(number))
}
