//! System variables: declarations, conversion of values, and where the values live.
//!
//! Each variable is declared once, in the registry; SET, SHOW VARIABLES, `@@name` and the program's options read that.
#![forbid(unsafe_code)]

mod convert;
mod definition;
mod registry;
mod settings;
mod store;
mod switches;

pub use convert::{from_value, parse_text};
pub use definition::{Definition, Effect, Scope, Setting};
pub use registry::{VariableId, all, listed};
pub use settings::{Completion, Settings, isolation_name, isolation_named};
pub use store::{GlobalVariables, SessionVariables, WriteProtection, is_write_protection};
pub use switches::{is_flag_set, is_hintable, with_bits, with_switches};

/// MySQL's spelling of a storage engine that may be named; all but InnoDB are replaced by it.
pub fn storage_engine(name: &str) -> Option<&'static str> {
    const ENGINES: &[&str] = &[
        "InnoDB",
        "MyISAM",
        "MEMORY",
        "ARCHIVE",
        "BLACKHOLE",
        "CSV",
        "MRG_MYISAM",
        "FEDERATED",
        "ndbcluster",
    ];
    if name.eq_ignore_ascii_case("HEAP") {
        return Some("MEMORY");
    }
    ENGINES.iter().copied().find(|engine| engine.eq_ignore_ascii_case(name))
}
