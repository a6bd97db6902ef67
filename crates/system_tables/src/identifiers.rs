//! `mysql.gtid_executed`: the identifiers of the transactions that are executed here, an interval in a row.
//!
//! Nothing is stored for it: the binary log and what replicas have applied say the same. It is as far as the binary log was when
//! the statement began.
use datum::Value;
use instance::Instance;

use crate::shape::Shape;
use crate::table::{Rows, Table};

const EXECUTED: Shape = Shape {
    name: "gtid_executed",
    columns: "source_uuid char(36); interval_start bigint; interval_end bigint; gtid_tag char(32)",
};

pub(crate) fn all() -> Vec<Table> {
    vec![Table::of("mysql", EXECUTED, |instance, _| executed(instance))]
}

fn executed(instance: &Instance) -> Rows {
    let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let (executed, _) = instance.identifiers();
    let intervals = executed.intervals();
    intervals
        .map(|(source, first, end)| {
            vec![Value::bytes(source.to_string()), number(first), number(end - 1), Value::bytes("")]
        })
        .collect()
}
