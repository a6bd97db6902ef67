//! Foreign keys across a restart. What races of many sessions leave is looked at by `stress`.

mod support;

use support::TestServer;

const SCHEMA: &[&str] = &[
    "CREATE DATABASE fk",
    "USE fk",
    "CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, a INT, FOREIGN KEY (a) REFERENCES p (id))",
    "CREATE TABLE d (id INT PRIMARY KEY AUTO_INCREMENT, a INT, FOREIGN KEY (a) REFERENCES p (u) \
     ON DELETE CASCADE ON UPDATE CASCADE)",
];

#[test]
fn foreign_keys_outlive_a_crash() {
    let server = TestServer::start(&[]);
    let mut client = server.log_in();
    for text in SCHEMA {
        client.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    client.execute("INSERT INTO p VALUES (1, 10, 0)").expect("inserted");
    client.execute("INSERT INTO d (a) VALUES (10)").expect("inserted");
    let server = TestServer::start_in(server.kill_nine(), &[]);
    let mut client = server.log_in();
    client.execute("USE fk").expect("the database is there");
    assert_eq!(client.execute("INSERT INTO c (a) VALUES (2)").map_err(|error| error.number), Err(1452));
    assert_eq!(client.execute("DROP TABLE p").map_err(|error| error.number), Err(3730));
    client.execute("DELETE FROM p").expect("nobody restricts it");
    assert!(client.query("SELECT * FROM d").expect("read").is_empty(), "the children went with it");
}
