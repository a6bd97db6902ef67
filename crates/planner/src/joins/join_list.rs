//! The join tree as lists: inner joins side by side, in any order; outer joins with what they need before them.
use crate::condition::constant_truth;
use binder::bound::JoinTree;
use expression::{ComparisonOperator, Expr, ExprKind, TruthTest};

#[derive(Clone, Default)]
pub struct JoinList {
    pub items: Vec<Item>,
    /// Conditions of the inner joins (and WHERE): all must hold.
    pub conditions: Vec<Expr>,
    /// STRAIGHT_JOIN: the items stay in the order written.
    pub straight: bool,
}

#[derive(Clone)]
pub enum Item {
    Source(usize),
    /// `.. LEFT JOIN inner ON on`, possible once the sources in `needs` are there.
    Left {
        inner: JoinList,
        on: Vec<Expr>,
        needs: u64,
    },
    /// Rows with a match, or with none, in `inner`; its sources are none that others read.
    Test(Test),
}

#[derive(Clone)]
pub struct Test {
    pub inner: JoinList,
    pub on: Vec<Expr>,
    pub anti: bool,
}

impl JoinList {
    /// `rejecting` are conditions that hold above the whole list: an outer join whose NULL rows they would drop
    /// becomes an inner one.
    pub fn flatten(tree: JoinTree, rejecting: &[Expr], sources_of: &dyn Fn(&Expr) -> u64) -> JoinList {
        match tree {
            JoinTree::Source(source) => JoinList { items: vec![Item::Source(source)], ..JoinList::default() },
            JoinTree::Inner { left, right, on, straight } => {
                let mut list = JoinList::flatten(*left, rejecting, sources_of);
                let right = JoinList::flatten(*right, rejecting, sources_of);
                list.items.extend(right.items);
                list.conditions.extend(right.conditions);
                list.conditions.extend(on);
                list.straight |= straight || right.straight;
                list
            }
            JoinTree::Left { left, right, on } => {
                let needs = left.row_sources();
                let inner_sources = right.sources();
                let mut list = JoinList::flatten(*left, rejecting, sources_of);
                let is_of_inner = |expr: &Expr| {
                    let sources = sources_of(expr);
                    matches!(expr.kind, ExprKind::Column(_))
                        && sources != 0
                        && sources & inner_sources == sources
                };
                if rejecting.iter().any(|condition| rejects_null(condition, &is_of_inner)) {
                    let right = JoinList::flatten(*right, rejecting, sources_of);
                    list.items.extend(right.items);
                    list.conditions.extend(right.conditions);
                    list.conditions.extend(on);
                    list.straight |= right.straight;
                } else {
                    let inner = JoinList::flatten(*right, &[], sources_of);
                    list.items.push(Item::Left { inner, on, needs });
                }
                list
            }
            JoinTree::Semi { left, right, on, anti } => {
                let mut list = JoinList::flatten(*left, rejecting, sources_of);
                let mut inner = JoinList::flatten(*right, &on, sources_of);
                inner.conditions.retain(|condition| constant_truth(condition) != Some(Some(true)));
                list.items.push(Item::Test(Test { inner, on, anti }));
                list
            }
        }
    }

    /// Whether `test` holds for a condition in it, however deep.
    pub fn any_condition(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        self.conditions.iter().any(test)
            || self.items.iter().any(|item| match item {
                Item::Source(_) => false,
                Item::Left { inner, on, .. } | Item::Test(Test { inner, on, .. }) => {
                    on.iter().any(test) || inner.any_condition(test)
                }
            })
    }

    /// All sources in it as a bit set.
    pub fn sources(&self) -> u64 {
        self.items.iter().fold(0, |set, item| match item {
            Item::Source(source) => set | 1 << source,
            Item::Left { inner, .. } | Item::Test(Test { inner, .. }) => set | inner.sources(),
        })
    }
}

/// Whether the condition cannot be true when the columns for which `is_column` holds are NULL. Only plain cases are seen.
pub fn rejects_null(condition: &Expr, is_column: &dyn Fn(&Expr) -> bool) -> bool {
    match &condition.kind {
        ExprKind::And(parts) => parts.iter().any(|part| rejects_null(part, is_column)),
        ExprKind::Or(parts) => parts.iter().all(|part| rejects_null(part, is_column)),
        ExprKind::InRows(list) => list.operands.iter().any(|operand| is_null_with(operand, is_column)),
        ExprKind::TruthTest(TruthTest::True, operand) => {
            is_null_with(operand, is_column) || rejects_null(operand, is_column)
        }
        ExprKind::TruthTest(TruthTest::NotNull | TruthTest::False, operand) => {
            is_null_with(operand, is_column)
        }
        ExprKind::Not(operand) => match &operand.kind {
            ExprKind::TruthTest(TruthTest::Null, inner) => is_null_with(inner, is_column),
            _ => is_null_with(operand, is_column),
        },
        _ => is_null_with(condition, is_column),
    }
}

/// Whether the expression is NULL when the columns are.
fn is_null_with(expr: &Expr, is_column: &dyn Fn(&Expr) -> bool) -> bool {
    let is_null = |part: &Expr| is_null_with(part, is_column);
    match &expr.kind {
        _ if is_column(expr) => true,
        ExprKind::Compare(ComparisonOperator::NullSafeEqual, ..) => false,
        ExprKind::Compare(_, _, left, right)
        | ExprKind::Arithmetic(_, left, right)
        | ExprKind::Bit(_, left, right) => is_null(left) || is_null(right),
        ExprKind::In { operand, .. } | ExprKind::Between { operand, .. } => is_null(operand),
        ExprKind::Like { operand, pattern, .. } => is_null(operand) || is_null(pattern),
        ExprKind::DateAdd { date, amount, .. } => is_null(date) || is_null(amount),
        ExprKind::Not(operand)
        | ExprKind::Negate(operand)
        | ExprKind::BitNot(operand)
        | ExprKind::Cast(operand)
        | ExprKind::Branch(operand)
        | ExprKind::Fit(operand)
        | ExprKind::Relabel(operand) => is_null(operand),
        _ => false,
    }
}
