//! SELECT INTO OUTFILE and DUMPFILE, LOAD DATA and LOAD XML with files of the host; answers and bytes are MySQL's.
mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::{Client, TokioTimer, serve_with};

/// A host whose root is a folder of its own, removed at the end.
struct Host {
    root: PathBuf,
    server: Arc<instance::Instance>,
}

impl Host {
    async fn new(name: &str, secure_file_priv: &str) -> Host {
        let root = std::env::temp_dir().join(format!("evenkeel-files-{}-{name}", std::process::id()));
        for folder in ["data", "out/in", "elsewhere"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        std::os::unix::fs::symlink("../elsewhere", root.join("out/link")).expect("a link");
        let variables = vec![("secure_file_priv".to_owned(), secure_file_priv.to_owned())];
        let server = serve_with(engine::Engine::in_memory(), Arc::new(TokioTimer), variables).await;
        server.files.set(env::real_disk(&root).expect("a disk"), "/data");
        Host { root, server }
    }

    async fn client(&self) -> Client {
        let mut client = Client::connect(&self.server).await;
        for statement in ["create database d", "use d", "create table t (a int, b varchar(10))"] {
            client.query(statement).await;
        }
        assert!(client.query("insert into t values (1, 'x'), (2, 'y')").await.starts_with("ok 2 rows"));
        client
    }

    fn read(&self, path: &str) -> String {
        let bytes = std::fs::read(self.root.join(path)).expect("the file is there");
        bytes.escape_ascii().to_string()
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        std::fs::write(self.root.join(path), bytes).expect("the file is written");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

#[tokio::test]
async fn formats_are_byte_for_byte() {
    let host = Host::new("formats", "").await;
    let mut client = host.client().await;
    let values = "select 'a|b','c\"d','e\\\\f','g\\nh','i\\0j','N',12.5 into outfile '/out/f'";
    let cases = [
        ("", r#"a|b\tc\"d\te\\\\f\tg\\\nh\ti\\0j\tN\t12.5\n"#, 0),
        (
            "fields terminated by '|' optionally enclosed by '\"' lines starting by '>>' terminated by '\\r\\n'",
            r#">>\"a|b\"|\"c\\\"d\"|\"e\\\\f\"|\"g\nh\"|\"i\\0j\"|\"N\"|12.5\r\n"#,
            0,
        ),
        (
            "fields terminated by '1' enclosed by 'n' escaped by '!'",
            r#"na|bn1nc\"dn1ne\\fn1ng!\nhn1ni!0jn1nNn1n12.5n\n"#,
            0,
        ),
        ("fields terminated by 'b' escaped by ''", r#"a|bbc\"dbe\\fbg\nhbi\x00jbNb12.5\n"#, 1),
        (
            "fields terminated by '\u{e9}'",
            r#"a|b\xc3\xa9c\"d\xc3\xa9e\\\\f\xc3\xa9g\\\nh\xc3\xa9i\\0j\xc3\xa9N\xc3\xa912.5\n"#,
            1,
        ),
    ];
    for (options, expected, warnings) in cases {
        let answer = client.query(&format!("{values} {options}")).await;
        let told =
            if warnings > 0 { format!("ok 1 rows {warnings} warnings\n") } else { "ok 1 rows\n".into() };
        assert_eq!(answer, told, "{options}");
        assert_eq!(host.read("out/f"), expected, "{options}");
        std::fs::remove_file(host.root.join("out/f")).expect("it is there");
    }
    let answer = client.query("select * from t into outfile '/out/f' fields enclosed by 'ab'").await;
    assert!(answer.starts_with("ERROR 1083 (42000): Field separator argument"), "{answer}");
    let answer = client.query("select '\u{e9}\u{1f600}' a into outfile '/out/f' character set latin1").await;
    assert_eq!((answer.as_str(), host.read("out/f").as_str()), ("ok 1 rows 1 warnings\n", r"\xe9?\n"));
    let warning = "Level\tCode\tMessage
Warning\t1366\tIncorrect string value: '\\\\xF0\\\\x9F\\\\x98\\\\x80' for column 'a' at row 1
";
    assert_eq!(client.query("show warnings").await, warning);
    client.query("set sql_mode = 'no_backslash_escapes'").await;
    client.query("select 'a\\b', null into outfile '/out/g'").await;
    assert_eq!(host.read("out/g"), r"a\\b\tNULL\n");
}

#[tokio::test]
async fn all_types_come_back() {
    let host = Host::new("types", "").await;
    let mut client = host.client().await;
    let columns = "a int, b tinyint unsigned, c char(3), d datetime, e decimal(5,2), f double, g float, h year, \
                   i bit(9), j date, k enum('a','bcd'), l set('x','yy'), m varbinary(5), n time(3), \
                   o bigint zerofill, p json, q timestamp null, r blob";
    client.query(&format!("create table w ({columns})")).await;
    client.query("set time_zone = '+05:00'").await;
    let inserted = client
        .query(
            "insert into w values (1,2,'abc','2020-01-02 03:04:05',1.5,2.5,3.5,2001,257,'2020-02-03','bcd','x,yy',\
             'ab','01:02:03.5',7,'{\"a\": [1, null]}','2020-01-02 03:04:05',x'00095c0aff'),\
             (null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null)",
        )
        .await;
    assert!(inserted.starts_with("ok 2 rows"), "{inserted}");
    client.query("create table v like w").await;
    for options in [
        "",
        "fields terminated by ',' optionally enclosed by ''''",
        "fields enclosed by '\"' escaped by '\"'",
    ] {
        let _ = std::fs::remove_file(host.root.join("out/w"));
        assert_eq!(
            client.query(&format!("select * from w into outfile '/out/w' {options}")).await,
            "ok 2 rows\n"
        );
        client.query("truncate v").await;
        let loaded = client.query(&format!("load data infile '/out/w' into table v {options}")).await;
        if options.contains("escaped") {
            // A quote that escapes itself makes NULL of nothing but the word.
            continue;
        }
        assert_eq!(loaded, "ok 2 rows (Records: 2  Deleted: 0  Skipped: 0  Warnings: 0)\n", "{options}");
        assert_eq!(client.query("select * from v").await, client.query("select * from w").await, "{options}");
    }
    client.query("alter table w drop p, drop r, drop q").await;
    client
        .query("select * from w limit 1 into outfile '/out/fixed' fields terminated by '' enclosed by ''")
        .await;
    let expected = concat!(
        "1          2  abc         2020-01-02 03:04:051.50   2.5                   3.5         2001",
        r"\x01\x01       2020-02-03bcd         x,yy            ab   01:02:03.500  00000000000000000007\n"
    );
    assert_eq!(host.read("out/fixed"), expected);
}

#[tokio::test]
async fn dumps_are_values_without_separators() {
    let host = Host::new("dumps", "").await;
    let mut client = host.client().await;
    assert_eq!(client.query("select 1, null, 'x' into dumpfile '/out/a'").await, "ok 1 rows\n");
    assert_eq!(host.read("out/a"), r"1\x00x");
    assert_eq!(client.query("select 1 union select 2 into dumpfile '/out/b'").await, "ok 2 rows\n");
    let answer = client.query("select 1 union select 2 union select 3 into dumpfile '/out/c'").await;
    assert_eq!(answer, "ERROR 1172 (42000): Result consisted of more than one row\n");
}

#[tokio::test]
async fn files_are_new_and_where_they_may_be() {
    let host = Host::new("places", "/out").await;
    let mut client = host.client().await;
    let forbidden = "ERROR 1290 (HY000): The MySQL server is running with the --secure-file-priv option so it cannot \
                     execute this statement\n";
    for place in ["/elsewhere/a", "/out/link/a", "/out/../elsewhere/a", "/nowhere/a", "a", "/data/a"] {
        assert_eq!(client.query(&format!("select 1 into outfile '{place}'")).await, forbidden, "{place}");
        assert_eq!(
            client.query(&format!("load data infile '{place}' into table t")).await,
            forbidden,
            "{place}"
        );
    }
    assert_eq!(client.query("select * from t into outfile '/out/in/../a'").await, "ok 2 rows\n");
    let exists = "ERROR 1086 (HY000): File '/out/a' already exists\n";
    assert_eq!(client.query("select * from t into outfile '/out/a'").await, exists);
    let loaded = client.query("load data infile '/out/a' into table t").await;
    assert_eq!(loaded, "ok 2 rows (Records: 2  Deleted: 0  Skipped: 0  Warnings: 0)\n");
    let missing = "ERROR 13 (HY000): Can't get stat of '/out/b' (OS errno 2 - No such file or directory)\n";
    assert_eq!(client.query("load data infile '/out/b' into table t").await, missing);
    let folder =
        "ERROR 1085 (HY000): The file '/out/in' must be in the database directory or be readable by all\n";
    assert_eq!(client.query("load data infile '/out/in' into table t").await, folder);
    let unknown = client.query("select nocol from t into outfile '/out/n'").await;
    assert!(unknown.starts_with("ERROR 1054") && !Path::new(&host.root).join("out/n").exists());
    client.query("create user u").await;
    client.query("grant select, insert on d.* to u").await;
    let mut other = Client::connect_account(&host.server, "u", "%").await;
    let denied = "ERROR 1227 (42000): Access denied; you need (at least one of) the FILE privilege(s) for this \
                  operation\n";
    assert_eq!(other.query("select 1 into outfile '/out/n'").await, denied);
    let denied = "ERROR 1045 (28000): Access denied for user 'u'@'%' (using password: NO)\n";
    assert_eq!(other.query("load data infile '/out/a' into table d.t").await, denied);
}

#[tokio::test]
async fn names_without_a_folder_belong_to_the_database() {
    let host = Host::new("names", "").await;
    let mut client = host.client().await;
    assert_eq!(client.query("select * from t into outfile 'a'").await, "ok 2 rows\n");
    assert_eq!(host.read("data/files/d/a"), r"1\tx\n2\ty\n");
    assert!(client.query("load data infile 'a' into table t").await.starts_with("ok 2 rows"));
    let own = client.query("select 1 into outfile '/data/pages2'").await;
    let expected =
        "ERROR 1 (HY000): Can't create/write to file '/data/pages2' (OS errno 13 - Permission denied)\n";
    assert_eq!(own, expected);
    let none = client.query("select 1 into outfile '/nowhere/a'").await;
    let expected =
        "ERROR 1 (HY000): Can't create/write to file '/nowhere/a' (OS errno 2 - No such file or directory)\n";
    assert_eq!(none, expected);
}

#[tokio::test]
async fn load_file_gives_bytes_or_null() {
    let host = Host::new("load_file", "/out").await;
    let mut client = host.client().await;
    host.write("out/a", b"x\0y");
    host.write("elsewhere/a", b"z");
    let asked = "select load_file('/out/a') = 'x\0y' a, load_file('/elsewhere/a') b, load_file('/out/n') c, \
                 load_file(null) d, length(load_file(concat('/out/', lower('A')))) e from t";
    let row = "1\tNULL\tNULL\tNULL\t3\n";
    assert_eq!(client.query(asked).await, format!("a\tb\tc\td\te\n{row}{row}"));
    let folder =
        "ERROR 1085 (HY000): The file '/out/in' must be in the database directory or be readable by all\n";
    let answer = client.query("select load_file('/out/in')").await;
    assert!(answer.ends_with(folder), "{answer}");
    client.query("insert into t values (9, load_file('/out/a'))").await;
    assert_eq!(client.query("select hex(b) from t where a = 9").await, "hex(b)\n780079\n");
    client.query("create user u").await;
    let mut other = Client::connect_account(&host.server, "u", "%").await;
    let answer = other.query("select load_file('/out/a') a").await;
    assert_eq!(answer, "a\nNULL\n");
}

#[tokio::test]
async fn rows_of_fixed_size_have_no_variables_and_an_end() {
    let host = Host::new("fixed", "").await;
    let mut client = host.client().await;
    client.query("create table l (a int, b blob)").await;
    client.query("select * from t into outfile '/out/a' fields terminated by ''").await;
    let loaded = client.query("load data infile '/out/a' into table t fields terminated by ''").await;
    assert_eq!(loaded, "ok 2 rows 2 warnings (Records: 2  Deleted: 0  Skipped: 0  Warnings: 2)\n");
    let rows = client.query("select a, concat(b, '.') from t").await;
    assert_eq!(rows, "a\tconcat(b, '.')\n1\tx.\n2\ty.\n1\tx         .\n2\ty         .\n");
    let variable =
        client.query("load data infile '/out/a' into table t fields terminated by '' (a, @b)").await;
    assert_eq!(variable, "ERROR 1409 (HY000): Can't load value from file with fixed size rows to variable\n");
    let endless = client
        .query("load data infile '/out/a' into table l fields terminated by '' lines terminated by ''")
        .await;
    assert!(endless.starts_with("ERROR 1084 (42000): You can't use fixed rowlength with BLOBs"), "{endless}");
}

#[tokio::test]
async fn large_files_stream_in_both_directions() {
    let host = Host::new("large", "").await;
    let mut client = host.client().await;
    client.query("create table n (a int primary key, b varchar(100))").await;
    client.query("set cte_max_recursion_depth = 100000").await;
    let fill = "insert into n with recursive s as (select 1 a union all select a + 1 from s where a < 20000) \
                select a, repeat('ab', a % 50) from s";
    assert!(client.query(fill).await.starts_with("ok 20000 rows"));
    assert_eq!(client.query("select * from n into outfile '/out/n'").await, "ok 20000 rows\n");
    client.query("create table m like n").await;
    let loaded = client.query("load data infile '/out/n' into table m ignore 1 lines").await;
    assert_eq!(loaded, "ok 19999 rows (Records: 19999  Deleted: 0  Skipped: 0  Warnings: 0)\n");
    let same = client.query("select count(*) from n join m using (a, b)").await;
    assert_eq!(same, "count(*)\n19999\n");
}

#[tokio::test]
async fn xml_rows_are_found_by_their_element() {
    let host = Host::new("xml", "").await;
    let mut client = host.client().await;
    host.write(
        "out/x",
        b"<?xml version=\"1.0\"?>\n<list>\n<row a=\"1\" b=\"one\"/>\n<row><a>2</a><b>&lt;t&gt;</b></row>\n\
          <row><field name=\"a\">3</field><field name='b'>three</field></row>\n<row><b>x</b></row>\n</list>\n",
    );
    client.query("truncate t").await;
    let loaded = client.query("load xml infile '/out/x' into table t").await;
    assert_eq!(loaded, "ok 4 rows (Records: 4  Deleted: 0  Skipped: 0  Warnings: 0)\n");
    assert_eq!(client.query("select * from t").await, "a\tb\n1\tone\n2\t<t>\n3\tthree\nNULL\tx\n");
    client.query("truncate t").await;
    let load = "load xml infile '/out/x' into table t rows identified by '<row>' ignore 2 lines (b, @a) set a = @a * 2";
    assert_eq!(client.query(load).await, "ok 2 rows (Records: 2  Deleted: 0  Skipped: 0  Warnings: 0)\n");
}
