//! `sql_safe_updates`: UPDATE and DELETE must find their rows through a key or be limited.
use datum::{SqlError, error_code};
use plan::{AccessPath, Node, NodeKind, Plan, PlanKind};

/// Error 1175 for a change that reads a whole table.
pub fn check(plan: &Plan) -> Result<(), SqlError> {
    let input = match &plan.kind {
        PlanKind::Update(update) => &update.input,
        PlanKind::Delete(delete) => &delete.input,
        PlanKind::Query(_) | PlanKind::Insert(_) => return Ok(()),
    };
    match reads_whole_table(input) {
        true => Err(error_code::ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE.with(&[&""])),
        false => Ok(()),
    }
}

fn reads_whole_table(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Table(access) => matches!(access.path, AccessPath::FullScan | AccessPath::IndexScan { .. }),
        NodeKind::Filter { input, .. }
        | NodeKind::Project { input, .. }
        | NodeKind::Distinct { input, .. } => reads_whole_table(input),
        NodeKind::Sort { input, limit: None, .. } => reads_whole_table(input),
        NodeKind::NestedLoop(join) => reads_whole_table(&join.outer),
        NodeKind::HashJoin(_) => true,
        _ => false,
    }
}
