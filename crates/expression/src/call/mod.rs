//! Calls of functions: what the entries of a registry are made of, and the calls that the grammar makes by itself.
//!
//! An entry ([`Function`]) says how a call is typed and evaluated. [`Functions`] finds entries by their names; the crate
//! `functions` has MySQL's. The forms that stand here are bound without a registry: GREATEST and LEAST, whose truth
//! is an operator's, WEIGHT_STRING, JSON_VALUE, arrays of multi-valued indexes, stored functions.
//! Callers: `build`, `evaluate`, and the entries of the crate `functions`, for which most of this is public.
mod arguments;
mod array_cast;
mod choice;
pub(crate) mod document_order;
mod extremes;
pub mod infer;
pub mod json;
mod json_value;
mod moment_or_time;
mod stored;
mod weight_string;
pub mod width;

use crate::build::BindContext;
use crate::expr::Expr;
use crate::function::Function;

pub use arguments::{mistyped, text_or_null};
pub use array_cast::{array_cast, array_keys};
pub use document_order::document_order;
pub(crate) use extremes::{extreme_truth, is_choice_of_moments};
pub use json_value::{JsonBehaviour, json_scalar, takes_whole_numbers, whole_number};
pub use moment_or_time::MomentOrTime;
pub use stored::{name_stored_call, stored_call};

pub use crate::build::{bytes_max, double, fraction_digits, is_bit_string, moment_text, shown_width};
pub use crate::collations::{Purpose, STRICT_CONVERSION, strictly_converted};
pub use crate::constant_set::is_constant;
pub use crate::evaluate::{date_of, difference_in, moment_context, part_of};

/// The functions that a statement may call by name.
pub trait Functions: Sync + std::fmt::Debug {
    /// The entry of a function, by its name in lower case.
    fn by_name(&self, name: &str) -> Option<&'static Function>;

    /// The characters that metadata shows for a function of a BIGINT whose entry does not say it.
    fn width_of(&self, name: &str) -> Option<u32>;

    /// Whether a call may give NULL, where its type does not say it.
    fn nullable(&self, bind: &BindContext, name: &str, arguments: &[Expr]) -> Option<bool>;
}

/// No function at all: where expressions are made that call none by name.
#[derive(Debug)]
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn by_name(&self, _name: &str) -> Option<&'static Function> {
        None
    }

    fn width_of(&self, _name: &str) -> Option<u32> {
        None
    }

    fn nullable(&self, _bind: &BindContext, _name: &str, _arguments: &[Expr]) -> Option<bool> {
        None
    }
}

/// The entries that stand here; every registry has them.
pub static OWN_FUNCTIONS: &[&[Function]] = &[choice::FUNCTIONS, weight_string::FUNCTIONS];
