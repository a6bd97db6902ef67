//! AUTO_INCREMENT counters across restarts: after kill -9, after an orderly end, and after a second one.
//!
//! The numbers are those of MySQL 9.7, which was given the same statements and restarted in the same two ways.

mod support;

use support::{RawClient, TestServer};

/// The first statement of each case makes its table, `t`; every table here has a column `v`.
const TABLE: &str = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT, u INT UNIQUE)";

struct Case {
    name: &'static str,
    create: &'static str,
    then: &'static [&'static str],
    /// The value that the first row after the restart gets; `Err`: the error's number.
    next: Result<u64, u16>,
}

const fn case(name: &'static str, then: &'static [&'static str], next: u64) -> Case {
    Case { name, create: TABLE, then, next: Ok(next) }
}

const CASES: &[Case] = &[
    case("nothing", &[], 1),
    case("largest_deleted", &["INSERT INTO t (v) VALUES (1), (2), (3)", "DELETE FROM t WHERE id = 3"], 4),
    case("all_deleted", &["INSERT INTO t (v) VALUES (1), (2), (3)", "DELETE FROM t"], 4),
    case("explicit", &["INSERT INTO t (id) VALUES (100)", "DELETE FROM t"], 101),
    case("explicit_smaller", &["INSERT INTO t (id) VALUES (10), (5)", "DELETE FROM t WHERE id = 10"], 11),
    case("zero_and_negative", &["INSERT INTO t (id) VALUES (0), (-7)", "DELETE FROM t"], 2),
    case("rolled_back", &["BEGIN", "INSERT INTO t (v) VALUES (1), (2)", "ROLLBACK"], 3),
    case(
        "to_savepoint",
        &["BEGIN", "SAVEPOINT s", "INSERT INTO t (id) VALUES (9)", "ROLLBACK TO s", "COMMIT"],
        10,
    ),
    case("duplicate", &["INSERT INTO t (u) VALUES (1)", "INSERT INTO t (u) VALUES (1)"], 3),
    case("duplicate_in_the_middle", &["INSERT INTO t (u) VALUES (1), (2), (1), (4), (5)"], 4),
    case("ignored", &["INSERT INTO t (u) VALUES (1)", "INSERT IGNORE INTO t (u) VALUES (1), (2), (1)"], 4),
    case(
        "on_duplicate_key",
        &["INSERT INTO t (u) VALUES (1)", "INSERT INTO t (u) VALUES (1) ON DUPLICATE KEY UPDATE v = 1"],
        3,
    ),
    case(
        "on_duplicate_key_explicit",
        &[
            "INSERT INTO t (u) VALUES (1)",
            "INSERT INTO t (id, u) VALUES (50, 1) ON DUPLICATE KEY UPDATE v = 1",
        ],
        51,
    ),
    case(
        "on_duplicate_key_moves",
        &[
            "INSERT INTO t (u) VALUES (1)",
            "INSERT INTO t (id, u) VALUES (1, 1) ON DUPLICATE KEY UPDATE id = 40",
            "DELETE FROM t",
        ],
        41,
    ),
    case("replaced", &["REPLACE INTO t (u) VALUES (1)", "REPLACE INTO t (u) VALUES (1)", "DELETE FROM t"], 3),
    case(
        "replaced_explicit",
        &["REPLACE INTO t (id, u) VALUES (8, 1)", "REPLACE INTO t (id, u) VALUES (3, 1)", "DELETE FROM t"],
        9,
    ),
    case(
        "updated_and_back",
        &["INSERT INTO t (v) VALUES (1)", "UPDATE t SET id = 70", "UPDATE t SET id = 2"],
        71,
    ),
    case(
        "updated_and_deleted",
        &["INSERT INTO t (v) VALUES (1)", "UPDATE t SET id = 70", "DELETE FROM t"],
        71,
    ),
    case(
        "update_rolled_back",
        &["INSERT INTO t (v) VALUES (1)", "BEGIN", "UPDATE t SET id = 70", "ROLLBACK"],
        71,
    ),
    case(
        "increments",
        &[
            "SET auto_increment_increment = 10, auto_increment_offset = 5",
            "INSERT INTO t (v) VALUES (1), (2)",
            "SET auto_increment_increment = 1, auto_increment_offset = 1",
            "DELETE FROM t",
        ],
        16,
    ),
    case(
        "insert_select",
        &["INSERT INTO t (v) SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3", "DELETE FROM t"],
        4,
    ),
    case("altered", &["ALTER TABLE t AUTO_INCREMENT = 50"], 50),
    case(
        "altered_and_used",
        &["ALTER TABLE t AUTO_INCREMENT = 50", "INSERT INTO t (v) VALUES (1)", "DELETE FROM t"],
        51,
    ),
    case(
        "lowered",
        &["INSERT INTO t (id) VALUES (100)", "DELETE FROM t", "ALTER TABLE t AUTO_INCREMENT = 10"],
        10,
    ),
    case(
        "lowered_and_used",
        &[
            "INSERT INTO t (id) VALUES (100)",
            "DELETE FROM t",
            "ALTER TABLE t AUTO_INCREMENT = 10",
            "INSERT INTO t (v) VALUES (1), (2)",
            "DELETE FROM t",
        ],
        12,
    ),
    case(
        "lowered_twice",
        &[
            "INSERT INTO t (id) VALUES (100)",
            "DELETE FROM t",
            "ALTER TABLE t AUTO_INCREMENT = 10",
            "INSERT INTO t (v) VALUES (1), (2)",
            "DELETE FROM t",
            "ALTER TABLE t AUTO_INCREMENT = 3",
            "INSERT INTO t (v) VALUES (1)",
            "DELETE FROM t",
        ],
        4,
    ),
    case(
        "lowered_under_the_rows",
        &[
            "INSERT INTO t (id) VALUES (5), (100)",
            "DELETE FROM t WHERE id = 100",
            "ALTER TABLE t AUTO_INCREMENT = 2",
        ],
        6,
    ),
    case("truncated", &["INSERT INTO t (id) VALUES (100)", "TRUNCATE TABLE t"], 1),
    case(
        "truncated_and_used",
        &[
            "INSERT INTO t (id) VALUES (100)",
            "TRUNCATE TABLE t",
            "INSERT INTO t (v) VALUES (1)",
            "DELETE FROM t",
        ],
        2,
    ),
    case(
        "rebuilt",
        &["INSERT INTO t (id) VALUES (100)", "DELETE FROM t", "ALTER TABLE t ENGINE = InnoDB"],
        101,
    ),
    case("optimized", &["INSERT INTO t (id) VALUES (100)", "DELETE FROM t", "OPTIMIZE TABLE t"], 101),
    case(
        "column_added",
        &["INSERT INTO t (id) VALUES (100)", "DELETE FROM t", "ALTER TABLE t ADD COLUMN w INT FIRST"],
        101,
    ),
    case(
        "type_changed",
        &[
            "INSERT INTO t (id) VALUES (100)",
            "DELETE FROM t",
            "ALTER TABLE t MODIFY id BIGINT AUTO_INCREMENT",
        ],
        101,
    ),
    case(
        "column_renamed",
        &[
            "INSERT INTO t (id) VALUES (100)",
            "DELETE FROM t",
            "ALTER TABLE t CHANGE id no BIGINT AUTO_INCREMENT",
        ],
        101,
    ),
    case(
        "rebuilt_and_used",
        &[
            "INSERT INTO t (id) VALUES (100)",
            "DELETE FROM t",
            "ALTER TABLE t ENGINE = InnoDB",
            "INSERT INTO t (v) VALUES (1)",
            "DELETE FROM t",
        ],
        102,
    ),
    case(
        "copied_with_a_value",
        &[
            "INSERT INTO t (id) VALUES (100)",
            "DELETE FROM t",
            "ALTER TABLE t ADD COLUMN w INT FIRST, AUTO_INCREMENT = 20",
        ],
        20,
    ),
    case(
        "index_added",
        &["INSERT INTO t (id) VALUES (100)", "DELETE FROM t", "ALTER TABLE t ADD INDEX (v)"],
        101,
    ),
    case(
        "renamed",
        &["INSERT INTO t (id) VALUES (100)", "DELETE FROM t", "RENAME TABLE t TO s", "RENAME TABLE s TO t"],
        101,
    ),
    case("made_again", &["INSERT INTO t (id) VALUES (100)", "DROP TABLE t", TABLE], 1),
    case(
        "made_alike",
        &["INSERT INTO t (id) VALUES (100)", "CREATE TABLE s LIKE t", "DROP TABLE t", "RENAME TABLE s TO t"],
        1,
    ),
    case(
        "column_dropped_and_added",
        &[
            "INSERT INTO t (id) VALUES (4), (5), (100)",
            "DELETE FROM t WHERE id = 100",
            "ALTER TABLE t DROP PRIMARY KEY, DROP COLUMN id, ADD COLUMN id INT AUTO_INCREMENT PRIMARY KEY",
        ],
        3,
    ),
    case(
        "attribute_dropped_and_added",
        &[
            "INSERT INTO t (id) VALUES (5), (100)",
            "DELETE FROM t WHERE id = 100",
            "ALTER TABLE t MODIFY id INT NOT NULL",
            "ALTER TABLE t MODIFY id INT NOT NULL AUTO_INCREMENT",
        ],
        6,
    ),
    Case {
        name: "column_added_to_rows",
        create: "CREATE TABLE t (v INT)",
        then: &[
            "INSERT INTO t VALUES (1), (2), (3)",
            "ALTER TABLE t ADD COLUMN id INT AUTO_INCREMENT PRIMARY KEY",
            "DELETE FROM t WHERE id = 3",
        ],
        next: Ok(4),
    },
    Case {
        name: "created_with_rows",
        create: "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY) \
                 SELECT 1 AS v UNION ALL SELECT 2 UNION ALL SELECT 3",
        then: &["DELETE FROM t WHERE id > 1"],
        next: Ok(4),
    },
    Case {
        name: "created_with_a_value",
        create: "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT) AUTO_INCREMENT = 30",
        then: &["INSERT INTO t (v) VALUES (1)", "DELETE FROM t"],
        next: Ok(31),
    },
    Case {
        name: "other_key",
        create: "CREATE TABLE t (v INT, id BIGINT UNSIGNED AUTO_INCREMENT, KEY (id))",
        then: &[
            "INSERT INTO t (v) VALUES (1), (2)",
            "UPDATE t SET id = 12 WHERE v = 2",
            "UPDATE t SET id = 2 WHERE v = 2",
        ],
        next: Ok(13),
    },
    Case {
        name: "type_nearly_full",
        create: "CREATE TABLE t (id TINYINT AUTO_INCREMENT PRIMARY KEY, v INT)",
        then: &["INSERT INTO t (id) VALUES (125)", "DELETE FROM t"],
        next: Ok(126),
    },
    Case {
        name: "largest_number",
        create: "CREATE TABLE t (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT)",
        then: &["INSERT INTO t (id) VALUES (18446744073709551611)", "DELETE FROM t"],
        next: Ok(18446744073709551612),
    },
];

/// The statement with the table of the case in place of `t`, and `t_s` in place of `s`.
fn statement(text: &str, table: &str) -> String {
    let words = text.split(' ').map(|word| match word {
        "t" => table.to_owned(),
        "s" if !text.contains("SAVEPOINT") && !text.contains("ROLLBACK") => format!("{table}_s"),
        word => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn prepare(client: &mut RawClient) {
    client.execute("CREATE DATABASE d").expect("created");
    client.execute("USE d").expect("used");
    for case in CASES {
        for text in [case.create].iter().chain(case.then) {
            let done = client.query(&statement(text, case.name));
            assert!(
                done.as_ref().map_err(|error| error.number).err().is_none_or(|number| number == 1062),
                "{}: {text}: {done:?}",
                case.name
            );
        }
    }
    // All before is durable now.
    client.execute("CREATE TABLE last (v INT)").expect("created");
}

/// Inserts a row into each table, as the `round`th after the first restart, and deletes it.
fn check(client: &mut RawClient, round: u64) {
    client.execute("USE d").expect("the database is there");
    for Case { name, next, .. } in CASES {
        let shown = client.query(&format!("SHOW CREATE TABLE {name}")).expect("shown");
        let inserted = client.execute(&format!("INSERT INTO {name} (v) VALUES (0)"));
        let found = inserted.map_err(|error| error.number).map(|_| {
            let id = client.query("SELECT LAST_INSERT_ID()").expect("read");
            id[0][0].as_deref().expect("not NULL").parse::<u64>().expect("a number")
        });
        let expected = next.map(|next| next + round);
        assert_eq!(found, expected, "{name}, round {round}");
        if let Ok(expected) = expected
            && expected > 1
        {
            let definition = shown[0][1].as_deref().expect("not NULL").to_owned();
            assert!(definition.contains(&format!("AUTO_INCREMENT={expected} ")), "{name}: {definition}");
        }
        client.execute(&format!("DELETE FROM {name}")).expect("deleted");
    }
}

#[test]
fn counters_outlive_kills_and_orderly_ends() {
    for is_killed_first in [false, true] {
        let mut server = TestServer::start(&[]);
        prepare(&mut server.log_in());
        for round in 0..2 {
            let directory = match is_killed_first == (round == 0) {
                true => server.kill_nine(),
                false => server.terminate().2,
            };
            server = TestServer::start_in(directory, &[]);
            check(&mut server.log_in(), round);
        }
    }
}
