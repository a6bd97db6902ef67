//! The operator that reads one source of a block.
use crate::joins::join_parts::projection_of;
use crate::paths::choice::Choice;
use crate::planner::Planner;
use binder::block::{Block, SourceKind};
use datum::SqlError;
use expression::Expr;
use plan::{CommonTable, Estimate, JsonTable, Lateral, Node, NodeKind, RoundScan, VirtualAccess};

impl Planner<'_> {
    pub fn access_node(
        &mut self,
        block: &mut Block,
        source: usize,
        choice: Choice,
        conditions: Vec<Expr>,
    ) -> Result<Node, SqlError> {
        let width = block.frame.len();
        let estimate = estimate_of(&block.sources[source].kind, &choice);
        let projection = projection_of(block, source);
        let (conditions, late_from) = late_last(block, source, &projection, conditions);
        let description = &mut block.sources[source];
        let column_count = description.columns.len();
        let alias = description.alias.clone();
        let kind = match &mut description.kind {
            SourceKind::Stored { .. } => {
                return Ok(Node {
                    kind: NodeKind::Table(Box::new(self.table_access(block, source, choice, conditions))),
                    width,
                    estimate,
                });
            }
            SourceKind::Virtual(table) => NodeKind::Virtual(Box::new(VirtualAccess {
                table: table.clone(),
                alias,
                projection,
                filter: conditions,
                late_from,
            })),
            SourceKind::Derived(node) => NodeKind::Derived {
                input: node.take().expect("each derived table is placed once"),
                alias,
                projection,
                filter: conditions,
            },
            SourceKind::Query(_) => unreachable!("queries in FROM are planned before the joins"),
            SourceKind::Common(common) => NodeKind::Common(Box::new(CommonTable {
                number: common.number,
                input: common.node(),
                slots: common.slots(),
                alias,
                projection,
                filter: conditions,
            })),
            SourceKind::JsonTable(table) => NodeKind::JsonTable(Box::new(JsonTable {
                document: table.document.clone(),
                read_here_alone: table.read_here_alone.clone(),
                alias,
                path: table.path.clone(),
                columns: table.columns.clone(),
                width: column_count,
                projection,
                filter: conditions,
            })),
            SourceKind::Lateral(lateral) => {
                let lateral = *lateral.take().expect("each derived table is placed once");
                let (correlation, slots) = (lateral.correlation, lateral.slots);
                let (input, filter) = (Box::new(lateral.node), conditions);
                NodeKind::Lateral(Box::new(Lateral { input, alias, correlation, slots, projection, filter }))
            }
            SourceKind::Round(round) => {
                NodeKind::Round(Box::new(RoundScan { round: *round, alias, projection, filter: conditions }))
            }
        };
        Ok(Node { kind, width, estimate })
    }
}

/// No more rows are read than a stored table has.
fn estimate_of(kind: &SourceKind, choice: &Choice) -> Estimate {
    let known = match kind {
        SourceKind::Stored { statistics, .. } => (statistics.rows.unwrap_or(0) as f64).max(1.0),
        _ => f64::INFINITY,
    };
    Estimate {
        rows: choice.rows_read.min(known),
        filtered: (choice.rows_out / choice.rows_read.max(1e-9) * 100.0).clamp(0.01, 100.0),
        reads: choice.reads,
    }
}

/// The conditions on a source, those that need a late column of a virtual table behind the others, and how many others
/// there are; `None` when no late column is wanted at all.
fn late_last(
    block: &Block,
    source: usize,
    projection: &[(usize, usize)],
    conditions: Vec<Expr>,
) -> (Vec<Expr>, Option<usize>) {
    let SourceKind::Virtual(table) = &block.sources[source].kind else { return (conditions, None) };
    let columns = table.late_columns();
    let late: Vec<usize> = projection
        .iter()
        .filter_map(|(column, position)| columns.contains(column).then_some(*position))
        .collect();
    if late.is_empty() {
        return (conditions, None);
    }
    let (mut early, behind): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|condition| {
        let mut positions = Vec::new();
        binder::walk::positions(condition, &mut positions);
        !positions.iter().any(|position| late.contains(position))
    });
    let early_count = early.len();
    early.extend(behind);
    (early, Some(early_count))
}
