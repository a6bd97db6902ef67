//! User variables in conditions are read once, before the rows: then their values can be looked up in an index.
//!
//! Only where the statement assigns none. A text beside anything but texts stays what it is, as its comparison looks at what
//! is written there. Called for each block whose rows are about to be planned.
use crate::planner::Planner;
use binder::block::Block;
use binder::bound::JoinTree;
use binder::walk::{for_each_operand, for_each_operand_mut};
use expression::{Expr, ExprKind};

impl Planner<'_> {
    /// Puts the slots of initialisers into the places of variables.
    pub fn read_variables_once(
        &mut self,
        block: &mut Block,
        conditions: &mut [Expr],
        tree: Option<&mut JoinTree>,
    ) {
        if !self.reads_variables_once {
            return;
        }
        let mut known: Vec<(Box<str>, Expr)> = Vec::new();
        let on = tree.map(JoinTree::conditions_mut).unwrap_or_default();
        for condition in conditions.iter_mut().chain(on) {
            settle(condition, false, &mut |name, variable| {
                if let Some((_, slot)) = known.iter().find(|(other, _)| other == name) {
                    return slot.clone();
                }
                let slot = block.compute_once(self.new_slot(), variable.clone(), variable.to_string());
                known.push((name.clone(), slot.clone()));
                slot
            });
        }
    }
}

fn settle(expr: &mut Expr, beside_texts: bool, slot_of: &mut dyn FnMut(&Box<str>, &Expr) -> Expr) {
    if let ExprKind::UserVariable(name) = &expr.kind {
        if beside_texts || !expr.ty.column.kind.is_string() {
            *expr = slot_of(name, expr);
        }
        return;
    }
    let mut has_texts_only = true;
    for_each_operand(expr, &mut |operand| has_texts_only &= operand.ty.column.kind.is_string());
    for_each_operand_mut(expr, &mut |operand| settle(operand, has_texts_only, slot_of));
}
