//! Differences of programs that are the reference's own oddities: each kind has its smallest case in `docs/differential.md`.
//!
//! Invariant: a kind is told by the cut-down script and the first lines that differ, never by the seed. Caller: the tool, which
//! counts each kind as one class.
use super::play::ProgramDifference;

type Kind = (&'static str, fn(&Case<'_>) -> bool);

/// A difference: its last statement, those before, and the first lines that are not the same.
struct Case<'d> {
    last: &'d str,
    before: &'d [String],
    wanted: &'d str,
    given: &'d str,
}

const KINDS: &[Kind] = &[
    ("a text in a user variable beside a key is told of as often as ranges read it", |case| {
        let is_beside_key = ["id = @u", "id > @u", "id < @u", "id <> @u"];
        let is_told =
            |line: &str| line.starts_with("ERROR 1292") || line.starts_with("ok") || line.starts_with('(');
        is_beside_key.iter().any(|part| case.last.contains(part))
            && is_told(case.wanted)
            && is_told(case.given)
            && (case.wanted.starts_with("ERROR") || case.given.starts_with("ERROR") || case.has_same_rows())
    }),
    ("INSERT IGNORE .. VALUES ends without a word at a row whose trigger gives NULL", |case| {
        let is_of_rows = |line: &str| !line.starts_with("ERROR");
        let tells_of_it = ["INSERT IGNORE INTO u VALUES", "FROM u", "CALL "];
        case.all().any(|sql| sql.contains("BEFORE INSERT ON u") && sql.contains("SET NEW.a ="))
            && case.all().any(|sql| sql.contains("INSERT IGNORE INTO u VALUES"))
            && tells_of_it.iter().any(|part| case.last.contains(part))
            && is_of_rows(case.wanted)
            && is_of_rows(case.given)
    }),
];

impl ProgramDifference {
    /// The name of the kind that the difference is of.
    pub fn argued(&self) -> Option<&'static str> {
        let (last, before) = self.statements.split_last()?;
        let (wanted, given) = self.first_lines();
        let case =
            Case { last, before, wanted: wanted.unwrap_or_default(), given: given.unwrap_or_default() };
        KINDS.iter().find(|(_, is_of)| is_of(&case)).map(|(name, _)| *name)
    }
}

impl Case<'_> {
    fn all(&self) -> impl Iterator<Item = &str> {
        self.before.iter().map(String::as_str).chain([self.last])
    }

    /// Whether both lines tell of the same number of rows, whatever their warnings.
    fn has_same_rows(&self) -> bool {
        let without = |line: &str| {
            let words = line.split_whitespace().collect::<Vec<_>>();
            let count = words.iter().position(|word| *word == "warnings" || *word == "warnings)");
            let mut kept = words.clone();
            if let Some(at) = count.and_then(|at| at.checked_sub(1)) {
                kept.drain(at..=at + 1);
            }
            let end = kept.iter().position(|word| *word == "Warnings:").unwrap_or(kept.len());
            kept[..end].join(" ")
        };
        without(self.wanted) == without(self.given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(statements: &[&str], reference: &str, tested: &str) -> Option<&'static str> {
        let statements = statements.iter().map(|sql| (*sql).to_owned()).collect();
        ProgramDifference { seed: 1, statements, reference: reference.to_owned(), tested: tested.to_owned() }
            .argued()
    }

    #[test]
    fn kinds_are_told_by_scripts_and_lines() {
        let update = "UPDATE u SET a = a + 1, b = 'y' WHERE id > @u ORDER BY id DESC";
        let two = "ok 2 rows 2 warnings (Rows matched: 2  Changed: 2  Warnings: 2)\n";
        let one = "ok 2 rows 1 warnings (Rows matched: 2  Changed: 2  Warnings: 1)\n";
        assert!(of(&[update], two, one).is_some());
        let more = "ok 3 rows 1 warnings (Rows matched: 3  Changed: 3  Warnings: 1)\n";
        assert!(of(&[update], two, more).is_none(), "other rows are no matter of warnings");
        assert!(of(&["UPDATE u SET a = 1 WHERE a > 7"], two, one).is_none());
        assert!(
            of(&[update], "ok\n", "ERROR 1292 (22007): Truncated incorrect DOUBLE value: 'x'\n").is_some()
        );
        assert!(of(&[update], "ok\n", "ERROR 1062 (23000): Duplicate entry\n").is_none());
        let trigger = "CREATE TRIGGER g BEFORE INSERT ON u FOR EACH ROW SET NEW.a = NULL";
        let insert = "INSERT IGNORE INTO u VALUES (1, 2, 'x')";
        assert!(of(&[trigger, insert], "ok 0 rows\n", "ok 1 rows\n").is_some());
        assert!(of(&[trigger, insert, "SELECT a FROM t"], "(1)\n", "(2)\n").is_none());
        assert!(of(&[trigger, insert], "ok 0 rows\n", "ERROR 1048 (23000): Column\n").is_none());
    }
}
