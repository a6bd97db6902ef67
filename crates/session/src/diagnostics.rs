//! The conditions of the last statement that had any: what SHOW WARNINGS lists.
//!
//! Invariant: at most `max_error_count` conditions are kept, but all are counted.
use datum::{Condition, Severity, SqlError};

#[derive(Debug)]
pub struct Diagnostics {
    conditions: Vec<Condition>,
    count: u64,
    error_count: u64,
    /// The counts of the statement before, which `@@warning_count` and `@@error_count` tell.
    previous: (u64, u64),
    kept_max: usize,
    keeps_notes: bool,
}

impl Default for Diagnostics {
    fn default() -> Diagnostics {
        Diagnostics {
            conditions: Vec::new(),
            count: 0,
            error_count: 0,
            previous: (0, 0),
            kept_max: 1024,
            keeps_notes: true,
        }
    }
}

impl Diagnostics {
    /// Forgets everything; limits apply to what follows.
    pub fn start(&mut self, kept_max: usize, keeps_notes: bool) {
        self.previous = (self.count, self.error_count);
        self.conditions.clear();
        self.count = 0;
        self.error_count = 0;
        self.kept_max = kept_max;
        self.keeps_notes = keeps_notes;
    }

    pub fn add(&mut self, condition: Condition) {
        if condition.severity == Severity::Note && !self.keeps_notes {
            return;
        }
        self.count += 1;
        if condition.severity == Severity::Error {
            self.error_count += 1;
        }
        if self.conditions.len() < self.kept_max {
            self.conditions.push(condition);
        }
    }

    /// The error that ended the statement is its last condition.
    pub fn add_error(&mut self, error: &SqlError) {
        self.add(Condition { severity: Severity::Error, error: error.clone() });
    }

    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn error_count(&self) -> u64 {
        self.error_count
    }

    pub fn previous_count(&self) -> u64 {
        self.previous.0
    }

    pub fn previous_error_count(&self) -> u64 {
        self.previous.1
    }

    /// What the OK packet has room for.
    pub fn warning_count(&self) -> u16 {
        u16::try_from(self.count).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datum::error_code;

    #[test]
    fn more_are_counted_than_kept() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.start(1, false);
        let error = error_code::ER_NO_DB_ERROR.plain();
        diagnostics.add(error.clone().into_note());
        assert_eq!(diagnostics.count(), 0);
        diagnostics.add(error.clone().into_warning());
        diagnostics.add_error(&error);
        assert_eq!(
            (diagnostics.conditions().len(), diagnostics.count(), diagnostics.error_count()),
            (1, 2, 1)
        );
    }
}
