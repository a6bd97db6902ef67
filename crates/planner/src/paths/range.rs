//! Conditions as ranges of an index.
use crate::paths::index_order::{index_finds, index_orders, is_exact, is_text, is_text_type};
use binder::block::{Block, Position};
use binder::walk::split_conjuncts;
use datum::{ColumnType, CompareMode};
use expression::{ComparisonOperator, Expr, ExprKind, ExprType, TruthTest};
use plan::{Interval, KeyCondition, RangeCondition};
use schema::{IndexDef, TableDef};

/// The ranges of one index and which conditions they come from.
#[derive(Clone, Debug, Default)]
pub struct IndexRanges {
    pub ranges: Vec<RangeCondition>,
    /// Conditions (by number) that hold exactly for the rows in the ranges, given exact bounds.
    pub implied: Vec<usize>,
    /// Conditions (by number) that bound the ranges.
    pub used: Vec<usize>,
    /// A bound reads the frame of the tables before.
    pub reads_outer: bool,
}

pub struct RangeFinder<'a> {
    pub block: &'a Block,
    pub table: &'a TableDef,
    pub source: usize,
    /// The sources whose values are known when the range is made.
    pub placed: u64,
}

/// What the conditions say of the first parts of an index.
#[derive(Default)]
struct Bounds {
    range: RangeCondition,
    implied: Vec<usize>,
    used: Vec<usize>,
}

/// What they say of one part that has no equality.
struct PartInterval {
    condition: KeyCondition,
    /// Conditions whose bound was taken exactly.
    exact: Vec<usize>,
    used: Vec<usize>,
}

/// More alternatives than this in an OR or IN are left to the filter: as many ranges are not made of a product either.
const ALTERNATIVES_MAX: usize = 65_536;

impl RangeFinder<'_> {
    pub fn find(&self, index: &IndexDef, conditions: &[Expr]) -> IndexRanges {
        let all: Vec<(Option<usize>, &Expr)> =
            conditions.iter().enumerate().map(|(number, condition)| (Some(number), condition)).collect();
        let Bounds { range, implied, used } = self.single(index, &all);
        let mut found = IndexRanges { ranges: Vec::new(), implied, used, reads_outer: false };
        let is_complete =
            range.parts.len() == index.parts.len() && range.parts.iter().all(|part| part.is_equality());
        if !is_complete
            && let Some((number, ranges)) = self.alternatives(index, conditions, range.parts.len())
        {
            found.ranges = ranges;
            found.used = vec![number];
            found.implied.clear();
        } else if !range.parts.is_empty() {
            found.ranges.push(range);
        }
        found.reads_outer =
            found.ranges.iter().any(|range| range.parts.iter().any(|part| self.part_reads_outer(part)));
        found
    }

    /// An OR all of whose operands bound at least `parts_min + 1` parts (together with the other conditions).
    fn alternatives(
        &self,
        index: &IndexDef,
        conditions: &[Expr],
        parts_min: usize,
    ) -> Option<(usize, Vec<RangeCondition>)> {
        conditions.iter().enumerate().find_map(|(number, condition)| {
            let operands = match &condition.kind {
                ExprKind::Or(operands) if operands.len() <= ALTERNATIVES_MAX => {
                    operands.iter().cloned().map(split_conjuncts).collect()
                }
                ExprKind::InRows(list) if list.rows.len() <= ALTERNATIVES_MAX => {
                    list.rows.iter().map(|row| equalities(&list.operands, row)).collect::<Vec<_>>()
                }
                _ => return None,
            };
            let others: Vec<&Expr> =
                conditions.iter().filter(|other| !std::ptr::eq(*other, condition)).collect();
            let mut ranges = Vec::with_capacity(operands.len());
            for own in operands {
                let mut all: Vec<(Option<usize>, &Expr)> = own.iter().map(|part| (None, part)).collect();
                all.extend(others.iter().map(|other| (None, *other)));
                let Bounds { range, .. } = self.single(index, &all);
                let bounds_own = range.parts.len() > parts_min;
                if !bounds_own {
                    return None;
                }
                ranges.push(range);
            }
            Some((number, ranges))
        })
    }

    fn single(&self, index: &IndexDef, conditions: &[(Option<usize>, &Expr)]) -> Bounds {
        let mut bounds = Bounds::default();
        for part in &index.parts {
            let definition = &self.table.columns[part.column];
            let column_type = &definition.column_type;
            let exact = part.prefix_length.is_none();
            if let Some(element) = &definition.array_of {
                let is_array = |expr: &Expr| self.is_column(expr, part.column);
                let asked = conditions.iter().find_map(|(number, condition)| {
                    let keys = crate::paths::array_index::keys_asked(condition, element, is_array)?;
                    Some((*number, keys))
                });
                let Some((number, keys)) = asked else { break };
                bounds.used.extend(number);
                bounds.range.parts.push(keys);
                continue;
            }
            let equality = conditions.iter().find_map(|(number, condition)| {
                self.equality(part.column, column_type, condition)
                    .map(|equality| (*number, *condition, equality))
            });
            if let Some((number, condition, equality)) = equality {
                if exact && is_exact(column_type, condition) {
                    bounds.implied.extend(number);
                }
                bounds.used.extend(number);
                bounds.range.parts.push(equality);
                continue;
            }
            let interval = self.interval(part.column, column_type, conditions);
            if let Some(interval) = interval.or_else(|| self.exclusion(part.column, column_type, conditions))
            {
                if exact {
                    bounds.implied.extend(interval.exact);
                }
                bounds.used.extend(interval.used);
                bounds.range.parts.push(interval.condition);
            }
            break;
        }
        bounds
    }

    fn equality(&self, column: usize, column_type: &ColumnType, condition: &Expr) -> Option<KeyCondition> {
        match &condition.kind {
            ExprKind::Compare(operator, mode, left, right) => {
                let value = if self.is_column(left, column) {
                    right
                } else if self.is_column(right, column) {
                    left
                } else {
                    return None;
                };
                if !self.is_known(value) || !index_finds(column_type, *mode, value) {
                    return None;
                }
                match operator {
                    ComparisonOperator::Equal => Some(KeyCondition::OneOf(vec![(**value).clone()])),
                    ComparisonOperator::NullSafeEqual => Some(KeyCondition::SameAs((**value).clone())),
                    _ => None,
                }
            }
            ExprKind::In { negated: false, operand, list, .. } if self.is_column(operand, column) => {
                let usable = |(mode, value): &(CompareMode, Expr)| {
                    self.is_known(value) && index_finds(column_type, *mode, value)
                };
                (list.len() <= ALTERNATIVES_MAX && list.iter().all(usable))
                    .then(|| KeyCondition::OneOf(list.iter().map(|(_, value)| value.clone()).collect()))
            }
            ExprKind::TruthTest(TruthTest::Null, operand) if self.is_column(operand, column) => {
                Some(KeyCondition::IsNull)
            }
            _ => None,
        }
    }

    /// The bounds that all conditions together give; the numbers are those whose bound was taken exactly.
    fn interval(
        &self,
        column: usize,
        column_type: &ColumnType,
        conditions: &[(Option<usize>, &Expr)],
    ) -> Option<PartInterval> {
        let mut interval = Interval::default();
        let (mut exact, mut taken) = (Vec::new(), Vec::new());
        for (number, condition) in conditions {
            let used = match &condition.kind {
                ExprKind::Compare(operator, mode, left, right) => {
                    self.bound(column, column_type, *operator, *mode, left, right, &mut interval)
                }
                ExprKind::Between { negated: false, operand, low, high, mode }
                    if self.is_column(operand, column)
                        && self.is_known(low)
                        && self.is_known(high)
                        && index_orders(column_type, *mode) =>
                {
                    let lower = set_once(&mut interval.lower, low, true);
                    let upper = set_once(&mut interval.upper, high, true);
                    lower && upper
                }
                ExprKind::TruthTest(TruthTest::NotNull, operand) if self.is_column(operand, column) => {
                    interval.not_null = true;
                    true
                }
                ExprKind::Like { negated: false, operand, pattern, escape }
                    if self.is_column(operand, column) && interval_is_free(&interval) =>
                {
                    if let Some(condition) = self.like(column_type, pattern, escape) {
                        let used = number.iter().copied().collect();
                        return Some(PartInterval { condition, exact: Vec::new(), used });
                    }
                    false
                }
                _ => false,
            };
            if used {
                taken.extend(*number);
            }
            if used && is_exact(column_type, condition) {
                exact.extend(*number);
            }
        }
        let bounds_anything = interval.not_null || !interval_is_free(&interval);
        let condition = KeyCondition::Between(interval);
        bounds_anything.then_some(PartInterval { condition, exact, used: taken })
    }

    /// The values that one condition excludes: `<>` or NOT IN.
    fn exclusion(
        &self,
        column: usize,
        column_type: &ColumnType,
        conditions: &[(Option<usize>, &Expr)],
    ) -> Option<PartInterval> {
        conditions.iter().find_map(|(number, condition)| {
            let values = match &condition.kind {
                ExprKind::Compare(ComparisonOperator::NotEqual, mode, left, right) => {
                    let value = match (self.is_column(left, column), self.is_column(right, column)) {
                        (true, _) => right,
                        (_, true) => left,
                        _ => return None,
                    };
                    let usable = self.is_known(value) && index_orders(column_type, *mode);
                    usable.then(|| vec![(**value).clone()])?
                }
                ExprKind::In { negated: true, operand, list, .. } if self.is_column(operand, column) => {
                    let usable = |(mode, value): &(CompareMode, Expr)| {
                        self.is_known(value) && index_orders(column_type, *mode)
                    };
                    let all = list.len() <= ALTERNATIVES_MAX && list.iter().all(usable);
                    all.then(|| list.iter().map(|(_, value)| value.clone()).collect())?
                }
                _ => return None,
            };
            let used: Vec<usize> = number.iter().copied().collect();
            let exact = if is_exact(column_type, condition) { used.clone() } else { Vec::new() };
            Some(PartInterval { condition: KeyCondition::NoneOf(values), exact, used })
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one comparison")]
    fn bound(
        &self,
        column: usize,
        column_type: &ColumnType,
        operator: ComparisonOperator,
        mode: CompareMode,
        left: &Expr,
        right: &Expr,
        interval: &mut Interval,
    ) -> bool {
        let (operator, value) = if self.is_column(left, column) {
            (operator, right)
        } else if self.is_column(right, column) {
            (operator.swapped(), left)
        } else {
            return false;
        };
        if !self.is_known(value) || !index_orders(column_type, mode) {
            return false;
        }
        match operator {
            ComparisonOperator::Less => set_once(&mut interval.upper, value, false),
            ComparisonOperator::LessOrEqual => set_once(&mut interval.upper, value, true),
            ComparisonOperator::Greater => set_once(&mut interval.lower, value, false),
            ComparisonOperator::GreaterOrEqual => set_once(&mut interval.lower, value, true),
            _ => false,
        }
    }

    fn like(&self, column_type: &ColumnType, pattern: &Expr, escape: &Expr) -> Option<KeyCondition> {
        let is_text = is_text(column_type) && pattern.ty.collation() == column_type.collation;
        let pattern_fits = is_text
            || (is_text_type(column_type) && pattern.ty.coercibility > expression::Coercibility::Implicit);
        if !pattern_fits || !self.is_known(pattern) {
            return None;
        }
        let escape = match &escape.kind {
            ExprKind::Literal(datum::Value::Bytes(bytes)) => match bytes.as_slice() {
                [] => None,
                [byte] => Some(*byte),
                _ => return None,
            },
            _ => return None,
        };
        Some(KeyCondition::Like { pattern: pattern.clone(), escape })
    }

    fn is_column(&self, expr: &Expr, column: usize) -> bool {
        let ExprKind::Column(position) = expr.kind else { return false };
        self.block.frame[position] == Position::Column { source: self.source, column }
    }

    /// The value is known before the table is read.
    fn is_known(&self, expr: &Expr) -> bool {
        let unusable = |part: &Expr| {
            binder::walk::is_volatile(part)
                || binder::walk::subquery_number(part).is_some()
                || matches!(part.kind, ExprKind::Column(position)
                    if self.block.frame[position] == Position::Subquery)
        };
        self.block.sources_of(expr) & !self.placed == 0 && !binder::walk::any(expr, &unusable)
    }

    fn part_reads_outer(&self, part: &KeyCondition) -> bool {
        let reads = |expr: &Expr| self.block.sources_of(expr) != 0;
        match part {
            KeyCondition::OneOf(values) | KeyCondition::NoneOf(values) => values.iter().any(reads),
            KeyCondition::SameAs(value) | KeyCondition::Like { pattern: value, .. } => reads(value),
            KeyCondition::IsNull => false,
            KeyCondition::Between(interval) => {
                let bounds = [&interval.lower, &interval.upper];
                bounds.into_iter().flatten().any(|(value, _)| reads(value))
            }
        }
    }
}

/// What it means that the operands equal a row of a list.
fn equalities(operands: &[Expr], row: &[(CompareMode, Expr)]) -> Vec<Expr> {
    let pairs = operands.iter().zip(row);
    let equal = |(operand, (mode, member)): (&Expr, &(CompareMode, Expr))| Expr {
        kind: ExprKind::Compare(
            ComparisonOperator::Equal,
            *mode,
            Box::new(operand.clone()),
            Box::new(member.clone()),
        ),
        ty: ExprType::new(ColumnType::bigint(), expression::Coercibility::Numeric),
    };
    pairs.map(equal).collect()
}

fn interval_is_free(interval: &Interval) -> bool {
    interval.lower.is_none() && interval.upper.is_none()
}

/// Two bounds on one side cannot be compared before their values are known: the first is taken.
fn set_once(side: &mut Option<(Expr, bool)>, value: &Expr, included: bool) -> bool {
    if side.is_some() {
        return false;
    }
    *side = Some((value.clone(), included));
    true
}
