//! From a bound SELECT block to its plan: tables, filter, groups, order, limit, projection.
use crate::condition::factor_or;
use crate::paths::choice::WantedOrder;
use crate::paths::loose_scan::wish_of_distinct;
use crate::planner::Planner;
use crate::queries::documents::note_documents;
use crate::queries::nodes::{apply_all, filter, limit, limit_estimate, order, project, sort};
use crate::queries::select_subquery::{place_on_subqueries, place_subqueries};
use crate::queries::window::{PlacedWindows, take_windows};
use binder::block::{Block, Position};
use binder::bound::{BoundBlock, BoundSelect, JoinTree};
use binder::starts_with;
use binder::walk::{PROJECTED_BASE, has_subquery, replace};
use datum::{SqlError, SqlMode, error_code};
use expression::{Expr, ExprKind};
use plan::{Apply, Node, NodeKind, SortKey};

/// The input of a statement's rows before grouping or projection.
pub struct RowSource {
    pub node: Node,
    /// The rows come in the wanted order.
    pub ordered: bool,
}

impl Planner<'_> {
    pub fn build_block(&mut self, mut select: BoundBlock) -> Result<Node, SqlError> {
        let mark = self.trace.map(|trace| trace.begin_block(&select.block));
        self.merge_sources(&mut select);
        self.unnest_block(&mut select);
        self.push_conditions(&mut select);
        self.drop_unread_joins(&mut select);
        let BoundBlock { block, bound, tree, .. } = &mut select;
        self.read_variables_once(block, &mut bound.conditions, tree.as_mut());
        let around = std::mem::replace(&mut self.builds_correlated, select.is_correlated);
        let (with_groups, asking) = (self.decorrelated(&select), self.asks_for_groups(&select));
        let mut node = self.build_merged(select);
        if let Some(with_groups) = with_groups {
            node = node.map(|plain| self.with_groups_joined(with_groups, plain));
        }
        if let Some(asking) = asking {
            node = node.map(|plain| self.with_asked_groups(asking, plain));
        }
        self.builds_correlated = around;
        if let (Some(trace), Some(mark)) = (self.trace, mark) {
            trace.end(&mark);
        }
        node
    }

    /// Plans a block that is rewritten.
    pub fn build_merged(&mut self, mut select: BoundBlock) -> Result<Node, SqlError> {
        note_documents(&mut select);
        let BoundBlock { mut block, mut bound, tree, .. } = select;
        let aggregated = bound.groups.is_some() || !block.aggregates.is_empty();
        let initialisers = std::mem::take(&mut block.initialisers);
        self.build_inner(&mut block)?;
        let node = if aggregated {
            self.build_grouped(&mut block, tree, &mut bound)?
        } else {
            self.build_plain(&mut block, tree, &mut bound)?
        };
        self.initialised(node, initialisers)
    }

    fn build_plain(
        &mut self,
        block: &mut Block,
        tree: Option<JoinTree>,
        bound: &mut BoundSelect,
    ) -> Result<Node, SqlError> {
        let has_windows = !block.window_calls.is_empty();
        let wanted = if bound.distinct || has_windows {
            None
        } else {
            wanted_order(block, &bound.order_by, &bound.limit)
        };
        let mut windows = take_windows(block);
        self.keep_before_windows(bound, &mut windows);
        windows.place(bound, block.frame.len());
        block.frame.resize(block.frame.len() + windows.count(), Position::Computed);
        let mut early: Vec<&mut Expr> = bound.having.iter_mut().collect();
        early.extend(bound.order_by.iter_mut().map(|key| &mut key.expr));
        early.extend(windows.exprs_mut());
        let mut items: Vec<&mut Expr> = bound.items.iter_mut().map(|item| &mut item.expr).collect();
        if bound.distinct {
            // What is ordered by is what was selected.
            early.append(&mut items);
        }
        let mut applies = place_subqueries(block, early);
        let late = place_subqueries(block, items);
        let conditions = std::mem::take(&mut bound.conditions);
        let wanted = if has_windows { wanted_order(block, &windows.first_keys(), &None) } else { wanted };
        let ordering = if wanted.is_some() { ordering_of(&windows, &bound.order_by) } else { Vec::new() };
        if bound.order_by.is_empty() && !bound.distinct && !has_windows {
            block.row_goal = bound.limit.as_ref().and_then(|(count, _)| limit_estimate(count));
        }
        if bound.distinct && !has_windows && applies.is_empty() && late.is_empty() && bound.having.is_empty()
        {
            block.group_wish = wish_of_distinct(block, bound.items.iter().map(|item| &item.expr));
        }
        let source = self.build_row_source(block, tree, conditions, wanted, bound.straight)?;
        let mut node = source.node;
        if bound.distinct {
            // Sorting happens on the projected rows.
            applies.extend(late);
            let taken = values_taken(&applies);
            node = apply_all(node, applies);
            node = filter(node, std::mem::take(&mut bound.having));
            let (node, _) = windows.stack(node, Vec::new());
            return self.finish_distinct(block, node, bound, &taken);
        }
        node = apply_all(node, applies);
        node = filter(node, std::mem::take(&mut bound.having));
        let mut ordering = if source.ordered { ordering } else { Vec::new() };
        if windows.follow_order_by(bound) {
            node = sort(node, bound.order_by.clone(), None);
            ordering = bound.order_by.clone();
        }
        let (mut node, ordering) = windows.stack(node, ordering);
        if !starts_with(&ordering, &bound.order_by) {
            node = order(node, std::mem::take(&mut bound.order_by), sort_limit(bound));
        }
        node = limit(node, bound.limit.take());
        node = apply_all(node, late);
        Ok(project(node, bound.items.drain(..).map(|item| item.expr).collect()))
    }

    /// Tables and WHERE.
    pub fn build_row_source(
        &mut self,
        block: &mut Block,
        mut tree: Option<JoinTree>,
        mut conditions: Vec<Expr>,
        wanted: Option<WantedOrder>,
        straight: bool,
    ) -> Result<RowSource, SqlError> {
        conditions = factor_or(&self.context.bind, conditions)?;
        self.use_generated_columns(block, &mut conditions)?;
        let (mut with_subquery, mut plain): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(has_subquery);
        if !straight {
            plain.extend(self.join_subqueries(block, &mut tree, &mut with_subquery));
        }
        let Some(mut tree) = tree else {
            let applies = place_subqueries(block, with_subquery.iter_mut().collect());
            let node = filter(Node::new(NodeKind::Dual, block.frame.len(), 1.0), plain);
            return Ok(RowSource { node: filter(apply_all(node, applies), with_subquery), ordered: true });
        };
        place_on_subqueries(block, tree.conditions_mut());
        place_on_subqueries(block, with_subquery.iter_mut().collect());
        plain.extend(with_subquery);
        let (node, ordered) = self.plan_joins(block, tree, plain, wanted, straight)?;
        Ok(RowSource { node, ordered })
    }

    /// DISTINCT: project, drop duplicates, then order by what is left. `taken` is what subqueries take from a row.
    pub fn finish_distinct(
        &mut self,
        block: &Block,
        node: Node,
        bound: &mut BoundSelect,
        taken: &[TakenValues],
    ) -> Result<Node, SqlError> {
        let mut items: Vec<Expr> = bound.items.drain(..).map(|item| item.expr).collect();
        let selected = items.len();
        let mut keys = std::mem::take(&mut bound.order_by);
        for (number, key) in keys.iter_mut().enumerate() {
            let written = key.expr.clone();
            replace(&mut key.expr, &mut |part| {
                let position = items[..selected].iter().position(|item| item.kind == part.kind)?;
                // Marked first, so that a position of the projection is not taken for one of the frame.
                let mut column = Expr::slot(PROJECTED_BASE + position, part.ty.column.clone());
                column.ty = part.ty.clone();
                Some(column)
            });
            if binder::walk::any(&key.expr, &|part| matches!(part.kind, ExprKind::Column(_))) {
                let unselected = unselected_column(block, &key.expr, &items[..selected], taken);
                if let Some(name) = unselected
                    && self.context.bind.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY)
                {
                    return Err(error_code::ER_FIELD_IN_ORDER_NOT_SELECT.with(&[
                        &(number + 1),
                        &"ORDER BY clause",
                        &name,
                        &"DISTINCT",
                    ]));
                }
                // The first of the rows that are equal says where they stand.
                let column = written.ty.column.clone();
                key.expr = Expr { ty: written.ty.clone(), ..Expr::column(items.len(), column) };
                items.push(written);
                continue;
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
        let columns: Vec<Expr> = items[..selected]
            .iter()
            .enumerate()
            .map(|(position, item)| Expr::column(position, item.ty.column.clone()))
            .collect();
        let has_more = items.len() > selected;
        let items = items.into_iter().map(|item| self.context.bind.kept(item)).collect();
        let node = project(node, items);
        let (width, rows) = (node.width, node.estimate.rows);
        let keys_of_rows = columns.clone();
        let node = Node::new(NodeKind::Distinct { input: Box::new(node), keys: keys_of_rows }, width, rows);
        let node = order(node, keys, sort_limit(bound));
        let node = limit(node, bound.limit.take());
        Ok(if has_more { project(node, columns) } else { node })
    }
}

/// The position of a subquery's value, and what the subquery takes from the row for it.
pub type TakenValues = (usize, Vec<Expr>);

pub fn values_taken(applies: &[Apply]) -> Vec<TakenValues> {
    let taken =
        |apply: &Apply| apply.left.iter().chain(&apply.correlation).map(|(_, expr)| expr.clone()).collect();
    applies.iter().map(|apply| (apply.position, taken(apply))).collect()
}

/// The name of a column that a key of DISTINCT reads beside the items. A subquery that takes nothing else is decided by
/// them: rows that are equal have one value.
fn unselected_column(block: &Block, key: &Expr, items: &[Expr], taken: &[TakenValues]) -> Option<String> {
    // Whose value ANY_VALUE takes does not matter.
    let mut asked = key.clone();
    replace(&mut asked, &mut |part| match &part.kind {
        ExprKind::Call(function, _) if function.name == "any_value" => Some(Expr::null()),
        _ => None,
    });
    let mut read = Vec::new();
    binder::walk::positions(&asked, &mut read);
    for position in read {
        let subquery = taken.iter().find(|(value, _)| *value == position);
        let Some((_, values)) = subquery else { return Some(column_name_in(block, key)) };
        for value in values {
            let mut value = value.clone();
            replace(&mut value, &mut |part| items.iter().any(|item| item.kind == part.kind).then(Expr::null));
            if let Some(name) = unselected_column(block, &value, items, taken) {
                return Some(name);
            }
        }
    }
    None
}

fn column_name_in(block: &Block, expr: &Expr) -> String {
    let mut positions = Vec::new();
    binder::walk::positions(expr, &mut positions);
    match positions.first().and_then(|&position| block.frame.get(position)) {
        Some(Position::Column { source, column }) => block.sources[*source].dotted_name(*column),
        _ => String::new(),
    }
}

/// The order of rows that come as the index was asked for: of the first window, else of the result.
fn ordering_of(windows: &PlacedWindows, order_by: &[SortKey]) -> Vec<SortKey> {
    if windows.is_empty() { order_by.to_vec() } else { windows.first_keys() }
}

pub fn sort_limit(bound: &BoundSelect) -> Option<(Expr, Option<Expr>)> {
    if bound.count_found_rows { None } else { bound.limit.clone() }
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
