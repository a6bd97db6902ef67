//! `ROUTINES`, `PARAMETERS`, `TRIGGERS` and `EVENTS`
//!
//! What parameters are is read from the text of their program, as it is when the program runs.
use std::sync::Arc;

use bumpalo::Bump;
use collation::CollationId;
use datum::{ColumnType, SqlMode, TimeZone, Value};
use parser::ast::{DataType, ParameterMode, StatementKind};
use parser::{ParseOptions, parse};
use schema::{ProgramDef, ProgramKind, type_text};

use super::columns::{data_type, datetime_precision, lengths, numeric};
use crate::view::{ViewColumn::*, ViewSource, catalog_name};
use catalog::{Catalog, LiveProgram, ProgramSight, Viewer};

pub(super) const ROUTINES: ViewSource = ViewSource {
    name: "ROUTINES",
    columns: &[
        Text("SPECIFIC_NAME", 64),
        Text("ROUTINE_CATALOG", 64),
        Text("ROUTINE_SCHEMA", 64),
        Text("ROUTINE_NAME", 64),
        Text("ROUTINE_TYPE", 9),
        NullLongText("DATA_TYPE"),
        NullNumber("CHARACTER_MAXIMUM_LENGTH"),
        NullNumber("CHARACTER_OCTET_LENGTH"),
        NullNumber("NUMERIC_PRECISION"),
        NullNumber("NUMERIC_SCALE"),
        NullNumber("DATETIME_PRECISION"),
        NullText("CHARACTER_SET_NAME", 64),
        NullText("COLLATION_NAME", 64),
        NullLongText("DTD_IDENTIFIER"),
        Text("ROUTINE_BODY", 8),
        NullLongText("ROUTINE_DEFINITION"),
        NullText("EXTERNAL_NAME", 1),
        Text("EXTERNAL_LANGUAGE", 64),
        Text("PARAMETER_STYLE", 3),
        Text("IS_DETERMINISTIC", 3),
        Text("SQL_DATA_ACCESS", 17),
        NullText("SQL_PATH", 1),
        Text("SECURITY_TYPE", 7),
        DateTime("CREATED"),
        DateTime("LAST_ALTERED"),
        Text("SQL_MODE", 546),
        LongText("ROUTINE_COMMENT"),
        Text("DEFINER", 288),
        Text("CHARACTER_SET_CLIENT", 64),
        Text("COLLATION_CONNECTION", 64),
        Text("DATABASE_COLLATION", 64),
    ],
    late: None,
    rows: |catalog, viewer| {
        let routines = routines(catalog, viewer);
        routines.iter().map(|(program, sight)| routine_row(&program.definition, *sight, viewer)).collect()
    },
};

pub(super) const PARAMETERS: ViewSource = ViewSource {
    name: "PARAMETERS",
    columns: &[
        Text("SPECIFIC_CATALOG", 64),
        Text("SPECIFIC_SCHEMA", 64),
        Text("SPECIFIC_NAME", 64),
        Number("ORDINAL_POSITION"),
        NullText("PARAMETER_MODE", 5),
        NullText("PARAMETER_NAME", 64),
        NullLongText("DATA_TYPE"),
        NullNumber("CHARACTER_MAXIMUM_LENGTH"),
        NullNumber("CHARACTER_OCTET_LENGTH"),
        NullNumber("NUMERIC_PRECISION"),
        NullNumber("NUMERIC_SCALE"),
        NullNumber("DATETIME_PRECISION"),
        NullText("CHARACTER_SET_NAME", 64),
        NullText("COLLATION_NAME", 64),
        LongText("DTD_IDENTIFIER"),
        Text("ROUTINE_TYPE", 9),
    ],
    late: None,
    rows: |catalog, viewer| {
        let routines = routines(catalog, viewer);
        routines.iter().flat_map(|(program, _)| parameter_rows(&program.definition)).collect()
    },
};

pub(super) const TRIGGERS: ViewSource = ViewSource {
    name: "TRIGGERS",
    columns: &[
        Text("TRIGGER_CATALOG", 64),
        Text("TRIGGER_SCHEMA", 64),
        Text("TRIGGER_NAME", 64),
        Text("EVENT_MANIPULATION", 6),
        Text("EVENT_OBJECT_CATALOG", 64),
        Text("EVENT_OBJECT_SCHEMA", 64),
        Text("EVENT_OBJECT_TABLE", 64),
        Number("ACTION_ORDER"),
        NullText("ACTION_CONDITION", 1),
        LongText("ACTION_STATEMENT"),
        Text("ACTION_ORIENTATION", 3),
        Text("ACTION_TIMING", 6),
        NullText("ACTION_REFERENCE_OLD_TABLE", 1),
        NullText("ACTION_REFERENCE_NEW_TABLE", 1),
        Text("ACTION_REFERENCE_OLD_ROW", 3),
        Text("ACTION_REFERENCE_NEW_ROW", 3),
        DateTime("CREATED"),
        Text("SQL_MODE", 546),
        Text("DEFINER", 288),
        Text("CHARACTER_SET_CLIENT", 64),
        Text("COLLATION_CONNECTION", 64),
        Text("DATABASE_COLLATION", 64),
    ],
    late: None,
    rows: |catalog, viewer| {
        let triggers = catalog.all_programs(ProgramKind::Trigger);
        triggers.iter().filter_map(|program| trigger_row(&program.definition, viewer)).collect()
    },
};

pub(super) const EVENTS: ViewSource = ViewSource {
    name: "EVENTS",
    columns: &[
        Text("EVENT_CATALOG", 64),
        Text("EVENT_SCHEMA", 64),
        Text("EVENT_NAME", 64),
        Text("DEFINER", 288),
        Text("TIME_ZONE", 64),
        Text("EVENT_BODY", 3),
        LongText("EVENT_DEFINITION"),
        Text("EVENT_TYPE", 9),
        NullDateTime("EXECUTE_AT"),
        NullText("INTERVAL_VALUE", 256),
        NullText("INTERVAL_FIELD", 18),
        Text("SQL_MODE", 546),
        NullDateTime("STARTS"),
        NullDateTime("ENDS"),
        Text("STATUS", 21),
        Text("ON_COMPLETION", 12),
        DateTime("CREATED"),
        DateTime("LAST_ALTERED"),
        NullDateTime("LAST_EXECUTED"),
        Text("EVENT_COMMENT", 2048),
        Number("ORIGINATOR"),
        Text("CHARACTER_SET_CLIENT", 64),
        Text("COLLATION_CONNECTION", 64),
        Text("DATABASE_COLLATION", 64),
    ],
    late: None,
    rows: |catalog, viewer| {
        let events = catalog.all_programs(ProgramKind::Event);
        events.iter().filter_map(|program| event_row(&program.definition, viewer)).collect()
    },
};

/// The routines that the viewer may know of.
fn routines(catalog: &Catalog, viewer: &Viewer) -> Vec<(Arc<LiveProgram>, ProgramSight)> {
    let all = [ProgramKind::Function, ProgramKind::Procedure].map(|kind| catalog.all_programs(kind));
    let seen = all.into_iter().flatten().map(|program| {
        let sight = (viewer.program_sight)(&program.definition);
        (program, sight)
    });
    seen.filter(|(_, sight)| *sight != ProgramSight::Nothing).collect()
}

fn moment(micros: i64, zone: &TimeZone) -> Value {
    let seconds = micros.div_euclid(1_000_000) * 1_000_000;
    zone.to_local(seconds).map_or(Value::Null, Value::DateTime)
}

fn definer(definition: &ProgramDef) -> Value {
    Value::bytes(format!("{}@{}", definition.definer_user, definition.definer_host))
}

fn environment(definition: &ProgramDef) -> [Value; 3] {
    [&definition.charset_client, &definition.collation_connection, &definition.collation_database]
        .map(Value::bytes)
}

/// Types as the columns of both views show them, from DATA_TYPE to COLLATION_NAME.
fn type_columns(column_type: &ColumnType) -> Vec<Value> {
    let optional = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
    let (characters, octets) = lengths(column_type);
    let (precision, scale) = numeric(column_type);
    let is_text = column_type.collation != CollationId::BINARY;
    let text = |text: &str| if is_text { Value::bytes(text) } else { Value::Null };
    vec![
        Value::bytes(data_type(column_type)),
        optional(characters),
        optional(octets),
        optional(precision),
        optional(scale),
        optional(datetime_precision(&column_type.kind)),
        text(column_type.collation.charset().name()),
        text(column_type.collation.name()),
    ]
}

/// Mode, name and type of each parameter; a function's result comes first and has neither mode nor name.
fn signature(definition: &ProgramDef) -> Vec<(Option<ParameterMode>, Option<String>, ColumnType)> {
    let (text, _) = definition.source();
    let arena = Bump::new();
    let has = |flag| definition.sql_mode.contains(flag);
    let mode = parser::SqlMode {
        ansi_quotes: has(SqlMode::ANSI_QUOTES),
        pipes_as_concat: has(SqlMode::PIPES_AS_CONCAT),
        no_backslash_escapes: has(SqlMode::NO_BACKSLASH_ESCAPES),
        high_not_precedence: has(SqlMode::HIGH_NOT_PRECEDENCE),
        ignore_space: has(SqlMode::IGNORE_SPACE),
        real_as_float: has(SqlMode::REAL_AS_FLOAT),
    };
    let Ok(parsed) = parse(text.as_bytes(), ParseOptions { mode, parameters: false }, &arena) else {
        return Vec::new();
    };
    let StatementKind::CreateProgram(create) = parsed.statement.kind else { return Vec::new() };
    let table_collation =
        CollationId::by_name(&definition.collation_database).unwrap_or(CollationId::UTF8MB4_0900_AI_CI);
    let type_of = |data_type: &DataType<'_>| {
        let mut conditions = Vec::new();
        let mut context = definition::TypeContext {
            column: "",
            table_collation,
            is_strict: true,
            conditions: &mut conditions,
        };
        definition::column_type(data_type, &mut context).ok()
    };
    let mut all = Vec::new();
    if let Some(column_type) = create.returns.and_then(|returns| type_of(&returns.data_type)) {
        all.push((None, None, column_type));
    }
    for parameter in create.parameters {
        if let Some(column_type) = type_of(&parameter.data_type) {
            all.push((Some(parameter.mode), Some(parameter.name.name.to_owned()), column_type));
        }
    }
    all
}

fn routine_row(definition: &ProgramDef, sight: ProgramSight, viewer: &Viewer) -> Vec<Value> {
    let word = |text: &str| Value::bytes(text);
    let mut row = vec![
        word(&definition.name),
        catalog_name(),
        word(&definition.database),
        word(&definition.name),
        word(definition.kind.word()),
    ];
    match signature(definition).first() {
        Some((None, None, returns)) => {
            row.extend(type_columns(returns));
            row.push(Value::bytes(type_text(returns)));
        }
        _ => {
            row.push(word(""));
            row.extend((0..8).map(|_| Value::Null));
        }
    }
    let body = if sight == ProgramSight::Whole { word(&definition.body) } else { Value::Null };
    row.extend([
        word("SQL"),
        body,
        Value::Null,
        word("SQL"),
        word("SQL"),
        word(if definition.is_deterministic { "YES" } else { "NO" }),
        word(definition.access.words()),
        Value::Null,
        word(if definition.as_invoker { "INVOKER" } else { "DEFINER" }),
        moment(definition.created_us, &viewer.time_zone),
        moment(definition.altered_us, &viewer.time_zone),
        Value::bytes(definition.sql_mode.to_text()),
        word(&definition.comment),
        definer(definition),
    ]);
    row.extend(environment(definition));
    row
}

fn parameter_rows(definition: &ProgramDef) -> Vec<Vec<Value>> {
    let signature = signature(definition);
    let has_result = signature.first().is_some_and(|(mode, _, _)| mode.is_none());
    let rows = signature.into_iter().enumerate().map(|(number, (mode, name, column_type))| {
        let mode = mode.map(|mode| match mode {
            ParameterMode::In => "IN",
            ParameterMode::Out => "OUT",
            ParameterMode::InOut => "INOUT",
        });
        let mut row = vec![
            catalog_name(),
            Value::bytes(&definition.database),
            Value::bytes(&definition.name),
            Value::UInt(number as u64 + u64::from(!has_result)),
            mode.map_or(Value::Null, Value::bytes),
            name.map_or(Value::Null, Value::bytes),
        ];
        row.extend(type_columns(&column_type));
        row.push(Value::bytes(type_text(&column_type)));
        row.push(Value::bytes(definition.kind.word()));
        row
    });
    rows.collect()
}

fn trigger_row(definition: &ProgramDef, viewer: &Viewer) -> Option<Vec<Value>> {
    let trigger = definition.trigger.as_ref()?;
    if (viewer.program_sight)(definition) == ProgramSight::Nothing {
        return None;
    }
    let word = |text: &str| Value::bytes(text);
    let mut row = vec![
        catalog_name(),
        word(&definition.database),
        word(&definition.name),
        word(trigger.event.word()),
        catalog_name(),
        word(&definition.database),
        word(&trigger.table),
        Value::UInt(u64::from(trigger.order)),
        Value::Null,
        word(&definition.body),
        word("ROW"),
        word(if trigger.is_before { "BEFORE" } else { "AFTER" }),
        Value::Null,
        Value::Null,
        word("OLD"),
        word("NEW"),
        moment(definition.created_us, &viewer.time_zone),
        Value::bytes(definition.sql_mode.to_text()),
        definer(definition),
    ];
    row.extend(environment(definition));
    Some(row)
}

fn event_row(definition: &ProgramDef, viewer: &Viewer) -> Option<Vec<Value>> {
    let event = definition.event.as_ref()?;
    if (viewer.program_sight)(definition) == ProgramSight::Nothing {
        return None;
    }
    let zone = TimeZone::parse(&event.time_zone).unwrap_or_else(|| viewer.time_zone.clone());
    let optional = |micros: Option<i64>| micros.map_or(Value::Null, |micros| moment(micros, &zone));
    let word = |text: &str| Value::bytes(text);
    let every = event.every.as_ref();
    let mut row = vec![
        catalog_name(),
        word(&definition.database),
        word(&definition.name),
        definer(definition),
        word(&event.time_zone),
        word("SQL"),
        word(&definition.body),
        word(if every.is_some() { "RECURRING" } else { "ONE TIME" }),
        optional(event.at_us),
        every.map_or(Value::Null, |(value, _)| Value::bytes(value)),
        every.map_or(Value::Null, |(_, unit)| word(unit)),
        Value::bytes(definition.sql_mode.to_text()),
        optional(event.starts_us),
        optional(event.ends_us),
        word(event.state.word()),
        word(if event.preserves { "PRESERVE" } else { "NOT PRESERVE" }),
        moment(definition.created_us, &viewer.time_zone),
        moment(definition.altered_us, &viewer.time_zone),
        optional(event.last_executed_us),
        word(&definition.comment),
        Value::UInt(1),
    ];
    row.extend(environment(definition));
    Some(row)
}
