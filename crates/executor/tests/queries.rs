//! Runs `queries.test`: statements with the answers that MySQL 9.7 gives.
//!
//! A statement ends with `;`. Below it stand its rows (`| a b`), its count of affected rows (`= n affected`) or its
//! error (`! number message`).
mod harness;

use harness::Database;

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

#[test]
fn answers_are_those_of_mysql() {
    let mut db = database();
    let mut wrong = Vec::new();
    let mut lines = include_str!("queries.test").lines().peekable();
    while let Some(line) = lines.next() {
        let Some(sql) = line.strip_suffix(';') else { continue };
        let mut expected = Vec::new();
        while let Some(answer) = lines.next_if(|line| line.starts_with(['|', '=', '!'])) {
            expected.push(answer[1..].trim());
        }
        let got = db.show(sql);
        let got: Vec<&str> = got.lines().map(str::trim).collect();
        if got != expected {
            wrong.push(format!("{sql}\n  expected {expected:?}\n  got      {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
