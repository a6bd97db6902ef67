//! What a source logs of single statements is the same on its replica: what they leave, and in the replica's own log.

mod support;

use support::replicas::{self, REPLICA, SOURCE, follow, one};
use support::{RawClient, TestServer};

fn pair() -> (TestServer, TestServer) {
    let source = TestServer::start(SOURCE);
    let replica = TestServer::start(REPLICA);
    follow(&replica, &source);
    (source, replica)
}

/// Until both have the same identifiers.
fn wait_until_equal(source: &TestServer, replica: &TestServer) {
    replicas::wait_until_equal(source, replica);
    let [wanted, present] =
        [source, replica].map(|server| one(&mut server.log_in(), "select @@global.gtid_executed"));
    assert_eq!(wanted, present);
}

fn assert_same(source: &TestServer, replica: &TestServer, queries: &[&str]) {
    let (mut from, mut to) = (source.log_in(), replica.log_in());
    for query in queries {
        let [wanted, present] = [&mut from, &mut to].map(|client| client.query(query).expect(query));
        assert_eq!(wanted, present, "{query}");
    }
}

/// The texts of the events of the first file whose kind is one of these.
fn events(client: &mut RawClient, kinds: &[&str]) -> Vec<String> {
    let rows = client.query("show binlog events").expect("events");
    let of_kind = |row: &&Vec<Option<String>>| row[2].as_deref().is_some_and(|kind| kinds.contains(&kind));
    rows.iter().filter(of_kind).map(|row| row[5].clone().unwrap_or_default()).collect()
}

#[test]
fn accounts_are_the_same_and_no_password_is_in_the_log() {
    let (source, replica) = pair();
    let mut client = source.log_in();
    client.execute_all(&[
        "create user one identified by 'first''s' comment 'a\\\\b'",
        "create user if not exists one identified by 'unused', two identified by 'second' with \
         max_queries_per_hour 5 max_user_connections 4 password expire interval 3 day account lock \
         attribute '{\"a\": \"x\\\\\\\\y\"}'",
        "create role r",
        "grant select on *.* to one with grant option",
        "create database d",
        "create table d.t (a int, b int)",
        "grant select (a), insert on d.t to two",
        "grant r to one",
        "set default role r to one",
        "alter user one identified by 'third' retain current password",
        "alter user if exists nobody identified by 'fourth'",
        "set password for two = 'fifth'",
        "alter user two account unlock",
        "set sql_mode = 'no_backslash_escapes'",
        "create user three identified by 'sixth' comment 'c\\d''e'",
        "set sql_mode = default",
        "create user four",
        "rename user four to five",
        "revoke insert on d.t from two",
        "drop user five",
        "alter user root@localhost identified by ''",
    ]);
    client.execute("create user one identified by 'seventh'").expect_err("it is there");
    wait_until_equal(&source, &replica);
    assert_same(
        &source,
        &replica,
        &[
            "show create user one",
            "show create user two",
            "show create user three",
            "show grants for one",
            "show grants for two",
            "select user, host from mysql.user order by user, host",
        ],
    );
    let mut on_replica = replica.log_in();
    for client in [&mut client, &mut on_replica] {
        let texts = events(client, &["Query"]).join("\n").to_lowercase();
        for password in ["first", "unused", "second", "third", "fourth", "fifth", "sixth", "seventh"] {
            assert!(!texts.contains(password), "{password}: {texts}");
        }
        assert_eq!(texts.matches("create user").count(), 4, "{texts}");
    }
}

#[test]
fn a_replaced_parent_keeps_its_children() {
    let (source, replica) = pair();
    let mut client = source.log_in();
    client.execute_all(&[
        "create database d",
        "create table d.p (id int primary key, u int, unique (u))",
        "create table d.c (id int primary key, p int, foreign key (p) references d.p (id) on delete cascade)",
        "create table d.n (id int primary key, u int, foreign key (u) references d.p (u) on delete set null)",
        "insert into d.p values (1, 1), (2, 2), (3, 3), (4, 4)",
        "insert into d.c values (1, 1), (2, 2), (3, 3)",
        "insert into d.n values (1, 1), (3, 3), (4, 4)",
        "replace into d.p values (1, 5)",
        "replace into d.p values (2, 2)",
        "replace into d.p values (3, 4)",
        "update d.c set id = id + 10",
    ]);
    wait_until_equal(&source, &replica);
    assert_same(
        &source,
        &replica,
        &["select * from d.p order by id", "select * from d.c order by id", "select * from d.n order by id"],
    );
    assert_eq!(one(&mut client, "select group_concat(id order by id) from d.c"), "11,12,13");
    // Whoever applies it must not go to the children again.
    let deleted = events(&mut client, &["Delete_rows"]);
    assert!(
        !deleted.is_empty() && deleted.iter().all(|text| text.contains(" NO_FOREIGN_KEY")),
        "{deleted:?}"
    );
}

#[test]
fn a_table_made_from_a_query_is_one_transaction() {
    let (source, replica) = pair();
    let mut client = source.log_in();
    client.execute_all(&[
        "create database d",
        "create table d.s (a int primary key, b varchar(10), g int as (a + 1))",
        "insert into d.s (a, b) values (1, 'x'), (2, 'y'), (3, null)",
        "create table d.all_rows select * from d.s",
        "use d",
        "create table none_of_them (k int auto_increment primary key, unique (a)) select a, b from s where false",
        "create table with_default (c varchar(5) default 'i''s (', index (a)) comment 'x (' select a from s",
        "create table replaced (unique (x)) replace select a div 2 as x, b from s order by a",
        "create table if not exists all_rows select 1",
        "create temporary table t select * from s",
        "create table from_temporary select * from t",
        "create table d.many (n int primary key) \
         with recursive r as (select 1 as n union all select n + 1 from r where n < 900) select n from r",
        "insert into d.all_rows values (9, 'z', 9)",
    ]);
    client
        .execute("create table refused (a int primary key) select 1 as a union all select 1")
        .expect_err("twice");
    wait_until_equal(&source, &replica);
    let queries = [
        "select * from d.all_rows order by a",
        "select * from d.none_of_them",
        "select * from d.with_default order by a",
        "select * from d.replaced order by x",
        "select * from d.from_temporary order by a",
        "select count(*), sum(n) from d.many",
        "show create table d.none_of_them",
        "show create table d.with_default",
        "show tables from d",
    ];
    assert_same(&source, &replica, &queries);
    let created = |client: &mut RawClient| {
        let mut texts = events(client, &["Query"]);
        texts.retain(|text| text.ends_with(" START TRANSACTION"));
        texts
    };
    let mut on_replica = replica.log_in();
    let texts = created(&mut client);
    assert_eq!(texts.len(), 6, "{texts:?}");
    assert!(texts[0].starts_with("CREATE TABLE `d`.`all_rows` (\n"), "{}", texts[0]);
    assert!(texts[1].starts_with("use `d`; CREATE TABLE `none_of_them` (\n"), "{}", texts[1]);
    assert_eq!(texts.len(), created(&mut on_replica).len());
}

#[test]
fn branches_are_logged_when_they_are_prepared_and_when_they_are_decided() {
    let (source, replica) = pair();
    let mut client = source.log_in();
    client.execute_all(&[
        "create database d",
        "create table d.t (id int primary key, s varchar(20))",
        "xa start 'a'",
        "insert into d.t values (1, 'committed')",
        "xa end 'a'",
        "xa prepare 'a'",
        "xa commit 'a'",
        "xa start 'b', 'q', 7",
        "insert into d.t values (2, 'rolled back')",
        "xa end 'b', 'q', 7",
        "xa prepare 'b', 'q', 7",
        "xa rollback 'b', 'q', 7",
        "xa start 'c'",
        "insert into d.t values (3, 'one phase')",
        "xa end 'c'",
        "xa commit 'c' one phase",
        // Nothing to say of those.
        "xa start 'd'",
        "xa end 'd'",
        "xa prepare 'd'",
        "xa commit 'd'",
        "xa start 'e'",
        "insert into d.t values (4, 'undone')",
        "xa end 'e'",
        "xa rollback 'e'",
        "set sql_log_bin = 0",
        "xa start 'f'",
        "insert into d.t values (5, 'here alone')",
        "xa end 'f'",
        "xa prepare 'f'",
        "set sql_log_bin = 1",
        "xa commit 'f'",
        // They stay prepared.
        "xa start 'g'",
        "insert into d.t values (6, 'later')",
        "xa end 'g'",
        "xa prepare 'g'",
        "xa start 'h'",
        "insert into d.t values (7, 'never')",
        "xa end 'h'",
        "xa prepare 'h'",
        "insert into d.t values (8, 'meanwhile')",
        "xa start 'z'",
        "xa end 'z'",
    ]);
    client.query("show binlog events limit 1").expect("it reads no table");
    client.execute("xa rollback 'z'").expect("it is empty");
    wait_until_equal(&source, &replica);
    let prepared = |server: &TestServer| {
        let mut rows = server.log_in().query("xa recover").expect("rows");
        rows.sort();
        rows
    };
    assert_eq!(prepared(&source).len(), 2);
    assert_eq!(prepared(&source), prepared(&replica));
    let queries = ["select * from d.t where id <> 5 order by id"];
    assert_same(&source, &replica, &queries);
    let kinds = ["Query", "XA_prepare"];
    let mut texts = events(&mut client, &kinds);
    texts.retain(|text| text.starts_with("XA "));
    let expected = [
        "XA START X'61',X'',1",
        "XA END X'61',X'',1",
        "XA PREPARE X'61',X'',1",
        "XA COMMIT X'61',X'',1",
        "XA START X'62',X'71',7",
        "XA END X'62',X'71',7",
        "XA PREPARE X'62',X'71',7",
        "XA ROLLBACK X'62',X'71',7",
        "XA START X'63',X'',1",
        "XA END X'63',X'',1",
        "XA COMMIT X'63',X'',1 ONE PHASE",
        "XA START X'67',X'',1",
        "XA END X'67',X'',1",
        "XA PREPARE X'67',X'',1",
        "XA START X'68',X'',1",
        "XA END X'68',X'',1",
        "XA PREPARE X'68',X'',1",
    ];
    assert_eq!(texts, expected);
    drop(client);
    // Both die and decide what they had prepared.
    let source = TestServer::start_in(source.kill_nine(), SOURCE);
    let replica = TestServer::start_in(replica.kill_nine(), REPLICA);
    let mut to = replica.log_in();
    to.execute_all(&[
        "stop replica",
        &format!("change replication source to source_port = {}", source.port),
        "start replica",
    ]);
    source.log_in().execute_all(&["xa commit 'g'", "xa rollback 'h'", "insert into d.t values (9, 'end')"]);
    wait_until_equal(&source, &replica);
    assert!(prepared(&source).is_empty() && prepared(&replica).is_empty());
    assert_same(&source, &replica, &queries);
    let count = one(&mut to, "select count(*) from d.t");
    assert_eq!(count, "5");
}

#[test]
fn rows_are_not_checked_against_a_new_key_that_the_source_has_taken() {
    let (source, replica) = pair();
    source.log_in().execute_all(&[
        "create database d",
        "create table d.parent (id int primary key)",
        "create table d.child (id int primary key, parent int, key (parent))",
        "insert into d.parent values (1)",
        "insert into d.child values (1, 1)",
    ]);
    wait_until_equal(&source, &replica);
    // Rows that only the source's rules take, as MySQL 9.7 takes some.
    replica.log_in().execute_all(&["set sql_log_bin = 0", "update d.child set parent = 9"]);
    let wrong =
        replica.log_in().execute("alter table d.child add foreign key (parent) references d.parent (id)");
    assert_eq!(wrong.expect_err("no client may").number, 1452);
    source
        .log_in()
        .execute("alter table d.child add foreign key (parent) references d.parent (id)")
        .expect("a key");
    source
        .log_in()
        .execute("alter table d.child add foreign key own (id) references d.child (id)")
        .expect("a key");
    source.log_in().execute("alter table d.child add c int, add foreign key two (id) references d.parent (id), algorithm=copy").expect("a key");
    wait_until_equal(&source, &replica);
    assert_same(&source, &replica, &["show create table d.child"]);
}

#[test]
fn a_generated_column_that_the_source_computed_with_a_warning_is_computed() {
    let (source, replica) = pair();
    source.log_in().execute_all(&[
        "create database d",
        "create table d.t (id int primary key, s varchar(20), v bigint as (s * 2) virtual, g bigint as (s * 3) stored, key (v))",
        "insert ignore into d.t (id, s) values (1, '7x'), (2, 'text'), (3, '5')",
        "set sql_mode = ''",
        "insert into d.t (id, s) values (4, '9 days')",
        "update d.t set s = '1e' where id = 3",
    ]);
    wait_until_equal(&source, &replica);
    assert_same(&source, &replica, &["select * from d.t order by id", "select id from d.t where v = 14"]);
}
