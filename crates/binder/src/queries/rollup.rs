//! GROUP BY .. WITH ROLLUP of one expression under two names: each is NULL at levels of its own. Called while a block is bound,
//! when its groups are.
use expression::{Expr, ExprKind};
use parser::ast;

use super::set_operation::ordinal;
use crate::block::Block;
use crate::bound::SelectItem;
use crate::same_name::same_name;

/// Tells groups apart that are the same expression: a later one that names a select item gets a form of its own, which the
/// item, and what names it, has as well.
pub fn tell_groups_apart(
    written: &[ast::OrderItem<'_>],
    groups: &mut [Expr],
    items: &mut [SelectItem],
    block: &mut Block,
) {
    for group in 1..groups.len() {
        let expr = groups[group].clone();
        if !groups[..group].iter().any(|earlier| earlier.kind == expr.kind) {
            continue;
        }
        let named =
            items.iter().position(|item| item.expr.kind == expr.kind && is_named(&written[group].expr, item));
        let position = match ordinal(&written[group].expr) {
            // Two items of one name are one.
            Some(number) => Some(number - 1).filter(|&at| {
                let is_same = |item: &SelectItem| item.name == items[at].name && item.expr.kind == expr.kind;
                items.iter().position(is_same) == Some(at)
            }),
            None => named,
        };
        let Some(item) = position.map(|position| &mut items[position]) else { continue };
        let told = Expr { ty: expr.ty.clone(), kind: ExprKind::Relabel(Box::new(expr)) };
        let aliases = block.aliases.iter_mut().filter(|(name, _)| *name == item.name);
        aliases.for_each(|(_, of)| *of = told.clone());
        item.expr = told.clone();
        groups[group] = told;
    }
}

fn is_named(written: &ast::Expr<'_>, item: &SelectItem) -> bool {
    match &written.kind {
        ast::ExprKind::Column(reference) => {
            item.is_alias && reference.qualifier.is_none() && same_name(reference.name, &item.name)
        }
        _ => false,
    }
}
