//! CREATE and ALTER DATABASE.
use collation::CollationId;
use datum::{SqlError, error_code};
use parser::ast::DatabaseOption;

use super::data_type::choose_collation;

/// What the options of CREATE and ALTER DATABASE make of the collation.
pub fn database_collation(
    options: &[DatabaseOption<'_>],
    default: CollationId,
) -> Result<CollationId, SqlError> {
    let (mut charset, mut collation) = (None, None);
    for option in options {
        match *option {
            DatabaseOption::CharacterSet(name) => charset = Some(name),
            DatabaseOption::Collate(name) => collation = Some(name),
            DatabaseOption::Encryption(text) if text.eq_ignore_ascii_case("n") => {}
            DatabaseOption::Encryption(_) => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"ENCRYPTION"]));
            }
            DatabaseOption::ReadOnly(Some(true)) => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"READ ONLY databases"]));
            }
            DatabaseOption::ReadOnly(_) => {}
        }
    }
    choose_collation(charset, collation, default)
}
