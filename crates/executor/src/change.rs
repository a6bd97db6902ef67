//! INSERT, REPLACE, UPDATE and DELETE.
//!
//! A row that cannot be changed (duplicate key, bad value) ends the statement with an error, or with IGNORE becomes a
//! warning. Changes made before an error stay for the caller to roll back.
mod assign;
mod auto_increment;
mod delete;
mod duplicate;
mod fill;
mod foreign_key;
mod input;
mod insert;
mod inserter;
mod load;
mod rows;
mod rules;
mod update;

pub use assign::Assigner;
pub use delete::execute_delete;
pub use insert::execute_insert;
pub use load::{LoadSource, LoadedRow, execute_load};
pub use rules::check_row;
pub use update::execute_update;
