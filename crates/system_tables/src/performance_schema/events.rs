//! Statements one by one: `events_statements_current`, `.._history` and `.._history_long`.
use std::time::Instant;

use catalog::Viewer;
use datum::Value;
use instance::{Instance, ProcessEntry};
use telemetry::StatementEvent;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::{member, optional, time};

pub(super) const TABLES: &[Table] = &[
    Table::summary(CURRENT, current, |_| {}),
    Table::summary(HISTORY, history, |instance| {
        instance.processes().all().iter().for_each(|entry| entry.figures.clear_history());
    }),
    Table::summary(HISTORY_LONG, history_long, |instance| instance.telemetry.history_long.clear()),
];

/// Of the running statements, of the last of each session, and of the last of all.
const EVENT_COLUMNS: &str = "THREAD_ID bigint unsigned; EVENT_ID bigint unsigned; END_EVENT_ID bigint unsigned?; EVENT_NAME \
        varchar(128); SOURCE varchar(64)?; TIMER_START bigint unsigned?; TIMER_END bigint unsigned?; TIMER_WAIT \
        bigint unsigned?; LOCK_TIME bigint unsigned; SQL_TEXT longtext?; DIGEST varchar(64)?; DIGEST_TEXT \
        longtext?; CURRENT_SCHEMA varchar(64)?; OBJECT_TYPE varchar(64)?; OBJECT_SCHEMA varchar(64)?; \
        OBJECT_NAME varchar(64)?; OBJECT_INSTANCE_BEGIN bigint unsigned?; MYSQL_ERRNO int?; RETURNED_SQLSTATE \
        varchar(5)?; MESSAGE_TEXT varchar(128)?; ERRORS bigint unsigned; WARNINGS bigint unsigned; ROWS_AFFECTED \
        bigint unsigned; ROWS_SENT bigint unsigned; ROWS_EXAMINED bigint unsigned; CREATED_TMP_DISK_TABLES \
        bigint unsigned; CREATED_TMP_TABLES bigint unsigned; SELECT_FULL_JOIN bigint unsigned; \
        SELECT_FULL_RANGE_JOIN bigint unsigned; SELECT_RANGE bigint unsigned; SELECT_RANGE_CHECK bigint \
        unsigned; SELECT_SCAN bigint unsigned; SORT_MERGE_PASSES bigint unsigned; SORT_RANGE bigint unsigned; \
        SORT_ROWS bigint unsigned; SORT_SCAN bigint unsigned; NO_INDEX_USED bigint unsigned; NO_GOOD_INDEX_USED \
        bigint unsigned; NESTING_EVENT_ID bigint unsigned?; NESTING_EVENT_TYPE \
        enum('TRANSACTION','STATEMENT','STAGE','WAIT')?; NESTING_EVENT_LEVEL int?; STATEMENT_ID bigint \
        unsigned?; CPU_TIME bigint unsigned; MAX_CONTROLLED_MEMORY bigint unsigned; MAX_TOTAL_MEMORY bigint \
        unsigned; EXECUTION_ENGINE enum('PRIMARY','SECONDARY')?";

const CURRENT: Shape = Shape { name: "events_statements_current", columns: EVENT_COLUMNS };
const HISTORY: Shape = Shape { name: "events_statements_history", columns: EVENT_COLUMNS };
const HISTORY_LONG: Shape = Shape { name: "events_statements_history_long", columns: EVENT_COLUMNS };

/// The statement that runs, or the one that ended last.
fn current(instance: &Instance, _: &Viewer) -> Rows {
    let rows = instance.processes().all().into_iter().filter_map(|entry| {
        let event = running(instance, &entry).or_else(|| entry.figures.last_statement())?;
        Some(row(u64::from(entry.id.0), &event))
    });
    rows.collect()
}

fn running(instance: &Instance, entry: &ProcessEntry) -> Option<StatementEvent> {
    let activity = entry.activity();
    let text = activity.info()?;
    let mut event = StatementEvent {
        event_id: entry.figures.next_event_id(),
        name: "statement/abstract/Query",
        began_ns: instance.event_clock_ns(activity.since),
        ended_ns: instance.event_clock_ns(Instant::now()),
        schema: activity.database.clone(),
        sqlstate: *b"00000",
        ..StatementEvent::default()
    };
    event.set_text(text.as_bytes());
    Some(event)
}

fn history(instance: &Instance, _: &Viewer) -> Rows {
    let rows = instance.processes().all().into_iter().flat_map(|entry| {
        let thread = u64::from(entry.id.0);
        entry.figures.history().into_iter().map(move |event| row(thread, &event))
    });
    rows.collect()
}

fn history_long(instance: &Instance, _: &Viewer) -> Rows {
    instance.telemetry.history_long.events().iter().map(|(thread, event)| row(*thread, event)).collect()
}

fn row(thread: u64, event: &StatementEvent) -> Vec<Value> {
    let number = |number: u64| if number == 0 { Value::Null } else { Value::UInt(number) };
    let digest = event.digest.as_deref();
    let figures = &event.figures;
    let mut row = vec![
        Value::UInt(thread),
        Value::UInt(event.event_id),
        number(event.end_event_id),
        Value::bytes(event.name),
        Value::Null,
        time(event.began_ns),
        time(event.ended_ns),
        time(event.ended_ns.saturating_sub(event.began_ns)),
        time(figures.lock_time_ns),
        Value::bytes(String::from_utf8_lossy(&event.text).as_ref()),
        optional(digest.and_then(|digest| digest.digest.as_deref())),
        optional(digest.and_then(|digest| digest.text.as_deref())),
        optional(event.schema.as_deref()),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Int(i64::from(event.errno)),
        Value::bytes(event.sqlstate),
        optional(Some(&event.message).filter(|message| !message.is_empty())),
    ];
    row.extend(figures.counts().map(Value::UInt));
    // No statement is nested in another one's event.
    row.extend([Value::Null, Value::Null, Value::UInt(0)]);
    let statement_id = thread << 32 | event.event_id;
    row.push(Value::UInt(statement_id));
    row.push(time(figures.cpu_time_ns));
    row.extend(crate::values::zeros(2));
    row.push(member(1));
    row
}
