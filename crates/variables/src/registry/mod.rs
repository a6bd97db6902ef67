//! The one list of system variables, and the way from a name to its declaration.
//!
//! Invariant: names are unique and sorted, so a `VariableId` is a position in the list for the program's life.
mod innodb;
mod server;
mod statement;

use std::sync::LazyLock;

use super::definition::Definition;

/// The position of a variable in the sorted registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub(super) u16);

static SORTED: LazyLock<Vec<&'static Definition>> = LazyLock::new(|| {
    let mut all: Vec<&'static Definition> =
        statement::STATEMENT.iter().chain(server::SERVER).chain(innodb::INNODB).collect();
    all.sort_by_key(|definition| definition.name);
    assert!(all.windows(2).all(|pair| pair[0].name < pair[1].name), "a system variable is declared twice");
    all
});

/// Names that older servers and their clients use for a variable of another name.
const ALIASES: &[(&str, &str)] = &[
    ("identity", "last_insert_id"),
    ("storage_engine", "default_storage_engine"),
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
];

impl VariableId {
    /// Finds a variable by name, in any letter case.
    pub fn by_name(name: &str) -> Option<VariableId> {
        let lower = name.to_ascii_lowercase();
        let name = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, name)| name);
        let index = SORTED.binary_search_by_key(&name, |definition| definition.name).ok()?;
        Some(VariableId(u16::try_from(index).expect("there are fewer than 65,536 variables")))
    }

    /// For names written in this program.
    pub fn known(name: &'static str) -> VariableId {
        VariableId::by_name(name).expect("the program names only variables of its registry")
    }

    pub fn definition(self) -> &'static Definition {
        SORTED[self.0 as usize]
    }
}

/// Every variable, by name.
pub fn all() -> impl Iterator<Item = VariableId> {
    (0..SORTED.len()).map(|index| VariableId(index as u16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::parse_text;

    #[test]
    fn every_default_is_a_valid_value_of_its_variable() {
        assert!(all().count() > 200);
        for id in all() {
            let definition = id.definition();
            let text = definition.default_setting().display();
            if definition.name == "timestamp" {
                continue;
            }
            let parsed = parse_text(definition, &text).expect(definition.name);
            assert_eq!(parsed.setting, definition.default_setting(), "{}", definition.name);
            assert!(parsed.warning.is_none(), "{}", definition.name);
        }
    }

    #[test]
    fn names_ignore_case_and_old_names_work() {
        assert_eq!(VariableId::by_name("AutoCommit"), VariableId::by_name("autocommit"));
        assert_eq!(VariableId::by_name("tx_isolation").unwrap().definition().name, "transaction_isolation");
        assert_eq!(VariableId::by_name("no_such"), None);
    }
}
