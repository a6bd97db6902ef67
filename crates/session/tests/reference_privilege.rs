//! REFERENCES: a foreign key needs it on the parent, whoever may create and alter the child. MySQL 9.7's answers.
mod support;

use support::{Client, new_server};

const STATEMENTS: [(&str, &str); 6] = [
    ("create table c (a int, foreign key (a) references p (id))", "p"),
    ("alter table plain add foreign key (a) references p (id)", "p"),
    ("alter table plain add column b int references p (id)", "p"),
    ("create table own (a int primary key, b int, foreign key (b) references own (a))", "own"),
    ("create table gone (a int, foreign key (a) references nowhere (id))", "nowhere"),
    ("set foreign_key_checks = 0; create table c (a int, foreign key (a) references p (id))", "p"),
];

#[test]
fn a_foreign_key_needs_the_privilege_on_its_parent() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let server = new_server().await;
        let mut root = Client::connect(&server).await;
        root.query("create database d; use d; create table p (id int primary key); create table plain (a int)").await;
        root.query("create user low@localhost; grant create, alter, index, insert on d.* to low@localhost").await;
        for (statement, parent) in STATEMENTS {
            let mut low = Client::connect_as(&server, "low").await;
            low.query("use d").await;
            let answer = low.query(statement).await;
            let denied = format!(
                "ERROR 1142 (42000): REFERENCES command denied to user 'low'@'localhost' for table 'd.{parent}'"
            );
            assert_eq!(answer.lines().last(), Some(denied.as_str()), "{statement}");
        }
        root.query("grant references on d.p to low@localhost").await;
        for (statement, parent) in STATEMENTS {
            let mut low = Client::connect_as(&server, "low").await;
            low.query("use d").await;
            let is_denied = low.query(statement).await.contains("ERROR 1142");
            assert_eq!(is_denied, parent != "p", "{statement}");
            root.query("drop table if exists c").await;
        }
    });
}
