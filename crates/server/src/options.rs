//! Options: from the command line and option files, through one table, to checked settings.
//!
//! Invariant: every option that this program knows is declared once, in `table`; that declaration feeds parsing,
//! `--help` and the suggestions for misspelt names. Called by `main`.

mod command_line;
mod help;
mod nearest;
mod option_file;
mod settings;
mod table;
mod value;

pub use command_line::{Command, parse_command_line};
pub use help::help_text;
pub use settings::{SessionMoves, Settings};
