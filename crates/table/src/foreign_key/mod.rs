//! Foreign keys while rows change: is the parent there, who are the children, what becomes of them.
//!
//! Invariant: a row whose key columns are all not NULL has its parent when the transaction that wrote it commits.
//! What keeps it against other sessions are locks on the parent alone: a child's row is written under a share lock on
//! its parent's key, and the parent's key is exclusively locked before its children are looked for. So no child can
//! appear between the look and the change, at any isolation level.
//!
//! The catalog makes the links, the executor asks before each row it changes.
mod cascade;
mod check;
pub(crate) mod link;

pub use link::{ChildLink, ParentLink, Relations};

use crate::resolver::{RowCompleter, TableResolver};
use datum::{SqlError, error_code};
use engine::{LockMode, ReadMode, WaitPolicy};
use schema::TableId;

/// As many tables a change runs through, the first included; one more is error 3008.
const DEPTH_MAX: usize = 15;

/// The way of one change from its table down to the children of children.
pub struct ForeignKeyWalk<'a> {
    tables: &'a dyn TableResolver,
    completer: &'a dyn RowCompleter,
    wait: WaitPolicy,
    /// Whose children are being dealt with, from the statement's own row on.
    path: Vec<Step>,
}

enum Step {
    Delete {
        table: TableId,
        row_key: Vec<u8>,
    },
    /// Which row does not matter: a change never comes back to its table.
    Update {
        table: TableId,
    },
}

impl<'a> ForeignKeyWalk<'a> {
    pub fn new(
        tables: &'a dyn TableResolver,
        completer: &'a dyn RowCompleter,
        wait: WaitPolicy,
    ) -> ForeignKeyWalk<'a> {
        ForeignKeyWalk { tables, completer, wait, path: Vec::new() }
    }

    fn locking(&self, mode: LockMode) -> ReadMode {
        ReadMode::Locking(mode, self.wait)
    }

    fn is_being_deleted(&self, table: TableId, row_key: &[u8]) -> bool {
        self.path.iter().any(|step| match step {
            Step::Delete { table: deleted, row_key: key } => *deleted == table && key == row_key,
            Step::Update { .. } => false,
        })
    }

    fn is_being_updated(&self, table: TableId) -> bool {
        self.path.iter().any(|step| matches!(step, Step::Update { table: updated } if *updated == table))
    }

    fn check_depth(&self) -> Result<(), SqlError> {
        if self.path.len() < DEPTH_MAX {
            return Ok(());
        }
        Err(error_code::ER_FK_DEPTH_EXCEEDED.with(&[&DEPTH_MAX]))
    }
}
