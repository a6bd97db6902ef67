//! EXPLAIN ANALYZE: what each operator did while the plan ran.
//!
//! Only a plan that is made for EXPLAIN ANALYZE has such nodes, and it runs once.
use crate::explain::figure;
use crate::node::{Node, NodeKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sums over all runs of one operator.
#[derive(Debug, Default)]
pub struct Measure {
    pub loops: AtomicU64,
    pub rows: AtomicU64,
    /// Nanoseconds from the start to the first row, and to the last.
    pub first_ns: AtomicU64,
    pub last_ns: AtomicU64,
    /// Bytes of rows that went to temporary files.
    pub spilled_bytes: AtomicU64,
    /// Waits for pages to come from disk, of the operators below too, and how long they took.
    pub pages_read: AtomicU64,
    pub read_wait_us: AtomicU64,
}

impl Measure {
    /// As MySQL shows it: averages of a run, times in milliseconds.
    pub fn text(&self) -> String {
        let loops = self.loops.load(Relaxed);
        if loops == 0 {
            return " (never executed)".to_owned();
        }
        let per_loop = |sum: &AtomicU64| sum.load(Relaxed) as f64 / loops as f64;
        let (first, last) = (per_loop(&self.first_ns) / 1e6, per_loop(&self.last_ns) / 1e6);
        let rows = per_loop(&self.rows);
        let spilled = match self.spilled_bytes.load(Relaxed) {
            0 => String::new(),
            bytes => format!(" spilled={bytes}B"),
        };
        let read = match self.pages_read.load(Relaxed) {
            0 => String::new(),
            pages => format!(" pages_read={pages} read_wait={}us", self.read_wait_us.load(Relaxed)),
        };
        format!(
            " (actual time={}..{} rows={} loops={loops}{spilled}{read})",
            figure(first),
            figure(last),
            figure(rows)
        )
    }
}

/// The plan with a measure around each of its operators.
pub fn measured(mut node: Node) -> Node {
    for child in children_mut(&mut node) {
        let taken = std::mem::replace(child, Node::new(NodeKind::Nothing, 0, 0.0));
        *child = measured(taken);
    }
    let (width, estimate) = (node.width, node.estimate);
    let kind = NodeKind::Measured { input: Box::new(node), measure: Arc::new(Measure::default()) };
    Node { kind, width, estimate }
}

fn children_mut(node: &mut Node) -> Vec<&mut Node> {
    match &mut node.kind {
        NodeKind::Dual
        | NodeKind::Nothing
        | NodeKind::Values { .. }
        | NodeKind::Table(_)
        | NodeKind::Virtual(_)
        | NodeKind::JsonTable(_)
        | NodeKind::Round(_) => Vec::new(),
        NodeKind::Derived { input, .. }
        | NodeKind::Filter { input, .. }
        | NodeKind::Project { input, .. }
        | NodeKind::Sort { input, .. }
        | NodeKind::Limit { input, .. }
        | NodeKind::Distinct { input, .. }
        | NodeKind::Measured { input, .. } => vec![input],
        NodeKind::Lateral(lateral) => vec![&mut lateral.input],
        NodeKind::Common(table) => vec![Arc::make_mut(&mut table.input)],
        NodeKind::Recursive(recursive) => {
            let branches = recursive.branches.iter_mut().map(|branch| &mut branch.query);
            [&mut *recursive.seed].into_iter().chain(branches).collect()
        }
        NodeKind::Aggregate(aggregate) => vec![&mut aggregate.input],
        NodeKind::Window(window) => vec![&mut window.input],
        NodeKind::NestedLoop(join) => vec![&mut join.outer, &mut join.inner],
        NodeKind::HashJoin(join) => vec![&mut join.outer, &mut join.inner],
        NodeKind::UnionAll { inputs } => inputs.iter_mut().collect(),
        NodeKind::SetDifference { left, right, .. } => vec![left, right],
        NodeKind::Apply(apply) => vec![&mut apply.input, &mut apply.query],
        NodeKind::Initialise(initialise) => {
            let queries = initialise.initialisers.iter_mut().map(|initialiser| &mut initialiser.query);
            [&mut *initialise.input].into_iter().chain(queries).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_measured() {
        let filter =
            NodeKind::Filter { input: Box::new(Node::new(NodeKind::Dual, 0, 1.0)), predicates: Vec::new() };
        let node = measured(Node::new(filter, 0, 1.0));
        let NodeKind::Measured { input, measure } = &node.kind else { panic!("the filter is measured") };
        assert_eq!(measure.text(), " (never executed)");
        let NodeKind::Filter { input, .. } = &input.kind else { panic!("the filter is kept") };
        assert!(matches!(input.kind, NodeKind::Measured { .. }), "its input is measured");
        measure.loops.store(2, Relaxed);
        measure.rows.store(7, Relaxed);
        assert_eq!(measure.text(), " (actual time=0..0 rows=3.5 loops=2)");
        measure.spilled_bytes.store(65536, Relaxed);
        assert_eq!(measure.text(), " (actual time=0..0 rows=3.5 loops=2 spilled=65536B)");
        measure.spilled_bytes.store(0, Relaxed);
        measure.pages_read.store(3, Relaxed);
        measure.read_wait_us.store(250, Relaxed);
        assert_eq!(measure.text(), " (actual time=0..0 rows=3.5 loops=2 pages_read=3 read_wait=250us)");
    }
}
