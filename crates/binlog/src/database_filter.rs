//! `binlog_do_db` and `binlog_ignore_db`: the databases whose changes a binary log has.
//!
//! Of rows the table's database counts, of statements that are written as text the session's.

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DatabaseFilter {
    /// Where there are any, no others.
    pub only: Vec<String>,
    /// Where all others are taken.
    pub ignored: Vec<String>,
}

impl DatabaseFilter {
    /// Whether changes in the database, whose name is empty for none, are in the log.
    pub fn takes(&self, database: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|name| name == database);
        if self.only.is_empty() { !has(&self.ignored) } else { has(&self.only) }
    }
}

#[cfg(test)]
mod tests {
    use super::DatabaseFilter;

    #[test]
    fn databases_to_log_go_before_those_to_ignore() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let filter = DatabaseFilter { only: names(&["a"]), ignored: names(&["a", "b"]) };
        assert!(filter.takes("a") && !filter.takes("b") && !filter.takes("c") && !filter.takes(""));
        let filter = DatabaseFilter { only: Vec::new(), ..filter };
        assert!(!filter.takes("a") && filter.takes("c") && filter.takes(""));
    }
}
