//! What a planned statement costs in planner-free execution; run with `--nocapture` to see the figures.

use crate::harness::Database;
use binder::Literals;
use datum::Value;
use std::time::Instant;

#[test]
fn statements_of_sysbench() {
    let mut db = Database::new();
    db.create(
        "sbtest1",
        &["id int auto", "k int default=0", "c char", "pad char"],
        &["primary id", "index k_1 k"],
    );
    for id in 1..=2000 {
        db.show(&format!(
            "INSERT INTO sbtest1(k, c, pad) VALUES({id}, '{}', '{}')",
            "c".repeat(119),
            "p".repeat(59)
        ));
    }
    db.literals = Literals::Parameters;
    let statements: [(&str, &str, Vec<Value>); 6] = [
        ("point", "SELECT c FROM sbtest1 WHERE id=5", vec![Value::Int(77)]),
        ("range", "SELECT c FROM sbtest1 WHERE id BETWEEN 5 AND 7", vec![Value::Int(100), Value::Int(199)]),
        (
            "sum",
            "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5 AND 7",
            vec![Value::Int(100), Value::Int(199)],
        ),
        (
            "order",
            "SELECT c FROM sbtest1 WHERE id BETWEEN 5 AND 7 ORDER BY c",
            vec![Value::Int(100), Value::Int(199)],
        ),
        ("index update", "UPDATE sbtest1 SET k=k+1 WHERE id=7", vec![Value::Int(1), Value::Int(9)]),
        ("update", "UPDATE sbtest1 SET c='a' WHERE id=7", vec![Value::bytes("zz"), Value::Int(9)]),
    ];
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    for (name, sql, parameters) in statements {
        let plan = db.plan(sql).expect("plans");
        let start = Instant::now();
        for _ in 0..rounds {
            db.run_plan(&plan, parameters.clone()).expect("runs");
        }
        let each = start.elapsed() / rounds;
        println!("{name}: {each:?} each");
        let start = Instant::now();
        for _ in 0..rounds {
            db.plan(sql).expect("plans");
        }
        println!("{name}: {:?} to parse and plan", start.elapsed() / rounds);
    }
}
