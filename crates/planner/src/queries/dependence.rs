//! Functional dependence: which columns have one value in all rows of a group, for ONLY_FULL_GROUP_BY (MySQL manual, "Detection
//! of Functional Dependence").
//!
//! From the group's expressions and constants on: an equality with one side determined determines the other, and a key that is
//! determined determines its table's other columns, until nothing more follows; so do the columns that a generated one is made
//! of. Called by `grouping`.
use crate::joins::join_list::rejects_null;
use crate::planner::Planner;
use binder::block::{Block, Position, SourceKind};
use binder::bound::JoinTree;
use binder::walk::{any, has_subquery, is_row_independent, is_volatile, positions};
use datum::SqlError;
use expression::{ComparisonOperator, Expr, ExprKind};
use plan::{Node, NodeKind};
use schema::IndexKind;

/// What is known to be equal in the rows that are grouped.
pub struct Equalities {
    /// WHERE and inner joins.
    always: Vec<Expr>,
    /// Inner joins of tables which an outer join may leave without a row: columns of both sides are NULL then.
    together: Vec<Expr>,
    outer: Vec<OuterJoin>,
    /// Keys of derived tables: (source, columns); none for a table of one row.
    derived_keys: Vec<(usize, Vec<usize>)>,
    made: Vec<MadeColumn>,
}

/// A generated column and the columns of its table that it is made of.
pub struct MadeColumn {
    source: usize,
    column: usize,
    reads: Vec<usize>,
}

struct OuterJoin {
    on: Vec<Expr>,
    /// The sources of the side that always has a row,
    outer_set: u64,
    /// unless another outer join leaves it without one.
    may_lack_rows: bool,
}

impl Equalities {
    pub fn of(
        block: &Block,
        tree: Option<&JoinTree>,
        conditions: &[Expr],
        made: Vec<MadeColumn>,
    ) -> Equalities {
        let always = conditions.iter().filter(|condition| !has_subquery(condition)).cloned().collect();
        let derived_keys = derived_keys(block);
        let mut equalities =
            Equalities { always, together: Vec::new(), outer: Vec::new(), derived_keys, made };
        if let Some(tree) = tree {
            equalities.add(block, tree, false);
        }
        equalities
    }

    /// `may_lack_rows`: an outer join may leave the tables of the tree without a row.
    fn add(&mut self, block: &Block, tree: &JoinTree, may_lack_rows: bool) {
        let plain = |on: &[Expr]| on.iter().filter(|condition| !has_subquery(condition)).cloned().collect();
        match tree {
            JoinTree::Source(_) => {}
            JoinTree::Inner { left, right, on, .. } => {
                let plain: Vec<Expr> = plain(on);
                if may_lack_rows { &mut self.together } else { &mut self.always }.extend(plain);
                self.add(block, left, may_lack_rows);
                self.add(block, right, may_lack_rows);
            }
            JoinTree::Semi { left, .. } => self.add(block, left, may_lack_rows),
            // No row that an outer join adds is left: it is an inner one.
            JoinTree::Left { left, right, on } if !may_lack_rows && self.leaves_out(block, right) => {
                self.always.extend(plain(on));
                self.add(block, left, may_lack_rows);
                self.add(block, right, may_lack_rows);
            }
            JoinTree::Left { left, right, on } => {
                // With a subquery a row may find its partner by more than the columns that are seen here.
                if !on.iter().any(has_subquery) {
                    self.outer.push(OuterJoin { on: on.clone(), outer_set: left.sources(), may_lack_rows });
                }
                self.add(block, left, may_lack_rows);
                self.add(block, right, true);
            }
        }
    }

    /// Whether the conditions leave out rows in which the tables of the tree have none.
    fn leaves_out(&self, block: &Block, tree: &JoinTree) -> bool {
        let inside = tree.sources();
        let is_inside = |expr: &Expr| {
            matches!(expr.kind, ExprKind::Column(position)
                if matches!(block.frame[position], Position::Column { source, .. } if inside >> source & 1 == 1))
        };
        self.always.iter().any(|condition| rejects_null(condition, &is_inside))
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
            closure.follow_keys(&self.always);
            closure.follow_made(&self.made);
            closure.follow_derived(&self.derived_keys);
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

    fn is_known_column(&self, source: usize, column: usize) -> bool {
        let wanted = Position::Column { source, column };
        let placed = self.block.frame.iter().position(|position| *position == wanted);
        placed.is_some_and(|position| self.known[position])
    }

    fn follow_derived(&mut self, keys: &[(usize, Vec<usize>)]) {
        for (source, key) in keys {
            let of = &self.block.sources[*source];
            // A row of NULLs that an outer join makes is none of the table's.
            let is_key = |column: &usize| {
                let may_be_made = of.optional && of.columns[*column].column_type.nullable;
                !may_be_made && self.is_known_column(*source, *column)
            };
            // Of a table of one row MySQL asks that a column is known.
            let has_key = match key.is_empty() {
                true => (0..of.columns.len()).any(|column| is_key(&column)),
                false => key.iter().all(is_key),
            };
            if has_key {
                self.learn_all_of(*source);
            }
        }
    }

    fn follow_made(&mut self, made: &[MadeColumn]) {
        for column in made {
            let wanted = Position::Column { source: column.source, column: column.column };
            let placed = self.block.frame.iter().position(|position| *position == wanted);
            let Some(position) = placed.filter(|position| !self.known[*position]) else { continue };
            if column.reads.iter().all(|read| self.follows_from_known(column.source, *read, made)) {
                self.learn(position);
            }
        }
    }

    /// The column is known, or made of known ones; the statement need not read it.
    fn follows_from_known(&self, source: usize, column: usize, made: &[MadeColumn]) -> bool {
        let own = made.iter().find(|made| made.source == source && made.column == column);
        self.is_known_column(source, column)
            || own
                .is_some_and(|own| own.reads.iter().all(|read| self.follows_from_known(source, *read, made)))
    }

    /// A key whose columns may be NULL counts where `conditions` leave those rows out.
    fn follow_keys(&mut self, conditions: &[Expr]) {
        for (source, stored) in self.block.sources.iter().enumerate() {
            let SourceKind::Stored { table, .. } = &stored.kind else { continue };
            let is_known = |column: usize| self.is_known_column(source, column);
            let is_never_null = |column: usize| {
                let is_it = |expr: &Expr| {
                    matches!(expr.kind, ExprKind::Column(position)
                        if self.block.frame[position] == Position::Column { source, column })
                };
                !table.columns[column].nullable() || conditions.iter().any(|each| rejects_null(each, &is_it))
            };
            let has_key = table.indexes.iter().any(|index| {
                index.kind != IndexKind::Plain
                    && !index.has_prefix_parts()
                    && index.parts.iter().all(|part| is_known(part.column) && is_never_null(part.column))
            });
            if has_key {
                self.learn_all_of(source);
            }
        }
    }

    fn learn_all_of(&mut self, source: usize) {
        for position in 0..self.known.len() {
            let place = &self.block.frame[position];
            let is_own = matches!(place, Position::Column { source: of, .. } if *of == source);
            if is_own && !self.known[position] {
                self.learn(position);
            }
        }
    }

    fn learn(&mut self, position: usize) {
        self.known[position] = true;
        self.has_grown = true;
    }
}

impl Planner<'_> {
    /// The generated columns of a block's tables. The rows that an outer join adds are not made by their expressions.
    pub fn made_columns(&self, block: &Block) -> Result<Vec<MadeColumn>, SqlError> {
        let mut made = Vec::new();
        for (source, stored) in block.sources.iter().enumerate().filter(|(_, source)| !source.optional) {
            let SourceKind::Stored { table, .. } = &stored.kind else { continue };
            for column in (0..table.columns.len()).filter(|at| table.columns[*at].generated.is_some()) {
                let bound = binder::bind_generated(column, table, self.catalog, self.context)?;
                let mut reads = Vec::new();
                bound.iter().for_each(|expr| positions(expr, &mut reads));
                made.push(MadeColumn { source, column, reads });
            }
        }
        Ok(made)
    }
}

fn derived_keys(block: &Block) -> Vec<(usize, Vec<usize>)> {
    let mut keys = Vec::new();
    for (source, derived) in block.sources.iter().enumerate() {
        let of = match &derived.kind {
            SourceKind::Derived(Some(node)) => keys_of(node),
            SourceKind::Common(common) => common.planned().map_or_else(Vec::new, |node| keys_of(&node)),
            _ => Vec::new(),
        };
        keys.extend(of.into_iter().map(|key| (source, key)));
    }
    keys
}

/// Sets of a plan's columns which no two of its rows share.
fn keys_of(node: &Node) -> Vec<Vec<usize>> {
    match &node.kind {
        NodeKind::Dual => vec![Vec::new()],
        NodeKind::Filter { input, .. }
        | NodeKind::Sort { input, .. }
        | NodeKind::Limit { input, .. }
        | NodeKind::Distinct { input, .. }
        | NodeKind::Measured { input, .. } => keys_of(input),
        NodeKind::Apply(apply) => keys_of(&apply.input),
        NodeKind::Aggregate(aggregate) if aggregate.single => vec![Vec::new()],
        NodeKind::Aggregate(aggregate) if !aggregate.rollup => {
            vec![(0..aggregate.groups.len()).collect()]
        }
        NodeKind::Table(access) => {
            let place = |column: usize| {
                access.projection.iter().find(|(read, _)| *read == column).map(|(_, position)| *position)
            };
            let unique = access.table.indexes.iter().filter(|index| {
                index.kind != IndexKind::Plain
                    && !index.has_prefix_parts()
                    && index.parts.iter().all(|part| !access.table.columns[part.column].nullable())
            });
            unique.filter_map(|index| index.parts.iter().map(|part| place(part.column)).collect()).collect()
        }
        NodeKind::Project { input, expressions } => {
            let place =
                |wanted: usize| expressions.iter().position(|expr| expr.kind == ExprKind::Column(wanted));
            let keys = keys_of(input).into_iter();
            keys.filter_map(|key| key.into_iter().map(place).collect()).collect()
        }
        _ => Vec::new(),
    }
}
