//! The names of the databases and accounts that simulated statements use.

/// The databases whose definitions change.
pub const DATABASES: [&str; 3] = ["d0", "d1", "d2"];

/// The database whose rows change meanwhile.
pub const ROWS_DATABASE: &str = "w";

/// The database whose statements need temporary files.
pub const SPILLS_DATABASE: &str = "s";

pub const ACCOUNTS: [&str; 4] = ["u0", "u1", "u2", "u3"];
