//! Statements nested as deep as the parser allows must fit a worker's stack.
use crate::harness::Database;

/// Half of what a worker thread has, so that what calls this has room too.
const STACK_BYTES: usize = 8 << 20;

#[test]
fn deep_expressions_fit_the_stack() {
    let statements = vec![
        format!("SELECT {}", ["1"; 480].join("+")),
        format!("SELECT {}a FROM t WHERE {}a", "- ".repeat(450), " NOT ".repeat(450)),
        format!("SELECT {}1{}", "CASE WHEN 1 THEN ".repeat(160), " END".repeat(160)),
        format!("SELECT {}'a'{}", "CONCAT(".repeat(160), ")".repeat(160)),
        format!("SELECT 1 FROM t WHERE {}", ["a = 1"; 5000].join(" AND ")),
        format!("SELECT 1 FROM t WHERE {}", ["a = 1"; 5000].join(" OR ")),
        format!("SELECT a FROM t WHERE {}a = 1{}", "(1 = 0 OR (1 = 1 AND ".repeat(110), "))".repeat(110)),
        format!("SELECT {}1{}", "(SELECT ".repeat(55), ")".repeat(55)),
    ];
    let run = move || {
        let mut db = Database::new();
        db.create("t", &["a int"], &["primary a"]);
        db.check("INSERT INTO t VALUES (1)", "1 affected");
        for sql in statements {
            let shown = db.show(&sql);
            assert!(!shown.is_empty(), "{}", &sql[..80]);
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).expect("a thread starts");
    thread.join().expect("no statement failed");
}
