//! The frame of a block may get more positions while its joins are planned: the values of a semijoin that drives are columns
//! of a table that was not there before.
//!
//! Invariant: all operators that share a frame have its final width. Called by `join_order` behind each search.
use plan::{Node, NodeKind};

/// Gives the width to the node and to all below it that share its frame.
pub fn widen(node: &mut Node, width: usize) {
    node.width = width;
    match &mut node.kind {
        NodeKind::Filter { input, .. } => widen(input, width),
        NodeKind::Apply(apply) => widen(&mut apply.input, width),
        NodeKind::NestedLoop(join) => {
            widen(&mut join.outer, width);
            widen(&mut join.inner, width);
        }
        NodeKind::HashJoin(join) => {
            widen(&mut join.outer, width);
            widen(&mut join.inner, width);
        }
        // The arms of an OR, each of which is a join.
        NodeKind::UnionAll { inputs } => inputs.iter_mut().for_each(|input| widen(input, width)),
        // What else joins are made of reads tables, or has an input with a frame of its own.
        _ => {}
    }
}
