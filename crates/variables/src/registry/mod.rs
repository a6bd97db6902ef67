//! The one list of system variables, and the way from a name to its declaration.
//!
//! Invariant: names are unique and sorted, so a `VariableId` is a position in the list for the program's life.
mod innodb;
mod server;
mod shown;
mod statement;

use std::sync::LazyLock;

use super::definition::Definition;

/// The position of a variable in the sorted registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub(super) u16);

static SORTED: LazyLock<Vec<&'static Definition>> = LazyLock::new(|| {
    let groups = [statement::STATEMENT, server::SERVER, innodb::INNODB, shown::SHOWN];
    let mut all: Vec<&'static Definition> = groups.into_iter().flatten().collect();
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

/// Older names that are listed beside the present ones.
const LISTED_ALIASES: &[(&str, &str)] = &[
    ("init_slave", "init_replica"),
    ("log_slave_updates", "log_replica_updates"),
    ("log_slow_slave_statements", "log_slow_replica_statements"),
    ("master_verify_checksum", "source_verify_checksum"),
    ("rpl_stop_slave_timeout", "rpl_stop_replica_timeout"),
    ("skip_slave_start", "skip_replica_start"),
    ("slave_allow_batching", "replica_allow_batching"),
    ("slave_checkpoint_group", "replica_checkpoint_group"),
    ("slave_checkpoint_period", "replica_checkpoint_period"),
    ("slave_compressed_protocol", "replica_compressed_protocol"),
    ("slave_exec_mode", "replica_exec_mode"),
    ("slave_max_allowed_packet", "replica_max_allowed_packet"),
    ("slave_net_timeout", "replica_net_timeout"),
    ("slave_parallel_workers", "replica_parallel_workers"),
    ("slave_pending_jobs_size_max", "replica_pending_jobs_size_max"),
    ("slave_preserve_commit_order", "replica_preserve_commit_order"),
    ("slave_skip_errors", "replica_skip_errors"),
    ("slave_sql_verify_checksum", "replica_sql_verify_checksum"),
    ("slave_transaction_retries", "replica_transaction_retries"),
    ("slave_type_conversions", "replica_type_conversions"),
    ("sql_slave_skip_counter", "sql_replica_skip_counter"),
    ("sync_master_info", "sync_source_info"),
];

/// Every name that SHOW VARIABLES lists, sorted, with what it means.
static LISTED: LazyLock<Vec<(&'static str, VariableId)>> = LazyLock::new(|| {
    let mut names: Vec<(&'static str, VariableId)> = all().map(|id| (id.definition().name, id)).collect();
    names.extend(LISTED_ALIASES.iter().map(|(alias, name)| (*alias, VariableId::known(name))));
    names.sort_unstable();
    names
});

impl VariableId {
    /// Finds a variable by name, in any letter case.
    pub fn by_name(name: &str) -> Option<VariableId> {
        let lower = name.to_ascii_lowercase();
        let mut aliases = ALIASES.iter().chain(LISTED_ALIASES);
        let name = aliases.find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, name)| name);
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

/// Every name that SHOW VARIABLES lists, older ones too, sorted.
pub fn listed() -> impl Iterator<Item = (&'static str, VariableId)> {
    LISTED.iter().copied()
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
