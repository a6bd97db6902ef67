//! How names are compared wherever they are looked up: those of columns and their aliases without regard to case, those of tables and
//! their aliases by their letters, as MySQL does with `lower_case_table_names=0`.

pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || (!left.is_ascii() && left.to_lowercase() == right.to_lowercase())
}

pub fn same_table(left: &str, right: &str) -> bool {
    left == right
}

/// The databases of the server's own are found in any case, so a qualifier may have any.
pub fn same_database(left: &str, right: &str) -> bool {
    left == right || is_of_server(left) && left.eq_ignore_ascii_case(right)
}

fn is_of_server(name: &str) -> bool {
    ["information_schema", "performance_schema"].iter().any(|own| name.eq_ignore_ascii_case(own))
}
