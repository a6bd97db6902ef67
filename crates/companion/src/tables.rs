//! The tables that `top` and `watch` show, made of counters that grew and of what sessions do.
//!
//! Invariant: the rows that took the most come first, and no text of a server breaks a line. Used by `live`, `waiting`,
//! `replicating`.

use std::collections::HashMap;

use recording::Unseen;
use serde_json::{Value, json};

use crate::session::Session;

/// Rows that a table has at most.
pub const ROWS_MAX: usize = 40;

/// A table of what is going on; the last column is text, the others are numbers.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub title: String,
    /// What is said instead when there are no rows.
    pub none: &'static str,
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn json(&self) -> Value {
        json!({ "title": self.title, "none": self.none, "head": self.head, "rows": self.rows })
    }
}

/// Counters that grow, of one thing each, as they were at the last look.
pub type Grown = HashMap<String, Vec<f64>>;

/// Rows of what grew, those first that took the most time (column `by`).
pub fn differences<const N: usize>(
    before: &Grown,
    now: &Grown,
    seconds: f64,
    by: usize,
    shown: impl Fn([f64; N]) -> Vec<String>,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (name, counters) in now {
        let old = before.get(name);
        let grown: [f64; N] = std::array::from_fn(|place| {
            let new = counters.get(place).copied().unwrap_or(0.0);
            (new - old.and_then(|old| old.get(place)).copied().unwrap_or(0.0)).max(0.0) / seconds
        });
        if grown[0] > 0.0 || grown[by.min(N - 1)] > 0.0 {
            let mut row = shown(grown);
            row.push(one_line(name));
            rows.push((grown[by.min(N - 1)], row));
        }
    }
    ranked(rows)
}

/// The rows with the largest first numbers.
pub fn ranked(mut rows: Vec<(f64, Vec<String>)>) -> Vec<Vec<String>> {
    rows.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    rows.into_iter().take(ROWS_MAX).map(|(_, row)| row).collect()
}

/// What runs at this moment, where no digests tell what ran.
pub fn statements_of_sessions(sessions: &[Session]) -> Table {
    let mut groups: HashMap<String, (f64, f64)> = HashMap::new();
    for session in sessions.iter().filter(|session| !session.text.is_empty()) {
        let group = groups.entry(without_literals(&session.text)).or_default();
        group.0 += 1.0;
        group.1 = group.1.max(session.seconds);
    }
    let rows = groups
        .into_iter()
        .map(|(text, (count, longest))| (count, vec![rate(count), rate(longest), text]))
        .collect();
    Table {
        title: "Statements (running at this moment; performance_schema is off, lacks digests or is not for this account)".into(),
        none: "none is running",
        head: vec!["sessions", "longest s", "statement"],
        rows: ranked(rows),
    }
}

/// What the account does not see, if there is any.
pub fn unseen_table(unseen: &[Unseen]) -> Option<Table> {
    let row = |Unseen { what, why }: &Unseen| vec![format!("{what}: {why}")];
    (!unseen.is_empty()).then(|| Table {
        title: "Not seen".into(),
        none: "",
        head: vec!["what, and why"],
        rows: unseen.iter().map(row).collect(),
    })
}

/// A statement with `?` for each number and text, on one line.
fn without_literals(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        if letter == '\'' || letter == '"' {
            while let Some(inner) = letters.next() {
                if inner == '\\' {
                    letters.next();
                } else if inner == letter {
                    break;
                }
            }
            out.push('?');
        } else if letter.is_ascii_digit() && !last.is_alphanumeric() && last != '_' {
            while letters.peek().is_some_and(|next| next.is_ascii_alphanumeric() || *next == '.') {
                letters.next();
            }
            out.push('?');
        } else {
            out.push(letter);
        }
        last = letter;
    }
    one_line(&out)
}

/// White space of any kind as single spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number with what digits matter.
pub fn rate(value: f64) -> String {
    if value >= 100.0 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_question_marks() {
        assert_eq!(
            without_literals("SELECT c FROM sbtest1\n WHERE id=15 AND k='a\\'b'"),
            "SELECT c FROM sbtest1 WHERE id=? AND k=?"
        );
    }

    #[test]
    fn what_grew_is_ranked_by_time() {
        let before = Grown::from([("a".to_owned(), vec![1.0, 10.0]), ("b".to_owned(), vec![5.0, 5.0])]);
        let now = Grown::from([
            ("a".to_owned(), vec![3.0, 12.0]),
            ("b".to_owned(), vec![5.0, 5.0]),
            ("c".to_owned(), vec![1.0, 40.0]),
        ]);
        let rows = differences(&before, &now, 2.0, 1, |[count, ms]| vec![rate(count), rate(ms)]);
        assert_eq!(rows, [["0.500", "20.0", "c"], ["1.0", "1.0", "a"]]);
    }
}
