//! The scalar functions by family, each a declarative entry; the planner finds them by name.
//!
//! Functions whose result has the type of their arguments (IF, COALESCE, ...) are bound as CASE in `build`.
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::function::Function;

mod aes;
mod arguments;
mod array_cast;
pub use array_cast::{array_cast, array_keys};
mod choice;
mod compression;
mod encoding;
mod extremes;
pub(crate) use extremes::{extreme_truth, is_choice_of_moments};
mod get_format;
mod gtid;
mod infer;
pub(crate) use infer::{cast_decimal, cast_double, cast_integer, cast_text, text_column};
mod information;
mod json_change;
mod json_read;
pub(crate) use json_read::{document_of, json};
mod json_schema;
mod json_search;
mod json_storage;
mod json_value;
pub use gtid::{PurgedError, purged_set};
pub use json_value::JsonBehaviour;
pub(crate) use json_value::json_scalar;
pub use rare::bytes_text;
pub use server_calls::pico_time_text;
mod moment_or_time;
mod network;
mod numeric_exact;
mod numeric_real;
mod rare;
mod regexp;
mod replication_waits;
mod server_calls;
mod stored;
pub use stored::stored_call;
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
mod weight_string;
mod width;
pub(crate) use width::{large_object_width, width_of};
mod xml;

static FAMILIES: &[&[Function]] = &[
    aes::FUNCTIONS,
    choice::FUNCTIONS,
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
    weight_string::FUNCTIONS,
    xml::FUNCTIONS,
];

/// Finds a function by its name in lower case.
pub(crate) fn by_name(name: &str) -> Option<&'static Function> {
    static INDEX: OnceLock<HashMap<&'static str, &'static Function>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let functions = FAMILIES.iter().copied().flatten();
        functions.map(|function| (function.name, function)).collect()
    });
    index.get(name).copied()
}

/// Whether there is a function of this name (in lower case): of the registry, or one that is bound as an operator.
pub fn is_function(name: &str) -> bool {
    matches!(name, "if" | "nullif" | "isnull" | "mod") || by_name(name).is_some()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod registry_tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut seen = std::collections::HashSet::new();
        for function in FAMILIES.iter().copied().flatten() {
            assert!(seen.insert(function.name), "{} stands twice", function.name);
            assert_eq!(function.name, function.name.to_ascii_lowercase());
            assert!(function.arguments_min <= function.arguments_max);
            assert_eq!(by_name(function.name), Some(function));
        }
    }
}
