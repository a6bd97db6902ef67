//! Option names that have been renamed, and values that have another unit or no meaning any more.
//!
//! Invariant: the new name is declared in `table` or is a system variable. Called by `resolve`.

/// How the value of the old option becomes that of the new one.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Same,
    /// The new option counts in a smaller unit.
    Times(f64),
    /// `log_warnings` counts from 0 what `log_error_verbosity` counts from 1.
    OneMore,
}

const RENAMED: &[(&str, &str, Unit)] = &[
    ("default-character-set", "character-set-server", Unit::Same),
    ("default-collation", "collation-server", Unit::Same),
    ("default-table-type", "default-storage-engine", Unit::Same),
    ("expire-logs-days", "binlog-expire-logs-seconds", Unit::Times(86_400.0)),
    ("key-buffer", "key-buffer-size", Unit::Same),
    ("log-slow-query", "slow-query-log", Unit::Same),
    ("log-slow-query-file", "slow-query-log-file", Unit::Same),
    ("log-slow-query-time", "long-query-time", Unit::Same),
    ("log-warnings", "log-error-verbosity", Unit::OneMore),
    ("max-statement-time", "max-execution-time", Unit::Times(1000.0)),
    ("record-buffer", "read-buffer-size", Unit::Same),
    ("rpl-semi-sync-master-enabled", "rpl-semi-sync-source-enabled", Unit::Same),
    ("rpl-semi-sync-master-timeout", "rpl-semi-sync-source-timeout", Unit::Same),
    ("rpl-semi-sync-master-wait-for-slave-count", "rpl-semi-sync-source-wait-for-replica-count", Unit::Same),
    ("rpl-semi-sync-master-wait-no-slave", "rpl-semi-sync-source-wait-no-replica", Unit::Same),
    ("rpl-semi-sync-master-wait-point", "rpl-semi-sync-source-wait-point", Unit::Same),
    ("rpl-semi-sync-slave-enabled", "rpl-semi-sync-replica-enabled", Unit::Same),
    ("slave-skip-errors", "replica-skip-errors", Unit::Same),
    ("skip-locking", "skip-external-locking", Unit::Same),
    ("ssl", "tls", Unit::Same),
    ("storage-engine", "default-storage-engine", Unit::Same),
    ("table-cache", "table-open-cache", Unit::Same),
    ("thread-cache", "thread-cache-size", Unit::Same),
    ("tx-isolation", "transaction-isolation", Unit::Same),
    ("tx-read-only", "transaction-read-only", Unit::Same),
];

/// Modes that 8.0 and later do not have any more; each had an effect on old versions only.
const MODES_REMOVED: &[&str] = &[
    "NO_AUTO_CREATE_USER",
    "NO_KEY_OPTIONS",
    "NO_FIELD_OPTIONS",
    "NO_TABLE_OPTIONS",
    "POSTGRESQL",
    "MSSQL",
    "ORACLE",
    "DB2",
    "MAXDB",
    "MYSQL323",
    "MYSQL40",
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    RENAMED.iter().map(|(old, ..)| *old)
}

/// The new name and the value for it.
pub(super) fn renamed(name: &str, value: Option<&str>) -> Option<(&'static str, Option<String>)> {
    let (_, new, unit) = RENAMED.iter().find(|(old, ..)| *old == name)?;
    let convert = |value: &str| match (unit, value.parse::<f64>()) {
        (Unit::Times(factor), Ok(number)) => format!("{:.0}", number * factor),
        (Unit::OneMore, Ok(number)) => format!("{:.0}", (number + 1.0).clamp(1.0, 3.0)),
        _ => value.to_owned(),
    };
    Some((new, value.map(convert)))
}

/// `sql_mode` without the modes that do not exist any more, and those.
pub(super) fn modes_without_removed(value: &str) -> (String, Vec<&str>) {
    let is_removed =
        |mode: &&str| MODES_REMOVED.iter().any(|removed| removed.eq_ignore_ascii_case(mode.trim()));
    let (removed, kept): (Vec<&str>, Vec<&str>) = value.split(',').partition(is_removed);
    (kept.join(","), removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::table::OPTIONS;

    #[test]
    fn new_names_exist() {
        for (old, new, _) in RENAMED {
            let is_declared = OPTIONS.iter().any(|spec| spec.name == *new);
            assert!(is_declared || variables::VariableId::by_name(&new.replace('-', "_")).is_some(), "{old}");
            assert!(!OPTIONS.iter().any(|spec| spec.name == *old), "{old} is declared");
        }
    }

    #[test]
    fn values_change_their_unit() {
        assert_eq!(
            renamed("expire-logs-days", Some("10")),
            Some(("binlog-expire-logs-seconds", Some("864000".into())))
        );
        assert_eq!(renamed("log-warnings", Some("9")), Some(("log-error-verbosity", Some("3".into()))));
        assert_eq!(renamed("ssl", None), Some(("tls", None)));
        assert_eq!(renamed("port", Some("1")), None);
        assert_eq!(
            modes_without_removed("STRICT_TRANS_TABLES,no_auto_create_user"),
            ("STRICT_TRANS_TABLES".to_owned(), vec!["no_auto_create_user"])
        );
    }
}
