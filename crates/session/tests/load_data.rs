//! LOAD DATA LOCAL with files that a client sends; the answers are MySQL's.
mod support;

use support::{Client, new_server};

async fn client() -> Client {
    let server = new_server().await;
    let mut client = Client::connect(&server).await;
    for statement in [
        "create database d",
        "use d",
        "set global local_infile = 1",
        "create table t (a int, b varchar(10) not null, c int default 7, d int default 9)",
        "create table u (a int primary key, b varchar(10))",
    ] {
        let answer = client.query(statement).await;
        assert!(answer.starts_with("ok"), "{statement}: {answer}");
    }
    client
}

const FILE: &[u8] = b"1\tone\t5\n2\t\\N\t6\n3\tx\n4\ta\tb\tc\n";

#[tokio::test]
async fn fields_that_are_missing_or_too_many_are_warnings() {
    let mut client = client().await;
    let answer = client.query_with_file("load data local infile 'f' into table t (a,b,c)", &[FILE]).await;
    assert_eq!(answer, "ok 4 rows 4 warnings (Records: 4  Deleted: 0  Skipped: 0  Warnings: 4)\n");
    let expected = "Level\tCode\tMessage
Warning\t1263\tColumn set to default value; NULL supplied to NOT NULL column 'b' at row 2
Warning\t1261\tRow 3 doesn't contain data for all columns
Warning\t1366\tIncorrect integer value: 'b' for column 'c' at row 4
Warning\t1262\tRow 4 was truncated; it contained more data than there were input columns
";
    assert_eq!(client.query("show warnings").await, expected);
    let rows = client.query("select * from t").await;
    assert_eq!(rows, "a\tb\tc\td\n1\tone\t5\t9\n2\t\t6\t9\n3\tx\t0\t9\n4\ta\t0\t9\n");
}

#[tokio::test]
async fn variables_and_set_make_values_of_fields() {
    let mut client = client().await;
    let file: &[&[u8]] = &[b"\"1\";\"o\"", b"\"ne\";5\n2;NU", b"LL;6\n"];
    let load = "load data local infile 'f' into table t fields terminated by ';' optionally enclosed by '\"' \
                (a, b, @z) set c = @z * 2, d = a + 1";
    let answer = client.query_with_file(load, file).await;
    assert_eq!(answer, "ok 2 rows 1 warnings (Records: 2  Deleted: 0  Skipped: 0  Warnings: 1)\n");
    let rows = client.query("select *, @z from t").await;
    assert_eq!(rows, "a\tb\tc\td\t@z\n1\to\"ne\t10\t2\t6\n2\t\t12\t3\t6\n");
}

#[tokio::test]
async fn duplicates_are_left_out_or_replaced() {
    let mut client = client().await;
    client.query("insert into u values (1, 'old')").await;
    let file: &[&[u8]] = &[b"x\n1,new\n2,two\n"];
    let load = "load data local infile 'f' into table u fields terminated by ',' ignore 1 lines";
    let answer = client.query_with_file(load, file).await;
    assert_eq!(answer, "ok 1 rows 1 warnings (Records: 2  Deleted: 0  Skipped: 1  Warnings: 1)\n");
    let load = load.replace("into", "replace into");
    let answer = client.query_with_file(&load, file).await;
    assert!(answer.contains("Records: 2  Deleted: "), "{answer}");
    assert_eq!(client.query("select * from u").await, "a\tb\n1\tnew\n2\ttwo\n");
}

#[tokio::test]
async fn an_error_leaves_no_row_and_reads_the_file_to_its_end() {
    let mut client = client().await;
    let load = "load data local infile 'f' replace into table u (a, b)";
    let answer = client.query_with_file(load, &[b"9\tx\n", FILE, FILE]).await;
    assert!(answer.starts_with("ERROR 1262 (01000): Row 2 was truncated"), "{answer}");
    assert_eq!(client.query("select count(*) from u").await, "count(*)\n0\n");
}

#[tokio::test]
async fn files_need_the_consent_of_both_sides() {
    let mut client = client().await;
    let refused = "ERROR 3948 (42000): Loading local data is disabled; this must be enabled on both the client and \
                   server sides\n";
    assert_eq!(client.query("load data local infile 'f' into table u").await, refused);
    client.query("set global local_infile = 0").await;
    let mut printer = support::Printer { file: vec![b"1".to_vec()], ..Default::default() };
    client.session.query(b"load data local infile 'f' into table u", &mut printer).await;
    assert_eq!(printer.text, refused);
    let answer = client.query("load data infile 'f' into table u").await;
    assert!(answer.starts_with("ERROR 1290 (HY000)"), "{answer}");
    let answer = client.query("select 1 into outfile 'f'").await;
    assert!(answer.starts_with("ERROR 1290 (HY000)"), "{answer}");
}
