//! CREATE TABLE with a list of columns.
use catalog::{NAME_LENGTH_MAX, check_table_name};
use collation::CollationId;
use datum::SqlError;
use parser::ast::{ColumnAttribute, ColumnDefinition, CreateTable, TableElement};

use super::check::add_check;
use super::column::draft_of_column;
use super::draft::{DefinitionContext, TableDraft};
use super::foreign_key::{add_column_reference, add_foreign_key};
use super::index::draft_of_index;
use super::options::{apply_options, choose_engine};

const _: () = assert!(NAME_LENGTH_MAX == 64, "error 1059 names the limit only implicitly");

/// The draft of a CREATE TABLE that has elements (LIKE and SELECT are the caller's).
pub fn draft_of_create(
    statement: &CreateTable<'_>,
    database: &str,
    database_collation: CollationId,
    context: &mut DefinitionContext<'_>,
) -> Result<TableDraft, SqlError> {
    let name = statement.name.name.name;
    check_table_name(name)?;
    let mut draft = TableDraft::new(database, name, database_collation);
    let effects = apply_options(statement.options, &mut draft, context)?;
    if !effects.engine {
        let engine = context.default_engine.to_owned();
        draft.engine = choose_engine(&engine, name, context)?;
    }
    add_elements(statement.elements, &mut draft, context)?;
    Ok(draft)
}

/// A new last column, with the foreign key and the constraints that it brings along.
pub fn add_column(
    column: &ColumnDefinition<'_>,
    draft: &mut TableDraft,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    let made = draft_of_column(column, draft.collation, context)?;
    draft.columns.push(made);
    for attribute in column.attributes {
        match attribute {
            ColumnAttribute::References(references) => add_column_reference(column.name, references, draft)?,
            ColumnAttribute::Check(check) => add_check(check, Some(column.name), draft, context)?,
            _ => {}
        }
    }
    Ok(())
}

pub fn add_elements(
    elements: &[TableElement<'_>],
    draft: &mut TableDraft,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    for element in elements {
        match element {
            TableElement::Column(column) => {
                add_column(column, draft, context)?;
            }
            TableElement::Index(index) => {
                let index = draft_of_index(index, context)?;
                draft.indexes.push(index);
            }
            TableElement::ForeignKey(key) => add_foreign_key(key, draft)?,
            TableElement::Check(check) => add_check(check, None, draft, context)?,
        }
    }
    Ok(())
}
