//! Which access path each kind of condition and order gets.
use crate::harness::Database;

fn database() -> Database {
    let mut db = Database::new();
    db.create(
        "t",
        &["id int", "a int null", "b varchar null", "c decimal null", "d bigint", "x varchar null"],
        &["primary id", "index a a", "index ab a b", "index b b", "unique d d", "index xp x(3)"],
    );
    db.create("o", &["id int", "t_id int", "n int null"], &["primary id", "index t_id t_id n"]);
    db.create("k", &["p varchar", "q int", "r int"], &["primary p q desc"]);
    db.create("h", &["v int null"], &[]);
    db
}

fn check(cases: &[(&str, &str)], statement: impl Fn(&str) -> String) {
    let db = database();
    let found: Vec<(&str, String)> =
        cases.iter().map(|(text, _)| (*text, db.paths(&statement(text)))).collect();
    let wrong: Vec<&(&str, String)> = found
        .iter()
        .zip(cases)
        .filter(|(found, (_, path))| found.1 != *path)
        .map(|(found, _)| found)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn conditions() {
    let cases = [
        ("id = 1", "t const PRIMARY []"),
        ("1 = id", "t const PRIMARY []"),
        ("id = 1.5", "t const PRIMARY [Using where]"),
        ("id = '7'", "t const PRIMARY []"),
        ("id IN (1, 2)", "t range PRIMARY []"),
        ("id > 1 AND id < 9", "t range PRIMARY []"),
        ("id BETWEEN 1 AND 5 OR id = 7", "t range PRIMARY [Using where]"),
        ("id + 1 = 2", "t ALL - [Using where]"),
        ("d = 5", "t const d []"),
        ("d > 5 AND d < 9", "t range d [Using index condition]"),
        ("d > 5 AND d IS NOT NULL", "t ALL - [Using where]"),
        ("b = 'x'", "t ref b [Using where]"),
        ("b = 5", "t ALL - [Using where]"),
        ("b LIKE 'ab%'", "t range b [Using where]"),
        ("b COLLATE utf8mb4_bin = 'x'", "t ALL - [Using where]"),
        ("a = 1 AND b = 'x'", "t ref ab [Using where]"),
        ("a = 1 AND b > 'x'", "t range ab [Using where]"),
        ("a IS NULL", "t ref a [Using index condition]"),
        ("a <=> NULL", "t ref a []"),
        ("a <> 1", "t ALL - [Using where]"),
        ("NOT a = 1", "t ALL - [Using where]"),
        ("x = 'abcdef'", "t ref xp [Using where]"),
        ("a = id", "t ALL - [Using where]"),
        ("c = 1.5", "t ALL - [Using where]"),
        ("1 = 0", "t ALL - [Using where]"),
        ("a = 1 OR c = 2", "t ALL - [Using where]"),
    ];
    check(&cases, |condition| format!("SELECT * FROM t WHERE {condition}"));
}

#[test]
fn orders() {
    let cases = [
        ("SELECT * FROM t ORDER BY id", "t ALL - []"),
        ("SELECT * FROM t ORDER BY id DESC LIMIT 3", "t ALL - [Backward index scan]"),
        ("SELECT * FROM t ORDER BY a LIMIT 3", "t index a []"),
        ("SELECT * FROM t ORDER BY a, b LIMIT 3", "t index ab []"),
        ("SELECT * FROM t ORDER BY a DESC, b DESC LIMIT 3", "t index ab [Backward index scan]"),
        ("SELECT * FROM t ORDER BY a, b DESC LIMIT 3", "t ALL - [Using filesort]"),
        ("SELECT * FROM t WHERE a = 1 ORDER BY b", "t ref ab []"),
        ("SELECT * FROM t WHERE a = 1 ORDER BY id DESC", "t ref a [Backward index scan]"),
        ("SELECT * FROM t WHERE a > 1 ORDER BY c", "t ALL - [Using where; Using filesort]"),
        ("SELECT * FROM k WHERE p = 'x' ORDER BY q DESC", "k ref PRIMARY [Using where]"),
        ("SELECT * FROM k WHERE p = 'x' ORDER BY q", "k ref PRIMARY [Using where; Backward index scan]"),
        ("SELECT MIN(a) FROM t", "- - - [Select tables optimized away]"),
        ("SELECT MAX(id) FROM t", "- - - [Select tables optimized away]"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "t index a [Using index]"),
        (
            "SELECT b, COUNT(*) FROM t GROUP BY b ORDER BY b LIMIT 2",
            "t ALL - [Using temporary; Using filesort]",
        ),
        ("SELECT COUNT(*) FROM t", "t index a [Using index]"),
        ("SELECT DISTINCT a FROM t", "t index a [Using index; Using temporary]"),
    ];
    check(&cases, str::to_owned);
}

#[test]
fn joins() {
    let cases = [
        ("SELECT * FROM o JOIN t ON t.id = o.t_id WHERE o.id = 1", "o const PRIMARY []\nt eq_ref PRIMARY []"),
        (
            "SELECT * FROM t JOIN o ON t.id = o.t_id WHERE t.id = 1",
            "t const PRIMARY []\no ref t_id [Using index]",
        ),
        ("SELECT * FROM t LEFT JOIN o ON t.id = o.t_id", "t ALL - []\no ref t_id [Using index]"),
        ("SELECT * FROM t JOIN h ON t.c = h.v WHERE t.id = 3", "t const PRIMARY []\nh ALL - [Using where]"),
        ("SELECT * FROM t STRAIGHT_JOIN o ON t.id = o.id", "t ALL - []\no eq_ref PRIMARY []"),
        ("SELECT * FROM t FORCE INDEX (a) WHERE a > 3", "t range a [Using index condition]"),
        ("SELECT * FROM t IGNORE INDEX (PRIMARY) WHERE id = 3", "t ALL - [Using where]"),
        ("DELETE FROM t WHERE a = 3", "t ref a []"),
        ("UPDATE t SET a = 1 WHERE d = 9", "t const d []"),
    ];
    check(&cases, str::to_owned);
}
