//! Subqueries of a bound block get their places in its frame, and the operators that fill them.
use crate::block::{Block, PendingSubquery};
use crate::select_build::BoundSelect;
use crate::walk::{replace, subquery_number};
use crate::window::PlacedWindows;
use expression::Expr;
use plan::{Apply, Node, NodeKind};

/// The subqueries that have no position yet (those outside of WHERE), with their numbers.
pub fn pending_of(block: &Block) -> Vec<(usize, PendingSubquery)> {
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
pub fn place_mapped(
    subqueries: Vec<(usize, PendingSubquery)>,
    base: usize,
    bound: &mut BoundSelect,
    windows: &mut PlacedWindows,
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
    windows.exprs_mut().into_iter().for_each(|expr| replace(expr, &mut replacement));
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
