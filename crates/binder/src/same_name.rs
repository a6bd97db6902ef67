//! Names of tables, columns and aliases are compared without regard to case, wherever they are looked up.

pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || (!left.is_ascii() && left.to_lowercase() == right.to_lowercase())
}
