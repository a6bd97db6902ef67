//! The rules for names of databases, tables and columns.
use datum::{SqlError, error_code};

/// In characters, as in MySQL.
pub const NAME_LENGTH_MAX: usize = 64;

pub const INFORMATION_SCHEMA: &str = "information_schema";

/// Databases that exist in every server and hold no stored tables of users.
pub const SYSTEM_DATABASES: &[&str] = &[INFORMATION_SCHEMA, "mysql", "performance_schema", "sys"];

/// `information_schema` and `performance_schema` are found in any letter case, others as written.
pub fn canonical_database(name: &str) -> &str {
    SYSTEM_DATABASES
        .iter()
        .copied()
        .filter(|system| system.ends_with("_schema"))
        .find(|system| system.eq_ignore_ascii_case(name))
        .unwrap_or(name)
}

pub fn check_database_name(name: &str) -> Result<(), SqlError> {
    check_length(name)?;
    if is_unusable(name) { Err(error_code::ER_WRONG_DB_NAME.with(&[&name])) } else { Ok(()) }
}

pub fn check_table_name(name: &str) -> Result<(), SqlError> {
    check_length(name)?;
    if is_unusable(name) { Err(error_code::ER_WRONG_TABLE_NAME.with(&[&name])) } else { Ok(()) }
}

pub fn check_column_name(name: &str) -> Result<(), SqlError> {
    check_length(name)?;
    if is_unusable(name) { Err(error_code::ER_WRONG_COLUMN_NAME.with(&[&name])) } else { Ok(()) }
}

pub fn check_index_name(name: &str) -> Result<(), SqlError> {
    check_length(name)?;
    if is_unusable(name) { Err(error_code::ER_WRONG_NAME_FOR_INDEX.with(&[&name])) } else { Ok(()) }
}

fn check_length(name: &str) -> Result<(), SqlError> {
    if name.chars().count() > NAME_LENGTH_MAX {
        return Err(error_code::ER_TOO_LONG_IDENT.with(&[&name]));
    }
    Ok(())
}

fn is_unusable(name: &str) -> bool {
    name.is_empty() || name.ends_with(' ') || name.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_have_their_own_errors() {
        assert!(check_table_name("t").is_ok());
        assert_eq!(check_table_name("t ").unwrap_err().errno, 1103);
        assert_eq!(check_database_name("").unwrap_err().errno, 1102);
        assert_eq!(check_column_name("a\0b").unwrap_err().errno, 1166);
        assert_eq!(check_table_name(&"ü".repeat(65)).unwrap_err().errno, 1059);
        assert!(check_table_name(&"ü".repeat(64)).is_ok());
    }

    #[test]
    fn only_the_two_schemas_ignore_case() {
        assert_eq!(canonical_database("Information_Schema"), "information_schema");
        assert_eq!(canonical_database("MySQL"), "MySQL");
    }
}
