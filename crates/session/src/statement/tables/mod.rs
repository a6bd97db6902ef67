//! What definitions of tables have in common with the rest of a session: names, defaults, the rules of rows, temporary tables, and
//! the commit of a change.

pub(super) mod changes;
pub(super) mod default_value;
pub(super) mod row_copy;
pub(super) mod temporary;
