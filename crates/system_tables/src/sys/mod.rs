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
    let own = [
        accounts::TABLES,
        configuration::TABLES,
        indexes::TABLES,
        overview::TABLES,
        sessions::TABLES,
        statements::TABLES,
        tables::TABLES,
    ];
    [&own[..], by_account::TABLES, input_output::TABLES].concat().concat()
}
