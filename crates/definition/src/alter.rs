//! The specifications of ALTER TABLE, CREATE INDEX and DROP INDEX applied to a draft of the present table.
//!
//! Drops come first, so that one statement may drop an index or column and add another of its name.
use catalog::{check_column_name, check_index_name};
use collation::CollationId;
use datum::{SqlError, TypeKind, error_code};
use parser::ast::{
    AlterSpecification as Spec, ColumnAttribute, ColumnDefinition, ColumnPosition, ObjectName,
};
use schema::IndexKind;

use super::check::add_check;
use super::column::{default_of, draft_of_column};
use super::conditions;
use super::create::{add_column, add_elements};
use super::data_type::choose_collation;
use super::draft::{ColumnSource, DefinitionContext, IndexDraft, TableDraft, same_name};
use super::foreign_key::add_foreign_key;
use super::index::draft_of_index;
use super::options::apply_options;

/// What ALTER TABLE asked for beside the new draft.
#[derive(Default)]
pub struct AlterContext<'a> {
    pub rename_to: Option<ObjectName<'a>>,
    pub auto_increment: Option<u64>,
    /// FORCE and ENGINE = .. rebuild the table even when nothing else asks for it.
    pub rebuild: bool,
    /// The default of the table's database, for `CONVERT TO CHARACTER SET DEFAULT`.
    pub database_collation: Option<CollationId>,
}

pub fn apply_alterations<'a>(
    specifications: &[Spec<'a>],
    draft: &mut TableDraft,
    asked: &mut AlterContext<'a>,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    for specification in specifications {
        apply_drop(specification, draft)?;
    }
    draft.indexes.retain(|index| !index.parts.is_empty());
    draft.drop_needless_index_columns();
    check_foreign_key_columns(draft)?;
    draft.check_not_read(&dropped_columns(specifications))?;
    let adds_column =
        |specification: &Spec<'_>| matches!(specification, Spec::AddColumn { .. } | Spec::AddElements(_));
    if draft.columns.is_empty() && !specifications.iter().any(adds_column) {
        return Err(error_code::ER_CANT_REMOVE_ALL_FIELDS.plain());
    }
    let mut before = ColumnsBefore::of(draft);
    for specification in specifications {
        apply(specification, &mut before, draft, asked, context)?;
    }
    if draft.columns.is_empty() {
        return Err(error_code::ER_CANT_REMOVE_ALL_FIELDS.plain());
    }
    draft.check_not_read(&before.renamed(draft))?;
    before.rename_in_keys(draft);
    Ok(())
}

fn dropped_columns(specifications: &[Spec<'_>]) -> Vec<String> {
    let dropped = specifications.iter().filter_map(|specification| match specification {
        Spec::DropColumn(name) => Some(name.name.to_owned()),
        _ => None,
    });
    dropped.collect()
}

/// The columns and indexes that the table keeps, as they were called before: specifications name columns so, and names may be
/// exchanged.
struct ColumnsBefore {
    names: Vec<(String, ColumnSource)>,
    /// Those that a specification has changed or renamed: it is the only one for each.
    taken: Vec<ColumnSource>,
    index_count: usize,
}

impl ColumnsBefore {
    fn of(draft: &TableDraft) -> ColumnsBefore {
        let names = draft.columns.iter().map(|column| (column.definition.name.clone(), column.source));
        ColumnsBefore { names: names.collect(), taken: Vec::new(), index_count: draft.indexes.len() }
    }

    /// Where the column is now that was called so.
    fn find(&self, name: &str, draft: &TableDraft) -> Option<usize> {
        let (_, source) = self.names.iter().find(|(before, _)| same_name(before, name))?;
        draft.columns.iter().position(|column| column.source == *source)
    }

    fn take(&mut self, name: &str, draft: &TableDraft) -> Result<usize, SqlError> {
        let position = self.find(name, draft).filter(|at| !self.taken.contains(&draft.columns[*at].source));
        let position = position.ok_or_else(|| error_code::ER_BAD_FIELD_ERROR.with(&[&name, &draft.name]))?;
        self.taken.push(draft.columns[position].source);
        Ok(position)
    }

    /// The names that columns have given up.
    fn renamed(&self, draft: &TableDraft) -> Vec<String> {
        let is_given_up = |name: &&String| {
            self.find(name, draft).is_some_and(|at| !same_name(&draft.columns[at].definition.name, name))
        };
        self.names.iter().map(|(name, _)| name).filter(is_given_up).cloned().collect()
    }

    /// Keys that were there before follow their columns; new ones name them as they are called now.
    fn rename_in_keys(&self, draft: &mut TableDraft) {
        let now: Vec<(String, String)> = self
            .names
            .iter()
            .filter_map(|(name, _)| {
                let position = self.find(name, draft)?;
                Some((name.clone(), draft.columns[position].definition.name.clone()))
            })
            .filter(|(before, now)| before != now)
            .collect();
        let rename = |column: &mut String| {
            if let Some((_, now)) = now.iter().find(|(before, _)| same_name(before, column)) {
                *column = now.clone();
            }
        };
        let keys = draft.foreign_keys.iter_mut().filter(|key| key.exists);
        keys.flat_map(|key| &mut key.columns).for_each(rename);
        let indexes = draft.indexes[..self.index_count].iter_mut();
        indexes.flat_map(|index| &mut index.parts).for_each(|part| rename(&mut part.column));
    }
}

fn cannot_drop(name: &str) -> SqlError {
    error_code::ER_CANT_DROP_FIELD_OR_KEY.with(&[&name])
}

fn apply_drop(specification: &Spec<'_>, draft: &mut TableDraft) -> Result<(), SqlError> {
    match specification {
        Spec::DropColumn(name) => drop_column(name.name, draft),
        Spec::DropPrimaryKey => drop_index("PRIMARY", draft),
        Spec::DropIndex(name) => drop_index(name.name, draft),
        Spec::DropForeignKey(name) => match drop_foreign_key(name.name, draft) {
            true => Ok(()),
            false => Err(cannot_drop(name.name)),
        },
        Spec::DropCheck(name) => {
            let at = require_check(name.name, draft)?;
            draft.checks.remove(at);
            Ok(())
        }
        Spec::DropConstraint(name) => drop_constraint(name.name, draft),
        _ => Ok(()),
    }
}

/// An index loses the column too. One that has none left goes after all drops, which may name it.
fn drop_column(name: &str, draft: &mut TableDraft) -> Result<(), SqlError> {
    let position = draft.column_position(name).ok_or_else(|| cannot_drop(name))?;
    draft.columns.remove(position);
    for index in &mut draft.indexes {
        let parts_before = index.parts.len();
        index.parts.retain(|part| !same_name(&part.column, name));
        if index.parts.len() != parts_before {
            index.existing = None;
        }
    }
    draft.drop_checks_of(name);
    Ok(())
}

/// Whichever constraint has the name, if only one has.
fn drop_constraint(name: &str, draft: &mut TableDraft) -> Result<(), SqlError> {
    let index = draft.index_position(name).filter(|at| draft.indexes[*at].kind != IndexKind::Plain);
    let check = draft.check_position(name);
    let is_key = draft.foreign_keys.iter().any(|key| same_name(&key.name, name));
    match (index, check, is_key) {
        (Some(_), None, false) => drop_index(name, draft),
        (None, Some(at), false) => {
            draft.checks.remove(at);
            Ok(())
        }
        (None, None, true) => {
            drop_foreign_key(name, draft);
            Ok(())
        }
        (None, None, false) => Err(conditions::ER_CONSTRAINT_NOT_FOUND.with(&[&name])),
        _ => Err(conditions::ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME.with(&[&name])),
    }
}

fn drop_foreign_key(name: &str, draft: &mut TableDraft) -> bool {
    let position = draft.foreign_keys.iter().position(|key| same_name(&key.name, name));
    position.map(|position| draft.foreign_keys.remove(position)).is_some()
}

/// Error 1828 for a dropped column of a foreign key that stays.
fn check_foreign_key_columns(draft: &TableDraft) -> Result<(), SqlError> {
    for key in &draft.foreign_keys {
        if let Some(column) = key.columns.iter().find(|column| draft.column_position(column).is_none()) {
            return Err(error_code::ER_FK_COLUMN_CANNOT_DROP.with(&[column, &key.name]));
        }
    }
    Ok(())
}

fn drop_index(name: &str, draft: &mut TableDraft) -> Result<(), SqlError> {
    let position = draft.index_position(name).ok_or_else(|| cannot_drop(name))?;
    draft.indexes.remove(position);
    Ok(())
}

/// What adds parts or changes columns is done here, what changes one property in `apply_property`.
fn apply<'a>(
    specification: &Spec<'a>,
    before: &mut ColumnsBefore,
    draft: &mut TableDraft,
    asked: &mut AlterContext<'a>,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    match specification {
        Spec::AddColumn { column, position } => {
            add_column(column, draft, context)?;
            move_last_column(draft, position)
        }
        Spec::AddElements(elements) => add_elements(elements, draft, context),
        Spec::AddIndex(index) => add_index(draft_of_index(index, context)?, draft),
        Spec::AddForeignKey(key) => add_foreign_key(key, draft),
        Spec::AddCheck(check) => add_check(check, None, draft, context),
        Spec::ModifyColumn { column, position } => {
            let at = before.take(column.name.name, draft)?;
            change_column(at, column, position, draft, context)
        }
        Spec::ChangeColumn { old_name, column, position } => {
            let at = before.take(old_name.name, draft)?;
            change_column(at, column, position, draft, context)
        }
        Spec::RenameTable(name) => {
            asked.rename_to = Some(*name);
            Ok(())
        }
        Spec::RenameColumn { from, to } => {
            check_column_name(to.name)?;
            let position = before.take(from.name, draft)?;
            draft.columns[position].definition.name = to.name.to_owned();
            Ok(())
        }
        Spec::RenameIndex { from, to } => rename_index(from.name, to.name, draft),
        Spec::Options(options) => {
            let effects = apply_options(options, draft, context)?;
            asked.rebuild |= effects.engine;
            asked.auto_increment = effects.auto_increment.or(asked.auto_increment);
            Ok(())
        }
        Spec::ConvertTo { charset, collation } => {
            let default = asked.database_collation.unwrap_or(draft.collation);
            let collation = choose_collation(*charset, *collation, default)?;
            convert_to(collation, draft)
        }
        Spec::Force => {
            asked.rebuild = true;
            Ok(())
        }
        Spec::DisableKeys | Spec::EnableKeys => {
            let note = conditions::ER_ILLEGAL_HA.with(&[&draft.name]);
            context.conditions.push(note.into_note());
            Ok(())
        }
        _ => apply_property(specification, draft, context),
    }
}

/// Defaults, visibility and enforcement: one property of a column, index or check.
fn apply_property(
    specification: &Spec<'_>,
    draft: &mut TableDraft,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    match specification {
        Spec::AlterColumnSetDefault { column, expr, parenthesized } => {
            let position = require_column(column.name, draft)?;
            require_given(draft, position)?;
            let default =
                default_of(&draft.columns[position].definition, Some((*expr, *parenthesized)), context)?;
            draft.columns[position].definition.default = default;
        }
        Spec::AlterColumnDropDefault(column) => {
            let position = require_column(column.name, draft)?;
            if draft.columns[position].definition.generated.is_none() {
                draft.columns[position].definition.default = schema::ColumnDefault::None;
            }
        }
        Spec::AlterColumnVisible { column, visible } => {
            let position = require_column(column.name, draft)?;
            draft.columns[position].definition.invisible = !visible;
        }
        Spec::AlterIndexVisible { index, visible } => {
            let position = require_index(index.name, draft)?;
            if draft.indexes[position].kind == IndexKind::Primary && !visible {
                return Err(conditions::ER_PK_INDEX_CANT_BE_INVISIBLE.plain());
            }
            draft.indexes[position].invisible = !visible;
        }
        Spec::AlterCheckEnforced { constraint, enforced } => {
            let at = require_check(constraint.name, draft)?;
            draft.checks[at].definition.enforced = *enforced;
        }
        _ => return refuse_unsupported(specification),
    }
    Ok(())
}

/// What is left changes nothing here: drops were done before, and rows have the order of the clustering key, whatever
/// ORDER BY asks.
fn refuse_unsupported(specification: &Spec<'_>) -> Result<(), SqlError> {
    let what = match specification {
        Spec::DiscardTablespace | Spec::ImportTablespace => "transportable tablespaces",
        Spec::SecondaryLoad | Spec::SecondaryUnload => "secondary engines",
        Spec::PartitionBy(_) => "partitioning",
        Spec::RemovePartitioning | Spec::Partition(_) => {
            return Err(error_code::ER_PARTITION_MGMT_ON_NONPARTITIONED.plain());
        }
        _ => return Ok(()),
    };
    Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]))
}

fn add_index(index: IndexDraft, draft: &mut TableDraft) -> Result<(), SqlError> {
    if index.kind == IndexKind::Primary && draft.index_position("PRIMARY").is_some() {
        return Err(error_code::ER_MULTIPLE_PRI_KEY.plain());
    }
    draft.indexes.push(index);
    Ok(())
}

fn require_check(name: &str, draft: &TableDraft) -> Result<usize, SqlError> {
    draft.check_position(name).ok_or_else(|| conditions::ER_CHECK_CONSTRAINT_NOT_FOUND.with(&[&name]))
}

fn require_column(name: &str, draft: &TableDraft) -> Result<usize, SqlError> {
    draft.column_position(name).ok_or_else(|| error_code::ER_BAD_FIELD_ERROR.with(&[&name, &draft.name]))
}

fn require_index(name: &str, draft: &TableDraft) -> Result<usize, SqlError> {
    draft.index_position(name).ok_or_else(|| error_code::ER_KEY_DOES_NOT_EXITS.with(&[&name, &draft.name]))
}

/// No column comes after itself.
fn move_last_column(draft: &mut TableDraft, position: &ColumnPosition<'_>) -> Result<(), SqlError> {
    let column = draft.columns.pop().expect("a column was just added");
    let target = match position {
        ColumnPosition::Last => draft.columns.len(),
        ColumnPosition::First => 0,
        ColumnPosition::After(name) => require_column(name.name, draft)? + 1,
    };
    draft.columns.insert(target, column);
    Ok(())
}

fn change_column(
    at: usize,
    column: &ColumnDefinition<'_>,
    position: &ColumnPosition<'_>,
    draft: &mut TableDraft,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    let mut changed = draft_of_column(column, draft.collation, context)?;
    changed.source = draft.columns[at].source;
    if draft.columns[at].definition.is_virtual() != changed.definition.is_virtual() {
        return Err(
            error_code::ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN.with(&[&"Changing the STORED status"])
        );
    }
    for attribute in column.attributes {
        if let ColumnAttribute::Check(check) = attribute {
            add_check(check, Some(column.name), draft, context)?;
        }
    }
    if matches!(position, ColumnPosition::Last) {
        draft.columns[at] = changed;
    } else {
        draft.columns.remove(at);
        draft.columns.push(changed);
        move_last_column(draft, position)?;
    }
    Ok(())
}

/// A generated column has no default.
fn require_given(draft: &TableDraft, position: usize) -> Result<(), SqlError> {
    match draft.columns[position].definition.generated {
        None => Ok(()),
        Some(_) => Err(error_code::ER_WRONG_USAGE.with(&[&"DEFAULT", &"generated column"])),
    }
}

fn rename_index(from: &str, to: &str, draft: &mut TableDraft) -> Result<(), SqlError> {
    for name in [from, to] {
        if name.eq_ignore_ascii_case("PRIMARY") {
            return Err(error_code::ER_WRONG_NAME_FOR_INDEX.with(&[&name]));
        }
    }
    check_index_name(to)?;
    let position = require_index(from, draft)?;
    if draft.index_position(to).is_some_and(|other| other != position) {
        return Err(error_code::ER_DUP_KEYNAME.with(&[&to]));
    }
    draft.indexes[position].name = to.to_owned();
    Ok(())
}

/// Every text column gets the collation; TEXT grows where its characters need more bytes than before.
fn convert_to(collation: CollationId, draft: &mut TableDraft) -> Result<(), SqlError> {
    draft.collation = collation;
    for column in &mut draft.columns {
        let name = column.definition.name.clone();
        let column_type = &mut column.definition.column_type;
        let before = column_type.collation.charset();
        if column_type.collation == CollationId::BINARY {
            continue;
        }
        let charset = collation.charset();
        let grows = charset.bytes_per_character_max() > before.bytes_per_character_max();
        column_type.kind = match std::mem::replace(&mut column_type.kind, TypeKind::Null) {
            TypeKind::TinyText if grows => TypeKind::Text,
            TypeKind::Text if grows => TypeKind::MediumText,
            TypeKind::MediumText if grows => TypeKind::LongText,
            TypeKind::Enum(members) => TypeKind::Enum(convert_members(&members, before, charset, &name)?),
            TypeKind::Set(members) => TypeKind::Set(convert_members(&members, before, charset, &name)?),
            other => other,
        };
        column_type.collation = collation;
        let limit = 65_535 / charset.bytes_per_character_max();
        if matches!(column_type.kind, TypeKind::VarChar) && column_type.length > limit {
            return Err(error_code::ER_TOO_BIG_FIELDLENGTH.with(&[&name, &limit]));
        }
        debug_assert!(matches!(column.source, ColumnSource::Old(_) | ColumnSource::New));
    }
    Ok(())
}

fn convert_members(
    members: &datum::Members,
    from: collation::Charset,
    to: collation::Charset,
    column: &str,
) -> Result<datum::Members, SqlError> {
    let convert = |member: &[u8]| {
        let converted = from.convert_to(to, member);
        (!converted.is_lossy).then(|| converted.bytes.into_boxed_slice())
    };
    let converted: Option<Vec<Box<[u8]>>> = members.iter().map(|member| convert(member)).collect();
    converted.map(Into::into).ok_or_else(|| error_code::ER_INVALID_DEFAULT.with(&[&column]))
}
