//! The tables of `performance_schema` whose rows tell what statements, sessions and accounts did. Those about sessions and
//! locks that are there now are in `processes` and `status`; those of things that this server does not have in `empty`.
mod clones;
mod connections;
mod digests;
mod empty;
mod error_log;
mod errors;
mod events;
mod files;
mod memory;
mod prepared;
mod replication;
mod replication_filters;
mod setup;
mod single_waits;
mod sockets;
mod stages;
mod summaries;
mod table_io;
mod threads;
mod transactions;
mod variables;
mod waits;

pub(crate) use connections::of_everybody;
pub(crate) use files::{FileFigures, STORE_FILE, files};
pub(crate) use memory::parts as memory_parts;
pub(crate) use single_waits::{bytes_of, file_of};
pub(crate) use table_io::{counts_by_index, counts_of_table, table_counts, tables};

use crate::table::Table;

/// Every table.
pub(crate) fn all() -> Vec<Table> {
    [
        clones::TABLES,
        connections::TABLES,
        digests::TABLES,
        empty::TABLES,
        error_log::TABLES,
        errors::TABLES,
        events::TABLES,
        files::TABLES,
        memory::TABLES,
        prepared::TABLES,
        replication::TABLES,
        replication_filters::TABLES,
        setup::TABLES,
        single_waits::TABLES,
        sockets::TABLES,
        stages::TABLES,
        summaries::TABLES,
        table_io::TABLES,
        threads::TABLES,
        transactions::TABLES,
        variables::TABLES,
        waits::TABLES,
    ]
    .concat()
}
