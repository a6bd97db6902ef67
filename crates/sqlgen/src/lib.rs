//! Random expressions over all types, asked of two servers: what one seed makes is a table, its rows and queries.
//!
//! The answer of the reference is the truth: rows, the kinds of the result's columns, or the error's number. A query that
//! differs is cut down to the smallest part of it that still does. Differences are put
//! together to classes. A server alone can be asked whether it agrees with itself. Used by the `sqlgen` tool.
#![forbid(unsafe_code)]

mod answer;
mod argued;
mod case;
mod class;
mod compare;
mod expression;
mod oracle;
mod programs;
mod random;
mod scripts;
mod statement;
mod table;
mod values;

pub use answer::{Answer, connect, run};
pub use class::{Class, classify, summary};
pub use compare::{Difference, begin, compare_seed};
pub use expression::Expression;
pub use oracle::{Contradiction, check_seed};
pub use programs::{CLEAN, ProgramDifference, Script, compare_programs};
pub use random::Random;
pub use scripts::{ScriptDifference, play_scripts};
pub use table::Table;
