//! The FROM clause: table references become sources of the block and a tree of joins over them.
use crate::binder::{Binder, not_supported};
use crate::block::{Clause, Origin, Source, SourceColumn, SourceKind};
use crate::bound::JoinTree;
use crate::catalog_view::{ResolvedTable, TableStatistics};
use crate::error_codes::ER_TOO_MANY_TABLES;
use crate::hints::indexes_of;
use crate::same_name::{same_database, same_name, same_table};
use crate::switches::Switch;
use crate::walk::split_conjuncts;
use datum::{SqlError, error_code};
use expression::{ComparisonOperator, Expr};
use parser::ast;
use plan::TableUsage;
use schema::TableDef;
use std::sync::Arc;

/// A join tree and the columns `*` stands for, in order.
pub struct Joined {
    pub tree: JoinTree,
    pub star: Vec<(usize, usize)>,
}

/// What USING or NATURAL makes: the equalities, and the columns of `*`.
struct Merged {
    on: Vec<Expr>,
    star: Vec<(usize, usize)>,
}

/// As in MySQL.
const TABLES_MAX: usize = 61;

impl<'p> Binder<'p> {
    /// Adds the members of FROM to the innermost block. `None` for an empty list.
    pub fn bind_from(
        &mut self,
        references: &[ast::TableReference<'p>],
        usage: TableUsage,
    ) -> Result<Option<Joined>, SqlError> {
        let mut joined: Option<Joined> = None;
        for reference in references {
            let right = self.bind_reference(reference, usage)?;
            joined = Some(match joined {
                None => right,
                Some(left) => cross(left, right),
            });
        }
        self.block().clause = None;
        Ok(joined)
    }

    fn bind_reference(
        &mut self,
        reference: &ast::TableReference<'p>,
        usage: TableUsage,
    ) -> Result<Joined, SqlError> {
        match reference {
            ast::TableReference::Table(table) => self.bind_named_table(table, usage),
            ast::TableReference::Derived(derived) => self.bind_derived(derived),
            ast::TableReference::JsonTable(table) => self.bind_json_table(table),
            ast::TableReference::Join(join) => self.bind_join(join, usage),
            ast::TableReference::List(members) => {
                let joined = self.bind_from(members, usage)?;
                Ok(joined.expect("the parser gives lists of two or more"))
            }
        }
    }

    pub fn bind_table_name(
        &mut self,
        name: ast::ObjectName<'p>,
        usage: TableUsage,
    ) -> Result<Joined, SqlError> {
        let span = name.name.span;
        self.bind_named_table(
            &ast::NamedTable { name, partitions: &[], alias: None, index_hints: &[], span },
            usage,
        )
    }

    fn bind_named_table(
        &mut self,
        named: &ast::NamedTable<'p>,
        usage: TableUsage,
    ) -> Result<Joined, SqlError> {
        if !named.partitions.is_empty() {
            return Err(not_supported("PARTITION"));
        }
        let alias = named.alias.unwrap_or(named.name.name).name.to_owned();
        if named.name.database.is_none()
            && let Some(position) = self
                .common_tables
                .iter()
                .rposition(|scope| same_table(scope.table.name.name, named.name.name.name))
        {
            return self.bind_common_table(position, alias);
        }
        let is_renamed = named.alias.is_some();
        let (resolved, need) = self.resolve_table(&named.name, &alias, usage)?;
        let origin = Origin { is_renamed, ..Origin::default() };
        let source = match resolved {
            ResolvedTable::View(view) => {
                self.note_table(named.name.name.name, &view.database, &view.name);
                self.check_view_depth()?;
                let alias = named.alias.unwrap_or(named.name.name);
                let is_changed =
                    matches!(usage, TableUsage::Insert | TableUsage::Update | TableUsage::Delete);
                if is_changed && view.is_updatable {
                    return self.bind_changed_view(&view, alias.name, is_renamed, need, usage);
                }
                return self.bind_view(&view, alias, is_renamed, need, usage);
            }
            ResolvedTable::Stored { table, statistics } => {
                self.is_guess |= statistics.rows.is_none();
                self.note_table(named.name.name.name, &table.database, &table.name);
                let uses_invisible = self.context.switches.has(Switch::UseInvisibleIndexes);
                let hints = Box::new(indexes_of(named, &alias, &table, &self.block().hints, uses_invisible)?);
                Source {
                    columns: columns_of(&table),
                    database: table.database.clone(),
                    kind: SourceKind::Stored { hints, table, statistics },
                    alias,
                    optional: false,
                    lock: None,
                    names_results: false,
                    mixed: Vec::new(),
                    need: Some(need),
                    origin,
                }
            }
            ResolvedTable::Virtual(table) => {
                let definition = table.definition();
                self.note_table(named.name.name.name, &definition.database, &definition.name);
                Source {
                    columns: columns_of(definition),
                    database: definition.database.clone(),
                    names_results: table.names_results(),
                    mixed: Vec::new(),
                    kind: SourceKind::Virtual(table),
                    alias,
                    optional: false,
                    lock: None,
                    need: Some(need),
                    origin,
                }
            }
        };
        self.add_source(source)
    }

    pub fn add_source(&mut self, source: Source) -> Result<Joined, SqlError> {
        let block = self.block();
        if block.sources.len() == TABLES_MAX {
            return Err(ER_TOO_MANY_TABLES.with(&[&TABLES_MAX]));
        }
        let twice = |known: &Source| {
            same_table(&known.alias, &source.alias) && same_database(&known.database, &source.database)
        };
        if block.sources.iter().any(|known| !known.origin.is_inner && twice(known)) {
            return Err(error_code::ER_NONUNIQ_TABLE.with(&[&source.alias]));
        }
        let number = block.sources.len();
        let visible = source.columns.iter().enumerate().filter(|(_, column)| !column.invisible);
        let star = visible.map(|(column, _)| (number, column)).collect();
        block.sources.push(source);
        Ok(Joined { tree: JoinTree::Source(number), star })
    }

    fn bind_derived(&mut self, derived: &ast::DerivedTable<'p>) -> Result<Joined, SqlError> {
        self.bind_query_source(derived)
    }

    /// The sides of a join, each seeing what is read before it. Of a RIGHT JOIN that is the right one, so a LATERAL query on the
    /// left, however deep in it, sees it, and one on the right does not see the left one.
    fn bind_sides(&mut self, join: &ast::Join<'p>, usage: TableUsage) -> Result<(Joined, Joined), SqlError> {
        let is_right = join.kind == ast::JoinKind::Right;
        if is_right && reads_others(&join.left) {
            let right = self.bind_reference(&join.right, usage)?;
            return Ok((self.bind_reference(&join.left, usage)?, right));
        }
        let left = self.bind_reference(&join.left, usage)?;
        let around = self.block().joined;
        if is_right {
            self.block().joined = Some(around.unwrap_or(u64::MAX) & !left.tree.sources());
        }
        let right = self.bind_reference(&join.right, usage)?;
        self.block().joined = around;
        Ok((left, right))
    }

    fn bind_join(&mut self, join: &ast::Join<'p>, usage: TableUsage) -> Result<Joined, SqlError> {
        let (left, right) = self.bind_sides(join, usage)?;
        let both = || [&left.star[..], &right.star[..]].concat();
        let Merged { on, star } = match join.constraint {
            ast::JoinConstraint::None => Merged { on: Vec::new(), star: both() },
            ast::JoinConstraint::On(condition) => {
                let set = left.tree.sources() | right.tree.sources();
                Merged { on: self.bind_on(condition, set)?, star: both() }
            }
            ast::JoinConstraint::Using(names) => {
                let names: Vec<String> = names.iter().map(|name| name.name.to_owned()).collect();
                self.merge_columns(&left.star, &right.star, &names, join)?
            }
            ast::JoinConstraint::Natural => {
                let names = self.shared_names(&left.star, &right.star);
                self.merge_columns(&left.star, &right.star, &names, join)?
            }
        };
        let (left, right) = (Box::new(left.tree), Box::new(right.tree));
        let tree = match join.kind {
            ast::JoinKind::Inner => JoinTree::Inner { left, right, on, straight: false },
            ast::JoinKind::Straight => JoinTree::Inner { left, right, on, straight: true },
            ast::JoinKind::Left | ast::JoinKind::Right => {
                let (left, right) =
                    if join.kind == ast::JoinKind::Left { (left, right) } else { (right, left) };
                self.make_optional(right.sources());
                JoinTree::Left { left, right, on }
            }
        };
        Ok(Joined { tree, star })
    }

    /// Binds ON; it may only name tables of its own join.
    fn bind_on(&mut self, condition: &ast::Expr<'p>, set: u64) -> Result<Vec<Expr>, SqlError> {
        let block = self.block();
        block.clause = Some(Clause::On);
        let around = block.joined.replace(set);
        let bound = self.bind(condition);
        self.block().joined = around;
        match bound {
            // WHERE is looked at before it: what is wrong there is told first.
            Err(error) if is_illegal_mix(&error) => {
                self.block().on_error.get_or_insert(error);
                Ok(Vec::new())
            }
            bound => Ok(split_conjuncts(bound?)),
        }
    }

    fn make_optional(&mut self, set: u64) {
        for (number, source) in self.block().sources.iter_mut().enumerate() {
            source.optional |= set & (1 << number) != 0;
        }
    }

    fn shared_names(&mut self, left: &[(usize, usize)], right: &[(usize, usize)]) -> Vec<String> {
        let block = self.block();
        let name = |&(source, column): &(usize, usize)| block.sources[source].columns[column].name.clone();
        let right: Vec<String> = right.iter().map(name).collect();
        left.iter().map(name).filter(|left| right.iter().any(|right| same_name(left, right))).collect()
    }

    /// USING: equal columns of both sides, shown once in front, in the order of the first side.
    fn merge_columns(
        &mut self,
        left: &[(usize, usize)],
        right: &[(usize, usize)],
        names: &[String],
        join: &ast::Join<'p>,
    ) -> Result<Merged, SqlError> {
        let kind = join.kind;
        // A right join shows its right side first, as it is a left join turned.
        let (first, second) = if kind == ast::JoinKind::Right { (right, left) } else { (left, right) };
        let (mut on, mut shown_columns) = (Vec::new(), Vec::new());
        let (mut merged, mut pairs) = (Vec::new(), Vec::new());
        for name in names {
            let left = self.column_in(left, name)?;
            let right = self.column_in(right, name)?;
            let block = self.block();
            let (left_expr, right_expr) =
                (block.column_expr(left.0, left.1), block.column_expr(right.0, right.1));
            let (shown, hidden) = if kind == ast::JoinKind::Right { (right, left) } else { (left, right) };
            block.sources[hidden.0].columns[hidden.1].hidden = true;
            on.push(self.context.bind.compare(ComparisonOperator::Equal, left_expr, right_expr)?);
            shown_columns.push(shown);
            merged.extend([left, right]);
            pairs.push((left, right));
        }
        self.note_merged(join, &pairs);
        let mut star: Vec<_> =
            first.iter().copied().filter(|column| shown_columns.contains(column)).collect();
        star.extend(first.iter().chain(second).filter(|column| !merged.contains(column)));
        Ok(Merged { on, star })
    }

    fn column_in(&mut self, star: &[(usize, usize)], name: &str) -> Result<(usize, usize), SqlError> {
        let block = self.block();
        let mut found = None;
        for &(source, column) in star {
            if same_name(&block.sources[source].columns[column].name, name) {
                if found.is_some() {
                    return Err(error_code::ER_NON_UNIQ_ERROR.with(&[&name, &"from clause"]));
                }
                found = Some((source, column));
            }
        }
        found.ok_or_else(|| error_code::ER_BAD_FIELD_ERROR.with(&[&name, &"from clause"]))
    }
}

fn cross(left: Joined, right: Joined) -> Joined {
    let star = [left.star, right.star].concat();
    let (left, right) = (Box::new(left.tree), Box::new(right.tree));
    Joined { tree: JoinTree::Inner { left, right, on: Vec::new(), straight: false }, star }
}

pub fn columns_of(table: &TableDef) -> Vec<SourceColumn> {
    let column = |column: &schema::ColumnDef| SourceColumn {
        // No statement can write a name with a space at its end.
        name: if column.hidden { "index part ".to_owned() } else { column.name.clone() },
        column_type: column.column_type.clone(),
        hidden: column.hidden,
        invisible: column.invisible || column.hidden,
    };
    table.columns.iter().map(column).collect()
}

/// A table by itself as a source, for those whose frame is its row.
pub fn row_source(table: &Arc<TableDef>, alias: &str, need: Option<usize>) -> Source {
    Source {
        alias: alias.to_owned(),
        database: table.database.clone(),
        columns: columns_of(table),
        kind: SourceKind::Stored {
            table: table.clone(),
            statistics: TableStatistics::default(),
            hints: Box::default(),
        },
        optional: false,
        lock: None,
        names_results: false,
        mixed: Vec::new(),
        need,
        origin: Default::default(),
    }
}

/// Whether a query in it may read tables beside it.
fn reads_others(reference: &ast::TableReference<'_>) -> bool {
    match reference {
        ast::TableReference::Table(_) => false,
        ast::TableReference::Derived(derived) => derived.lateral,
        ast::TableReference::JsonTable(_) => true,
        ast::TableReference::Join(join) => reads_others(&join.left) || reads_others(&join.right),
        ast::TableReference::List(members) => members.iter().any(reads_others),
    }
}

/// Whether texts have no collation to be compared in.
fn is_illegal_mix(error: &SqlError) -> bool {
    [
        error_code::ER_CANT_AGGREGATE_2COLLATIONS,
        error_code::ER_CANT_AGGREGATE_3COLLATIONS,
        error_code::ER_CANT_AGGREGATE_NCOLLATIONS,
    ]
    .iter()
    .any(|code| error.is(code))
}
