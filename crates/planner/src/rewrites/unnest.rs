//! Subqueries in WHERE and ON that are joins: `x IN (SELECT ..)`, `EXISTS (SELECT ..)` and their negations become
//! semijoins and antijoins, whose tables are joined like those of the block.
//!
//! Invariant: the same rows come out, as often as before, NULLs included: NOT IN is true for a row only if no comparison is
//! true or unknown. A subquery with groups, a limit or windows stays what it is. Called for each block before it is built.
use crate::joins::hash_side::converts_quietly;
use crate::planner::Planner;
use crate::rewrites::merge::{SOURCES_MAX, absorb, recount_needs};
use binder::Switch;
use binder::block::{Block, Position, SourceKind, SubqueryPlan};
use binder::bound::{BoundBlock, JoinTree, Logical};
use binder::walk::{any, has_subquery, is_volatile, positions, replace, split_conjuncts, subquery_number};
use datum::{TypeKind, Value};
use expression::{ComparisonOperator, Expr, ExprKind, TruthTest};
use plan::{ApplyKind, Quantifier};

impl Planner<'_> {
    /// The same for all that a block demands of its tables.
    pub fn unnest_block(&mut self, select: &mut BoundBlock) {
        if let Some(tree) = &mut select.tree {
            self.unnest(&mut select.block, tree, &mut select.bound.conditions);
        }
    }

    /// Takes the conditions out that become joins of the tree.
    pub fn unnest(&mut self, block: &mut Block, tree: &mut JoinTree, conditions: &mut Vec<Expr>) {
        self.unnest_outer_joins(block, tree);
        raise_subqueries(tree, conditions);
        let mut number = 0;
        while number < conditions.len() {
            if self.unnest_one(block, tree, conditions, number) {
                conditions.remove(number);
            } else {
                number += 1;
            }
        }
        absent_sides(block, tree, conditions);
    }

    /// What ON of an outer join demands is demanded of the rows of its inner side.
    fn unnest_outer_joins(&mut self, block: &mut Block, tree: &mut JoinTree) {
        match tree {
            JoinTree::Inner { left, right, .. } => {
                self.unnest_outer_joins(block, left);
                self.unnest_outer_joins(block, right);
            }
            JoinTree::Left { left, right, on } => {
                self.unnest_outer_joins(block, left);
                self.unnest(block, right, on);
            }
            // Its right side is a query that was looked at by itself, or the inner side of an outer join.
            JoinTree::Semi { left, .. } => self.unnest_outer_joins(block, left),
            JoinTree::Source(_) => {}
        }
    }

    fn unnest_one(
        &mut self,
        block: &mut Block,
        tree: &mut JoinTree,
        conditions: &[Expr],
        place: usize,
    ) -> bool {
        let (condition, anti) = match &conditions[place].kind {
            ExprKind::Not(operand) => (&**operand, true),
            _ => (&conditions[place], false),
        };
        let Some(number) = subquery_number(condition) else { return false };
        let is_it = |part: &Expr| subquery_number(part) == Some(number);
        let is_used_again =
            conditions.iter().enumerate().any(|(at, other)| at != place && any(other, &is_it));
        let pending = &block.subqueries[number];
        let (SubqueryPlan::Bound(query), false, false) = (&pending.query, pending.placed, is_used_again)
        else {
            return false;
        };
        let Some(select) = plain_block(query, &pending.kind) else { return false };
        if !self.joins_subquery(select) {
            return false;
        }
        let Some(comparison) = comparison_of(&pending.kind, anti, pending.correlation.is_empty()) else {
            return false;
        };
        let slots: Vec<usize> = pending.correlation.iter().map(|(slot, _)| *slot).collect();
        let is_movable = |(_, expr): &(usize, Expr)| !has_subquery(expr) && !any(expr, &is_volatile);
        if !pending.left.iter().chain(&pending.correlation).all(is_movable) || hides_slots(select, &slots) {
            return false;
        }
        let mut inner = select.clone();
        let outside: Vec<(usize, Expr)> = pending.left.iter().chain(&pending.correlation).cloned().collect();
        self.merge_sources(&mut inner);
        self.unnest_block(&mut inner);
        // What has been merged into it may have brought queries that run once before it.
        if block.sources.len() + inner.block.sources.len() > SOURCES_MAX || hides_slots(&inner, &slots) {
            // It stays a subquery; what has been merged in it stays merged.
            block.subqueries[number].query = SubqueryPlan::Bound(Box::new(Logical::Select(Box::new(inner))));
            return false;
        }
        block.subqueries[number].placed = true;
        let on = join_block(block, &mut inner, comparison, &outside);
        let left = std::mem::replace(tree, JoinTree::Source(0));
        let right = inner.tree.expect("a plain block has tables");
        *tree = JoinTree::Semi { left: Box::new(left), right: Box::new(right), on, anti };
        recount_needs(block);
        true
    }
}

impl Planner<'_> {
    /// Whether hints and switches let the subquery become a join.
    fn joins_subquery(&self, select: &BoundBlock) -> bool {
        match (select.block.hints.semijoin(), select.block.hints.subquery()) {
            (_, Some(_)) => false,
            // Of single strategies the others are left.
            (Some(hint), None) if hint.strategies.is_empty() => hint.on,
            _ => self.context.switches.has(Switch::Semijoin),
        }
    }
}

/// Takes the subquery's tables over; answers the conditions of a match.
fn join_block(
    block: &mut Block,
    inner: &mut BoundBlock,
    comparison: Option<Expr>,
    outside: &[(usize, Expr)],
) -> Vec<Expr> {
    let first_subquery = block.subqueries.len();
    absorb(block, inner);
    let mut fill = |expr: &mut Expr| {
        replace(expr, &mut |part| {
            let ExprKind::Slot(slot) = part.kind else { return None };
            let (_, outer) = outside.iter().find(|(known, _)| *known == slot)?;
            Some(Expr { kind: outer.kind.clone(), ty: part.ty.clone() })
        });
    };
    inner.for_each_expr(&mut fill);
    let items: Vec<Expr> = inner.bound.items.iter().map(|item| item.expr.clone()).collect();
    for subquery in &mut block.subqueries[first_subquery..] {
        subquery.left.iter_mut().chain(&mut subquery.correlation).for_each(|(_, expr)| fill(expr));
        // What it takes from further out has to be brought in by itself now.
        let SubqueryPlan::Bound(query) = &mut subquery.query else { continue };
        for (slot, outer) in outside {
            if reads_slots(query, &[*slot]) {
                subquery.correlation.push((*slot, outer.clone()));
            }
        }
    }
    let mut on = std::mem::take(&mut inner.bound.conditions);
    if let Some(mut comparison) = comparison {
        replace(&mut comparison, &mut |part| match part.kind {
            ExprKind::Column(column) => Some(items[column].clone()),
            ExprKind::Slot(slot) => {
                let (_, outer) = outside.iter().find(|(known, _)| *known == slot)?;
                Some(outer.clone())
            }
            _ => None,
        });
        on.extend(split_conjuncts(comparison));
    }
    on
}

/// The block, if its rows are those of its tables that pass its conditions.
fn plain_block<'q>(query: &'q Logical, kind: &ApplyKind) -> Option<&'q BoundBlock> {
    let Logical::Select(select) = query else { return None };
    let BoundBlock { block, bound, tree, .. } = &**select;
    // A limit that lets a row through changes nothing for EXISTS.
    let limit_is_idle = match (&bound.limit, kind) {
        (None, _) => true,
        (Some((count, None)), ApplyKind::Exists) => {
            matches!(count.kind, ExprKind::Literal(Value::Int(1..)))
        }
        _ => false,
    };
    let is_plain = tree.is_some()
        && bound.groups.is_none()
        && block.aggregates.is_empty()
        && bound.having.is_empty()
        && block.window_calls.is_empty()
        && limit_is_idle
        && !bound.count_found_rows
        && !bound.straight
        && !bound.items.iter().any(|item| has_subquery(&item.expr) || any(&item.expr, &is_volatile))
        && !bound.conditions.iter().any(|condition| any(condition, &is_volatile));
    is_plain.then_some(select)
}

/// What a row must fulfil besides the block's conditions: nothing for EXISTS. `None` where the subquery is no test of rows.
fn comparison_of(kind: &ApplyKind, anti: bool, is_independent: bool) -> Option<Option<Expr>> {
    let (comparison, quantifier) = match kind {
        ApplyKind::Exists => return Some(None),
        ApplyKind::Scalar => return None,
        ApplyKind::Quantified { comparison, quantifier } => (comparison, *quantifier),
    };
    let condition = &comparison.condition;
    let is_equality = |part: &Expr| matches!(part.kind, ExprKind::Compare(ComparisonOperator::Equal, ..));
    let parts = split_conjuncts(condition.clone());
    // What has to be converted is compared with kept values, without a warning for each.
    if quantifier != Quantifier::Any || !parts.iter().all(|part| is_equality(part) && converts_quietly(part))
    {
        return None;
    }
    let may_be_unknown = condition.ty.column.nullable;
    match anti && may_be_unknown {
        false => Some(Some(condition.clone())),
        // All comparisons have to be false. Without other conditions the values are kept and looked up.
        true if is_independent => None,
        true => {
            let kind = ExprKind::TruthTest(TruthTest::NotFalse, Box::new(condition.clone()));
            let mut test = Expr { kind, ty: condition.ty.clone() };
            test.ty.column.nullable = false;
            Some(Some(test))
        }
    }
}

/// Whether the slots are read where they could not be replaced: by what runs once before the block, or in its FROM.
fn hides_slots(select: &BoundBlock, slots: &[usize]) -> bool {
    let block = &select.block;
    let is_slot = |part: &Expr| matches!(part.kind, ExprKind::Slot(slot) if slots.contains(&slot));
    let is_read = |expr: &Expr| any(expr, &is_slot);
    let in_source = |kind: &SourceKind| match kind {
        SourceKind::Query(query) => {
            let mut taken = query.correlation.iter().map(|(_, expr)| expr);
            query.slots.iter().any(|slot| slots.contains(slot)) || taken.any(is_read)
        }
        SourceKind::JsonTable(table) => is_read(&table.document),
        SourceKind::Common(common) => common.slots().iter().any(|slot| slots.contains(slot)),
        SourceKind::Lateral(_) | SourceKind::Derived(_) => true,
        SourceKind::Stored { .. } | SourceKind::Virtual(_) | SourceKind::Round(_) => false,
    };
    block.initialisers.iter().any(|initialiser| reads_slots(&initialiser.query, slots))
        || block.sources.iter().any(|source| in_source(&source.kind))
}

/// Whether anything in the query reads one of the slots; of what is planned already that is not known.
fn reads_slots(query: &Logical, slots: &[usize]) -> bool {
    let is_read = |part: &Expr| matches!(part.kind, ExprKind::Slot(slot) if slots.contains(&slot));
    query.any_expr(&|expr| any(expr, &is_read))
}

/// Conditions of ON with subqueries are conditions of WHERE where no outer join is around them.
fn raise_subqueries(tree: &mut JoinTree, conditions: &mut Vec<Expr>) {
    match tree {
        JoinTree::Inner { left, right, on, .. } => {
            raise_subqueries(left, conditions);
            raise_subqueries(right, conditions);
            conditions.extend(on.extract_if(.., |condition| has_subquery(condition)));
        }
        // A row of the left side that is not wanted has no use for its matches.
        JoinTree::Left { left, .. } | JoinTree::Semi { left, .. } => raise_subqueries(left, conditions),
        JoinTree::Source(_) => {}
    }
}

/// `.. LEFT JOIN t ON .. WHERE t.key IS NULL` asks for the rows without a match.
fn absent_sides(block: &Block, tree: &mut JoinTree, conditions: &mut Vec<Expr>) {
    match tree {
        JoinTree::Semi { left, .. } => absent_sides(block, left, conditions),
        JoinTree::Inner { left, right, .. } => {
            absent_sides(block, left, conditions);
            absent_sides(block, right, conditions);
        }
        JoinTree::Left { left, right, on } => {
            absent_sides(block, left, conditions);
            let present = present_sources(right);
            let Some(place) =
                conditions.iter().position(|condition| asks_for_absence(block, condition, present))
            else {
                return;
            };
            conditions.remove(place);
            let nothing = || Box::new(JoinTree::Source(0));
            let (left, right) = (std::mem::replace(left, nothing()), std::mem::replace(right, nothing()));
            *tree = JoinTree::Semi { left, right, on: std::mem::take(on), anti: true };
        }
        JoinTree::Source(_) => {}
    }
}

/// The sources of which a row of the tree has one in any case.
fn present_sources(tree: &JoinTree) -> u64 {
    match tree {
        JoinTree::Source(source) => 1 << source,
        JoinTree::Inner { left, right, .. } => present_sources(left) | present_sources(right),
        JoinTree::Left { left, .. } | JoinTree::Semi { left, .. } => present_sources(left),
    }
}

/// `column IS NULL` of a column that is NULL only where the row is absent.
fn asks_for_absence(block: &Block, condition: &Expr, present: u64) -> bool {
    let ExprKind::TruthTest(TruthTest::Null, operand) = &condition.kind else { return false };
    let mut read = Vec::new();
    positions(operand, &mut read);
    let (ExprKind::Column(_), [position]) = (&operand.kind, read.as_slice()) else { return false };
    let Position::Column { source, column } = block.frame[*position] else { return false };
    let source_of = &block.sources[source];
    present >> source & 1 == 1
        && matches!(source_of.kind, SourceKind::Stored { .. })
        && !source_of.columns[column].column_type.nullable
        // A zero date IS NULL as well.
        && !matches!(source_of.columns[column].column_type.kind, TypeKind::Date | TypeKind::DateTime { .. })
}
