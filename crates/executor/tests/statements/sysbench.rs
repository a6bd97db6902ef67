//! The statements of sysbench's OLTP workloads.

use crate::harness::Database;
use binder::Literals;
use datum::Value;

fn sbtest(rows: i64) -> Database {
    let mut db = Database::new();
    db.create(
        "sbtest1",
        &["id int auto", "k int default=0", "c char", "pad char"],
        &["primary id", "index k_1 k"],
    );
    for id in 1..=rows {
        let k = (id * 7) % 50;
        db.check(
            &format!("INSERT INTO sbtest1(k, c, pad) VALUES({k}, 'c{:03}', 'pad')", (id * 13) % 100),
            "1 affected",
        );
    }
    db
}

#[test]
fn point_and_range_selects() {
    let mut db = sbtest(100);
    db.check("SELECT c FROM sbtest1 WHERE id=5", "c065");
    db.check("SELECT c FROM sbtest1 WHERE id=500", "");
    db.check("SELECT c FROM sbtest1 WHERE id BETWEEN 5 AND 7", "c065\nc078\nc091");
    db.check("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 10", "235");
    db.check("SELECT c FROM sbtest1 WHERE id BETWEEN 7 AND 10 ORDER BY c", "c004\nc017\nc030\nc091");
    db.check("SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 7 AND 9 ORDER BY c", "c004\nc017\nc091");
    assert_eq!(db.paths("SELECT c FROM sbtest1 WHERE id=5"), "sbtest1 const PRIMARY []");
    assert_eq!(db.paths("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 9"), "sbtest1 range PRIMARY []");
}

#[test]
fn random_points_and_ranges() {
    let mut db = sbtest(100);
    let points = "SELECT id, k FROM sbtest1 WHERE k IN (7, 14, 7, 999) ORDER BY id";
    db.check(points, "1 7\n2 14\n51 7\n52 14");
    let ranges =
        "SELECT count(k) FROM sbtest1 WHERE k BETWEEN 1 AND 3 OR k BETWEEN 2 AND 5 OR k BETWEEN 40 AND 41";
    db.check(ranges, "14");
    assert_eq!(db.paths(ranges), "sbtest1 range k_1 [Using where; Using index]");
}

#[test]
fn changes() {
    let mut db = sbtest(20);
    db.check("UPDATE sbtest1 SET k=k+1 WHERE id=3", "1 affected");
    db.check("SELECT k FROM sbtest1 WHERE id=3", "22");
    db.check("SELECT id FROM sbtest1 WHERE k=22", "3");
    db.check("SELECT id FROM sbtest1 WHERE k=21", "");
    db.check("UPDATE sbtest1 SET c='new' WHERE id=3", "1 affected");
    db.check("UPDATE sbtest1 SET c='new' WHERE id=3", "0 affected");
    db.check("DELETE FROM sbtest1 WHERE id=3", "1 affected");
    db.check("DELETE FROM sbtest1 WHERE id=3", "0 affected");
    db.check("INSERT INTO sbtest1 (id, k, c, pad) VALUES (3, 77, 'x', 'y')", "1 affected");
    db.check("SELECT id, k, c FROM sbtest1 WHERE k=77", "3 77 x");
    db.check(
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (3, 77, 'x', 'y')",
        "1062 Duplicate entry '3' for key 'sbtest1.PRIMARY'",
    );
    db.check("SELECT COUNT(*), SUM(k) FROM sbtest1", "20 576");
}

#[test]
fn shared_plans_take_their_literals_as_parameters() {
    let mut db = sbtest(30);
    db.literals = Literals::Parameters;
    let plan = db.plan("SELECT c FROM sbtest1 WHERE id=5").expect("plans");
    assert!(plan.shareable);
    assert_eq!(plan.parameter_count, 1);
    for (id, c) in [(5, "c065"), (7, "c091")] {
        let (rows, _) = db.run_plan(&plan, vec![Value::Int(id)]).expect("runs");
        assert_eq!(rows, [[Value::bytes(c)]]);
    }
    let plan = db.plan("SELECT id FROM sbtest1 WHERE id BETWEEN 5 AND 6 LIMIT 1").expect("plans");
    let (rows, _) = db.run_plan(&plan, vec![Value::Int(8), Value::Int(20), Value::Int(2)]).expect("runs");
    assert_eq!(rows, [[Value::Int(8)], [Value::Int(9)]]);
    let plan = db.plan("UPDATE sbtest1 SET k=k+1, c='a' WHERE id=7").expect("plans");
    let (_, outcome) =
        db.run_plan(&plan, vec![Value::Int(3), Value::bytes("zz"), Value::Int(9)]).expect("runs");
    assert_eq!((outcome.matched_rows, outcome.affected_rows), (1, 1));
    db.literals = Literals::Inline;
    db.check("SELECT k, c FROM sbtest1 WHERE id=9", "16 zz");
}
