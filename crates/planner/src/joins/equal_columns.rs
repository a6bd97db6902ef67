//! Columns that the conditions of one list of joins make equal: `a = b AND b = c` lets `a` and `c` be joined as well, and what
//! one of them is compared with holds for all.
//!
//! Invariant: of the equalities of a class that reach a table only one for each of its columns is used, so that no condition
//! counts twice. Called by `join_order` and `join_cost`.
use binder::block::{Block, Position};
use binder::walk::is_row_independent;
use datum::{ColumnType, CompareMode, TypeKind};
use expression::{ComparisonOperator, Expr, ExprKind};

/// Classes of frame positions that are equal.
#[derive(Clone, Default)]
pub struct EqualColumns {
    classes: Vec<Class>,
}

#[derive(Clone)]
struct Class {
    positions: Vec<usize>,
    /// All are compared with one value, which makes their equality follow.
    has_value: bool,
}

/// Larger classes stay as they are written.
const CLASS_MAX: usize = 10;

impl EqualColumns {
    /// Finds the classes in the conditions and adds what follows from them. `sources` are those that always have a row.
    pub fn complete(block: &Block, conditions: &mut Vec<Expr>, sources: u64) -> EqualColumns {
        let mut equal = EqualColumns::default();
        let mut pattern = None;
        for condition in conditions.iter() {
            if let Some((left, right)) = column_pair(block, condition, sources) {
                equal.join(left, right);
                pattern.get_or_insert_with(|| condition.ty.clone());
            }
        }
        equal.classes.retain(|class| class.positions.len() <= CLASS_MAX);
        let Some(ty) = pattern else { return equal };
        for class in &mut equal.classes {
            let known: Vec<Expr> = conditions.clone();
            spread_value(block, class, &known, conditions);
            for (at, &left) in class.positions.iter().enumerate() {
                for &right in &class.positions[at + 1..] {
                    let is_known = |known: &Expr| matches!(pair_of(known), Some(pair) if pair == (left, right) || pair == (right, left));
                    if !known.iter().any(is_known) {
                        let sides = (column_at(block, left), column_at(block, right));
                        let mode = mode_of(&sides.0.ty.column);
                        let kind = ExprKind::Compare(
                            ComparisonOperator::Equal,
                            mode,
                            Box::new(sides.0),
                            Box::new(sides.1),
                        );
                        conditions.push(Expr { kind, ty: ty.clone() });
                    }
                }
            }
        }
        equal
    }

    fn join(&mut self, left: usize, right: usize) {
        let place = |equal: &EqualColumns, position: usize| {
            equal.classes.iter().position(|class| class.positions.contains(&position))
        };
        match (place(self, left), place(self, right)) {
            (Some(first), Some(second)) if first != second => {
                let moved = self.classes.remove(first.max(second));
                self.classes[first.min(second)].positions.extend(moved.positions);
            }
            (Some(_), Some(_)) => {}
            (Some(class), None) => self.classes[class].positions.push(right),
            (None, Some(class)) => self.classes[class].positions.push(left),
            (None, None) => self.classes.push(Class { positions: vec![left, right], has_value: false }),
        }
    }

    /// Whether both columns are compared with one value, which makes their equality follow.
    pub fn follows_from_value(&self, condition: &Expr) -> bool {
        self.class_of(condition).is_some_and(|class| class.has_value)
    }

    fn class_of(&self, condition: &Expr) -> Option<&Class> {
        let (left, right) = pair_of(condition)?;
        self.classes.iter().find(|class| class.positions.contains(&left) && class.positions.contains(&right))
    }

    /// Keeps of each class one equality between the two sets, each of which keeps its own ones.
    pub fn prune_between(&self, block: &Block, conditions: Vec<Expr>, before: u64, own: u64) -> Vec<Expr> {
        let mut connected: Vec<*const Class> = Vec::new();
        let mut keeps = |condition: &Expr| {
            let set = block.sources_of(condition);
            let Some(class) = self.class_of(condition).filter(|_| set & before != 0 && set & own != 0) else {
                return true;
            };
            let class_at = std::ptr::from_ref(class);
            if class.has_value || connected.contains(&class_at) {
                return false;
            }
            connected.push(class_at);
            true
        };
        conditions.into_iter().filter(|condition| keeps(condition)).collect()
    }

    /// Drops the conditions on `source` that follow from others once the sources in `placed` are there.
    pub fn prune(&self, block: &Block, conditions: Vec<Expr>, source: usize, placed: u64) -> Vec<Expr> {
        let mut keeps = self.keeper(block, source, placed);
        conditions.into_iter().filter(|condition| keeps(condition)).collect()
    }

    /// Asked of one condition on `source` after the other: whether it stays, as in `prune`.
    pub fn keeper<'e>(
        &'e self,
        block: &'e Block,
        source: usize,
        placed: u64,
    ) -> impl FnMut(&Expr) -> bool + 'e {
        let source_of = |position: usize| match block.frame[position] {
            Position::Column { source, .. } => source,
            _ => usize::MAX,
        };
        let mut reached: Vec<usize> = Vec::new();
        move |condition: &Expr| {
            let Some(class) = self.class_of(condition) else { return true };
            let Some((left, right)) = pair_of(condition) else { return true };
            if class.has_value {
                return false;
            }
            let is_placed = |position: usize| placed >> source_of(position) & 1 == 1;
            let own = match (source_of(left) == source, source_of(right) == source) {
                // Both follow from a column before.
                (true, true) => return !class.positions.iter().any(|&position| is_placed(position)),
                (true, false) if is_placed(right) => left,
                (false, true) if is_placed(left) => right,
                _ => return true,
            };
            if reached.contains(&own) {
                return false;
            }
            reached.push(own);
            true
        }
    }
}

/// A column of the class is compared with a value: so are all others.
fn spread_value(block: &Block, class: &mut Class, known: &[Expr], conditions: &mut Vec<Expr>) {
    let found = known.iter().find_map(|condition| {
        let ExprKind::Compare(ComparisonOperator::Equal, mode, left, right) = &condition.kind else {
            return None;
        };
        [(left, right), (right, left)].into_iter().find_map(|(column, value)| {
            let position = column.as_column()?;
            let is_value = class.positions.contains(&position) && is_row_independent(value);
            is_value.then(|| (position, *mode, (**value).clone(), condition.ty.clone()))
        })
    });
    let Some((first, mode, value, ty)) = found else { return };
    let column_type = column_at(block, first).ty.column;
    let is_alike = |position: &usize| {
        let other = column_at(block, *position).ty.column;
        other.kind == column_type.kind && other.unsigned == column_type.unsigned
    };
    if !class.positions.iter().all(is_alike) {
        return;
    }
    class.has_value = true;
    for &position in class.positions.iter().filter(|position| **position != first) {
        let column = Box::new(column_at(block, position));
        let kind = ExprKind::Compare(ComparisonOperator::Equal, mode, column, Box::new(value.clone()));
        if !conditions.iter().any(|condition| condition.kind == kind) {
            conditions.push(Expr { kind, ty: ty.clone() });
        }
    }
}

fn column_at(block: &Block, position: usize) -> Expr {
    let Position::Column { source, column } = block.frame[position] else {
        unreachable!("classes are made of columns")
    };
    let mut column_type = block.sources[source].columns[column].column_type.clone();
    column_type.nullable |= block.sources[source].optional;
    Expr::column(position, column_type)
}

/// The positions of `column = column`.
pub fn pair_of(condition: &Expr) -> Option<(usize, usize)> {
    let ExprKind::Compare(ComparisonOperator::Equal, _, left, right) = &condition.kind else { return None };
    Some((left.as_column()?, right.as_column()?))
}

/// Two columns of the sources whose equality is passed on from one to the next.
fn column_pair(block: &Block, condition: &Expr, sources: u64) -> Option<(usize, usize)> {
    let (left, right) = pair_of(condition)?;
    let is_own = |position: usize| match block.frame[position] {
        Position::Column { source, .. } => sources >> source & 1 == 1,
        _ => false,
    };
    let types = (column_at_checked(block, left)?, column_at_checked(block, right)?);
    (left != right && is_own(left) && is_own(right) && passes_on(&types.0, &types.1)).then_some((left, right))
}

fn column_at_checked(block: &Block, position: usize) -> Option<ColumnType> {
    matches!(block.frame[position], Position::Column { .. }).then(|| column_at(block, position).ty.column)
}

/// Whether equality of such columns is that of one domain.
pub fn passes_on(left: &ColumnType, right: &ColumnType) -> bool {
    let both = |test: fn(&TypeKind) -> bool| test(&left.kind) && test(&right.kind);
    both(TypeKind::is_integer)
        || left.is_text() && right.is_text() && left.collation == right.collation
        || both(|kind| matches!(kind, TypeKind::Date))
}

/// How columns of one domain are compared.
pub fn mode_of(column_type: &ColumnType) -> CompareMode {
    if column_type.is_text() {
        CompareMode::Text(column_type.collation)
    } else if column_type.kind.is_integer() {
        CompareMode::Integer
    } else {
        CompareMode::DateTime
    }
}
