//! Options: from the command line and option files, through one table, to checked settings.
//!
//! Invariant: every option that this program obeys is declared once, in `table`, or is a system variable; that
//! declaration feeds parsing, `--help` and the suggestions for misspelt names. `mapped` and `known` have the names of
//! other servers of the family. Called by `main`.

mod command_help;
mod command_line;
mod given;
mod help;
mod known;
mod mapped;
mod nearest;
mod option_file;
mod resolve;
mod settings;
mod table;
mod value;
mod words;

pub use command_line::{Command, parse_command_line};
pub use help::{help_text, long_help_text};
pub use settings::{SessionMoves, Settings};
pub(crate) use words::name_and_value;
