//! The views of `information_schema` whose rows are definitions, one file for each.
//!
//! Views of things this server does not have are in `empty`: clients ask for them and must get no rows, not an
//! error. Views whose rows are sessions or accounts are in `processes` and `accounts`.
mod absent;
mod character_sets;
mod check_constraints;
mod collations;
mod column_statistics;
mod columns;
mod empty;
mod engines;
mod innodb;
mod innodb_foreign;
mod key_column_usage;
mod keywords;
mod optimizer_trace;
mod programs;
mod referential_constraints;
mod schemata;
pub(crate) mod shapes;
mod statistics;
mod table_constraints;
mod tables;
mod temporary_tables;
mod user_statistics;
mod views;

use std::sync::Arc;

use schema::VirtualTable;

use crate::view::View;
use catalog::Catalog;

/// Views over the instance.
pub(crate) fn of_instance() -> Vec<crate::table::Table> {
    [absent::TABLES, innodb::TABLES, keywords::TABLES, optimizer_trace::TABLES, user_statistics::TABLES]
        .concat()
}

/// Every view of the catalog.
pub fn all(catalog: &Arc<Catalog>) -> Vec<Arc<dyn VirtualTable>> {
    let filled = [
        character_sets::VIEW,
        check_constraints::VIEW,
        collations::VIEW,
        collations::APPLICABILITY,
        column_statistics::VIEW,
        columns::VIEW,
        engines::VIEW,
        innodb_foreign::KEYS,
        innodb_foreign::COLUMNS,
        key_column_usage::VIEW,
        programs::EVENTS,
        programs::PARAMETERS,
        programs::ROUTINES,
        programs::TRIGGERS,
        referential_constraints::VIEW,
        schemata::VIEW,
        statistics::VIEW,
        table_constraints::VIEW,
        tables::VIEW,
        temporary_tables::VIEW,
        views::VIEW,
        views::TABLE_USAGE,
    ];
    filled
        .into_iter()
        .chain(empty::VIEWS.iter().copied())
        .map(|source| Arc::new(View::new(catalog, source)) as Arc<dyn VirtualTable>)
        .collect()
}
