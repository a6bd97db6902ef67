//! MySQL's scalar functions by family, each a declarative entry of the registry [`MYSQL`].
//!
//! Invariant: no function panics or computes without end, whatever its arguments; what an entry may use stands in
//! `expression::call`. Functions whose result has the type of their arguments (IF, COALESCE ..) are bound as CASE in
//! `expression::build`. Callers: whoever binds the expressions of statements gives [`MYSQL`] to its `BindContext`.
#![forbid(unsafe_code)]

mod aes;
mod compression;
mod encoding;
mod get_format;
mod gtid;
mod information;
mod json_change;
mod json_read;
mod json_schema;
mod json_search;
mod json_storage;
mod network;
mod nullability;
mod numeric_exact;
mod numeric_real;
mod rare;
mod regexp;
mod replication_waits;
mod server_calls;
mod str_to_date;
mod string_build;
mod string_case;
mod string_measure;
mod string_part;
mod temporal_format;
mod temporal_make;
mod temporal_now;
mod temporal_parts;
mod temporal_unit;
mod waiting;
mod width;
mod xml;
mod xpath;

use std::collections::HashMap;
use std::sync::OnceLock;

use expression::call::OWN_FUNCTIONS;
use expression::{BindContext, Expr, Function, Functions};

pub use gtid::{PurgedError, purged_set};
pub use rare::bytes_text;
pub use server_calls::pico_time_text;

static FAMILIES: &[&[Function]] = &[
    aes::FUNCTIONS,
    compression::FUNCTIONS,
    encoding::FUNCTIONS,
    get_format::FUNCTIONS,
    gtid::FUNCTIONS,
    information::FUNCTIONS,
    json_change::FUNCTIONS,
    json_read::FUNCTIONS,
    json_schema::FUNCTIONS,
    json_search::FUNCTIONS,
    json_storage::FUNCTIONS,
    network::FUNCTIONS,
    numeric_exact::FUNCTIONS,
    numeric_real::FUNCTIONS,
    rare::FUNCTIONS,
    regexp::FUNCTIONS,
    replication_waits::FUNCTIONS,
    server_calls::FUNCTIONS,
    str_to_date::FUNCTIONS,
    string_build::FUNCTIONS,
    string_case::FUNCTIONS,
    string_measure::FUNCTIONS,
    string_part::FUNCTIONS,
    temporal_format::FUNCTIONS,
    temporal_make::FUNCTIONS,
    temporal_now::FUNCTIONS,
    temporal_parts::FUNCTIONS,
    temporal_unit::FUNCTIONS,
    waiting::FUNCTIONS,
    xml::FUNCTIONS,
];

/// All functions of MySQL that this server has.
pub static MYSQL: &dyn Functions = &MySql;

#[derive(Debug)]
struct MySql;

fn entries() -> impl Iterator<Item = &'static Function> {
    FAMILIES.iter().chain(OWN_FUNCTIONS).copied().flatten()
}

impl Functions for MySql {
    fn by_name(&self, name: &str) -> Option<&'static Function> {
        static INDEX: OnceLock<HashMap<&'static str, &'static Function>> = OnceLock::new();
        INDEX.get_or_init(|| entries().map(|function| (function.name, function)).collect()).get(name).copied()
    }

    fn width_of(&self, name: &str) -> Option<u32> {
        width::width_of(name)
    }

    fn nullable(&self, bind: &BindContext, name: &str, arguments: &[Expr]) -> Option<bool> {
        nullability::nullable(bind, name, arguments)
    }
}

/// Whether there is a function of this name (in lower case): of the registry, or one that is bound as an operator.
pub fn is_function(name: &str) -> bool {
    matches!(name, "if" | "nullif" | "isnull" | "mod") || MYSQL.by_name(name).is_some()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod registry_tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut seen = std::collections::HashSet::new();
        for function in entries() {
            assert!(seen.insert(function.name), "{} stands twice", function.name);
            assert_eq!(function.name, function.name.to_ascii_lowercase());
            assert!(function.arguments_min <= function.arguments_max);
            assert_eq!(MYSQL.by_name(function.name), Some(function));
        }
    }
}
