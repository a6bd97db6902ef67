//! Functional dependence: which columns have one value in all rows of a group, for ONLY_FULL_GROUP_BY (MySQL manual, "Detection
//! of Functional Dependence").
//!
//! From the group's expressions and constants on: an equality with one side determined determines the other, and a key that is
//! determined determines its table's other columns, until nothing more follows. Called by `grouping`.
use crate::block::{Block, Position, SourceKind};
use crate::from::JoinTree;
use crate::walk::{any, has_subquery, is_row_independent, is_volatile, positions};
use expression::{ComparisonOperator, Expr, ExprKind};
use schema::IndexKind;

/// What is known to be equal in the rows that are grouped.
pub struct Equalities {
    /// WHERE and inner joins.
    always: Vec<Expr>,
    /// Inner joins of tables which an outer join may leave without a row: columns of both sides are NULL then.
    together: Vec<Expr>,
    outer: Vec<OuterJoin>,
}

struct OuterJoin {
    on: Vec<Expr>,
    /// The sources of the side that always has a row,
    outer_set: u64,
    /// unless another outer join leaves it without one.
    may_lack_rows: bool,
}

impl Equalities {
    pub fn of(tree: Option<&JoinTree>, conditions: &[Expr]) -> Equalities {
        let always = conditions.iter().filter(|condition| !has_subquery(condition)).cloned().collect();
        let mut equalities = Equalities { always, together: Vec::new(), outer: Vec::new() };
        if let Some(tree) = tree {
            equalities.add(tree, false);
        }
        equalities
    }

    /// `may_lack_rows`: an outer join may leave the tables of the tree without a row.
    fn add(&mut self, tree: &JoinTree, may_lack_rows: bool) {
        let plain = |on: &[Expr]| on.iter().filter(|condition| !has_subquery(condition)).cloned().collect();
        match tree {
            JoinTree::Source(_) => {}
            JoinTree::Inner { left, right, on, .. } => {
                let plain: Vec<Expr> = plain(on);
                if may_lack_rows { &mut self.together } else { &mut self.always }.extend(plain);
                self.add(left, may_lack_rows);
                self.add(right, may_lack_rows);
            }
            JoinTree::Semi { left, .. } => self.add(left, may_lack_rows),
            JoinTree::Left { left, right, on } => {
                // With a subquery a row may find its partner by more than the columns that are seen here.
                if !on.iter().any(has_subquery) {
                    self.outer.push(OuterJoin { on: on.clone(), outer_set: left.sources(), may_lack_rows });
                }
                self.add(left, may_lack_rows);
                self.add(right, true);
            }
        }
    }

    /// For each position of the block's frame.
    pub fn determined(&self, block: &Block, groups: &[Expr]) -> Vec<bool> {
        let known = block.frame.iter().enumerate().map(|(position, place)| {
            let column = ExprKind::Column(position);
            !matches!(place, Position::Column { .. }) || groups.iter().any(|group| group.kind == column)
        });
        let mut closure = Closure { block, groups, known: known.collect(), has_grown: true };
        while std::mem::take(&mut closure.has_grown) {
            self.always.iter().for_each(|condition| closure.follow(condition, true));
            self.together.iter().for_each(|condition| closure.follow(condition, false));
            for join in &self.outer {
                if closure.has_one_partner(join) {
                    join.on.iter().for_each(|condition| closure.follow(condition, !join.may_lack_rows));
                }
            }
            closure.follow_keys();
        }
        closure.known
    }
}

struct Closure<'b> {
    block: &'b Block,
    groups: &'b [Expr],
    known: Vec<bool>,
    has_grown: bool,
}

impl Closure<'_> {
    fn follow(&mut self, condition: &Expr, by_constants: bool) {
        let ExprKind::Compare(ComparisonOperator::Equal, _, left, right) = &condition.kind else { return };
        for (column, other) in [(left, right), (right, left)] {
            if let ExprKind::Column(position) = column.kind
                && !self.known[position]
                && self.is_known(other, by_constants)
            {
                self.learn(position);
            }
        }
    }

    fn is_known(&self, expr: &Expr, by_constants: bool) -> bool {
        if is_row_independent(expr) {
            return by_constants;
        }
        if self.groups.iter().any(|group| group.kind == expr.kind) {
            return true;
        }
        let mut read = Vec::new();
        positions(expr, &mut read);
        read.iter().all(|position| self.known[*position]) && !any(expr, &is_volatile)
    }

    /// All rows of a group find the same rows of the other side: what the condition reads of theirs is the same.
    fn has_one_partner(&self, join: &OuterJoin) -> bool {
        let mut read = Vec::new();
        join.on.iter().for_each(|condition| positions(condition, &mut read));
        read.iter().all(|&position| match self.block.frame[position] {
            Position::Column { source, .. } if join.outer_set >> source & 1 == 1 => self.known[position],
            _ => true,
        })
    }

    fn follow_keys(&mut self) {
        for (source, stored) in self.block.sources.iter().enumerate() {
            let SourceKind::Stored { table, .. } = &stored.kind else { continue };
            let is_known = |column: usize| {
                let wanted = Position::Column { source, column };
                let placed = self.block.frame.iter().position(|position| *position == wanted);
                placed.is_some_and(|position| self.known[position])
            };
            let has_key = table.indexes.iter().any(|index| {
                index.kind != IndexKind::Plain
                    && !index.has_prefix_parts()
                    && index
                        .parts
                        .iter()
                        .all(|part| !table.columns[part.column].nullable() && is_known(part.column))
            });
            if !has_key {
                continue;
            }
            for position in 0..self.known.len() {
                let is_own = matches!(
                    self.block.frame[position],
                    Position::Column { source: of, .. } if of == source
                );
                if is_own && !self.known[position] {
                    self.learn(position);
                }
            }
        }
    }

    fn learn(&mut self, position: usize) {
        self.known[position] = true;
        self.has_grown = true;
    }
}
