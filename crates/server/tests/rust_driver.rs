//! The `mysql` crate: an independent client in Rust, text and binary protocol, with and without TLS and password.

mod support;

use mysql::prelude::Queryable;
use mysql::{Conn, Error, Opts, OptsBuilder, Params, SslOpts, Value};
use support::TestServer;

fn options(server: &TestServer) -> Opts {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(server.port)
        .user(Some("root"))
        // The driver would move to the socket file, which another test uses.
        .prefer_socket(false)
        .into()
}

/// Longer than the salt, which covers it again and again on its way through RSA.
const PASSWORD: &str = "a password of more than twenty bytes";

/// TLS with the certificate that the server made for itself, and no other: it is verified, name and all.
fn tls_options(server: &TestServer) -> OptsBuilder {
    let certificate = server.directory.path().join("data").join("server-cert.pem");
    OptsBuilder::from_opts(options(server))
        .ssl_opts(SslOpts::default().with_root_cert_path(Some(certificate)))
}

/// A session status variable, as text.
fn status(client: &mut Conn, name: &str) -> String {
    let row: Option<(String, String)> =
        client.query_first(format!("SHOW SESSION STATUS LIKE '{name}'")).expect("read");
    row.expect("the variable exists").1
}

fn column_values() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("c_tiny", "TINYINT", Value::Int(-128)),
        ("c_big", "BIGINT", Value::Int(i64::MIN)),
        ("c_ubig", "BIGINT UNSIGNED", Value::UInt(u64::MAX)),
        ("c_decimal", "DECIMAL(10,2)", Value::Bytes(b"-12345678.90".to_vec())),
        ("c_float", "FLOAT", Value::Float(1.5)),
        ("c_double", "DOUBLE", Value::Double(-2.25e300)),
        ("c_varchar", "VARCHAR(100)", Value::Bytes("it's größe \u{1f600}".into())),
        ("c_blob", "BLOB", Value::Bytes((0..=255).collect())),
        ("c_date", "DATE", Value::Date(2024, 2, 29, 0, 0, 0, 0)),
        ("c_datetime", "DATETIME(6)", Value::Date(2024, 12, 31, 23, 59, 58, 123_456)),
        ("c_time", "TIME(6)", Value::Time(true, 34, 22, 59, 58, 7)),
        ("c_year", "YEAR", Value::Int(2155)),
        ("c_enum", "ENUM('small','large')", Value::Bytes(b"large".to_vec())),
    ]
}

fn check_error(result: Result<(), Error>, number: u16, state: &str) {
    match result {
        Err(Error::MySqlError(error)) => assert_eq!((error.code, error.state.as_str()), (number, state)),
        other => panic!("no error {number}: {other:?}"),
    }
}

#[test]
fn a_rust_driver_works() {
    let server = TestServer::start(&[]);
    let mut client = Conn::new(options(&server)).expect("connected");
    assert_eq!(status(&mut client, "Ssl_cipher"), "", "no TLS was asked for");
    everything_works(&mut client);
}

#[test]
fn a_rust_driver_works_with_tls_and_a_password() {
    let server = TestServer::start(&[]);
    let mut root = Conn::new(tls_options(&server)).expect("connected with TLS");
    assert_ne!(status(&mut root, "Ssl_cipher"), "");
    create_account(&mut root, "tess");
    let tess = || tls_options(&server).user(Some("tess")).pass(Some(PASSWORD));
    assert!(!knows_the_fast_path(&server, "tess"));
    for _ in 0..2 {
        let mut client = Conn::new(tess()).expect("connected with TLS and password");
        assert_ne!(status(&mut client, "Ssl_cipher"), "");
        assert_eq!(status(&mut client, "Ssl_version"), "TLSv1.3");
        assert!(knows_the_fast_path(&server, "tess"));
    }
    let wrong = Conn::new(tess().pass(Some("guessed"))).expect_err("a wrong password");
    assert!(matches!(wrong, Error::MySqlError(ref error) if error.code == 1045), "{wrong}");
    everything_works(&mut Conn::new(tess()).expect("connected"));
}

#[test]
fn a_password_goes_through_rsa_without_tls() {
    let server = TestServer::start(&[]);
    create_account(&mut Conn::new(options(&server)).expect("connected"), "rosa");
    assert!(!knows_the_fast_path(&server, "rosa"));
    assert_eq!(log_in(&server, "rosa", "guessed").err(), Some(1045));
    let mut client = log_in(&server, "rosa", PASSWORD).expect("the password, encrypted for the server's key");
    assert_eq!(status(&mut client, "Ssl_cipher"), "");
    assert!(knows_the_fast_path(&server, "rosa"));
    everything_works(&mut log_in(&server, "rosa", PASSWORD).expect("again"));
}

fn create_account(root: &mut Conn, name: &str) {
    root.query_drop(format!(
        "CREATE USER '{name}'@'%' IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'"
    ))
    .expect("created");
    root.query_drop(format!("GRANT ALL ON *.* TO '{name}'@'%'")).expect("granted");
}

/// Whether the server lets the account in by the hash that it remembers from a whole exchange. Without TLS the
/// driver would need the server's key for a whole one, and is told to look for it in a file that is not there.
fn knows_the_fast_path(server: &TestServer, name: &str) -> bool {
    let keyless = OptsBuilder::from_opts(options(server))
        .user(Some(name))
        .pass(Some(PASSWORD))
        .server_key_path(Some(server.directory.path().join("no-such-key.pem")));
    match Conn::new(keyless) {
        Ok(_) => true,
        Err(Error::IoError(error)) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => panic!("neither the fast path nor the wish for a key: {error}"),
    }
}

#[test]
fn a_foreign_certificate_is_not_taken_for_ours() {
    let (server, other) = (TestServer::start(&[]), TestServer::start(&[]));
    let foreign = other.directory.path().join("data").join("server-cert.pem");
    let tls = SslOpts::default().with_root_cert_path(Some(foreign));
    let refused = Conn::new(OptsBuilder::from_opts(options(&server)).ssl_opts(tls));
    let error = refused.expect_err("the certificate is not the one it was told to expect").to_string();
    assert!(error.contains("invalid peer certificate"), "{error}");
    Conn::new(tls_options(&server)).expect("the server bears the refusal");
}

fn everything_works(client: &mut Conn) {
    client.query_drop("CREATE DATABASE client_rust").expect("created");
    client.select_db("client_rust").expect("selected");
    types_in_and_out(client);
    errors_and_transactions(client);
    client.reset().expect("COM_RESET_CONNECTION or COM_CHANGE_USER");
    client.ping().expect("alive");
    client.query_drop("DROP DATABASE client_rust").expect("dropped");
}

fn types_in_and_out(client: &mut Conn) {
    let columns = column_values();
    let definitions: Vec<_> = columns.iter().map(|(name, kind, _)| format!("{name} {kind}")).collect();
    client
        .query_drop(format!(
            "CREATE TABLE types (id INT AUTO_INCREMENT PRIMARY KEY, {})",
            definitions.join(", ")
        ))
        .expect("created");
    let names: Vec<_> = columns.iter().map(|(name, ..)| *name).collect();
    let marks = vec!["?"; columns.len()].join(", ");
    let insert = format!("INSERT INTO types ({}) VALUES ({marks})", names.join(", "));
    let values: Vec<_> = columns.iter().map(|(_, _, value)| value.clone()).collect();
    client.exec_drop(&insert, Params::Positional(values.clone())).expect("inserted");
    assert_eq!((client.affected_rows(), client.last_insert_id()), (1, 1));
    let nulls = vec![Value::NULL; columns.len()];
    client.exec_drop(&insert, Params::Positional(nulls.clone())).expect("inserted");
    let select = format!("SELECT {} FROM types WHERE id = ?", names.join(", "));
    for (id, expected) in [(1, values), (2, nulls)] {
        let row: mysql::Row = client.exec_first(&select, (id,)).expect("read").expect("a row");
        assert_eq!(row.unwrap(), expected, "row {id}");
    }
    let text: mysql::Row = client
        .query_first("SELECT c_big, c_decimal, c_time, c_varchar FROM types WHERE id = 1")
        .expect("read")
        .expect("a row");
    let expected = ["-9223372036854775808", "-12345678.90", "-838:59:58.000007", "it's größe \u{1f600}"];
    assert_eq!(text.unwrap(), expected.map(|text| Value::Bytes(text.into())));
}

fn errors_and_transactions(client: &mut Conn) {
    client.query_drop("CREATE TABLE names (name VARCHAR(20) PRIMARY KEY)").expect("created");
    client.exec_drop("INSERT INTO names VALUES (?)", ("a",)).expect("inserted");
    check_error(client.exec_drop("INSERT INTO names VALUES (?)", ("a",)), 1062, "23000");
    check_error(client.query_drop("SELECT * FROM absent"), 1146, "42S02");
    check_error(client.query_drop("SELEC 1"), 1064, "42000");
    let mut transaction = client.start_transaction(mysql::TxOpts::default()).expect("begun");
    transaction.query_drop("INSERT INTO names VALUES ('b')").expect("inserted");
    transaction.rollback().expect("rolled back");
    let count: Option<u64> = client.query_first("SELECT COUNT(*) FROM names").expect("read");
    assert_eq!(count, Some(1));
}

fn log_in(server: &TestServer, user: &str, password: &str) -> Result<Conn, u16> {
    let options = OptsBuilder::from_opts(options(server)).user(Some(user)).pass(Some(password));
    Conn::new(options).map_err(|error| match error {
        Error::MySqlError(error) => error.code,
        other => panic!("{other}"),
    })
}

#[test]
fn accounts_are_made_changed_and_kept() {
    let server = TestServer::start(&[]);
    let mut root = Conn::new(options(&server)).expect("connected");
    for text in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY)",
        "CREATE USER 'anna'@'%' IDENTIFIED BY 'first'",
        "CREATE USER 'bert'@'localhost' IDENTIFIED WITH mysql_native_password BY 'old'",
        "GRANT SELECT ON d.* TO 'anna'@'%'",
    ] {
        root.query_drop(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    assert_eq!(log_in(&server, "anna", "wrong").err(), Some(1045));
    assert_eq!(log_in(&server, "anna", "").err(), Some(1045));
    assert_eq!(log_in(&server, "bert", "wrong").err(), Some(1045));
    log_in(&server, "bert", "old").expect("the native plugin");
    // The first login goes the whole way, the second is fast.
    for _ in 0..2 {
        let mut anna = log_in(&server, "anna", "first").expect("her password");
        let user: Option<String> = anna.query_first("SELECT CURRENT_USER()").expect("read");
        assert_eq!(user.as_deref(), Some("anna@%"));
        anna.query_drop("SELECT * FROM d.t").expect("granted");
        check_error(anna.query_drop("INSERT INTO d.t VALUES (1)"), 1142, "42000");
    }
    root.query_drop("ALTER USER 'anna'@'%' IDENTIFIED BY 'second'").expect("changed");
    assert_eq!(log_in(&server, "anna", "first").err(), Some(1045), "the fast path forgot it");
    log_in(&server, "anna", "second").expect("her new password");
    drop(root);
    let directory = server.kill_nine();
    let server = TestServer::start_in(directory, &[]);
    assert_eq!(log_in(&server, "anna", "first").err(), Some(1045));
    log_in(&server, "anna", "second").expect("accounts survive");
    let mut root = Conn::new(options(&server)).expect("connected");
    root.query_drop("DROP USER 'anna'@'%'").expect("dropped");
    assert_eq!(log_in(&server, "anna", "second").err(), Some(1045));
}

/// The columns and rows of each result set of a statement.
fn result_sets(client: &mut Conn, text: &str) -> Vec<(Vec<String>, usize)> {
    let mut result = client.query_iter(text).expect("answered");
    let mut sets = Vec::new();
    while let Some(set) = result.iter() {
        let names = set.columns().as_ref().iter().map(|column| column.name_str().into_owned()).collect();
        let rows: Vec<mysql::Row> = set.collect::<Result<_, _>>().expect("rows");
        sets.push((names, rows.len()));
    }
    sets
}

#[test]
fn a_program_goes_on_after_a_query_that_failed_among_its_rows() {
    let server = TestServer::start(&[]);
    let mut client = Conn::new(options(&server)).expect("connected");
    for statement in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (c INT PRIMARY KEY)",
        "CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN INSERT INTO t VALUES (1), (1); RETURN 0; END",
        "CREATE PROCEDURE tells() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 42; SELECT f(); END",
        "CREATE PROCEDURE goes_on() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; SELECT f(); SELECT 7; END",
    ] {
        client.query_drop(statement).expect(statement);
    }
    let set = |name: &str, rows| (vec![name.to_owned()], rows);
    assert_eq!(result_sets(&mut client, "CALL tells()"), [set("f()", 0), set("42", 1), (Vec::new(), 0)]);
    assert_eq!(result_sets(&mut client, "CALL goes_on()"), [set("f()", 0), set("7", 1), (Vec::new(), 0)]);
    assert_eq!(client.query_first::<u8, _>("SELECT 3").expect("the connection is in step"), Some(3));
}
