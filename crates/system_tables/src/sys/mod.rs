//! The views of `sys` that tools use, with values as people read them and, under `x$`, as they are.
mod accounts;
mod by_account;
mod cells;
mod configuration;
mod indexes;
mod input_output;
mod overview;
mod sessions;
mod statements;
mod tables;

use crate::table::Table;

/// Every view.
pub(crate) fn all() -> Vec<Table> {
    [
        accounts::TABLES,
        by_account::TABLES,
        configuration::TABLES,
        indexes::TABLES,
        input_output::TABLES,
        overview::TABLES,
        sessions::TABLES,
        statements::TABLES,
        tables::TABLES,
    ]
    .concat()
}
