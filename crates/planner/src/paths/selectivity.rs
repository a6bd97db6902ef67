//! Which share of the rows a condition leaves that no index was asked about: by what statistics tell of its columns, else
//! MySQL's fixed shares.
use binder::block::{Block, Position, SourceKind};
use expression::{ComparisonOperator, Expr, ExprKind, TruthTest};
use plan::NodeKind;

const EQUAL: f64 = 0.1;
const RANGE: f64 = 1.0 / 3.0;
const BETWEEN: f64 = 1.0 / 9.0;
const NULL: f64 = 0.1;
/// A list never leaves more than this.
const LIST_MAX: f64 = 0.5;
/// What nothing is known about.
const OTHER: f64 = 1.0 / 3.0;
/// A product of guesses is not taken further down than this.
const LEAST: f64 = 1e-9;

/// Conditions nested deeper are not looked into.
const DEPTH_MAX: usize = 8;

/// The share of rows for which the condition is true, the tables it reads taken together. What an OR demands of each table
/// alone is a condition of its own, so here it is the share of what that leaves.
pub fn of(block: &Block, condition: &Expr) -> f64 {
    let parts = crate::joins::or_parts::parts_of(block, condition, u64::MAX);
    let counted: f64 = parts.iter().map(|part| share_of(block, part, 0)).product();
    (share_of(block, condition, 0) / counted).clamp(LEAST, 1.0)
}

fn share_of(block: &Block, condition: &Expr, depth: usize) -> f64 {
    if depth > DEPTH_MAX {
        return OTHER;
    }
    let below = |operand: &Expr| share_of(block, operand, depth + 1);
    let share = match &condition.kind {
        ExprKind::Compare(operator, _, left, right) => compared(block, *operator, left, right),
        ExprKind::In { negated, operand, list, .. } => {
            let share = (list.len() as f64 * equal_to_value(block, operand)).min(LIST_MAX);
            if *negated { 1.0 - share } else { share }
        }
        ExprKind::InRows(list) => {
            let one: f64 = list.operands.iter().map(|operand| equal_to_value(block, operand)).product();
            (list.rows.len() as f64 * one).min(LIST_MAX)
        }
        ExprKind::Between { negated, .. } => {
            if *negated {
                1.0 - BETWEEN
            } else {
                BETWEEN
            }
        }
        ExprKind::Like { negated, .. } => {
            if *negated {
                1.0 - BETWEEN
            } else {
                BETWEEN
            }
        }
        ExprKind::TruthTest(TruthTest::Null, _) => NULL,
        ExprKind::TruthTest(TruthTest::NotNull, _) => 1.0 - NULL,
        ExprKind::And(operands) => operands.iter().map(below).product(),
        ExprKind::Or(operands) => 1.0 - operands.iter().map(|operand| 1.0 - below(operand)).product::<f64>(),
        ExprKind::Not(operand) => 1.0 - below(operand),
        _ => OTHER,
    };
    share.clamp(LEAST, 1.0)
}

fn compared(block: &Block, operator: ComparisonOperator, left: &Expr, right: &Expr) -> f64 {
    match operator {
        ComparisonOperator::Equal | ComparisonOperator::NullSafeEqual => equal(block, left, right),
        ComparisonOperator::NotEqual => 1.0 - equal(block, left, right),
        _ => RANGE,
    }
}

/// Values of both sides meet as often as the side with more different ones says.
fn equal(block: &Block, left: &Expr, right: &Expr) -> f64 {
    let known = [left, right].into_iter().filter_map(|side| different_values(block, side));
    known.reduce(f64::max).map_or(EQUAL, |values| 1.0 / values.max(1.0))
}

fn equal_to_value(block: &Block, operand: &Expr) -> f64 {
    different_values(block, operand).map_or(EQUAL, |values| 1.0 / values.max(1.0))
}

/// How many different values a column has, as an index that begins with it tells.
fn different_values(block: &Block, expr: &Expr) -> Option<f64> {
    let position = expr.as_column()?;
    let Position::Column { source, column } = *block.frame.get(position)? else { return None };
    let (table, statistics) = match &block.sources[source].kind {
        SourceKind::Stored { table, statistics, .. } => (table, statistics),
        SourceKind::Derived(Some(node)) => {
            let is_different = matches!(&node.kind, NodeKind::Distinct { keys, .. } if keys.len() == 1);
            return is_different.then_some(node.estimate.rows);
        }
        _ => return None,
    };
    let led = |index: &schema::IndexDef| index.is_led_by(&[column]);
    let known = table.indexes.iter().enumerate().filter(|(_, index)| led(index)).filter_map(|(at, index)| {
        let counted = statistics.indexes.get(at).and_then(|known| known.distinct_prefixes.first().copied());
        let is_key = index.is_unique() && index.parts.len() == 1;
        counted.or(if is_key { statistics.rows } else { None })
    });
    known.max().map(|values| values as f64)
}
