//! Operators stacked on a node, with estimates of their rows. Called wherever a block's plan grows.
use expression::{Expr, ExprKind, document_order};
use plan::{Apply, Node, NodeKind, SortKey};

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

/// The sort of ORDER BY.
pub fn order(node: Node, mut keys: Vec<SortKey>, limit: Option<(Expr, Option<Expr>)>) -> Node {
    for key in &mut keys {
        if key.expr.ty.column.kind == datum::TypeKind::Json {
            key.expr = document_order(key.expr.clone());
        }
    }
    sort(node, keys, limit)
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

pub fn apply_all(node: Node, applies: Vec<Apply>) -> Node {
    applies.into_iter().fold(node, |node, apply| {
        let (width, rows) = (node.width, node.estimate.rows);
        let apply = Apply { input: Box::new(node), ..apply };
        Node::new(NodeKind::Apply(Box::new(apply)), width, rows)
    })
}
