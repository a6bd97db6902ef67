//! Differences in rows that are the reference's own oddities: each kind has its smallest case in `docs/differential.md`.
//!
//! Invariant: a kind is told by the statement's form and the answers, never by the seed, so that another difference of the
//! same statement is not taken for it where the answers can tell. Caller: `class`, which counts each kind as one class.
use crate::answer::Answer;
use crate::compare::Difference;

/// What is asked of a difference: its statement, and that statement with the families of types in place of columns.
struct Case<'d> {
    query: &'d str,
    shape: &'d str,
    table: &'d str,
    /// Rows that only the reference, and only the tested server gives.
    wanted: Vec<&'d str>,
    given: Vec<&'d str>,
}

type Kind = (&'static str, fn(&Case<'_>) -> bool);

const KINDS: &[Kind] = &[
    ("a condition in a subquery in ON of an outer join is lost", |case| {
        let joins = case.shape.contains(" LEFT JOIN ") || case.shape.contains(" RIGHT JOIN ");
        joins && on_clauses(case.shape).any(|on| on.contains("(SELECT") && on.contains(" WHERE "))
    }),
    ("MAX of an ENUM is of its number where an index answers", |case| {
        case.shape == "MEMBERS" && case.query.starts_with("SELECT MAX(")
    }),
    ("IN of several takes a negative number for the BIGINT UNSIGNED of its bits", |case| {
        uses_unsigned(case) && lists(case.shape).any(|list| !list.starts_with("SELECT"))
    }),
    ("IN of a subquery of BIT columns forgets their NULL", |case| {
        let columns = ["IN (SELECT BIT ", "IN (SELECT x.BIT ", "ALL (SELECT x.BIT "];
        columns.iter().any(|column| case.shape.contains(column))
    }),
    ("a number in a set operation's text column has its value's digits", |case| {
        case.query.starts_with("SELECT v, HEX(v) FROM (") && are_same_numbers(case)
    }),
    ("a negative number and a YEAR are unsigned", |case| {
        ["-number DIV YEAR", "-number DIV u.YEAR", "-number DIV t.YEAR", "-number + YEAR"]
            .iter()
            .any(|form| case.shape.contains(form))
    }),
    ("REPLACE in a temporary table takes the characters of its first text", |case| {
        case.shape.contains("REPLACE(") && are_cut(case)
    }),
    ("a fraction of a second is rounded where an index of moments without one is asked", |case| {
        case.query.contains("10:11:12.5'") && has_index_of_moments(case)
    }),
    ("the text of no date takes ten characters", |case| {
        case.wanted.iter().all(|row| row.contains("16383-15-3")) && are_cut(case)
    }),
];

/// The name of the kind that the difference is of.
pub fn argued(difference: &Difference, shape: &str) -> Option<&'static str> {
    let (Answer::Rows { rows: wanted, .. }, Answer::Rows { rows: given, .. }) =
        (&difference.reference, &difference.tested)
    else {
        return None;
    };
    let case = Case {
        query: &difference.query,
        shape,
        table: difference.statements.get(1).map_or("", String::as_str),
        wanted: without(wanted, given),
        given: without(given, wanted),
    };
    KINDS.iter().find(|(_, is_of)| is_of(&case)).map(|(name, _)| *name)
}

/// The rows of one answer that the other one does not have.
fn without<'r>(rows: &'r [String], others: &[String]) -> Vec<&'r str> {
    let mut left: Vec<&String> = others.iter().collect();
    let is_more = |row: &&'r String| match left.iter().position(|other| other == row) {
        Some(place) => {
            left.swap_remove(place);
            false
        }
        None => true,
    };
    rows.iter().filter(is_more).map(String::as_str).collect()
}

/// What follows each ON of a statement up to the next join.
fn on_clauses(shape: &str) -> impl Iterator<Item = &str> {
    shape.split(" ON ").skip(1).map(|on| on.split(" JOIN ").next().unwrap_or(on))
}

/// The beginnings of the lists behind IN.
fn lists(shape: &str) -> impl Iterator<Item = &str> {
    shape.split(" IN (").skip(1)
}

/// Whether a column of 64 bits without a sign is in the statement.
fn uses_unsigned(case: &Case<'_>) -> bool {
    let columns = case.table.trim_end_matches(')').split(", ");
    columns
        .filter_map(|column| column.strip_suffix(" BIGINT UNSIGNED"))
        .any(|column| case.query.contains(column))
}

/// Whether an index is of a column of moments without fractions that is in the statement.
fn has_index_of_moments(case: &Case<'_>) -> bool {
    let kinds = [" TIME", " DATETIME", " TIMESTAMP NULL"];
    let columns = case.table.trim_end_matches(')').split(", ");
    columns
        .filter_map(|column| kinds.iter().find_map(|kind| column.strip_suffix(kind)))
        .any(|column| case.query.contains(column) && case.table.contains(&format!("KEY ({column})")))
}

/// Whether the rows are the same numbers, written otherwise.
fn are_same_numbers(case: &Case<'_>) -> bool {
    let numbers = |rows: &[&str]| -> Option<Vec<f64>> {
        let first = |row: &&str| row.split('|').next().and_then(|text| text.parse().ok());
        let mut numbers = rows.iter().map(first).collect::<Option<Vec<f64>>>()?;
        numbers.sort_by(f64::total_cmp);
        Some(numbers)
    };
    match (numbers(&case.wanted), numbers(&case.given)) {
        (Some(wanted), Some(given)) => {
            wanted.len() == given.len()
                && wanted
                    .iter()
                    .zip(&given)
                    .all(|(wanted, given)| (wanted - given).abs() <= given.abs() * 1e-9)
        }
        _ => false,
    }
}

/// Whether the reference's rows are the others', each with less text.
fn are_cut(case: &Case<'_>) -> bool {
    let length = |rows: &[&str]| rows.iter().map(|row| row.len()).sum::<usize>();
    length(&case.wanted) < length(&case.given)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str, shape: &str, wanted: &[&str], given: &[&str]) -> Option<&'static str> {
        let answer = |rows: &[&str]| Answer::Rows {
            kinds: vec!["text".to_owned()],
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
        };
        let table = "CREATE TABLE t (id INT PRIMARY KEY, c0 BIGINT UNSIGNED, c1 INT, KEY (c1))";
        let difference = Difference {
            seed: 1,
            statements: vec![String::new(), table.to_owned()],
            query: query.to_owned(),
            expression: query.to_owned(),
            reference: answer(wanted),
            tested: answer(given),
        };
        argued(&difference, shape)
    }

    #[test]
    fn kinds_are_told_by_form_and_answers() {
        let query = "SELECT v, HEX(v) FROM (SELECT c1 * 0.0 v FROM t UNION ALL SELECT 'u') d";
        assert!(of(query, "(INTEGER * number.number)", &["0|30"], &["0.0|302E30"]).is_some());
        assert!(of(query, "(INTEGER * number.number)", &["0|30"], &["1.0|312E30"]).is_none());
        let list = "SELECT id FROM t WHERE -1 IN (c0, c1)";
        assert!(of(list, "-number IN (INTEGER, INTEGER)", &["1"], &[]).is_some());
        let small = "SELECT id FROM t WHERE -1 IN (c1, c1)";
        assert!(of(small, "-number IN (INTEGER, INTEGER)", &["1"], &[]).is_none());
        let join = "t LEFT JOIN t u ON u.INTEGER IN (SELECT x.INTEGER FROM t x WHERE x.TEXT)";
        assert!(of("", &format!("SELECT t.id FROM {join}"), &["1"], &[]).is_some());
        assert!(of("", "SELECT t.id FROM t JOIN t u ON u.INTEGER = t.INTEGER", &["1"], &[]).is_none());
    }
}
