//! A difference as `argued` looks at it, and what can be asked of its statement and its answers.
//!
//! Invariant: nothing here knows of a kind of differences. Caller: `argued`.

/// What is asked of a difference: its statement, and that statement with the families of types in place of columns.
pub struct Case<'d> {
    pub query: &'d str,
    pub shape: &'d str,
    pub table: &'d str,
    /// What fills the table.
    pub filling: &'d [String],
    /// Rows that only the reference, and only the tested server gives.
    pub wanted: Vec<&'d str>,
    pub given: Vec<&'d str>,
    /// The columns have the same types.
    pub has_same_kinds: bool,
}

/// What `class` puts in place of columns.
pub const FAMILIES: &[&str] = &[
    "INTEGER", "DECIMAL", "REAL", "TEXT", "BYTES", "DATE", "TIME", "DATETIME", "YEAR", "MEMBERS", "BIT",
    "JSON", "id",
];

/// Whether the row of an outer join, which begins with the keys of its two tables, has no row of one of them.
pub fn has_no_match(row: &str) -> bool {
    row.split('|').take(2).any(|key| key == "NULL")
}

/// Whether no more rows differ than hold a number of 64 bits that another sign makes negative.
pub fn is_of_greatest(case: &Case<'_>) -> bool {
    let is_plain = !has_one(case, &[" JOIN ", "LATERAL ", "COUNT(", "GROUP BY", " OVER ("]);
    let greatest = held(case, &["18446744073709551615", "-1,", "-1)"]);
    !is_plain || case.wanted.len().max(case.given.len()) <= greatest
}

/// The rows of one answer that the other one does not have.
pub fn without<'r>(rows: &'r [String], others: &[String]) -> Vec<&'r str> {
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

pub fn has_one(case: &Case<'_>, parts: &[&str]) -> bool {
    parts.iter().any(|part| case.shape.contains(part))
}

/// How many values that begin so the table has been filled with.
pub fn held(case: &Case<'_>, beginnings: &[&str]) -> usize {
    let count =
        |text: &String| beginnings.iter().map(|beginning| text.matches(beginning).count()).sum::<usize>();
    case.filling.iter().map(count).sum()
}

/// What follows each ON of a statement up to the next join.
pub fn on_clauses(shape: &str) -> impl Iterator<Item = &str> {
    shape.split(" ON ").skip(1).map(|on| on.split(" JOIN ").next().unwrap_or(on))
}

/// The subqueries of a part of a statement.
pub fn subqueries(part: &str) -> impl Iterator<Item = &str> {
    part.match_indices("(SELECT ").map(|(place, _)| {
        let mut depth = 0_i32;
        let rest = &part[place..];
        let end = rest.char_indices().find(|(_, letter)| {
            depth += i32::from(*letter == '(') - i32::from(*letter == ')');
            depth == 0
        });
        end.map_or(rest, |(end, _)| &rest[..end])
    })
}

/// The beginnings of the lists behind IN.
pub fn lists(shape: &str) -> impl Iterator<Item = &str> {
    shape.split(" IN (").skip(1)
}

/// Whether a column of 64 bits without a sign is in the statement.
pub fn uses_unsigned(case: &Case<'_>) -> bool {
    let columns = case.table.trim_end_matches(')').split(", ");
    columns
        .filter_map(|column| column.strip_suffix(" BIGINT UNSIGNED"))
        .any(|column| case.query.contains(column))
}

/// Whether an index is of a column of one of these types that is in the statement.
pub fn has_index(case: &Case<'_>, types: &[&str]) -> bool {
    case.table.split(", ").any(|column| {
        let Some((name, _)) = column.trim_start_matches("CREATE TABLE t (").split_once(' ') else {
            return false;
        };
        types.iter().any(|kind| column.contains(kind))
            && case.query.contains(name)
            && case.table.contains(&format!("KEY ({name})"))
    })
}

/// Whether a value that is no column of the subquery's family is looked for among those of its column.
pub fn is_mixed_lookup(case: &Case<'_>) -> bool {
    let parts = [" NOT IN (SELECT ", " IN (SELECT ", "= ANY (SELECT ", "<> ALL (SELECT "];
    parts.iter().any(|part| {
        case.shape.match_indices(part).any(|(place, _)| {
            let operand = &case.shape[..place];
            let family = case.shape[place + part.len()..].trim_start_matches("x.");
            let family = family.split([' ', ')']).next().unwrap_or(family);
            let last = operand.rsplit([' ', '.']).next().unwrap_or(operand);
            last.ends_with(')') || last != family
        })
    })
}

/// Whether an index is of a column of moments without fractions that is in the statement.
pub fn has_index_of_moments(case: &Case<'_>) -> bool {
    let kinds = [" TIME", " DATETIME", " TIMESTAMP NULL"];
    let columns = case.table.trim_end_matches(')').split(", ");
    columns
        .filter_map(|column| kinds.iter().find_map(|kind| column.strip_suffix(kind)))
        .any(|column| case.query.contains(column) && case.table.contains(&format!("KEY ({column})")))
}

/// Whether the rows are the same numbers, written otherwise.
pub fn are_same_numbers(case: &Case<'_>) -> bool {
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
pub fn are_cut(case: &Case<'_>) -> bool {
    let length = |rows: &[&str]| rows.iter().map(|row| row.len()).sum::<usize>();
    length(&case.wanted) < length(&case.given)
}
