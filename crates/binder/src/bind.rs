//! From syntax to bound expressions, a file for each family.
mod aggregate;
mod column;
mod comparison;
mod expression;
mod frame;
mod function;
mod literal;
mod subquery;
mod type_name;
mod window;

pub use column::full_name;
pub use type_name::{array_element_type, cast_type};
