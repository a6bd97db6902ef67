//! Which sources the positions of a frame and the parts of a condition belong to, as joins ask.
use binder::block::{Block, Position, SourceKind};
use binder::walk::any;
use expression::{ComparisonOperator, Expr, ExprKind};

/// Whether everything is placed that a source reads.
pub fn is_ready(block: &Block, source: usize, placed: u64) -> bool {
    match &block.sources[source].kind {
        SourceKind::Lateral(Some(lateral)) => lateral.needs & !placed == 0,
        SourceKind::JsonTable(table) => table.needs & !placed == 0,
        _ => true,
    }
}

/// Whether a condition reads the value of a subquery in ON that is not found yet.
pub fn is_late(block: &Block, condition: &Expr) -> bool {
    any(condition, &|part| {
        part.as_column().is_some_and(|position| matches!(block.frame[position], Position::OnSubquery { .. }))
    })
}

pub fn positions_of(block: &Block, set: u64) -> Vec<usize> {
    let in_set = |position: &Position| match position {
        Position::Column { source, .. } | Position::RowKey { source } => set & 1 << source != 0,
        Position::Subquery | Position::OnSubquery { .. } | Position::Computed => false,
    };
    block.frame.iter().enumerate().filter(|(_, position)| in_set(position)).map(|(at, _)| at).collect()
}

/// (column, frame position) of a source, in column order.
pub fn projection_of(block: &Block, wanted: usize) -> Vec<(usize, usize)> {
    let mut projection: Vec<(usize, usize)> = block
        .frame
        .iter()
        .enumerate()
        .filter_map(|(at, position)| match position {
            Position::Column { source, column } if *source == wanted => Some((*column, at)),
            _ => None,
        })
        .collect();
    projection.sort_unstable();
    projection
}

/// `a = b` with one side from the tables before and the other from the new one: (outer, inner, mode).
pub fn equality_sides(
    block: &Block,
    condition: &Expr,
    before: u64,
    own: u64,
) -> Option<(Expr, Expr, datum::CompareMode)> {
    let ExprKind::Compare(ComparisonOperator::Equal, mode, left, right) = &condition.kind else {
        return None;
    };
    let (left_set, right_set) = (block.sources_of(left), block.sources_of(right));
    // Keys tell nothing of whether two documents are equal, or two numbers but for a last digit.
    let has_no_key = matches!(mode, datum::CompareMode::Json | datum::CompareMode::FixedReal(_));
    if left_set == 0 || right_set == 0 || has_no_key {
        return None;
    }
    if left_set & !before == 0 && right_set & !own == 0 {
        return Some(((**left).clone(), (**right).clone(), *mode));
    }
    (right_set & !before == 0 && left_set & !own == 0).then(|| ((**right).clone(), (**left).clone(), *mode))
}
