//! What the system variables of the logs say, for each statement to see without a lock.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;
use variables::Setting;

/// Words of a list variable.
type Words = Vec<String>;

#[derive(Debug)]
pub struct LogSettings {
    pub general: AtomicBool,
    pub slow: AtomicBool,
    pub to_file: AtomicBool,
    pub to_table: AtomicBool,
    pub slow_extra: AtomicBool,
    /// `log_slow_verbosity = full`.
    pub slow_full: AtomicBool,
    pub not_using_indexes: AtomicBool,
    pub admin_statements: AtomicBool,
    /// One of so many statements, or sessions, is written.
    pub slow_rate: AtomicU64,
    /// The rate counts sessions, not statements.
    pub slow_rate_by_session: AtomicBool,
    pub audit_logins: AtomicBool,
    pub audit_queries: AtomicBool,
    audit_filter: RwLock<AuditFilter>,
}

#[derive(Debug, Default)]
struct AuditFilter {
    only_accounts: Words,
    no_accounts: Words,
    only_commands: Words,
    no_commands: Words,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        let off = || AtomicBool::new(false);
        LogSettings {
            general: off(),
            slow: off(),
            to_file: AtomicBool::new(true),
            to_table: off(),
            slow_extra: off(),
            slow_full: off(),
            not_using_indexes: off(),
            admin_statements: off(),
            slow_rate: AtomicU64::new(1),
            slow_rate_by_session: AtomicBool::new(true),
            audit_logins: off(),
            audit_queries: off(),
            audit_filter: RwLock::default(),
        }
    }
}

impl LogSettings {
    /// Takes a new value of a variable; false for one that is not of the logs.
    pub fn obey(&self, name: &str, setting: &Setting) -> bool {
        let truth = setting.as_boolean();
        match name {
            "general_log" => self.general.store(truth, Relaxed),
            "slow_query_log" => self.slow.store(truth, Relaxed),
            "log_output" => {
                let words = words(setting.as_text());
                let has = |wanted: &str| words.iter().any(|word| word == wanted);
                self.to_file.store(has("file") && !has("none"), Relaxed);
                self.to_table.store(has("table") && !has("none"), Relaxed);
            }
            "log_slow_extra" => self.slow_extra.store(truth, Relaxed),
            "log_slow_verbosity" => self.slow_full.store(setting.as_text() == "full", Relaxed),
            "log_queries_not_using_indexes" => self.not_using_indexes.store(truth, Relaxed),
            "log_slow_admin_statements" => self.admin_statements.store(truth, Relaxed),
            "log_slow_rate_limit" => self.slow_rate.store(setting.as_unsigned(), Relaxed),
            "log_slow_rate_type" => self.slow_rate_by_session.store(setting.as_text() == "session", Relaxed),
            "audit_log_policy" => {
                let policy = setting.as_text();
                self.audit_logins.store(matches!(policy, "ALL" | "LOGINS"), Relaxed);
                self.audit_queries.store(matches!(policy, "ALL" | "QUERIES"), Relaxed);
            }
            "audit_log_include_accounts" => {
                self.audit_filter.write().only_accounts = words(setting.as_text());
            }
            "audit_log_exclude_accounts" => self.audit_filter.write().no_accounts = words(setting.as_text()),
            "audit_log_include_commands" => {
                self.audit_filter.write().only_commands = words(setting.as_text());
            }
            "audit_log_exclude_commands" => self.audit_filter.write().no_commands = words(setting.as_text()),
            _ => return false,
        }
        true
    }

    /// Whether the audit log is to have what this account does. `account` is `user@host`, `command` the kind of statement
    /// as `Com_..` counters name it; none for logins, which only accounts decide.
    pub fn is_audited(&self, account: &str, command: Option<&str>) -> bool {
        let switch = if command.is_some() { &self.audit_queries } else { &self.audit_logins };
        if !switch.load(Relaxed) {
            return false;
        }
        let filter = self.audit_filter.read();
        let passes = |only: &Words, none: &Words, what: &str| {
            let is_in = |list: &Words| list.iter().any(|word| word.eq_ignore_ascii_case(what));
            if only.is_empty() { !is_in(none) } else { is_in(only) }
        };
        passes(&filter.only_accounts, &filter.no_accounts, account)
            && command.is_none_or(|command| passes(&filter.only_commands, &filter.no_commands, command))
    }
}

fn words(text: &str) -> Words {
    let words = text.split(',').map(|word| word.trim().trim_matches(['\'', '`']).to_lowercase());
    words.map(|word| word.replace("'@'", "@")).filter(|word| !word.is_empty()).collect()
}

/// `log_output` as MySQL writes it; `None` for what it does not take.
pub fn log_output_text(given: &str) -> Option<String> {
    let words = words(given);
    const ALL: [&str; 3] = ["none", "file", "table"];
    if words.is_empty() || words.iter().any(|word| !ALL.contains(&word.as_str())) {
        return None;
    }
    let chosen: Vec<String> = ALL
        .iter()
        .filter(|word| words.iter().any(|given| given == *word))
        .map(|word| word.to_uppercase())
        .collect();
    Some(chosen.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_goes_before_the_other_outputs() {
        let settings = LogSettings::default();
        assert!(settings.obey("log_output", &Setting::text("NONE,TABLE")));
        assert!(!settings.to_table.load(Relaxed));
        assert_eq!(log_output_text("table,file").as_deref(), Some("FILE,TABLE"));
        assert_eq!(log_output_text("x"), None);
        assert_eq!(log_output_text(""), None);
    }

    #[test]
    fn accounts_and_commands_are_filtered() {
        let settings = LogSettings::default();
        assert!(!settings.is_audited("root@localhost", None));
        settings.obey("audit_log_policy", &Setting::text("ALL"));
        assert!(settings.is_audited("root@localhost", Some("select")));
        settings.obey("audit_log_exclude_accounts", &Setting::text("app@%, 'job'@'localhost'"));
        assert!(!settings.is_audited("job@localhost", None));
        settings.obey("audit_log_include_commands", &Setting::text("drop_table,grant"));
        assert!(!settings.is_audited("root@localhost", Some("select")));
        assert!(settings.is_audited("root@localhost", Some("grant")));
    }
}
