//! The views of `sys` that tools use, with values as people read them and, under `x$`, as they are.
mod accounts;
mod configuration;
mod indexes;
mod overview;
mod sessions;
mod statements;
mod tables;

use crate::table::Table;

/// Every view.
pub(crate) fn all() -> Vec<Table> {
    [
        accounts::TABLES,
        configuration::TABLES,
        indexes::TABLES,
        overview::TABLES,
        sessions::TABLES,
        statements::TABLES,
        tables::TABLES,
    ]
    .concat()
}
