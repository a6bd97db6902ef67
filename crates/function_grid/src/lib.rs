//! Every function and operator over a grid of argument kinds.
//!
//! A template such as `lpad({s}, {i}, {s})` becomes many cells: its places are filled with literals and columns of
//! each type, boundaries, NULL and what does not fit, or with parameters of a prepared statement. MySQL's answers to
//! the cells are recorded in `grid/answers.zst`, so that a server is checked without one; `grid/known.txt` lists
//! what differs. The columns that a table gets to keep the values are recorded in `grid/types.zst` (`types`). Invariant: the cells of a template depend on its text and the argument lists only.
#![forbid(unsafe_code)]

mod arguments;
mod cell;
mod difference;
mod grid;
mod known;
mod recording;
mod server;
mod templates;
mod type_arguments;
mod type_cells;
mod types;

pub use difference::Difference;
pub use grid::Grid;
pub use known::{Known, KnownDifferences};
pub use recording::{Recording, folder};
pub use server::Target;
pub use type_cells::type_cells_of;
pub use types::{record_types, type_differences};
