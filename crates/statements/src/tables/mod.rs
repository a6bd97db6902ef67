//! Definitions of tables and views: CREATE, ALTER, DROP, RENAME, TRUNCATE, and the rows that they make or check.

mod alter_table;
mod check_constraint;
mod create_select;
mod create_table;
mod online;
mod schema_change;
mod temporary;
mod views;
