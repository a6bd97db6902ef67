//! EXPLAIN: a plan as MySQL's traditional rows, and as an indented tree.
mod rows;
mod tree;

pub use rows::{ExplainRow, explain_rows};
pub use tree::explain_tree;
