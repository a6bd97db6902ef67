//! Changing records: insert, update, delete, loads of new trees, the undo stack and rollback.

pub(crate) mod load;
pub(crate) mod rollback;
pub(crate) mod row_edit;
pub(crate) mod undo_stack;
pub(crate) mod unique;
pub(crate) mod write;
