//! What a statement needs to be allowed to do, table by table and column by column.
//!
//! Binding notes it where names are met; who runs the plan compares it with what the account may do. A plan that is
//! shared between sessions is compared anew for each. Nothing here decides what an account may do.

use std::ops::{BitOr, BitOrAssign};
use std::sync::Arc;

/// Rights on rows, as a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    pub const NONE: Rights = Rights(0);
    pub const SELECT: Rights = Rights(1);
    pub const INSERT: Rights = Rights(2);
    pub const UPDATE: Rights = Rights(4);
    pub const DELETE: Rights = Rights(8);

    pub fn has(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Rights {
    type Output = Rights;
    fn bitor(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }
}

impl BitOrAssign for Rights {
    fn bitor_assign(&mut self, other: Rights) {
        self.0 |= other.0;
    }
}

/// What a statement needs on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableNeed {
    pub database: String,
    pub table: String,
    /// All of these, on the table or on one of its columns.
    pub every: Rights,
    /// One of these.
    pub either: Rights,
    /// Its rows are locked against others: something that changes rows or locks tables.
    pub locks: bool,
    pub columns: Vec<ColumnNeed>,
    /// Below a view.
    pub user: Option<Arc<ViewUser>>,
}

/// On whose behalf a view reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewUser {
    /// The outermost view, which errors name.
    pub database: String,
    pub view: String,
    /// User and host of the account that must be allowed to; `None` for who runs the statement.
    pub definer: Option<(String, String)>,
}

impl TableNeed {
    /// Whether a need for the column is noted already.
    pub fn has_column(&self, name: &str, rights: Rights) -> bool {
        self.columns.iter().any(|column| column.name == name && column.rights.has(rights))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNeed {
    pub name: String,
    pub rights: Rights,
    /// The statement does not name it: `*`, or an INSERT without columns.
    pub is_unnamed: bool,
}
