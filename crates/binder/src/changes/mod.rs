//! Statements that change rows: INSERT, REPLACE, LOAD DATA, UPDATE and DELETE.

pub(crate) mod assigned;
pub(crate) mod defaults;
pub(crate) mod duplicate_reads;
pub(crate) mod insert;
pub(crate) mod insert_target;
pub(crate) mod load;
pub(crate) mod target_reads;
pub(crate) mod update;
pub(crate) mod value_subqueries;

pub use update::stored_table;
