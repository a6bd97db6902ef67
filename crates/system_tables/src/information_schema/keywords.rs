//! `KEYWORDS` and `RESOURCE_GROUPS`: what is the same on every server.
use datum::Value;

use crate::shape::Shape;
use crate::table::{Rows, Table};
use crate::values::member;

pub(super) const TABLES: &[Table] = &[
    Table::of("information_schema", KEYWORDS, |_, _| {
        let row =
            |(word, reserved): &(&str, bool)| vec![Value::bytes(word), Value::Int(i64::from(*reserved))];
        parser::keywords().iter().map(row).collect()
    }),
    Table::of("information_schema", GROUPS, |_, _| groups()),
];

const KEYWORDS: Shape = Shape { name: "KEYWORDS", columns: "WORD varchar(128)?; RESERVED int?" };
const GROUPS: Shape = Shape {
    name: "RESOURCE_GROUPS",
    columns: "RESOURCE_GROUP_NAME varchar(64); RESOURCE_GROUP_TYPE enum('SYSTEM','USER'); RESOURCE_GROUP_ENABLED \
        tinyint; VCPU_IDS blob?; THREAD_PRIORITY int",
};

/// MySQL's two that cannot be dropped; threads are not bound to either.
fn groups() -> Rows {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let all = format!("0-{}", processors - 1);
    let row = |(name, kind): (&str, u16)| {
        vec![Value::bytes(name), member(kind), Value::Int(1), Value::bytes(&all), Value::Int(0)]
    };
    [("USR_default", 2), ("SYS_default", 1)].into_iter().map(row).collect()
}
