//! EXPLAIN: a plan as MySQL's traditional rows, as an indented tree and as JSON in its two versions.
mod end_markers;
mod json;
mod json_rows;
mod json_text;
mod operator;
mod rows;
mod shapes;
mod tables;
mod tree;
mod walk;
mod ways;
mod words;

pub use end_markers::with_end_markers;
pub use json::explain_json;
pub use json_rows::explain_json_rows;
pub use rows::{ExplainRow, explain_rows};
pub use tree::explain_tree;
pub(crate) use words::figure;
pub use words::{lookup_text, ranges_text};
