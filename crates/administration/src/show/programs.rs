//! SHOW of stored programs: their lists and the statements that create them.
use catalog::{LiveProgram, ProgramSight};
use datum::{SqlError, Value, error_code};
use parser::ast::{Ident, ObjectName, RoutineKind};
use schema::{EventDef, ProgramDef, ProgramKind};
use std::sync::Arc;

use super::create::statement_column;
use crate::caller::Caller;
use session::{MadeColumn, MadeRows, optional_text};

const TEXT_ENVIRONMENT: [MadeColumn; 3] = [
    MadeColumn::Text("character_set_client", 64),
    MadeColumn::Text("collation_connection", 64),
    MadeColumn::Text("Database Collation", 64),
];

fn environment(definition: &ProgramDef) -> [Value; 3] {
    [&definition.charset_client, &definition.collation_connection, &definition.collation_database]
        .map(Value::bytes)
}

fn definer(definition: &ProgramDef) -> Value {
    Value::bytes(format!("{}@{}", definition.definer_user, definition.definer_host))
}

impl Caller<'_> {
    /// A moment as the session's clock shows it.
    fn local(&self, micros: i64) -> Value {
        self.settings().time_zone.to_local(micros).map_or(Value::Null, Value::DateTime)
    }

    fn local_seconds(&self, micros: i64) -> Value {
        self.local(micros.div_euclid(1_000_000) * 1_000_000)
    }

    pub(super) fn show_triggers(&self, database: Option<Ident<'_>>) -> Result<MadeRows, SqlError> {
        let database = self.shown_database(database)?;
        let columns = [
            MadeColumn::Text("Trigger", 64),
            MadeColumn::Word("Event", 6),
            MadeColumn::Text("Table", 64),
            MadeColumn::ColumnText("Statement"),
            MadeColumn::Word("Timing", 6),
            MadeColumn::Moment("Created", 2),
            MadeColumn::Word("sql_mode", 546),
            MadeColumn::Text("Definer", 288),
        ];
        let mut rows = MadeRows::new(&[&columns[..], &TEXT_ENVIRONMENT].concat()).with_like_column(2);
        let catalog = self.instance().catalog();
        let mut programs = catalog.programs(&database);
        programs.retain(|program| program.definition.kind == ProgramKind::Trigger);
        programs.sort_by_key(|program| {
            let trigger = program.definition.trigger.clone();
            trigger.map(|trigger| (trigger.table, trigger.event, !trigger.is_before, trigger.order))
        });
        for program in programs {
            let definition = &program.definition;
            let Some(trigger) = &definition.trigger else { continue };
            if self.require_table(auth::Privilege::Trigger.into(), &database, &trigger.table).is_err() {
                continue;
            }
            let mut row = vec![
                Value::bytes(&definition.name),
                Value::bytes(trigger.event.word()),
                Value::bytes(&trigger.table),
                Value::bytes(&definition.body),
                Value::bytes(if trigger.is_before { "BEFORE" } else { "AFTER" }),
                self.local(definition.created_us.div_euclid(10_000) * 10_000),
                Value::bytes(definition.sql_mode.to_text()),
                definer(definition),
            ];
            row.extend(environment(definition));
            rows.push(row);
        }
        Ok(rows)
    }

    pub(super) fn show_routine_status(&self, kind: RoutineKind) -> MadeRows {
        let kind = if kind == RoutineKind::Function { ProgramKind::Function } else { ProgramKind::Procedure };
        let columns = [
            MadeColumn::Text("Db", 64),
            MadeColumn::Text("Name", 64),
            MadeColumn::Word("Type", 9),
            MadeColumn::Text("Language", 64),
            MadeColumn::Text("Definer", 288),
            MadeColumn::Moment("Modified", 0),
            MadeColumn::Moment("Created", 0),
            MadeColumn::Word("Security_type", 7),
            MadeColumn::ColumnText("Comment"),
        ];
        let mut rows = MadeRows::new(&[&columns[..], &TEXT_ENVIRONMENT].concat()).with_like_column(1);
        for program in self.instance().catalog().all_programs(kind) {
            let definition = &program.definition;
            if self.sight_of(definition) == ProgramSight::Nothing {
                continue;
            }
            let mut row = vec![
                Value::bytes(&definition.database),
                Value::bytes(&definition.name),
                Value::bytes(kind.word()),
                Value::bytes("SQL"),
                definer(definition),
                self.local_seconds(definition.altered_us),
                self.local_seconds(definition.created_us),
                Value::bytes(if definition.as_invoker { "INVOKER" } else { "DEFINER" }),
                Value::bytes(&definition.comment),
            ];
            row.extend(environment(definition));
            rows.push(row);
        }
        rows
    }

    pub(super) fn show_events(&self, database: Option<Ident<'_>>) -> Result<MadeRows, SqlError> {
        let database = match (database, self.database()) {
            (Some(database), _) => catalog::canonical_database(database.name).to_owned(),
            (None, Some(database)) => database.to_string(),
            (None, None) => return Err(error_code::ER_NO_DB_ERROR.plain()),
        };
        self.require_database(auth::Privilege::Event, &database)?;
        let columns = [
            MadeColumn::Text("Db", 64),
            MadeColumn::Text("Name", 64),
            MadeColumn::Text("Definer", 288),
            MadeColumn::Text("Time zone", 64),
            MadeColumn::Text("Type", 9),
            MadeColumn::DateTime("Execute at"),
            MadeColumn::NullableText("Interval value", 256),
            MadeColumn::NullableText("Interval field", 18),
            MadeColumn::DateTime("Starts"),
            MadeColumn::DateTime("Ends"),
            MadeColumn::Text("Status", 21),
            MadeColumn::Number("Originator"),
        ];
        let mut rows = MadeRows::new(&[&columns[..], &TEXT_ENVIRONMENT].concat()).with_like_column(1);
        for program in self.instance().catalog().programs(&database) {
            let definition = &program.definition;
            let Some(event) = &definition.event else { continue };
            rows.push(self.event_row(definition, event));
        }
        Ok(rows)
    }

    fn event_row(&self, definition: &ProgramDef, event: &EventDef) -> Vec<Value> {
        let zone = self.zone_of(event);
        let moment = |micros: Option<i64>| {
            micros.and_then(|micros| zone.to_local(micros)).map_or(Value::Null, Value::DateTime)
        };
        let every = event.every.as_ref();
        let mut row = vec![
            Value::bytes(&definition.database),
            Value::bytes(&definition.name),
            definer(definition),
            Value::bytes(&event.time_zone),
            Value::bytes(if every.is_some() { "RECURRING" } else { "ONE TIME" }),
            moment(event.at_us),
            optional_text(every.map(|(value, _)| value)),
            optional_text(every.map(|(_, unit)| unit)),
            moment(event.starts_us),
            moment(event.ends_us),
            Value::bytes(event.state.word()),
            Value::UInt(1),
        ];
        row.extend(environment(definition));
        row
    }

    fn zone_of(&self, event: &EventDef) -> datum::TimeZone {
        datum::TimeZone::parse(&event.time_zone).unwrap_or_else(|| self.settings().time_zone.clone())
    }

    /// SHOW CREATE PROCEDURE, FUNCTION, TRIGGER and EVENT.
    pub(super) fn show_create_program(
        &self,
        kind: RoutineKind,
        name: ObjectName<'_>,
    ) -> Result<MadeRows, SqlError> {
        let (database, name) = self.program_name(name)?;
        let table = definition::TableName { database, name };
        let catalog = self.instance().catalog();
        let find = |kind| catalog.program(kind, &table.database, &table.name);
        match kind {
            RoutineKind::Procedure | RoutineKind::Function => {
                let is_function = kind == RoutineKind::Function;
                let kind = if is_function { ProgramKind::Function } else { ProgramKind::Procedure };
                let absent = || error_code::ER_SP_DOES_NOT_EXIST.with(&[&kind.word(), &table.name]);
                let program = find(kind)
                    .filter(|program| self.sight_of(&program.definition) != ProgramSight::Nothing)
                    .ok_or_else(absent)?;
                Ok(self.routine_created(&program, is_function))
            }
            RoutineKind::Trigger => {
                let program = find(ProgramKind::Trigger);
                let program = program.ok_or_else(|| error_code::ER_TRG_DOES_NOT_EXIST.plain())?;
                let of = program.definition.trigger.as_ref().map_or("", |trigger| trigger.table.as_str());
                self.require_table(auth::Privilege::Trigger.into(), &table.database, of)?;
                Ok(self.trigger_created(&program))
            }
            RoutineKind::Event => {
                self.require_database(auth::Privilege::Event, &table.database)?;
                let absent = || error_code::ER_EVENT_DOES_NOT_EXIST.with(&[&table.name]);
                Ok(self.event_created(&*find(ProgramKind::Event).ok_or_else(absent)?))
            }
        }
    }

    fn routine_created(&self, program: &Arc<LiveProgram>, is_function: bool) -> MadeRows {
        let names =
            if is_function { ("Function", "Create Function") } else { ("Procedure", "Create Procedure") };
        let columns = [
            MadeColumn::Text(names.0, 64),
            MadeColumn::Text("sql_mode", 546),
            MadeColumn::NullableText(names.1, 65_535 / 3),
        ];
        let mut rows = MadeRows::new(&[&columns[..], &TEXT_ENVIRONMENT].concat());
        let definition = &program.definition;
        let text =
            (self.sight_of(definition) == ProgramSight::Whole).then(|| definition.create_routine_text());
        let mut row = vec![
            Value::bytes(&definition.name),
            Value::bytes(definition.sql_mode.to_text()),
            optional_text(text),
        ];
        row.extend(environment(definition));
        rows.push(row);
        rows
    }

    fn trigger_created(&self, program: &LiveProgram) -> MadeRows {
        let text = program.definition.create_trigger_text();
        let columns = [
            MadeColumn::Text("Trigger", 64),
            MadeColumn::Text("sql_mode", 546),
            statement_column("SQL Original Statement", &text),
        ];
        let created = [MadeColumn::Moment("Created", 2)];
        let mut rows = MadeRows::new(&[&columns[..], &TEXT_ENVIRONMENT, &created].concat());
        let definition = &program.definition;
        let mut row = vec![
            Value::bytes(&definition.name),
            Value::bytes(definition.sql_mode.to_text()),
            Value::bytes(text),
        ];
        row.extend(environment(definition));
        row.push(self.local(definition.created_us.div_euclid(10_000) * 10_000));
        rows.push(row);
        rows
    }

    fn event_created(&self, program: &LiveProgram) -> MadeRows {
        let columns = [
            MadeColumn::Text("Event", 64),
            MadeColumn::Text("sql_mode", 546),
            MadeColumn::Text("time_zone", 64),
            MadeColumn::LongText("Create Event"),
        ];
        let mut rows = MadeRows::new(&[&columns[..], &TEXT_ENVIRONMENT].concat());
        let definition = &program.definition;
        let Some(event) = &definition.event else { return rows };
        let zone = self.zone_of(event);
        let seconds = datum::ColumnType::new(datum::TypeKind::DateTime { fsp: 0 });
        let local = |micros: i64| {
            let moment = zone.to_local(micros).map_or(Value::Null, Value::DateTime);
            String::from_utf8_lossy(&moment.to_text(&seconds)).into_owned()
        };
        let mut row = vec![
            Value::bytes(&definition.name),
            Value::bytes(definition.sql_mode.to_text()),
            Value::bytes(&event.time_zone),
            Value::bytes(definition.create_event_text(&local)),
        ];
        row.extend(environment(definition));
        rows.push(row);
        rows
    }
}
