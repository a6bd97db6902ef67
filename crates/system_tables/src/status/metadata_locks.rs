//! `performance_schema.metadata_locks`: who holds or waits for the definition of a table or database.
//!
//! There are four modes here, shown under the names of MySQL's that exclude the same things.
use crate::view::ViewColumn::{self, NullNumber, NullText, Number, Text};
use catalog::{Gate, LockMode, LockName, Viewer};
use datum::Value;

use instance::Instance;

pub(crate) const METADATA_LOCK_COLUMNS: &[ViewColumn] = &[
    Text("OBJECT_TYPE", 64),
    NullText("OBJECT_SCHEMA", 64),
    NullText("OBJECT_NAME", 64),
    NullText("COLUMN_NAME", 64),
    Number("OBJECT_INSTANCE_BEGIN"),
    Text("LOCK_TYPE", 32),
    Text("LOCK_DURATION", 32),
    Text("LOCK_STATUS", 32),
    NullText("SOURCE", 64),
    NullNumber("OWNER_THREAD_ID"),
    NullNumber("OWNER_EVENT_ID"),
];

pub(crate) fn metadata_locks(instance: &Instance, viewer: &Viewer) -> Vec<Vec<Value>> {
    if !viewer.sees_all_sessions {
        return Vec::new();
    }
    let mut locks = instance.catalog().locks().list();
    locks.sort_by(|left, right| left.name.cmp(&right.name).then(right.granted.cmp(&left.granted)));
    let mut rows = Vec::new();
    for (number, lock) in locks.into_iter().enumerate() {
        let (object, schema, name) = match &lock.name {
            LockName::Database(database) => ("SCHEMA", Value::bytes(&**database), Value::Null),
            LockName::Table(database, table) => ("TABLE", Value::bytes(&**database), Value::bytes(&**table)),
            LockName::Gate(Gate::Changes) => ("GLOBAL", Value::Null, Value::Null),
            LockName::Gate(Gate::Commits) => ("COMMIT", Value::Null, Value::Null),
            LockName::Gate(Gate::Definitions) => ("BACKUP LOCK", Value::Null, Value::Null),
            LockName::Accounts => ("ACL CACHE", Value::Null, Value::Null),
            LockName::Program(kind, database, name) => {
                (kind.word(), Value::bytes(&**database), Value::bytes(&**name))
            }
        };
        rows.push(vec![
            Value::bytes(object),
            schema,
            name,
            Value::Null,
            // The key of MySQL's table: any number that no other row has.
            Value::UInt(number as u64 + 1),
            Value::bytes(mode_name(&lock.name, lock.mode)),
            Value::bytes("TRANSACTION"),
            Value::bytes(if lock.granted { "GRANTED" } else { "PENDING" }),
            Value::Null,
            Value::UInt(lock.owner.0),
            Value::Null,
        ]);
    }
    rows
}

fn mode_name(name: &LockName, mode: LockMode) -> &'static str {
    match (name, mode) {
        (LockName::Gate(_), LockMode::NoWrite) => "SHARED",
        (
            LockName::Database(_) | LockName::Gate(_),
            LockMode::Shared | LockMode::Upgradable | LockMode::SharedWrite,
        ) => "INTENTION_EXCLUSIVE",
        (LockName::Program(..), LockMode::Shared | LockMode::Upgradable | LockMode::SharedWrite) => "SHARED",
        (LockName::Table(..) | LockName::Accounts, LockMode::Shared) => "SHARED_READ",
        (LockName::Table(..) | LockName::Accounts, LockMode::SharedWrite) => "SHARED_WRITE",
        (_, LockMode::Upgradable) => "SHARED_UPGRADABLE",
        (_, LockMode::NoWrite) => "SHARED_READ_ONLY",
        (_, LockMode::Exclusive) => "EXCLUSIVE",
    }
}
