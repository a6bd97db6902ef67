//! What a workload found: rows of a table, and the faults.

use std::fmt;

#[derive(Debug, Default)]
pub struct Report {
    pub title: String,
    rows: Vec<(String, String)>,
    faults: Vec<String>,
}

/// More of one kind say nothing new.
const FAULTS_SHOWN_MAX: usize = 20;

impl Report {
    pub fn new(title: &str) -> Report {
        Report { title: title.to_owned(), ..Report::default() }
    }

    pub fn row(&mut self, name: impl Into<String>, value: impl fmt::Display) {
        self.rows.push((name.into(), value.to_string()));
    }

    pub fn fault(&mut self, what: impl Into<String>) {
        self.faults.push(what.into());
    }

    /// A fault unless it holds.
    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(otherwise());
        }
    }

    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// The value of a row.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.rows.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        writeln!(formatter, "{}", self.title)?;
        for (name, value) in &self.rows {
            writeln!(formatter, "    {name:width$}  {value}")?;
        }
        for fault in self.faults.iter().take(FAULTS_SHOWN_MAX) {
            writeln!(formatter, "    FAULT {fault}")?;
        }
        let verdict =
            if self.faults.is_empty() { "holds".to_owned() } else { format!("{} faults", self.faults.len()) };
        write!(formatter, "    {:width$}  {verdict}", "invariant")
    }
}
