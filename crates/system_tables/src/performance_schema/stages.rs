//! Stages of statements: how far changes of tables are. Other statements have none.
use catalog::Viewer;
use datum::Value;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};

pub(super) const TABLES: &[Table] = &[Table::events(CURRENT, current)];

const CURRENT: Shape = Shape {
    name: "events_stages_current",
    columns: "THREAD_ID bigint unsigned; EVENT_ID bigint unsigned; END_EVENT_ID bigint unsigned?; EVENT_NAME \
        varchar(128); SOURCE varchar(64)?; TIMER_START bigint unsigned?; TIMER_END bigint unsigned?; TIMER_WAIT \
        bigint unsigned?; WORK_COMPLETED bigint unsigned?; WORK_ESTIMATED bigint unsigned?; NESTING_EVENT_ID \
        bigint unsigned?; NESTING_EVENT_TYPE enum('TRANSACTION','STATEMENT','STAGE','WAIT')?",
};

const PICOSECONDS_PER_NANOSECOND: u64 = 1000;

fn current(instance: &Instance, _: &Viewer) -> Rows {
    let mut rows = Rows::new();
    for process in instance.processes().all() {
        let Some((share, elapsed)) = process.progress() else { continue };
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        rows.push(vec![
            Value::UInt(u64::from(process.id.0)),
            Value::UInt(share.stage as u64 + 1),
            Value::Null,
            Value::bytes(share.stage.event()),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::UInt(nanoseconds.saturating_mul(PICOSECONDS_PER_NANOSECOND)),
            Value::UInt(share.done),
            Value::UInt(share.estimated),
            Value::Null,
            Value::Null,
        ]);
    }
    rows
}
