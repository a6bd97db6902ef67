//! CREATE TABLE with a list of columns.
use catalog::{NAME_LENGTH_MAX, check_table_name};
use collation::CollationId;
use datum::{SqlError, error_code};
use parser::ast::{CreateTable, TableElement};

use super::column::draft_of_column;
use super::draft::{DefinitionContext, TableDraft};
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

pub fn add_elements(
    elements: &[TableElement<'_>],
    draft: &mut TableDraft,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    for element in elements {
        match element {
            TableElement::Column(column) => {
                let column = draft_of_column(column, draft.collation, context)?;
                draft.columns.push(column);
            }
            TableElement::Index(index) => {
                let index = draft_of_index(index, context)?;
                draft.indexes.push(index);
            }
            TableElement::ForeignKey(_) => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"foreign keys"]));
            }
            TableElement::Check(_) => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"CHECK constraints"]));
            }
        }
    }
    Ok(())
}
