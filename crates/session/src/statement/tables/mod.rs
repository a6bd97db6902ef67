//! Definitions of tables and views: CREATE, ALTER, DROP, RENAME, TRUNCATE, and the rows that they make or check.

pub(super) mod alter_table;
pub(super) mod check_constraint;
pub(super) mod create_select;
pub(super) mod create_table;
pub(super) mod default_value;
pub(super) mod online;
pub(super) mod row_copy;
pub(super) mod schema_change;
pub(super) mod temporary;
pub(super) mod views;
