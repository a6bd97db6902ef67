//! Operators that run out of memory give the same rows as with all they want, and give their temporary space back.
use crate::harness::Database;
use datum::Value;
use executor::MemoryShares;

/// The same rows in the same order, because the statement says so.
const ORDERED: &[&str] = &[
    "SELECT id, b FROM t ORDER BY b DESC, id",
    "SELECT a, b, c, id FROM t ORDER BY a, b, c DESC, id",
    "SELECT id FROM t ORDER BY d DESC, a + c, id LIMIT 40 OFFSET 7",
    "SELECT id, b FROM t ORDER BY b, id LIMIT 500",
    "SELECT t.id, u.id FROM t JOIN u ON t.a = u.a ORDER BY t.id, u.id",
    "SELECT id, a, SUM(c) OVER (PARTITION BY a ORDER BY id), COUNT(*) OVER (PARTITION BY b) FROM t ORDER BY id",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY b, id), FIRST_VALUE(b) OVER (ORDER BY c, id),
        LAST_VALUE(id) OVER (ORDER BY c, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t ORDER BY id",
    "SELECT id, NTILE(7) OVER (ORDER BY id), PERCENT_RANK() OVER (ORDER BY a), LAG(b, 50) OVER (ORDER BY id),
        LEAD(b, 90) OVER (ORDER BY id) FROM t ORDER BY id",
    "SELECT t.id, u.id, COUNT(*) OVER (), SUM(u.c) OVER (ORDER BY u.id, t.id ROWS BETWEEN 2000 PRECEDING AND 1500 FOLLOWING),
        PERCENT_RANK() OVER (ORDER BY u.c), CUME_DIST() OVER (ORDER BY t.c), LAG(u.d, 2500) OVER (ORDER BY u.id, t.id),
        LEAD(u.d, 2900, u.b) OVER (ORDER BY u.id, t.id) FROM t, u WHERE t.id < 12 ORDER BY t.id, u.id",
    "SELECT t.id, u.id, MAX(u.c) OVER (ORDER BY u.c RANGE BETWEEN 3 PRECEDING AND 4 FOLLOWING),
        NTH_VALUE(u.id, 700) OVER (PARTITION BY t.id % 2 ORDER BY u.id, t.id ROWS BETWEEN 1000 PRECEDING AND 900 FOLLOWING),
        FIRST_VALUE(u.d) OVER (ORDER BY u.id, t.id ROWS BETWEEN 1800 PRECEDING AND CURRENT ROW),
        NTILE(11) OVER (ORDER BY t.id, u.id) FROM t, u WHERE t.id < 12 ORDER BY t.id, u.id",
];

/// The same rows in some order.
const UNORDERED: &[&str] = &[
    "SELECT b, COUNT(*), SUM(a), MAX(b), MIN(c) FROM t GROUP BY b",
    "SELECT a, b, COUNT(DISTINCT c), GROUP_CONCAT(id ORDER BY id) FROM t GROUP BY a, b",
    "SELECT id, COUNT(*) FROM t GROUP BY id, d",
    "SELECT COUNT(DISTINCT b), COUNT(DISTINCT a, c), SUM(DISTINCT c), COUNT(DISTINCT d), COUNT(d), MIN(id) FROM t",
    "SELECT a % 3, COUNT(DISTINCT b, c), AVG(DISTINCT c), COUNT(DISTINCT d), COUNT(*) FROM t GROUP BY a % 3",
    "SELECT DISTINCT b, a FROM t",
    "SELECT DISTINCT d FROM t WHERE a IS NOT NULL",
    "SELECT COUNT(*) FROM (SELECT DISTINCT a, b, c FROM t) AS x",
    "SELECT t.id, u.id, u.b FROM t JOIN u ON t.b = u.b",
    "SELECT t.id, u.id FROM t JOIN u ON t.a = u.a AND t.c < u.c",
    "SELECT t.id, u.id, u.d FROM t LEFT JOIN u ON t.a = u.a AND u.c > 5",
    "SELECT t.id, u.id FROM t LEFT JOIN u ON t.b = u.b AND t.c = u.c",
    "SELECT x.id, y.id FROM u AS x JOIN u AS y ON x.c = y.c AND x.a = y.a LEFT JOIN t ON t.b = y.b",
    "SELECT t.id, u.id, u.b FROM t JOIN u ON t.a = u.id OR t.b = u.b",
    "SELECT t.id, u.id, u.d FROM t LEFT JOIN u ON (t.a < u.c OR t.id = u.a) AND u.id < 20",
    "SELECT t.id FROM t WHERE t.id > 100 AND EXISTS (SELECT 1 FROM u WHERE u.a < t.c - 18 OR u.c > t.a)",
    "SELECT t.id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a > t.a + 20 AND u.c < t.c)",
    "SELECT t.id, v.id FROM u JOIN t ON u.a > t.a + 35 JOIN u AS v ON v.id = t.id OR v.c > u.c + 18",
    "SELECT t.id, u.id, v.id FROM t LEFT JOIN (u JOIN u AS v ON v.id = u.a) ON t.b = u.b AND v.c > t.a",
    "SELECT t.id, u.id FROM t LEFT JOIN u ON u.id = t.a AND u.b IN (SELECT b FROM u AS w WHERE w.c < 15)",
    "SELECT a, b FROM t UNION SELECT a, b FROM u",
    "SELECT a, b FROM t UNION ALL SELECT a, b FROM u",
    "SELECT a, b FROM t INTERSECT SELECT a, b FROM u",
    "SELECT a, b FROM t EXCEPT SELECT a, b FROM u",
    "SELECT a FROM t INTERSECT ALL SELECT a FROM u",
    "SELECT a, c FROM t EXCEPT ALL SELECT a, c FROM u",
    "SELECT x.id, y.n FROM (SELECT id, a FROM t WHERE id > 3) AS x, (SELECT a, COUNT(*) AS n FROM u GROUP BY a) AS y
        WHERE x.a = y.a",
    "WITH w AS (SELECT a, b FROM t) SELECT x.a, COUNT(*) FROM w AS x JOIN w AS y ON x.b = y.b GROUP BY x.a",
    "WITH RECURSIVE r AS (SELECT 1 AS n, CAST('x' AS CHAR(60)) AS s UNION ALL SELECT n + 1, CONCAT(s, 'x') FROM r
        WHERE n < 50) SELECT r.n, r.s, q.n FROM r JOIN r AS q ON q.n < 4",
    "SELECT id FROM t WHERE a IN (SELECT a FROM u WHERE c > 3)",
    "SELECT id FROM t WHERE a NOT IN (SELECT a FROM u WHERE a IS NOT NULL AND c > 8)",
    "SELECT id, (SELECT COUNT(*) FROM u WHERE u.a = t.a) FROM t",
    "SELECT a, b, SUM(c) FROM t GROUP BY a, b WITH ROLLUP",
    "SELECT a, b, COUNT(DISTINCT d), SUM(DISTINCT id), COUNT(*) FROM t GROUP BY a, b WITH ROLLUP",
    "SELECT id, a IN (SELECT a FROM u), b NOT IN (SELECT b FROM u WHERE b IS NOT NULL), d IN (SELECT d FROM t WHERE c > 3) FROM t",
    "WITH RECURSIVE r AS (SELECT a, b FROM t UNION SELECT u.c, u.b FROM r JOIN u ON r.a = u.a) SELECT a, b FROM r",
];

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Rows with few and many different values, long and short texts, NULLs, and one value that is everywhere.
fn filled(seed: u64) -> Database {
    let mut db = Database::new();
    let columns = ["id int", "a int null", "b varchar null", "c decimal", "d text null"];
    let mut random = Random(seed);
    for (name, rows) in [("t", 500), ("u", 300)] {
        db.create(name, &columns, &["primary id"]);
        let mut values = Vec::new();
        for id in 0..rows {
            let number = |random: &mut Random, end| match random.below(10) {
                0 => "NULL".to_owned(),
                1 | 2 => "7".to_owned(),
                _ => random.below(end).to_string(),
            };
            let (a, b, c) = (number(&mut random, 40), number(&mut random, 120), random.below(20));
            let length = if random.below(50) == 0 { 3000 } else { random.below(30) };
            let d = format!("'{}{}'", "y".repeat(length as usize), random.below(100));
            let b = if b == "NULL" { b } else { format!("'b{b}'") };
            values.push(format!("({id}, {a}, {b}, {c}.25, {d})"));
        }
        db.check(&format!("INSERT INTO {name} VALUES {}", values.join(", ")), &format!("{rows} affected"));
    }
    db
}

const TINY: MemoryShares = MemoryShares { sort_bytes: 3000, rows_bytes: 1500, join_bytes: 2500 };

fn run(db: &mut Database, sql: &str, shares: MemoryShares) -> Vec<Vec<Value>> {
    db.settings.shares = shares;
    let (rows, _, _) = db.run(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    assert_eq!(db.temporary.used_bytes(), 0, "{sql}");
    rows
}

fn sorted(rows: Vec<Vec<Value>>) -> Vec<String> {
    let mut shown: Vec<String> = rows.into_iter().map(|row| format!("{row:?}")).collect();
    shown.sort();
    shown
}

#[test]
fn little_memory_changes_no_rows() {
    for seed in 0..2 {
        let mut db = filled(seed);
        for sql in ORDERED {
            let expected = run(&mut db, sql, MemoryShares::default());
            let files = db.temporary.files_created();
            assert_eq!(run(&mut db, sql, TINY), expected, "{sql}");
            assert!(db.temporary.files_created() > files, "{sql} needs no file");
        }
        for sql in UNORDERED {
            let expected = sorted(run(&mut db, sql, MemoryShares::default()));
            assert_eq!(sorted(run(&mut db, sql, TINY)), expected, "{sql}");
            let one = MemoryShares { sort_bytes: 0, rows_bytes: 0, join_bytes: 0 };
            assert_eq!(sorted(run(&mut db, sql, one)), expected, "{sql} with room for one row");
        }
    }
}

#[test]
fn the_statements_limit_makes_operators_spill() {
    let mut db = filled(3);
    let mut expected = Vec::new();
    for sql in UNORDERED {
        expected.push(sorted(run(&mut db, sql, MemoryShares::default())));
    }
    db.memory_bytes = 150_000;
    let files = db.temporary.files_created();
    for (sql, expected) in UNORDERED.iter().zip(expected) {
        assert_eq!(sorted(run(&mut db, sql, MemoryShares::default())), expected, "{sql}");
    }
    assert!(db.temporary.files_created() > files);
}

#[test]
fn changes_collect_rows_on_disk() {
    for shares in [TINY, MemoryShares::default()] {
        let mut db = filled(4);
        db.settings.shares = shares;
        db.check("INSERT INTO t SELECT id + 1000, a, b, c, d FROM t", "500 affected");
        db.check("UPDATE t SET id = id + 5000 WHERE id >= 1000 ORDER BY id DESC", "500 affected");
        let joined = "FROM t JOIN u ON t.a = u.a WHERE t.id < 100 AND u.id < 100";
        let mut changed = 0;
        for table in ["t", "u"] {
            let (rows, ..) = db.run(&format!("SELECT DISTINCT {table}.id {joined}")).expect("runs");
            changed += rows.len();
        }
        let update = "UPDATE t JOIN u ON t.a = u.a SET t.c = 1, u.c = 2 WHERE t.id < 100 AND u.id < 100";
        db.check(update, &format!("{changed} affected"));
        db.check("SELECT COUNT(*) FROM t WHERE id >= 6000", "500");
        db.check("DELETE t FROM t JOIN u ON t.id = u.id + 6000", "300 affected");
        db.check("SELECT COUNT(*) FROM t", "700");
        assert_eq!(db.temporary.used_bytes(), 0);
    }
}

#[test]
fn a_full_temporary_space_is_the_statements_error() {
    let mut db = filled(5);
    db.settings.shares = TINY;
    for limit in [0, 70_000, 140_000] {
        db.temporary.set_limit(limit);
        for sql in ORDERED.iter().chain(UNORDERED) {
            match db.run(sql) {
                Ok(_) => assert!(limit > 0 || !ORDERED.contains(sql), "{sql}"),
                Err(error) => assert_eq!(error.errno, 1114, "{sql}"),
            }
            assert_eq!(db.temporary.used_bytes(), 0, "{sql}");
        }
    }
    db.temporary.set_limit(u64::MAX);
    run(&mut db, ORDERED[0], TINY);
}

#[test]
fn a_killed_statement_gives_its_space_back() {
    let mut db = filled(6);
    db.settings.shares = TINY;
    let statements = [
        "SELECT t.id, u.id FROM t, u ORDER BY t.d, u.d, t.id LIMIT 60000",
        "SELECT t.d, u.d, COUNT(*) FROM t, u WHERE t.id < 150 AND u.id < 100 GROUP BY t.d, u.d",
        "SELECT DISTINCT t.d, u.b FROM t, u WHERE t.id < 150 AND u.id < 100",
        "SELECT x.id, y.id, z.id FROM t AS x JOIN u AS y ON x.a = y.a JOIN t AS z ON z.a = y.a WHERE x.id < 60",
        "SELECT COUNT(*) FROM (SELECT t.id, u.d FROM t, u WHERE t.id < 100) AS x",
        "SELECT t.id, COUNT(*) OVER () FROM t, u WHERE t.id < 60",
    ];
    for sql in statements {
        let mut killed = 0;
        for polls in [1, 4, 9, 17, 30] {
            db.polls_until_killed = Some(polls);
            match db.run(sql) {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.errno, 1317, "{sql}");
                    killed += 1;
                }
            }
            assert_eq!(db.temporary.used_bytes(), 0, "{sql}");
        }
        assert!(killed > 2, "{sql} was killed {killed} times");
    }
}

#[test]
fn keys_that_were_met_go_to_disk() {
    let mut db = Database::new();
    db.create("k", &["id int", "a int", "g int"], &["primary id", "index g g"]);
    db.create("m", &["id int", "k_id int"], &["primary id"]);
    let numbers = "WITH RECURSIVE n AS (SELECT 1 AS i UNION SELECT i * 2 FROM n WHERE i <= 1000
        UNION SELECT i * 2 + 1 FROM n WHERE i < 1000)";
    let insert = format!("INSERT INTO k {numbers} SELECT i, i % 1500, i % 3 FROM n");
    let insert_m = format!("INSERT INTO m {numbers} SELECT i, i % 1600 FROM n");
    let statements = [
        (insert.as_str(), "2000 affected"),
        (insert_m.as_str(), "2000 affected"),
        ("SELECT SUM(a IN (SELECT id + 1 FROM k)), SUM(id NOT IN (SELECT a FROM k)) FROM k", "1997 501"),
        (
            "SELECT COUNT(DISTINCT id), COUNT(DISTINCT a), SUM(DISTINCT a) FROM k FORCE INDEX (g) GROUP BY g",
            "666 500 374250
            667 500 374750
            667 500 375250",
        ),
        (
            "SELECT COUNT(DISTINCT id), COUNT(DISTINCT a) FROM k GROUP BY g % 2 WITH ROLLUP",
            "1333 1000
            667 500
            2000 1500",
        ),
        ("UPDATE k JOIN m ON k.id = m.k_id SET k.a = k.a + 1 WHERE m.id < 1990", "1599 affected"),
        ("DELETE k, m FROM k JOIN m ON k.id = m.k_id", "3598 affected"),
    ];
    db.memory_bytes = 30_000;
    for (sql, expected) in statements {
        let files = db.temporary.files_created();
        db.check(sql, expected);
        assert!(db.temporary.files_created() > files, "{sql} needs no file");
        assert_eq!(db.temporary.used_bytes(), 0, "{sql}");
    }
}
