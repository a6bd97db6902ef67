//! A replica that leaves out, or renames, what its filters say; and a source whose binary log leaves databases out.

mod support;

use support::replicas::{REPLICA, SOURCE, follow, one, status, wait_until_equal};
use support::{RawClient, TestServer};

fn tables(client: &mut RawClient) -> Vec<String> {
    let names = "select concat(table_schema, '.', table_name) from information_schema.tables \
                 where table_schema in ('a', 'b', 'c', 'd') order by 1";
    client.query(names).expect("names").into_iter().map(|row| row[0].clone().unwrap_or_default()).collect()
}

/// Kinds of rules with what they say and how often they were used.
fn uses(client: &mut RawClient) -> Vec<String> {
    let query = "select concat(filter_name, '=', filter_rule, ' ', counter, ' ', configured_by) \
                 from performance_schema.replication_applier_filters";
    client.query(query).expect("filters").into_iter().map(|row| row[0].clone().unwrap_or_default()).collect()
}

fn filtered(options: &[&str]) -> (TestServer, TestServer) {
    let options: Vec<&str> = REPLICA.iter().chain(options).copied().collect();
    (TestServer::start(SOURCE), TestServer::start(&options))
}

#[test]
fn databases_are_left_out_with_their_definitions_and_rows() {
    let (source, replica) = filtered(&["--replicate-do-db=a", "--replicate_do_db", "b"]);
    replica.log_in().execute("create database c").expect("a database of its own");
    follow(&replica, &source);
    source.log_in().execute_all(&[
        "create database a",
        "create database b",
        "create database c",
        "use a",
        "create table t (i int primary key)",
        "create table v (i int primary key)",
        "create table c.t (i int primary key)",
        "use c",
        "create table u (i int primary key)",
        "create table a.u (i int primary key)",
        "begin",
        "insert into a.t values (1), (2)",
        "insert into c.u values (1)",
        "commit",
        "update a.t, c.u set a.t.i = 9, c.u.i = 8 where a.t.i = c.u.i",
        "insert into a.t values (5)",
        "drop database b",
    ]);
    wait_until_equal(&source, &replica);
    let mut client = replica.log_in();
    // A statement counts where it is made, rows where their table is.
    assert_eq!(tables(&mut client), ["a.t", "a.v", "c.t"]);
}

/// What MySQL 9.7's own test of its counters does and finds.
#[test]
fn rules_are_asked_in_their_order_and_their_uses_counted() {
    let (source, replica) = filtered(&[]);
    let mut client = replica.log_in();
    client
        .execute(
            "change replication filter replicate_rewrite_db = ((db1, db2)), replicate_ignore_table = (test.itable), \
             replicate_do_table = (test.t1, db2.t1), replicate_wild_do_table = ('test.t%'), \
             replicate_wild_ignore_table = ('test.i%'), replicate_ignore_db = (nodb), replicate_do_db = (test, db1, db2)",
        )
        .expect("filters");
    follow(&replica, &source);
    source.log_in().execute_all(&[
        "create database test",
        "use test",
        "create table test.t1 (a int)",
        "create table test.t2 (a int)",
        "create table test.itable (a int)",
        "create table test.itable2 (a int)",
        "create database db1",
        "create database db2",
        "create database nodb",
        "use nodb",
        "create table t1 (a int)",
        "use db1",
        "create table t1 (a int)",
        "use test",
        "begin",
        "insert into test.t1 values (1)",
        "update test.t1 set a = 2 where a = 1",
        "delete from test.t1",
        "insert into db1.t1 values (1)",
        "update db1.t1 set a = 2 where a = 1",
        "delete from db1.t1",
        "insert into nodb.t1 values (1)",
        "insert into test.t2 values (1)",
        "insert into test.itable values (1)",
        "insert into test.itable2 select * from nodb.t1",
        "commit",
        "xa start 'xa1'",
        "insert into t1 values (2)",
        "insert into t1 values (3)",
        "xa end 'xa1'",
        "xa prepare 'xa1'",
        "xa commit 'xa1'",
        "xa start 'xa2'",
        "insert into t1 values (4)",
        "xa end 'xa2'",
        "xa prepare 'xa2'",
        "xa rollback 'xa2'",
        "drop table if exists test.t1, test.t2, test.itable, test.itable2",
        "drop database db1",
        "drop database db2",
        "drop database nodb",
    ]);
    wait_until_equal(&source, &replica);
    assert_eq!(
        uses(&mut client),
        [
            // One more than there: the database is made here.
            "REPLICATE_DO_DB=test,db1,db2 23 CHANGE_REPLICATION_FILTER",
            "REPLICATE_IGNORE_DB=nodb 0 CHANGE_REPLICATION_FILTER",
            "REPLICATE_DO_TABLE=test.t1,db2.t1 12 CHANGE_REPLICATION_FILTER",
            "REPLICATE_IGNORE_TABLE=test.itable 2 CHANGE_REPLICATION_FILTER",
            "REPLICATE_WILD_DO_TABLE=test.t% 2 CHANGE_REPLICATION_FILTER",
            "REPLICATE_WILD_IGNORE_TABLE=test.i% 2 CHANGE_REPLICATION_FILTER",
            "REPLICATE_REWRITE_DB=(db1,db2) 4 CHANGE_REPLICATION_FILTER",
        ]
    );
    let shown = status(&mut client);
    assert_eq!(shown[12].as_deref(), Some("test,db1,db2"));
    assert_eq!(shown[17].as_deref(), Some("test.i%"));
    assert_eq!(shown[54].as_deref(), Some("(db1,db2)"));
    // They change while the applier rests only.
    let running = client.execute("change replication filter replicate_do_db = ()").expect_err("it runs");
    assert_eq!(running.number, 3085);
}

#[test]
fn a_database_has_another_name_and_definitions_follow_the_rules_of_tables() {
    let (source, replica) = filtered(&[
        "--replicate-rewrite-db=a->d",
        "--replicate-wild-ignore-table=d.hidden%",
        "--replicate-wild-ignore-table=c.%",
        "--replicate-do-db=nowhere:x",
    ]);
    replica.log_in().execute("create database d").expect("a database");
    follow(&replica, &source);
    source.log_in().execute_all(&[
        "create database c",
        "create database b",
        "create database a",
        "use a",
        "create table t (i int primary key, j int)",
        "create table hidden_one (i int primary key)",
        "create table made as select 1 as i union select 2",
        "create table hidden_two as select 3 as i",
        "create trigger hidden_too before insert on hidden_one for each row set @a = 1",
        "create trigger shown before insert on t for each row set @a = 1",
        "insert into t values (1, 1), (2, 2)",
        "insert into hidden_one values (1)",
        "update t set j = 7 where i = 2",
        "alter table hidden_one add column k int",
        "alter table t add column k int",
        "create view hidden_view as select 1",
        "drop trigger hidden_too",
        "use b",
        "create table t (i int)",
        "drop database c",
    ]);
    wait_until_equal(&source, &replica);
    let mut client = replica.log_in();
    assert_eq!(tables(&mut client), ["b.t", "d.made", "d.t"]);
    assert_eq!(one(&mut client, "select group_concat(i, j order by i) from d.t"), "11,27");
    assert_eq!(one(&mut client, "select sum(i) from d.made"), "3");
    assert_eq!(
        one(
            &mut client,
            "select group_concat(trigger_name) from information_schema.triggers where trigger_schema = 'd'"
        ),
        "shown"
    );
    // A replica of the replica has what is there, under the same identifiers.
    let next = TestServer::start(&["--log-bin", "--gtid-mode=ON", "--server-id=3"]);
    follow(&next, &replica);
    wait_until_equal(&source, &next);
    assert_eq!(tables(&mut next.log_in()), ["b.t", "d.made", "d.t"]);
}

#[test]
fn errors_that_are_named_are_passed_over() {
    let (source, replica) = filtered(&["--replica-skip-errors=1062,1032,ddl_exist_errors"]);
    let mut client = replica.log_in();
    assert!(one(&mut client, "select @@replica_skip_errors").starts_with("1007,1008,1032,"));
    client.execute_all(&[
        "set sql_log_bin = 0",
        "create database a",
        "create table a.t (i int primary key, j int, unique (j))",
        "insert into a.t values (1, 10), (2, 20)",
    ]);
    follow(&replica, &source);
    source.log_in().execute_all(&[
        "create database a",
        "create table a.t (i int primary key, j int, unique (j))",
        "insert into a.t values (1, 1), (3, 3), (4, 20)",
        "update a.t set j = j + 100",
        "delete from a.t where i = 4",
    ]);
    wait_until_equal(&source, &replica);
    let rows = one(&mut client, "select group_concat(i, ':', j order by i) from a.t");
    assert_eq!(rows, "1:101,2:20,3:103");
    source.log_in().execute("alter table a.t add check (i < 5)").expect("a constraint");
    wait_until_equal(&source, &replica);
    client.execute("insert into a.t values (9, 9)").expect_err("it came along");
}

#[test]
fn a_binary_log_leaves_databases_out() {
    let options =
        ["--log-bin", "--gtid-mode=ON", "--server-id=1", "--binlog-ignore-db=b", "--binlog-ignore-db=c"];
    let source = TestServer::start(&options);
    let mut client = source.log_in();
    client.execute_all(&[
        "create database a",
        "create database b",
        "use a",
        "create table t (i int primary key)",
        "create table b.t (i int primary key)",
        "use b",
        "create table u (i int primary key)",
        "create table a.u (i int primary key)",
        "begin",
        "insert into a.t values (1)",
        "insert into b.t values (1)",
        "commit",
        "insert into b.t values (2)",
    ]);
    let shown = client.query("show binary log status").expect("a row").remove(0);
    assert_eq!([&shown[2], &shown[3]], [&Some(String::new()), &Some("b,c".to_owned())]);
    let texts = |kind: &str, client: &mut RawClient| -> Vec<String> {
        let rows = client.query("show binlog events").expect("events").into_iter();
        rows.filter(|row| row[2].as_deref() == Some(kind)).filter_map(|row| row[5].clone()).collect()
    };
    let statements = texts("Query", &mut client);
    let statements: Vec<&str> =
        statements.iter().map(|text| text.split(" /*").next().unwrap_or(text)).collect();
    assert_eq!(
        statements,
        [
            "create database a",
            "use `a`; create table t (i int primary key)",
            "use `a`; create table b.t (i int primary key)",
            "BEGIN",
        ]
    );
    assert_eq!(texts("Write_rows", &mut client).len(), 1, "of one table");
    let identifiers = one(&mut client, "select @@global.gtid_executed");
    assert!(identifiers.ends_with(":1-4"), "{identifiers}");
}
