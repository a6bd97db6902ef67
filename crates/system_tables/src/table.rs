//! A system table as its file declares it: where it is, what it looks like, what its rows are and what empties it.
use catalog::Viewer;
use datum::Value;
use instance::Instance;

use crate::shape::Shape;

pub(crate) type Rows = Vec<Vec<Value>>;

#[derive(Clone, Copy)]
pub(crate) struct Table {
    pub database: &'static str,
    pub shape: Shape,
    pub rows: fn(&Instance, &Viewer) -> Rows,
    /// What TRUNCATE does; `None` where MySQL forbids it.
    pub truncate: Option<fn(&Instance)>,
    /// Error 1227 for who may not see the sessions of others.
    pub needs_process: bool,
}

impl Table {
    /// Of `performance_schema`, read only.
    pub const fn events(shape: Shape, rows: fn(&Instance, &Viewer) -> Rows) -> Table {
        Table { database: "performance_schema", shape, rows, truncate: None, needs_process: false }
    }

    /// The same for what TRUNCATE empties.
    pub const fn summary(
        shape: Shape,
        rows: fn(&Instance, &Viewer) -> Rows,
        truncate: fn(&Instance),
    ) -> Table {
        Table { truncate: Some(truncate), ..Table::events(shape, rows) }
    }

    pub const fn of(database: &'static str, shape: Shape, rows: fn(&Instance, &Viewer) -> Rows) -> Table {
        Table { database, ..Table::events(shape, rows) }
    }

    /// MySQL's columns without rows.
    pub const fn empty(database: &'static str, shape: Shape) -> Table {
        Table::of(database, shape, |_, _| Rows::new())
    }
}
