//! A live table: its descriptor and what changes while it is used.
use crate::auto_increment::AutoIncrement;
use datum::TypeKind;
use schema::{ColumnDef, TableDef};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// One for each table, shared by all sessions; the catalog keeps it from the first use until DDL replaces it.
#[derive(Debug)]
pub struct TableHandle {
    definition: Arc<TableDef>,
    auto_increment: AutoIncrement,
    /// The next hidden row id of a table without a clustering index; 0 until initialised.
    next_row_id: AtomicU64,
    /// Estimated rows; changed by inserts and deletes of transactions that may yet roll back, so never exact.
    rows: AtomicI64,
}

impl TableHandle {
    /// A handle that must be initialised before rows are inserted.
    pub fn new(definition: Arc<TableDef>) -> TableHandle {
        let maximum =
            definition.auto_increment_column().map(|column| maximum_of(&definition.columns[column]));
        TableHandle {
            auto_increment: AutoIncrement::new(maximum.unwrap_or(u64::MAX)),
            next_row_id: AtomicU64::new(0),
            rows: AtomicI64::new(0),
            definition,
        }
    }

    pub fn definition(&self) -> &Arc<TableDef> {
        &self.definition
    }

    pub fn auto_increment(&self) -> &AutoIncrement {
        &self.auto_increment
    }

    pub fn estimated_rows(&self) -> u64 {
        self.rows.load(Relaxed).max(0) as u64
    }

    /// Sets the estimate, as ANALYZE TABLE or the first open counted it.
    pub fn set_estimated_rows(&self, rows: u64) {
        self.rows.store(i64::try_from(rows).unwrap_or(i64::MAX), Relaxed);
    }

    pub(crate) fn count_rows(&self, change: i64) {
        self.rows.fetch_add(change, Relaxed);
    }

    pub(crate) fn take_row_id(&self) -> u64 {
        self.next_row_id.fetch_add(1, Relaxed)
    }
}

/// The largest value of an integer type; floating types stop where they cease to count in ones.
fn maximum_of(column: &ColumnDef) -> u64 {
    let bits = match column.column_type.kind {
        TypeKind::Tiny => 8,
        TypeKind::Short => 16,
        TypeKind::Int24 => 24,
        TypeKind::Long => 32,
        TypeKind::Float { .. } => return 1 << 24,
        TypeKind::Double { .. } => return 1 << 53,
        _ => 64,
    };
    if column.column_type.unsigned { u64::MAX >> (64 - bits) } else { (1 << (bits - 1)) - 1 }
}
