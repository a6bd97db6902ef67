//! From the stored text of a program to its instructions, once for all sessions.
//!
//! Invariant: what is shared was made from the definition under whose number it stands, and a trigger's for the columns
//! that its table has now.
use std::sync::Arc;

use bumpalo::Bump;
use catalog::LiveProgram;
use collation::CollationId;
use datum::{ColumnType, SqlError, error_code};
use instance::SharedProgram;
use parser::ast::{CreateProgram, DataType, StatementKind};
use parser::{ParseOptions, parse};
use program::Program;
use schema::{ProgramDef, ProgramKind, TableDef};
use variables::Settings;

use crate::session::Session;
use crate::statement::parse_error;

impl Session {
    /// The program as it is run.
    pub fn shared_program(&self, live: &Arc<LiveProgram>) -> Result<Arc<SharedProgram>, SqlError> {
        let table = self.table_of_trigger(&live.definition)?;
        if let Some(shared) = self.instance.programs.get(live.id) {
            let is_same = match (&shared.table, &table) {
                (Some(known), Some(present)) => Arc::ptr_eq(known, present),
                _ => true,
            };
            if is_same {
                return Ok(shared);
            }
        }
        let program = self.read_program(&live.definition)?;
        let shared = Arc::new(shared_of(live.clone(), program, table)?);
        self.instance.programs.put(shared.clone());
        Ok(shared)
    }

    fn table_of_trigger(&self, definition: &ProgramDef) -> Result<Option<Arc<TableDef>>, SqlError> {
        let Some(trigger) = &definition.trigger else { return Ok(None) };
        let table = self.instance.catalog().require_table(&definition.database, &trigger.table)?;
        Ok(Some(table.definition().clone()))
    }

    /// The instructions of a definition's text; its errors are those of the text.
    pub fn read_program(&self, definition: &ProgramDef) -> Result<Program, SqlError> {
        let (text, _) = definition.source();
        let settings = Settings { sql_mode: definition.sql_mode, ..(*self.settings).clone() };
        let options = ParseOptions { mode: settings.parser_mode(false), parameters: false };
        let arena = Bump::new();
        let parsed = parse(text.as_bytes(), options, &arena).map_err(|error| parse_error(&error))?;
        match parsed.statement.kind {
            StatementKind::CreateProgram(create) => {
                self.compile_program(create, &text, options.mode, &definition.collation_database)
            }
            _ => Err(error_code::ER_INTERNAL_ERROR.with(&[&"a stored program is no program"])),
        }
    }

    /// The instructions of a CREATE that has been parsed.
    pub fn compile_program(
        &self,
        create: &CreateProgram<'_>,
        text: &str,
        mode: parser::SqlMode,
        database_collation: &str,
    ) -> Result<Program, SqlError> {
        let table_collation =
            CollationId::by_name(database_collation).unwrap_or(CollationId::UTF8MB4_0900_AI_CI);
        let type_of = |data_type: &DataType<'_>, name: &str| -> Result<ColumnType, SqlError> {
            let mut conditions = Vec::new();
            let mut context = definition::TypeContext {
                column: name,
                table_collation,
                is_strict: true,
                conditions: &mut conditions,
            };
            definition::column_type(data_type, &mut context)
        };
        program::compile(create, text, mode, &type_of)
    }
}

/// Joins a trigger's columns to those of its table: error 1054 for one that is not there.
pub fn shared_of(
    live: Arc<LiveProgram>,
    program: Program,
    table: Option<Arc<TableDef>>,
) -> Result<SharedProgram, SqlError> {
    let mut types: Vec<Option<ColumnType>> =
        program.slots.iter().map(|slot| slot.column_type.clone()).collect();
    let mut positions = Vec::with_capacity(program.row_columns.len());
    if let Some(table) = &table {
        for column in &program.row_columns {
            let row = if column.is_new { "NEW" } else { "OLD" };
            let found = table
                .columns
                .iter()
                .position(|own| !own.hidden && own.name.to_lowercase() == column.name.to_lowercase());
            let position = found.ok_or_else(|| error_code::ER_BAD_FIELD_ERROR.with(&[&column.name, &row]))?;
            let definition = &table.columns[position];
            if column.is_assigned && definition.generated.is_some() {
                return Err(ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN.with(&[&definition.name, &table.name]));
            }
            types[column.slot] = Some(ColumnType { nullable: true, ..definition.column_type.clone() });
            positions.push(position);
        }
    }
    Ok(SharedProgram::new(live, program, table, positions, types))
}

/// The kind of a program as the dictionary has it.
pub fn program_kind(kind: parser::ast::RoutineKind) -> ProgramKind {
    match kind {
        parser::ast::RoutineKind::Procedure => ProgramKind::Procedure,
        parser::ast::RoutineKind::Function => ProgramKind::Function,
        parser::ast::RoutineKind::Trigger => ProgramKind::Trigger,
        parser::ast::RoutineKind::Event => ProgramKind::Event,
    }
}

const ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN: datum::ErrorCode = datum::ErrorCode::new(
    3105,
    "HY000",
    "The value specified for generated column '%s' in table '%s' is not allowed.",
);
