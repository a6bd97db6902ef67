//! Real clients drive the server: scripts in tests/clients, one test a client, each in four ways of connecting.
//!
//! A client whose tool or driver is absent says so and passes; `tests/clients/install` fetches the drivers.
//! EVENKEEL_CLIENT_TARGET=host:port runs the same scripts against another server (root without a password), to
//! check the scripts themselves.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use support::{TestDirectory, TestServer};

/// ASCII, because clients disagree about the encoding of other passwords.
const PASSWORD: &str = "p@ss w0rd'\"$\\";
const CLIENT_TIME_MAX: Duration = Duration::from_secs(120);
/// What a script says when what it drives is not installed, as automake's tests do.
const EXIT_SKIPPED: i32 = 77;

/// How a client connects.
#[derive(Clone, Copy, Debug)]
struct Way {
    has_password: bool,
    uses_tls: bool,
    uses_socket: bool,
}

const WAYS: [Way; 5] = [
    Way { has_password: false, uses_tls: false, uses_socket: false },
    Way { has_password: false, uses_tls: true, uses_socket: false },
    // The first with a password goes the whole way by public key; later ones meet the fast path.
    Way { has_password: true, uses_tls: false, uses_socket: false },
    Way { has_password: true, uses_tls: true, uses_socket: false },
    Way { has_password: true, uses_tls: false, uses_socket: true },
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where `tests/clients/install` puts the drivers.
fn drivers() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| repository().join("target"), PathBuf::from)
        .join("clients")
}

fn script(path: &str) -> PathBuf {
    repository().join("tests/clients").join(path)
}

fn server_with(password: &str) -> TestServer {
    let directory = TestDirectory::new();
    let file = directory.path().join("password");
    std::fs::write(&file, password).expect("writable");
    // Where they need a password, sessions move from one worker to another before each command.
    let moves = if password.is_empty() { "auto" } else { "always" };
    let file = format!("--initial-root-password-file={}", file.display());
    TestServer::start_in(directory, &[&file, "--worker-threads=2", &format!("--session-moves={moves}")])
}

/// Runs one client in every way; `make` gives the command that starts it, or what is missing.
fn check(client: &str, make: impl Fn() -> Result<Command, String>) {
    check_ways(client, &WAYS, make);
}

fn check_ways(client: &str, ways: &[Way], make: impl Fn() -> Result<Command, String>) {
    if let Err(missing) = make() {
        println!("skipped: {client}: {missing} absent");
        return;
    }
    if let Ok(target) = std::env::var("EVENKEEL_CLIENT_TARGET") {
        let (host, port) = target.split_once(':').expect("host:port");
        for way in &WAYS[..2] {
            run(client, make().expect("as above"), host, port.parse().expect("a port"), *way, "", "");
        }
        return;
    }
    let open = server_with("");
    let guarded = server_with(PASSWORD);
    for &way in ways {
        let (server, password) = if way.has_password { (&guarded, PASSWORD) } else { (&open, "") };
        let socket = if way.uses_socket { server.socket().display().to_string() } else { String::new() };
        let was_run =
            run(client, make().expect("as above"), "127.0.0.1", server.port, way, password, &socket);
        if !was_run {
            return;
        }
    }
}

/// False when the client said that something it needs is absent.
fn run(
    client: &str,
    mut command: Command,
    host: &str,
    port: u16,
    way: Way,
    password: &str,
    socket: &str,
) -> bool {
    command.env("EVENKEEL_HOST", host).env("EVENKEEL_PORT", port.to_string());
    command.env("EVENKEEL_USER", "root").env("EVENKEEL_PASSWORD", password);
    command.env("EVENKEEL_TLS", if way.uses_tls { "1" } else { "0" }).env("EVENKEEL_SOCKET", socket);
    command.env("EVENKEEL_CLIENTS", drivers());
    let directory = TestDirectory::new();
    let output_path = directory.path().join("output");
    let output = std::fs::File::create(&output_path).expect("writable");
    command.stdout(output.try_clone().expect("a second handle")).stderr(output);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{client} cannot be started: {error}"));
    let deadline = Instant::now() + CLIENT_TIME_MAX;
    let status = loop {
        match child.try_wait().expect("a child can be asked") {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let text = std::fs::read_to_string(&output_path).unwrap_or_default();
                panic!("{client} hangs, {way:?}: {text}");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let text = std::fs::read_to_string(&output_path).unwrap_or_default();
    if status.code() == Some(EXIT_SKIPPED) {
        println!("skipped: {client}: driver absent (tests/clients/install fetches it)");
        return false;
    }
    assert!(status.success(), "{client}, {way:?}: {status}\n{text}");
    println!("{client}, {way:?}: {}", text.trim());
    true
}

/// The first of these programs that exists.
fn program(candidates: &[&Path]) -> Result<Command, String> {
    for candidate in candidates {
        let is_path = candidate.components().count() > 1;
        let exists = if is_path {
            candidate.exists()
        } else {
            Command::new("sh")
                .arg("-c")
                .arg(format!("command -v {} >/dev/null", candidate.display()))
                .status()
                .is_ok_and(|status| status.success())
        };
        if exists {
            return Ok(Command::new(candidate));
        }
    }
    Err(candidates.last().expect("a candidate").display().to_string())
}

fn python(name: &str) -> Result<Command, String> {
    let mut command = program(&[&drivers().join("python/bin/python"), Path::new("python3")])?;
    command.arg(script("python").join(name));
    Ok(command)
}

#[test]
fn command_line() {
    check("command line", || {
        program(&[Path::new("mariadb"), Path::new("mysql")])?;
        Ok(Command::new(script("shell/command_line_client.sh")))
    });
}

#[test]
fn pymysql() {
    check("PyMySQL", || python("pymysql_client.py"));
}

#[test]
fn mysqlclient() {
    check("mysqlclient", || python("mysqlclient_client.py"));
}

#[test]
fn connector_python() {
    // Without the public key exchange it needs a login over TLS before one in the clear can succeed.
    let [open, open_tls, clear, tls, socket] = WAYS;
    check_ways("mysql-connector-python", &[open, open_tls, tls, clear, socket], || {
        python("connector_client.py")
    });
}

#[test]
fn mysql2() {
    check("mysql2", || {
        let mut command = program(&[Path::new("node")])?;
        command.arg(script("node/mysql2_client.js"));
        Ok(command)
    });
}

#[test]
fn go_sql_driver() {
    check("go-sql-driver", || program(&[&drivers().join("go/client")]));
}

#[test]
fn connector_j() {
    check("Connector/J", || {
        let jars = drivers().join("java");
        if !jars.exists() {
            return Err("its jar".to_owned());
        }
        let mut command = program(&[Path::new("java")])?;
        command.arg("-cp").arg(format!("{}/*", jars.display())).arg(script("java/ConnectorJ.java"));
        Ok(command)
    });
}
