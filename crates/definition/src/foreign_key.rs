//! One foreign key of CREATE or ALTER TABLE: its words, its name, the index that it brings along.
//!
//! What depends on other tables (is the parent there, does it fit) is `statement::foreign_key`'s.
use catalog::{check_column_name, check_database_name, check_index_name, check_table_name};
use datum::{SqlError, error_code};
use parser::ast::{ForeignKey, Ident, MatchKind, References, ReferentialAction as Written};
use schema::{
    ForeignKeyDef, IndexKind, MatchOption, ReferentialAction, TableDef, generated_name, generated_number,
};

use super::draft::{IndexDraft, PartDraft, TableDraft, same_name};
use crate::draft::ForeignKeyDraft;

/// `[CONSTRAINT name] FOREIGN KEY [index] (columns) REFERENCES ..`
pub fn add_foreign_key(key: &ForeignKey<'_>, draft: &mut TableDraft) -> Result<(), SqlError> {
    let names = |names: &[Ident<'_>]| names.iter().map(|name| name.name.to_owned()).collect::<Vec<_>>();
    let columns = names(key.columns);
    for name in key.constraint.iter().chain(&key.index_name) {
        check_index_name(name.name)?;
    }
    let name = key.constraint.map(|name| name.name.to_owned()).unwrap_or_default();
    if !key.references.columns.is_empty() && key.references.columns.len() != columns.len() {
        let shown = if name.is_empty() { "foreign key without name" } else { &name };
        let what = "Key reference and table reference don't match";
        return Err(error_code::ER_WRONG_FK_DEF.with(&[&shown, &what]));
    }
    let index_name = key.constraint.or(key.index_name).map(|name| name.name);
    draft.indexes.push(generated_index(index_name.unwrap_or_default(), &columns));
    let parent = key.references.table;
    parent.database.iter().try_for_each(|database| check_database_name(database.name))?;
    let wrong_table = |_| error_code::ER_WRONG_TABLE_NAME.with(&[&parent.name.name]);
    check_table_name(parent.name.name).map_err(wrong_table)?;
    for column in key.references.columns {
        check_column_name(column.name).map_err(|_| error_code::ER_WRONG_COLUMN_NAME.with(&[&column.name]))?;
    }
    draft.foreign_keys.push(ForeignKeyDraft {
        name,
        exists: false,
        columns,
        parent_database: parent.database.map_or(&*draft.database, |database| database.name).to_owned(),
        parent_table: parent.name.name.to_owned(),
        parent_columns: names(key.references.columns),
        match_option: match key.references.match_kind {
            None | Some(MatchKind::Simple) => MatchOption::None,
            Some(MatchKind::Partial) => MatchOption::Partial,
            Some(MatchKind::Full) => MatchOption::Full,
        },
        on_delete: action(key.references.on_delete),
        on_update: action(key.references.on_update),
    });
    Ok(())
}

/// `column type REFERENCES ..`
pub fn add_column_reference(
    column: Ident<'_>,
    references: &References<'_>,
    draft: &mut TableDraft,
) -> Result<(), SqlError> {
    let columns = &[column];
    let key = ForeignKey { constraint: None, index_name: None, columns, references: *references };
    add_foreign_key(&key, draft)
}

fn action(written: Option<Written>) -> ReferentialAction {
    match written {
        None | Some(Written::NoAction) => ReferentialAction::NoAction,
        Some(Written::Restrict) => ReferentialAction::Restrict,
        Some(Written::Cascade) => ReferentialAction::Cascade,
        Some(Written::SetNull) => ReferentialAction::SetNull,
        Some(Written::SetDefault) => ReferentialAction::SetDefault,
    }
}

fn generated_index(name: &str, columns: &[String]) -> IndexDraft {
    let part = |column: &String| PartDraft { column: column.clone(), ..PartDraft::default() };
    IndexDraft {
        existing: None,
        name: name.to_owned(),
        kind: IndexKind::Plain,
        parts: columns.iter().map(part).collect(),
        invisible: false,
        generated: true,
        comment: String::new(),
    }
}

/// The draft's form of a key that the table has.
pub fn foreign_key_draft(key: &ForeignKeyDef, table: &TableDef) -> ForeignKeyDraft {
    ForeignKeyDraft {
        name: key.name.clone(),
        exists: true,
        columns: key.columns.iter().map(|&column| table.columns[column].name.clone()).collect(),
        parent_database: key.parent_database.clone(),
        parent_table: key.parent_table.clone(),
        parent_columns: key.parent_columns.clone(),
        match_option: key.match_option,
        on_delete: key.on_delete,
        on_update: key.on_update,
    }
}

/// Removes indexes that were made for foreign keys and whose work another does. Of two that do the same the later
/// stays, but one that somebody asked for always does.
pub fn drop_redundant_indexes(draft: &mut TableDraft) {
    let mut is_dropped = vec![false; draft.indexes.len()];
    for later in 0..draft.indexes.len() {
        for earlier in 0..later {
            let (first, second) = (&draft.indexes[earlier], &draft.indexes[later]);
            if is_dropped[earlier] || is_dropped[later] || !is_redundant_pair(first, second) {
                continue;
            }
            let later_goes = !first.generated || second.generated && second.parts.len() < first.parts.len();
            is_dropped[if later_goes { later } else { earlier }] = true;
        }
    }
    let mut dropped = is_dropped.iter();
    draft.indexes.retain(|_| !dropped.next().is_some_and(|dropped| *dropped));
}

/// Whether one of the two is generated and begins the other, in the same order.
fn is_redundant_pair(first: &IndexDraft, second: &IndexDraft) -> bool {
    let (shorter, longer) = match (first.generated, second.generated) {
        (false, false) => return false,
        (true, true) if first.parts.len() > second.parts.len() => (second, first),
        (true, _) => (first, second),
        (false, true) => (second, first),
    };
    // Not all rows have entries in a multi-valued index.
    shorter.parts.len() <= longer.parts.len()
        && !longer.parts.iter().any(PartDraft::is_array)
        && shorter.parts.iter().zip(&longer.parts).all(|(short, long)| {
            same_name(&short.column, &long.column)
                && short.prefix_length == long.prefix_length
                && short.descending == long.descending
        })
}

/// Names the nameless; error 1826 for a name that comes twice.
pub fn name_foreign_keys(draft: &mut TableDraft) -> Result<(), SqlError> {
    let mut number = draft.foreign_key_number;
    for key in &mut draft.foreign_keys {
        if key.name.is_empty() {
            number += 1;
            key.name = generated_name(&draft.name, number);
            check_index_name(&key.name)?;
        }
    }
    for (position, key) in draft.foreign_keys.iter().enumerate() {
        if draft.foreign_keys[..position].iter().any(|earlier| same_name(&earlier.name, &key.name)) {
            return Err(error_code::ER_FK_DUP_NAME.with(&[&key.name]));
        }
    }
    Ok(())
}

/// The largest number in the names that were generated for a table's keys.
pub fn last_generated_number(table: &TableDef) -> u32 {
    let numbers = table.foreign_keys.iter().filter_map(|key| generated_number(&key.name, &table.name));
    numbers.max().unwrap_or(0)
}

/// The descriptors, in the order of their names. SET NULL needs columns that may be NULL.
pub fn foreign_keys_of(draft: &TableDraft) -> Result<Vec<ForeignKeyDef>, SqlError> {
    let mut keys = Vec::with_capacity(draft.foreign_keys.len());
    for key in &draft.foreign_keys {
        let mut columns = Vec::with_capacity(key.columns.len());
        let sets_null = [key.on_delete, key.on_update].contains(&ReferentialAction::SetNull);
        for name in &key.columns {
            let position = draft.column_position(name);
            let position = position.ok_or_else(|| error_code::ER_KEY_COLUMN_DOES_NOT_EXITS.with(&[name]))?;
            let definition = &draft.columns[position].definition;
            if sets_null && !definition.nullable() {
                return Err(error_code::ER_FK_COLUMN_NOT_NULL.with(&[&definition.name, &key.name]));
            }
            columns.push(position);
        }
        keys.push(ForeignKeyDef {
            name: key.name.clone(),
            columns,
            parent_database: key.parent_database.clone(),
            parent_table: key.parent_table.clone(),
            parent_columns: key.parent_columns.clone(),
            match_option: key.match_option,
            on_delete: key.on_delete,
            on_update: key.on_update,
        });
    }
    keys.sort_by_cached_key(|key| key.name.to_lowercase());
    Ok(keys)
}
