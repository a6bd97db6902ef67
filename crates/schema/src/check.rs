//! One CHECK constraint of a table.
//!
//! Its name is unique in the database among such constraints; the catalog sees to that. The server's own names tell
//! the table and a number, so they follow the table when it gets another name.
use crate::identifier::quote_identifier;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDef {
    pub name: String,
    /// The condition as SHOW CREATE TABLE prints it, over columns of the row.
    pub condition: String,
    /// NOT ENFORCED constraints are kept and never asked.
    pub enforced: bool,
}

impl CheckDef {
    /// The name that the server gives the table's n-th constraint without one.
    pub fn generated_name(table: &str, number: u32) -> String {
        format!("{table}_chk_{number}")
    }

    /// The number in a name that the server gave.
    pub fn generated_number(&self, table: &str) -> Option<u32> {
        let (own, number) = self.name.split_at_checked(table.len())?;
        let number = number.strip_prefix("_chk_")?;
        let is_number = number.bytes().all(|digit| digit.is_ascii_digit()) && !number.starts_with('0');
        if own.eq_ignore_ascii_case(table) && is_number { number.parse().ok() } else { None }
    }

    /// The clause in SHOW CREATE TABLE.
    pub fn clause(&self) -> String {
        let enforced = if self.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
        format!("CONSTRAINT {} CHECK ({}){enforced}", quote_identifier(&self.name), self.condition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_server_tell_table_and_number() {
        let number = |name: &str| {
            let check = CheckDef { name: name.to_owned(), condition: String::new(), enforced: true };
            check.generated_number("t")
        };
        assert_eq!(number(&CheckDef::generated_name("t", 12)), Some(12));
        assert_eq!(number("T_chk_3"), Some(3));
        for other in ["t_chk_", "t_chk_x", "t_chk_01", "t2_chk_1", "t", "é"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
