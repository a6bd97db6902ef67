//! What ON DUPLICATE KEY UPDATE reads of the tables of INSERT .. SELECT without their columns being selected.
//!
//! Such columns are selected behind the query's own. Invariant: a query that groups, removes equal rows or is no plain
//! SELECT keeps its columns, and so does one whose assignments read only the target. Called for INSERT .. SELECT.
use crate::binder::Binder;
use crate::changes::insert_target::Target;
use crate::views::view_definition::has_aggregate;
use parser::ast::{self, ColumnReference, ExprKind as Kind, SelectItem};

/// What the added columns are called. A space at its end keeps it apart from every name MySQL allows.
const ADDED: &str = "read by an assignment ";

impl<'p> Binder<'p> {
    /// The query with the columns that the assignments may mean, and how many these are. A name of no table is refused
    /// there with the error that it has in the assignment.
    pub fn with_duplicate_reads(
        &self,
        query: &'p ast::Query<'p>,
        assignments: &[ast::Assignment<'p>],
        target: &Target,
    ) -> (&'p ast::Query<'p>, usize) {
        let ast::QueryBody::Select(select) = query.body else { return (query, 0) };
        let is_grouping = |item: &SelectItem<'_>| match item {
            SelectItem::Expression { expr, .. } => has_aggregate(expr),
            _ => false,
        };
        let is_plain = select.group_by.is_none()
            && select.having.is_none()
            && !select.options.distinct
            && !select.from.is_empty()
            && !select.items.iter().any(is_grouping);
        let mut items = Vec::new();
        if is_plain {
            assignments.iter().for_each(|assignment| add_reads(&assignment.value, target, &mut items));
        }
        if items.is_empty() {
            return (query, 0);
        }
        let added = items.len();
        let items = [select.items, &items].concat();
        let select = self.arena.alloc(ast::Select { items: self.arena.alloc_slice_copy(&items), ..*select });
        (self.arena.alloc(ast::Query { body: ast::QueryBody::Select(select), ..*query }), added)
    }
}

/// The columns that the expression names and that are not the target's, each once.
fn add_reads<'p>(expr: &ast::Expr<'p>, target: &Target, items: &mut Vec<SelectItem<'p>>) {
    if let Kind::Column(reference) = expr.kind {
        let is_known = |item: &SelectItem<'_>| match item {
            SelectItem::Expression { expr, .. } => {
                matches!(expr.kind, Kind::Column(known) if is_same(&known, &reference))
            }
            _ => false,
        };
        if target.column(&reference).is_err() && !items.iter().any(is_known) {
            let alias = Some(ast::Ident { name: ADDED, span: expr.span });
            items.push(SelectItem::Expression { expr: *expr, alias, name: ADDED });
        }
    }
    expr.for_each_operand(&mut |operand| add_reads(operand, target, items));
}

fn is_same(one: &ColumnReference<'_>, other: &ColumnReference<'_>) -> bool {
    let table = |reference: &ColumnReference<'_>| reference.qualifier.map(|table| table.name.name.to_owned());
    one.name.eq_ignore_ascii_case(other.name) && table(one) == table(other)
}
