//! Runs the `.test` files: statements with the answers that MySQL 9.7 gives.
//!
//! A statement ends with `;`. Below it stand its rows (`| a b`), its count of affected rows (`= n affected`) with
//! its warnings (`~ number message`), or its error (`! number message`).

use crate::harness::Database;
use datum::SqlMode;

fn database() -> Database {
    let mut db = Database::new();
    db.create(
        "t1",
        &[
            "id int auto",
            "a int null",
            "b varchar null",
            "c decimal null",
            "d double null",
            "dt datetime null",
        ],
        &["primary id", "index a a", "index b b", "index ab a b"],
    );
    db.create(
        "t2",
        &["id int", "t1_id int null", "x int null", "name varchar"],
        &["primary id", "index t1_id t1_id"],
    );
    db.create("t3", &["v int null", "w varchar null"], &[]);
    db.create(
        "t4",
        &["p varchar", "q int", "r int default=5", "s varchar default=dflt"],
        &["primary p q", "unique u r"],
    );
    db
}

/// `set sql_mode = '..'` is the session's business: here it only changes what the statements after it run with.
fn new_mode(sql: &str) -> Option<SqlMode> {
    let list = sql.strip_prefix("set sql_mode = '")?.strip_suffix('\'')?;
    Some(SqlMode::parse(list).expect("a known mode"))
}

fn check(script: &str) {
    let mut db = database();
    let mut wrong = Vec::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(sql) = line.strip_suffix(';') else { continue };
        if let Some(mode) = new_mode(sql) {
            db.sql_mode = mode;
            continue;
        }
        let mut expected = Vec::new();
        while let Some(answer) = lines.next_if(|line| line.starts_with(['|', '=', '!', '~'])) {
            expected.push(answer[1..].trim().to_owned());
        }
        let shown = db.show(sql);
        let mut got: Vec<String> = shown.lines().map(|line| line.trim().to_owned()).collect();
        if shown.ends_with(" affected") {
            got.extend(db.warning_texts());
        }
        if got != expected {
            wrong.push(format!("{sql}\n  expected {expected:?}\n  got      {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn queries_answer_as_mysql_does() {
    check(include_str!("queries.test"));
}

#[test]
fn changes_answer_as_mysql_does() {
    check(include_str!("changes.test"));
}

#[test]
fn a_column_compared_with_its_own_row_is_no_bound() {
    let mut db = database();
    db.check("INSERT INTO t1 (id, a) VALUES (1, 2), (2, 2)", "2 affected");
    db.check("SELECT id FROM t1 WHERE id = a AND id = 1", "");
    db.check("SELECT id FROM t1 WHERE id = a AND id = 2", "2");
}
