//! A server under test in a process of its own, and a client that speaks the protocol byte by byte.
#![allow(dead_code, reason = "each test program uses a part of this")]

pub mod guest;
pub mod journal;
pub mod replicas;
pub mod write_log;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const START_MAX: Duration = Duration::from_secs(60);
const READ_MAX: Duration = Duration::from_secs(20);
/// How many times as long everything may take, e.g. in a guest at idle priority.
const PATIENCE: &str = "EVENKEEL_TEST_PATIENCE";

fn patient(time: Duration) -> Duration {
    time * std::env::var(PATIENCE).ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// A data directory that goes away with the test, unless it is to be kept.
pub struct TestDirectory {
    path: PathBuf,
    is_kept: bool,
}

impl TestDirectory {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("evenkeel-test-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary directory is writable");
        Self { path, is_kept: false }
    }

    /// A directory that exists already and stays.
    pub fn kept(path: &Path) -> Self {
        Self { path: path.to_owned(), is_kept: true }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A running server.
pub struct TestServer {
    child: Child,
    pub port: u16,
    pub directory: TestDirectory,
}

/// The program with its data in `directory`; EVENKEEL_PROGRAM names another build of it.
pub fn evenkeel(directory: &TestDirectory) -> Command {
    program(directory, "serve")
}

/// Runs the program with these arguments alone: whether it ended well, and all that it said.
pub fn run_program(directory: &TestDirectory, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(evenkeel(directory).get_program()).args(arguments).output();
    let output = output.expect("the program was built");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// The number in the last column of the answer's first row; 0 for NULL.
pub fn number(client: &mut RawClient, question: &str) -> u64 {
    let rows = client.query(question).expect("an answer");
    rows[0].last().expect("a column").as_deref().unwrap_or("0").parse().expect("a number")
}

/// The program with one of its commands for a data directory.
fn program(directory: &TestDirectory, command: &str) -> Command {
    let name = command;
    let built = PathBuf::from(env!("CARGO_BIN_EXE_evenkeel"));
    let mut command = Command::new(std::env::var_os("EVENKEEL_PROGRAM").map_or(built, PathBuf::from));
    command.arg(name).arg(format!("--datadir={}", directory.path().join("data").display()));
    command.env_remove("EVENKEEL_ROOT_PASSWORD").stdin(Stdio::null());
    command
}

impl TestServer {
    pub fn start(options: &[&str]) -> Self {
        Self::start_in(TestDirectory::new(), options)
    }

    pub fn start_in(directory: TestDirectory, options: &[&str]) -> Self {
        Self::start_under(directory, None, options)
    }

    /// Starts the program by way of another one, which becomes it (as `nice` and `strace -D` do).
    pub fn start_under(directory: TestDirectory, wrapper: Option<Command>, options: &[&str]) -> Self {
        let program = evenkeel(&directory);
        let command = match wrapper {
            Some(mut wrapper) => {
                wrapper.arg(program.get_program()).args(program.get_args());
                wrapper.env_remove("EVENKEEL_ROOT_PASSWORD").stdin(Stdio::null());
                wrapper
            }
            None => program,
        };
        Self::launch(directory, command, options)
    }

    /// Starts a copy of another server, without waiting for it.
    pub fn begin_replicate(directory: TestDirectory, from: &str, options: &[&str]) -> Self {
        let mut command = program(&directory, "replicate");
        command.arg(format!("--from={from}")).stderr(Stdio::piped());
        Self::spawn(directory, command, options)
    }

    /// Starts a copy of another server and waits until it serves.
    pub fn replicate(directory: TestDirectory, from: &str, options: &[&str]) -> Self {
        let mut server = Self::begin_replicate(directory, from, options);
        server.port = server.wait_until_ready();
        server
    }

    fn launch(directory: TestDirectory, command: Command, options: &[&str]) -> Self {
        let mut server = Self::spawn(directory, command, options);
        server.port = server.wait_until_ready();
        server
    }

    fn spawn(directory: TestDirectory, mut command: Command, options: &[&str]) -> Self {
        let log = directory.path().join("log");
        let _ = fs::remove_file(&log);
        command.arg("--port=0").arg(format!("--socket={}", directory.path().join("sock").display()));
        command.arg(format!("--log-error={}", log.display())).args(options);
        let child = command.spawn().expect("the program was built");
        Self { child, port: 0, directory }
    }

    /// Waits for a server that ends by itself; `None` when it does not in time.
    pub fn wait_for_end(&mut self, time_max: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + time_max;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("a child can be asked") {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    fn wait_until_ready(&mut self) -> u16 {
        let deadline = Instant::now() + patient(START_MAX);
        while Instant::now() < deadline {
            let log = self.log();
            if let Some(at) = log.find("ready for connections") {
                let port = log[at..].split("-P ").nth(1).and_then(|rest| rest.split(' ').next());
                return port.and_then(|port| port.trim().parse().ok()).unwrap_or(0);
            }
            if let Some(status) = self.child.try_wait().expect("a child can be asked") {
                panic!("the server ended with {status}: {log}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server did not start: {}", self.log());
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// What a server that has ended said of its end, and its directory.
    pub fn take_output(&mut self) -> (String, TestDirectory) {
        let mut output = String::new();
        if let Some(stream) = &mut self.child.stderr {
            stream.read_to_string(&mut output).expect("a text");
        }
        (output, std::mem::replace(&mut self.directory, TestDirectory::new()))
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("sock")
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub fn connect(&self) -> RawClient {
        RawClient::new(TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens"))
    }

    /// A raw client that is logged in as root without a password.
    pub fn log_in(&self) -> RawClient {
        let mut client = self.connect();
        client.log_in("root").expect("root has no password");
        client
    }

    /// SIGTERM; returns how it ended and how long that took.
    pub fn terminate(mut self) -> (ExitStatus, Duration, TestDirectory) {
        let since = Instant::now();
        let pid = self.process_id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill exists");
        let status = self.child.wait().expect("a child ends");
        let directory = std::mem::replace(&mut self.directory, TestDirectory::new());
        (status, since.elapsed(), directory)
    }

    /// SIGKILL: what a crash of the process leaves.
    pub fn kill_nine(mut self) -> TestDirectory {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child ends");
        std::mem::replace(&mut self.directory, TestDirectory::new())
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- server log ---\n{}", self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Number, SQLSTATE and text of an error packet.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerError {
    pub number: u16,
    pub text: String,
}

/// Speaks in packets and knows nothing it is not told.
pub struct RawClient {
    pub stream: TcpStream,
}

/// LONG_PASSWORD, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, DEPRECATE_EOF.
pub const CAPABILITIES: u32 = 1 | 1 << 9 | 1 << 15 | 1 << 19 | 1 << 24;

impl RawClient {
    pub fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(patient(READ_MAX))).expect("a timeout can be set");
        stream.set_nodelay(true).expect("an option can be set");
        Self { stream }
    }

    /// Sequence number and payload; `None` when the server closed.
    pub fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).ok()?;
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).ok()?;
        Some((header[3], payload))
    }

    pub fn send(&mut self, sequence: u8, payload: &[u8]) {
        let length = (payload.len() as u32).to_le_bytes();
        let mut packet = vec![length[0], length[1], length[2], sequence];
        packet.extend_from_slice(payload);
        // The server may have closed already; the next read tells.
        let _ = self.stream.write_all(&packet);
    }

    pub fn handshake_response(capabilities: u32, user: &str) -> Vec<u8> {
        let mut payload = capabilities.to_le_bytes().to_vec();
        payload.extend_from_slice(&[0, 0, 0, 1, 255]);
        payload.extend_from_slice(&[0; 23]);
        payload.extend_from_slice(user.as_bytes());
        payload.extend_from_slice(b"\0\0mysql_native_password\0");
        payload
    }

    pub fn log_in(&mut self, user: &str) -> Result<(), ServerError> {
        let greeting = self.read().ok_or(ServerError { number: 0, text: "closed".to_owned() })?;
        if greeting.1[0] == 0xff {
            return Err(parse_error(&greeting.1));
        }
        self.send(1, &Self::handshake_response(CAPABILITIES, user));
        loop {
            // An account with a password asks for proofs, and gets wrong ones.
            match self.read() {
                Some((sequence, payload)) if payload.starts_with(b"\xfemysql_native_password\0") => {
                    self.send(sequence + 1, b"");
                }
                Some((sequence, payload)) if payload[0] == 0xfe => self.send(sequence + 1, &[7; 32]),
                Some((sequence, payload)) if payload[0] == 1 => self.send(sequence + 1, b"guess"),
                Some((_, payload)) if payload[0] == 0xff => return Err(parse_error(&payload)),
                Some((_, payload)) if payload[0] == 0 => return Ok(()),
                Some((_, payload)) => panic!("no part of a login: {payload:?}"),
                None => return Err(ServerError { number: 0, text: "closed".to_owned() }),
            }
        }
    }

    pub fn expect_ok(&mut self) -> Result<(), ServerError> {
        match self.read() {
            Some((_, payload)) if payload[0] == 0xff => Err(parse_error(&payload)),
            Some((_, payload)) if payload[0] == 0 => Ok(()),
            Some((_, payload)) => panic!("neither OK nor an error: {payload:?}"),
            None => Err(ServerError { number: 0, text: "closed".to_owned() }),
        }
    }

    pub fn expect_error(&mut self) -> ServerError {
        match self.read() {
            Some((_, payload)) if payload[0] == 0xff => parse_error(&payload),
            other => panic!("no error: {other:?}"),
        }
    }

    /// COM_PING.
    pub fn ping(&mut self) -> Result<(), ServerError> {
        self.send(0, &[14]);
        self.expect_ok()
    }

    /// COM_QUERY for a statement without rows.
    pub fn execute(&mut self, text: &str) -> Result<(), ServerError> {
        let mut payload = vec![3];
        payload.extend_from_slice(text.as_bytes());
        self.send(0, &payload);
        self.expect_ok()
    }

    /// The same for several, each of which has to succeed.
    pub fn execute_all(&mut self, statements: &[&str]) {
        for text in statements {
            self.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        }
    }

    /// COM_QUERY for one statement with rows, as text.
    pub fn query(&mut self, text: &str) -> Result<Vec<Vec<Option<String>>>, ServerError> {
        let mut payload = vec![3];
        payload.extend_from_slice(text.as_bytes());
        self.send(0, &payload);
        let closed = || ServerError { number: 0, text: "closed".to_owned() };
        let (_, head) = self.read().ok_or_else(closed)?;
        match head[0] {
            0xff => return Err(parse_error(&head)),
            0 => return Ok(Vec::new()),
            count => {
                for _ in 0..count {
                    self.read().ok_or_else(closed)?;
                }
            }
        }
        let mut rows = Vec::new();
        loop {
            let (_, packet) = self.read().ok_or_else(closed)?;
            match packet[0] {
                0xff => return Err(parse_error(&packet)),
                0xfe if packet.len() < 9 => return Ok(rows),
                _ => rows.push(parse_text_row(&packet)),
            }
        }
    }

    pub fn is_closed(&mut self) -> bool {
        self.read().is_none()
    }
}

/// Cells of less than 64 KiB.
fn parse_text_row(packet: &[u8]) -> Vec<Option<String>> {
    let mut cells = Vec::new();
    let mut rest = packet;
    while let Some((&first, tail)) = rest.split_first() {
        let (length, skip) = match first {
            0xfb => {
                cells.push(None);
                rest = tail;
                continue;
            }
            0xfc => (usize::from(tail[0]) | usize::from(tail[1]) << 8, 2),
            0xfd.. => panic!("a cell is larger than these tests expect"),
            length => (usize::from(length), 0),
        };
        let (cell, behind) = tail[skip..].split_at(length);
        cells.push(Some(String::from_utf8_lossy(cell).into_owned()));
        rest = behind;
    }
    cells
}

fn parse_error(payload: &[u8]) -> ServerError {
    let number = u16::from_le_bytes([payload[1], payload[2]]);
    ServerError { number, text: String::from_utf8_lossy(&payload[3..]).into_owned() }
}

/// Numbers that a seed decides, for what writers do.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
