//! HELP: a small text of this program's own about the statements it knows.
//!
//! Results have the three shapes that command-line clients expect: one topic with its text, several topics by name, or
//! a category's members.
use datum::Value;

use session::Done;
use session::{MadeColumn, MadeRows};

struct Topic {
    category: &'static str,
    name: &'static str,
    description: &'static str,
    example: &'static str,
}

const CONTENTS: &str = "Contents";

const fn topic(
    category: &'static str,
    name: &'static str,
    description: &'static str,
    example: &'static str,
) -> Topic {
    Topic { category, name, description, example }
}

const TOPICS: &[Topic] = &[
    topic(
        "Account Management",
        "ALTER USER",
        "Changes password, limits, lock or options of accounts.\n",
        "ALTER USER 'app'@'%' IDENTIFIED BY 'new secret';\n",
    ),
    topic(
        "Account Management",
        "CREATE ROLE",
        "Makes roles: sets of privileges that accounts are granted.\n",
        "CREATE ROLE reader;\n",
    ),
    topic(
        "Account Management",
        "CREATE USER",
        "Makes accounts, each with a name, a host pattern and a way to log in.\n",
        "CREATE USER 'app'@'%' IDENTIFIED BY 'secret';\n",
    ),
    topic(
        "Account Management",
        "DROP USER",
        "Removes accounts and what they were granted.\n",
        "DROP USER 'app'@'%';\n",
    ),
    topic(
        "Account Management",
        "GRANT",
        "Gives privileges or roles to accounts.\n",
        "GRANT SELECT, INSERT ON shop.* TO 'app'@'%';\n",
    ),
    topic(
        "Account Management",
        "REVOKE",
        "Takes privileges or roles from accounts.\n",
        "REVOKE INSERT ON shop.* FROM 'app'@'%';\n",
    ),
    topic(
        "Administration",
        "FLUSH",
        "FLUSH LOGS opens the log files by their names again; FLUSH TABLES forgets kept plans; FLUSH TABLES WITH READ LOCK stops all changes.\n",
        "FLUSH SLOW LOGS;\n",
    ),
    topic(
        "Administration",
        "KILL",
        "Ends the statement of a connection, or the connection.\n",
        "KILL QUERY 12;\n",
    ),
    topic(
        "Administration",
        "LOCK INSTANCE FOR BACKUP",
        "Stops changes of definitions until UNLOCK INSTANCE; rows may be changed.\n",
        "LOCK INSTANCE FOR BACKUP;\n",
    ),
    topic(
        "Administration",
        "RESET PERSIST",
        "Forgets what SET PERSIST has stored; running values stay.\n",
        "RESET PERSIST IF EXISTS sort_buffer_size;\n",
    ),
    topic(
        "Administration",
        "SET",
        "Changes variables of the session, of the server (GLOBAL), or of the server and its next starts (PERSIST).\n",
        "SET PERSIST max_connections = 500;\n",
    ),
    topic(
        "Administration",
        "SHOW",
        "Shows databases, tables, columns, indexes, status, variables, connections, grants, warnings and more.\n",
        "SHOW GLOBAL STATUS LIKE 'Threads%';\n",
    ),
    topic("Administration", "SHUTDOWN", "Ends the server in good order.\n", "SHUTDOWN;\n"),
    topic(
        "Data Definition",
        "ALTER TABLE",
        "Changes columns, indexes, keys and options of a table.\n",
        "ALTER TABLE orders ADD COLUMN note VARCHAR(200);\n",
    ),
    topic(
        "Data Definition",
        "CREATE DATABASE",
        "Makes a database with its default character set.\n",
        "CREATE DATABASE shop CHARACTER SET utf8mb4;\n",
    ),
    topic(
        "Data Definition",
        "CREATE INDEX",
        "Makes an index of a table.\n",
        "CREATE INDEX by_day ON orders (day);\n",
    ),
    topic(
        "Data Definition",
        "CREATE TABLE",
        "Makes a table from columns, keys, checks and options, or from a query.\n",
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, day DATE, KEY (day));\n",
    ),
    topic(
        "Data Definition",
        "DROP TABLE",
        "Removes tables with their rows.\n",
        "DROP TABLE IF EXISTS orders;\n",
    ),
    topic("Data Definition", "TRUNCATE TABLE", "Removes all rows of a table.\n", "TRUNCATE TABLE orders;\n"),
    topic(
        "Data Manipulation",
        "DELETE",
        "Removes rows.\n",
        "DELETE FROM orders WHERE day < '2020-01-01' LIMIT 1000;\n",
    ),
    topic(
        "Data Manipulation",
        "INSERT",
        "Adds rows, from values or a query; ON DUPLICATE KEY UPDATE changes those that are there.\n",
        "INSERT INTO orders VALUES (1, CURDATE());\n",
    ),
    topic(
        "Data Manipulation",
        "LOAD DATA",
        "Adds rows from a text file that the client sends.\n",
        "LOAD DATA LOCAL INFILE 'orders.txt' INTO TABLE orders;\n",
    ),
    topic(
        "Data Manipulation",
        "REPLACE",
        "Adds rows in place of those with the same keys.\n",
        "REPLACE INTO orders VALUES (1, CURDATE());\n",
    ),
    topic(
        "Data Manipulation",
        "SELECT",
        "Reads rows: joins, groups, windows, subqueries, unions, common tables.\n",
        "SELECT day, COUNT(*) FROM orders GROUP BY day ORDER BY day;\n",
    ),
    topic(
        "Data Manipulation",
        "UPDATE",
        "Changes rows.\n",
        "UPDATE orders SET note = 'late' WHERE id = 7;\n",
    ),
    topic(
        "Prepared Statements",
        "PREPARE",
        "Keeps a statement under a name, to be run by EXECUTE with values for its ?.\n",
        "PREPARE s FROM 'SELECT * FROM orders WHERE id = ?';\n",
    ),
    topic(
        "Table Maintenance",
        "ANALYZE TABLE",
        "Makes new statistics of tables for the planner.\n",
        "ANALYZE TABLE orders;\n",
    ),
    topic(
        "Table Maintenance",
        "CHECK TABLE",
        "Reads a table and its indexes and tells what is damaged.\n",
        "CHECK TABLE orders;\n",
    ),
    topic("Transactions", "COMMIT", "Makes the transaction's changes durable and visible.\n", "COMMIT;\n"),
    topic(
        "Transactions",
        "LOCK TABLES",
        "Locks tables for the session until UNLOCK TABLES.\n",
        "LOCK TABLES orders WRITE;\n",
    ),
    topic("Transactions", "ROLLBACK", "Takes the transaction's changes back.\n", "ROLLBACK;\n"),
    topic(
        "Transactions",
        "SAVEPOINT",
        "Marks a place in a transaction to which ROLLBACK TO returns.\n",
        "SAVEPOINT before_loop;\n",
    ),
    topic(
        "Transactions",
        "START TRANSACTION",
        "Begins a transaction; READ ONLY and WITH CONSISTENT SNAPSHOT may follow.\n",
        "START TRANSACTION READ ONLY;\n",
    ),
    topic(
        "Transactions",
        "XA",
        "Transactions in two steps, for coordinators of several servers.\n",
        "XA START 'order-7';\n",
    ),
    topic(
        "Utility",
        "EXPLAIN",
        "Tells how a statement would be run, or with ANALYZE how it was.\n",
        "EXPLAIN FORMAT=TREE SELECT * FROM orders;\n",
    ),
    topic("Utility", "USE", "Chooses the current database.\n", "USE shop;\n"),
];

const MANY: &[MadeColumn] = &[MadeColumn::Text("name", 64), MadeColumn::Text("is_it_category", 1)];
const CATEGORY: &[MadeColumn] = &[
    MadeColumn::Text("source_category_name", 64),
    MadeColumn::Text("name", 64),
    MadeColumn::Text("is_it_category", 1),
];
const ONE: &[MadeColumn] =
    &[MadeColumn::Text("name", 64), MadeColumn::LongText("description"), MadeColumn::LongText("example")];

/// `asked` is a name, or a pattern with `%` and `_`.
pub(crate) fn help(asked: &str) -> Done {
    let found: Vec<&Topic> = TOPICS.iter().filter(|topic| matches(asked, topic.name)).collect();
    let categories: Vec<&str> = categories().into_iter().filter(|name| matches(asked, name)).collect();
    let yes_no = |is_category: bool| Value::bytes(if is_category { "Y" } else { "N" });
    let mut rows;
    match (&found[..], &categories[..]) {
        ([topic], []) => {
            rows = MadeRows::new(ONE);
            rows.push(vec![
                Value::bytes(topic.name),
                Value::bytes(topic.description),
                Value::bytes(topic.example),
            ]);
        }
        ([], [category]) => {
            rows = MadeRows::new(CATEGORY);
            let members: Vec<&str> = match *category == CONTENTS {
                true => categories_but_contents(),
                false => TOPICS
                    .iter()
                    .filter(|topic| topic.category == *category)
                    .map(|topic| topic.name)
                    .collect(),
            };
            for name in members {
                let is_category = *category == CONTENTS;
                rows.push(vec![Value::bytes(category), Value::bytes(name), yes_no(is_category)]);
            }
        }
        _ => {
            rows = MadeRows::new(MANY);
            for topic in &found {
                rows.push(vec![Value::bytes(topic.name), yes_no(false)]);
            }
            for category in &categories {
                rows.push(vec![Value::bytes(category), yes_no(true)]);
            }
        }
    }
    Done::Made(rows)
}

fn categories_but_contents() -> Vec<&'static str> {
    let mut names: Vec<&str> = TOPICS.iter().map(|topic| topic.category).collect();
    names.dedup();
    names
}

fn categories() -> Vec<&'static str> {
    let mut names = categories_but_contents();
    names.push(CONTENTS);
    names
}

fn matches(pattern: &str, name: &str) -> bool {
    fn rest(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'%', more)) => (0..=name.len()).any(|from| rest(more, &name[from..])),
            Some((b'_', more)) => !name.is_empty() && rest(more, &name[1..]),
            Some((wanted, more)) => {
                name.first().is_some_and(|byte| byte.eq_ignore_ascii_case(wanted)) && rest(more, &name[1..])
            }
        }
    }
    // A pattern is not longer than any name with a sign for each of its letters.
    pattern.len() <= 2 * 64 && rest(pattern.as_bytes(), name.as_bytes())
}

#[cfg(test)]
mod tests {
    use crate::operation::help::*;

    #[test]
    fn patterns_are_those_of_like() {
        assert!(matches("sel%", "SELECT"));
        assert!(matches("s_lect", "SELECT"));
        assert!(!matches("sel", "SELECT"));
    }

    #[test]
    fn topics_stand_by_category() {
        let mut names = categories_but_contents();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
