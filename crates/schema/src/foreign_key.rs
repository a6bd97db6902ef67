//! One foreign key of a table, and its text in SHOW CREATE TABLE and in the errors 1451 and 1452.
//!
//! The parent is named, not pointed to: it may be missing, since `foreign_key_checks=0` lets tables come and go in any
//! order. Called by the catalog, which finds parents and children, and by everything that prints constraints.
use crate::identifier::quote_identifier;
use crate::identifier::same_name;
use crate::table::TableDef;

/// What happens to the children of a parent row that goes or gets another key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReferentialAction {
    #[default]
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    /// Accepted and shown; it acts as NO ACTION, as in InnoDB.
    SetDefault,
}

/// What MATCH said; it is told and otherwise ignored, as in InnoDB: a key with a NULL in it references nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MatchOption {
    #[default]
    None,
    Partial,
    Full,
}

impl MatchOption {
    pub const ALL: [MatchOption; 3] = [MatchOption::None, MatchOption::Partial, MatchOption::Full];

    pub fn name(self) -> &'static str {
        match self {
            MatchOption::None => "NONE",
            MatchOption::Partial => "PARTIAL",
            MatchOption::Full => "FULL",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDef {
    /// Unique in the database.
    pub name: String,
    /// Positions in the child's `TableDef::columns`.
    pub columns: Vec<usize>,
    pub parent_database: String,
    pub parent_table: String,
    /// One for each of `columns`.
    pub parent_columns: Vec<String>,
    pub match_option: MatchOption,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

impl ReferentialAction {
    pub const ALL: [ReferentialAction; 5] = [
        ReferentialAction::NoAction,
        ReferentialAction::Restrict,
        ReferentialAction::Cascade,
        ReferentialAction::SetNull,
        ReferentialAction::SetDefault,
    ];

    /// As SQL writes it.
    pub fn name(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        }
    }

    /// Changes the children rather than refusing the parent's change.
    pub fn changes_children(self) -> bool {
        matches!(self, ReferentialAction::Cascade | ReferentialAction::SetNull)
    }
}

impl ForeignKeyDef {
    pub fn references(&self, database: &str, table: &str) -> bool {
        self.parent_database == database && self.parent_table == table
    }

    /// The positions of the referenced columns, if the parent has them all.
    pub fn parent_positions(&self, parent: &TableDef) -> Option<Vec<usize>> {
        self.parent_columns.iter().map(|column| parent.column_named(column)).collect()
    }

    /// The clause in SHOW CREATE TABLE.
    pub fn clause(&self, child: &TableDef) -> String {
        self.text(child, true)
    }

    /// What stands in brackets in the errors 1451 and 1452.
    pub fn description(&self, child: &TableDef) -> String {
        let (database, table) = (quote_identifier(&child.database), quote_identifier(&child.name));
        format!("{database}.{table}, {}", self.text(child, false))
    }

    /// The errors do not tell SET DEFAULT.
    fn text(&self, child: &TableDef, tells_default: bool) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|&column| quote_identifier(&child.columns[column].name)).collect();
        let parent_columns: Vec<String> =
            self.parent_columns.iter().map(|column| quote_identifier(column)).collect();
        let mut parent = quote_identifier(&self.parent_table);
        if self.parent_database != child.database {
            parent = format!("{}.{parent}", quote_identifier(&self.parent_database));
        }
        let mut text = format!(
            "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
            quote_identifier(&self.name),
            columns.join(", "),
            parent_columns.join(", ")
        );
        for (event, action) in [("DELETE", self.on_delete), ("UPDATE", self.on_update)] {
            let is_told = match action {
                ReferentialAction::NoAction => false,
                ReferentialAction::SetDefault => tells_default,
                _ => true,
            };
            if is_told {
                text.push_str(&format!(" ON {event} {}", action.name()));
            }
        }
        text
    }
}

/// `N` of a name that was made for a nameless key of the table: `<table>_ibfk_N`.
pub fn generated_number(name: &str, table: &str) -> Option<u32> {
    let head = name.get(..table.len())?;
    let digits = name[table.len()..].strip_prefix("_ibfk_")?;
    let is_number = !digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit());
    if same_name(head, table) && is_number { digits.parse().ok() } else { None }
}

/// The name that a nameless key gets.
pub fn generated_name(table: &str, number: u32) -> String {
    format!("{table}_ibfk_{number}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnDef, TableId};
    use datum::ColumnType;

    #[test]
    fn only_actions_that_differ_from_the_default_are_told() {
        let mut child = TableDef::new(TableId(1), "d", "c");
        child.columns.push(ColumnDef::new("a", ColumnType::int()));
        let mut key = ForeignKeyDef {
            name: "k".to_owned(),
            columns: vec![0],
            parent_database: "d".to_owned(),
            parent_table: "p".to_owned(),
            parent_columns: vec!["id".to_owned()],
            match_option: MatchOption::None,
            on_delete: ReferentialAction::SetDefault,
            on_update: ReferentialAction::Restrict,
        };
        let head = "CONSTRAINT `k` FOREIGN KEY (`a`) REFERENCES `p` (`id`)";
        assert_eq!(key.clause(&child), format!("{head} ON DELETE SET DEFAULT ON UPDATE RESTRICT"));
        assert_eq!(key.description(&child), format!("`d`.`c`, {head} ON UPDATE RESTRICT"));
        key.on_update = ReferentialAction::NoAction;
        key.parent_database = "e".to_owned();
        let told = "`d`.`c`, CONSTRAINT `k` FOREIGN KEY (`a`) REFERENCES `e`.`p` (`id`)";
        assert_eq!(key.description(&child), told);
    }

    #[test]
    fn generated_names_are_told_from_others() {
        assert_eq!(generated_number("c_ibfk_12", "c"), Some(12));
        assert_eq!(generated_number("C_ibfk_1", "c"), Some(1));
        assert_eq!(generated_number("c_ibfk_012", "c"), None);
        assert_eq!(generated_number("c_ibfk_", "c"), None);
        assert_eq!(generated_number("cc_ibfk_1", "c"), None);
        assert_eq!(generated_name("c", 3), "c_ibfk_3");
    }
}
