//! Long lists of constants as sets: whether one of the rows `(c1, c2, ..)` equals the operands, by a look-up.
//!
//! A set is made by the first evaluation of a statement that meets its list, and kept in the `EvalContext` under the
//! list's `ListId`. Invariant: the answer, UNKNOWN included, is the one that comparing with row after row gives.
//! Conversions of the constants warn once, those of the operands once for each row of the statement.
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use datum::{CompareMode, Operand, SqlError, Value, write_compare_key};

use crate::context::EvalContext;
use crate::evaluate::moment_context;
use crate::expr::{Expr, ExprKind};
use crate::function::Volatility;
use crate::operands::for_each_operand;

/// Shorter lists are compared one by one, which takes no longer.
pub const LIST_LONG: usize = 16;
/// NULLs of a row are noted as bits.
pub(crate) const WIDTH_MAX: usize = 64;

/// Names a list and all copies of it; none for a list whose members are compared one by one. All ids count
/// as equal, so that expressions are compared by what they say.
#[derive(Clone, Copy, Debug)]
pub struct ListId(Option<NonZeroU32>);

impl PartialEq for ListId {
    fn eq(&self, _: &ListId) -> bool {
        true
    }
}

impl ListId {
    /// For a list with these members in all.
    pub fn of<'e>(
        count: usize,
        width: usize,
        mut members: impl Iterator<Item = &'e (CompareMode, Expr)>,
    ) -> ListId {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let fits = |(mode, member): &(CompareMode, Expr)| *mode != CompareMode::Json && is_constant(member);
        let is_set = count >= LIST_LONG && width <= WIDTH_MAX && members.all(fits);
        if !is_set {
            return ListId(None);
        }
        // Only that those of one statement differ matters. Small, because expressions are moved about a lot.
        ListId(NonZeroU32::new(NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn is_set(self) -> Option<NonZeroU32> {
        self.0
    }
}

/// Whether the value is the same in all rows of a statement. Only what lists are made of is looked into.
pub fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Parameter(_) => true,
        ExprKind::Negate(operand)
        | ExprKind::Cast(operand)
        | ExprKind::Fit(operand)
        | ExprKind::Relabel(operand) => is_constant(operand),
        ExprKind::Call(function, arguments) => {
            function.volatility == Volatility::Pure && arguments.iter().all(is_constant)
        }
        _ => false,
    }
}

/// The same of any expression, arithmetic among them.
pub fn is_computed_of_constants(expr: &Expr) -> bool {
    let is_open = match &expr.kind {
        ExprKind::Column(_)
        | ExprKind::Slot(_)
        | ExprKind::UserVariable(_)
        | ExprKind::SetUserVariable(..)
        | ExprKind::CaseOperand => true,
        ExprKind::Call(function, _) => function.volatility != Volatility::Pure,
        _ => false,
    };
    let mut is_constant = !is_open;
    for_each_operand(expr, &mut |operand| is_constant = is_constant && is_computed_of_constants(operand));
    is_constant
}

#[derive(Debug)]
pub(crate) struct ConstantSet {
    width: usize,
    groups: Vec<Group>,
}

/// The rows that are compared in the same modes and have NULLs in the same places.
#[derive(Debug)]
struct Group {
    modes: Vec<CompareMode>,
    /// A bit for each place that is NULL.
    nulls: u64,
    /// The keys of each row, place by place; empty for NULL.
    rows: Vec<Vec<Vec<u8>>>,
    /// By the places that are left out: the keys of the others.
    sets: Mutex<HashMap<u64, HashSet<Vec<u8>>>>,
}

impl ConstantSet {
    /// `rows` gives the members of each row.
    pub fn new<'e>(
        rows: impl Iterator<Item = &'e [(CompareMode, Expr)]>,
        context: &EvalContext,
    ) -> Result<ConstantSet, SqlError> {
        let mut groups: Vec<Group> = Vec::new();
        let mut width = 0;
        for row in rows {
            width = row.len();
            let (mut keys, mut nulls) = (Vec::with_capacity(width), 0);
            for (place, (mode, member)) in row.iter().enumerate() {
                let value = member.eval_ref(&[], context)?;
                let mut key = Vec::new();
                if !write_key(*mode, &value, member, context, &mut key) {
                    key.clear();
                    nulls |= 1 << place;
                }
                keys.push(key);
            }
            let is_of = |group: &&mut Group| {
                group.nulls == nulls && group.modes.iter().eq(row.iter().map(|(mode, _)| mode))
            };
            match groups.iter_mut().find(is_of) {
                Some(group) => group.rows.push(keys),
                None => groups.push(Group {
                    modes: row.iter().map(|(mode, _)| *mode).collect(),
                    nulls,
                    rows: vec![keys],
                    sets: Mutex::default(),
                }),
            }
        }
        Ok(ConstantSet { width, groups })
    }

    /// Whether some row of the list equals the operands.
    pub fn contains(
        &self,
        operands: &[(&Expr, &Value)],
        context: &EvalContext,
    ) -> Result<Option<bool>, SqlError> {
        debug_assert_eq!(operands.len(), self.width);
        let mut unknown = false;
        for group in &self.groups {
            match group.contains(operands, context) {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Ok((!unknown).then_some(false))
    }
}

impl Group {
    /// UNKNOWN when a row agrees in all places where neither side is NULL, and there are others.
    fn contains(&self, operands: &[(&Expr, &Value)], context: &EvalContext) -> Option<bool> {
        let mut left_out = self.nulls;
        let mut key = Vec::with_capacity(32);
        for (place, (mode, (operand, value))) in self.modes.iter().zip(operands).enumerate() {
            let is_null = self.nulls & 1 << place != 0;
            if !is_null && !write_key(*mode, value, operand, context, &mut key) {
                left_out |= 1 << place;
            }
        }
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        let set = sets.entry(left_out).or_insert_with(|| self.without(left_out));
        match set.contains(&key) {
            false => Some(false),
            true => (left_out == 0).then_some(true),
        }
    }

    fn without(&self, left_out: u64) -> HashSet<Vec<u8>> {
        let kept = |row: &Vec<Vec<u8>>| {
            let places = row.iter().enumerate().filter(|(place, _)| left_out & 1 << place == 0);
            places.flat_map(|(_, key)| key).copied().collect()
        };
        self.rows.iter().map(kept).collect()
    }
}

fn write_key(mode: CompareMode, value: &Value, of: &Expr, context: &EvalContext, key: &mut Vec<u8>) -> bool {
    let moments = moment_context(context, mode == CompareMode::DateTime);
    let operand = Operand { value, column: &of.ty.column };
    let length = key.len();
    let has_key = write_compare_key(mode, operand, &moments, &mut |warning| context.warn(warning), key);
    if !has_key {
        key.truncate(length);
    }
    has_key
}
