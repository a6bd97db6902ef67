//! Differences of programs that are the reference's own oddities: each kind has its smallest case in `docs/differential.md`.
//!
//! Invariant: a kind is told by an experiment, never by how a script looks. The script is written in another way that means
//! the same without the oddity, and both servers have to agree on that from its first statement to its last. Caller: `play`, for
//! each difference that it has cut down.

/// An oddity, and scripts written without it; `None` where it does not occur.
pub(super) struct Kind {
    pub name: &'static str,
    pub without: fn(&[String]) -> Option<Vec<String>>,
}

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "a text in a user variable beside a key is told of as often as ranges read it",
        without: without_keys,
    },
    Kind {
        name: "INSERT IGNORE .. VALUES ends without a word at a row whose trigger gives NULL",
        without: without_values,
    },
    Kind {
        name: "a statement of a program reads a user variable with the type of its first execution",
        without: without_kept_types,
    },
    Kind {
        name: "a statement reads a user variable with the type that it had when the statement began",
        without: without_types,
    },
];

/// A user variable beside the key meets what the key computes, which no range reads.
fn without_keys(statements: &[String]) -> Option<Vec<String>> {
    const COMPARED: [&str; 4] = ["= @u", "> @u", "< @u", "<> @u"];
    changed(statements, |sql| {
        let replaced = COMPARED.iter().fold(sql.to_owned(), |sql, compared| {
            sql.replace(&format!("WHERE id {compared}"), &format!("WHERE id + 0 {compared}"))
        });
        (replaced != sql).then_some(replaced)
    })
}

/// INSERT IGNORE takes the same rows from a query. Of scripts in which a trigger gives a value to the column that takes no NULL.
fn without_values(statements: &[String]) -> Option<Vec<String>> {
    const INSERT: &str = "INSERT IGNORE INTO u ";
    let gives = |sql: &String| sql.contains("BEFORE INSERT ON u") && sql.contains("NEW.a");
    if !statements.iter().any(gives) {
        return None;
    }
    changed(statements, |sql| {
        let (mut replaced, mut rest, mut is_changed) = (String::new(), sql, false);
        while let Some(at) = rest.find(INSERT) {
            let (before, after) = rest.split_at(at + INSERT.len());
            replaced.push_str(before);
            rest = after;
            let Some(values) = after.strip_prefix("VALUES ") else { continue };
            let (rows, end) = rows_of(values)?;
            let queries: Vec<String> = rows.iter().map(|row| format!("SELECT {row}")).collect();
            replaced.push_str(&queries.join(" UNION ALL "));
            rest = &values[end..];
            is_changed = true;
        }
        replaced.push_str(rest);
        is_changed.then_some(replaced)
    })
}

/// The rows of VALUES without their parentheses, and where they end.
fn rows_of(values: &str) -> Option<(Vec<&str>, usize)> {
    let (mut rows, mut depth, mut begin, mut is_text, mut end) = (Vec::new(), 0, 0, false, 0);
    for (at, letter) in values.char_indices() {
        match letter {
            '\'' => is_text = !is_text,
            _ if is_text => {}
            '(' => {
                begin = if depth == 0 { at + 1 } else { begin };
                depth += 1;
            }
            ')' => {
                depth -= 1;
                if depth == 0 {
                    rows.push(&values[begin..at]);
                    end = at + 1;
                }
            }
            ',' | ' ' => {}
            _ if depth == 0 => break,
            _ => {}
        }
    }
    (!rows.is_empty() && depth == 0).then_some((rows, end))
}

/// Programs that read user variables are made anew before each statement, so that each execution is the first one.
fn without_kept_types(statements: &[String]) -> Option<Vec<String>> {
    let is_program = |sql: &&String| {
        ["CREATE PROCEDURE", "CREATE FUNCTION", "CREATE TRIGGER"].iter().any(|made| sql.starts_with(made))
    };
    let programs: Vec<&String> = statements.iter().filter(is_program).collect();
    if !programs.iter().any(|program| program.contains("@u")) {
        return None;
    }
    let mut anew = Vec::new();
    for sql in statements {
        let runs = ["CALL ", "SELECT f", "SELECT id, f", "UPDATE ", "DELETE "];
        let is_change = sql.starts_with("INSERT INTO u VALUES (7");
        if is_change || runs.iter().any(|begin| sql.starts_with(begin)) {
            for program in &programs {
                anew.push(dropped(program)?);
                anew.push((*program).clone());
            }
        }
        anew.push(sql.clone());
    }
    Some(anew)
}

/// A user variable is read as a text, which it always is.
fn without_types(statements: &[String]) -> Option<Vec<String>> {
    const READS: [&str; 9] = ["(", "= ", "> ", "< ", "+ ", "- ", "* ", "/ ", "% "];
    changed(statements, |sql| {
        let replaced = READS.iter().fold(sql.to_owned(), |sql, before| {
            sql.replace(&format!("{before}@u"), &format!("{before}CONCAT(@u)"))
        });
        (replaced != sql).then_some(replaced)
    })
}

/// What undoes a CREATE.
fn dropped(program: &str) -> Option<String> {
    let mut words = program.split([' ', '(']).skip(1);
    Some(format!("DROP {} {}", words.next()?, words.next()?))
}

/// All statements, some of them otherwise; `None` if none is.
fn changed(statements: &[String], otherwise: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let others: Vec<Option<String>> = statements.iter().map(|sql| otherwise(sql)).collect();
    if others.iter().all(Option::is_none) {
        return None;
    }
    Some(
        others.into_iter().zip(statements).map(|(other, sql)| other.unwrap_or_else(|| sql.clone())).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(kind: usize, statements: &[&str]) -> Option<Vec<String>> {
        let statements: Vec<String> = statements.iter().map(|sql| (*sql).to_owned()).collect();
        (KINDS[kind].without)(&statements)
    }

    #[test]
    fn keys_are_hidden() {
        let hidden = without(0, &["SET @u = 'x'", "UPDATE u SET b = 'y' WHERE id <> @u ORDER BY id DESC"]);
        let expected = "UPDATE u SET b = 'y' WHERE id + 0 <> @u ORDER BY id DESC";
        assert_eq!(hidden.expect("it occurs")[1], expected);
        assert_eq!(without(0, &["UPDATE u SET a = 1 WHERE id > 7"]), None);
    }

    #[test]
    fn rows_come_from_a_query() {
        let trigger = "CREATE TRIGGER g BEFORE INSERT ON u FOR EACH ROW SET NEW.a = NULL";
        let insert =
            "CREATE PROCEDURE p1() BEGIN INSERT IGNORE INTO u VALUES ((1 + 2), ')', f(3)), (1, 2, 'k'); END";
        let expected = "CREATE PROCEDURE p1() BEGIN INSERT IGNORE INTO u SELECT (1 + 2), ')', f(3) UNION ALL SELECT 1, 2, 'k'; END";
        assert_eq!(without(1, &[trigger, insert]).expect("it occurs")[1], expected);
        assert_eq!(without(1, &[insert]), None);
        assert_eq!(without(1, &[trigger, "INSERT INTO u VALUES (1, 2, 'k')"]), None);
    }

    #[test]
    fn programs_are_made_anew() {
        let program = "CREATE PROCEDURE p1(x INT) INSERT INTO u VALUES (@u, x)";
        let anew = without(2, &[program, "CALL p1(1)", "SHOW WARNINGS", "CALL p1(2)"]).expect("it occurs");
        let made = ["DROP PROCEDURE p1", program];
        let expected =
            [program, made[0], made[1], "CALL p1(1)", "SHOW WARNINGS", made[0], made[1], "CALL p1(2)"];
        assert_eq!(anew, expected);
        assert_eq!(without(2, &["CREATE PROCEDURE p1() DO 1", "CALL p1()"]), None);
    }

    #[test]
    fn variables_are_texts() {
        let texts =
            without(3, &["SET @u = 1", "DELETE FROM u WHERE id = @u OR (@u + 1) = 2", "CALL p1(1, @u)"]);
        let expected =
            ["SET @u = 1", "DELETE FROM u WHERE id = CONCAT(@u) OR (CONCAT(@u) + 1) = 2", "CALL p1(1, @u)"];
        assert_eq!(texts.expect("it occurs"), expected);
        assert_eq!(without(3, &["SET @u = 1", "SELECT @o, @u"]), None);
    }
}
