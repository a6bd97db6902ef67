//! A server in memory and clients that print what they are answered.
use std::sync::Arc;
use std::time::Duration;

use datum::{ColumnType, SqlError, TypeKind, Value};
use instance::{Instance, InstanceConfig, ResultShape, SleepFuture, Timer};
use session::{
    ClientCapabilities, ConnectionInfo, FlushFuture, OkInfo, PieceFuture, ResultSink, Session, StatusInfo,
};

#[allow(dead_code, reason = "each test binary has its own copy of this module")]
pub struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, duration: Duration) -> SleepFuture {
        Box::pin(tokio::time::sleep(duration))
    }
}

#[allow(dead_code, reason = "each test binary has its own copy of this module")]
pub async fn new_server() -> Arc<Instance> {
    serve(engine::Engine::in_memory(), Arc::new(TokioTimer)).await
}

/// Runs a test against a new server, on this thread alone; the test may spawn local tasks.
#[allow(dead_code, reason = "each test binary has its own copy of this module")]
pub fn run<T>(test: impl AsyncFnOnce(Arc<Instance>) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async { test(new_server().await).await })
}

pub async fn serve(engine: Arc<engine::Engine>, timer: Arc<dyn Timer>) -> Arc<Instance> {
    serve_with(engine, timer, Vec::new()).await
}

/// With values of variables.
pub async fn serve_with(
    engine: Arc<engine::Engine>,
    timer: Arc<dyn Timer>,
    variables: Vec<(String, String)>,
) -> Arc<Instance> {
    let config = InstanceConfig {
        version: "9.7.0-evenkeel".to_owned(),
        version_comment: "Evenkeel".to_owned(),
        variables,
        initial_root_password: String::new(),
        digest_seed: (1, 2),
        timer,
        session_memory_bytes: 1 << 30,
        system_tables: system_tables::join,
    };
    Instance::open(engine, config).await.expect("the server opens")
}

pub struct Client {
    pub session: Session,
}

impl Client {
    pub async fn connect(server: &Arc<Instance>) -> Client {
        Self::connect_as(server, "root").await
    }

    pub async fn connect_as(server: &Arc<Instance>, user: &str) -> Client {
        Self::connect_account(server, user, "localhost").await
    }

    pub async fn connect_account(server: &Arc<Instance>, user: &str, account_host: &str) -> Client {
        let information = ConnectionInfo {
            id: server.next_connection_id(),
            user: user.to_owned(),
            host: "localhost".to_owned(),
            account_user: user.to_owned(),
            account_host: account_host.to_owned(),
            peer: None,
            attributes: Vec::new(),
            capabilities: ClientCapabilities { multi_statements: true, ..ClientCapabilities::default() },
            collation_id: 255,
            tls: None,
        };
        Client { session: Session::new(server.clone(), &statements::Statements, information) }
    }

    pub async fn query(&mut self, text: &str) -> String {
        let mut printer = Printer::default();
        self.session.query(text.as_bytes(), &mut printer).await;
        printer.text
    }

    /// The answer of a client that sends a file when it is asked for one.
    #[allow(dead_code, reason = "each test binary has its own copy of this module")]
    pub async fn query_with_file(&mut self, text: &str, pieces: &[&[u8]]) -> String {
        let file = pieces.iter().map(|piece| piece.to_vec()).collect();
        let mut printer = Printer { file, ..Printer::default() };
        self.session.query(text.as_bytes(), &mut printer).await;
        assert!(printer.file.is_empty(), "the whole file is read, whatever becomes of the statement");
        printer.text
    }

    /// The answer with the result's metadata and the statement's warnings.
    #[allow(dead_code, reason = "each test binary has its own copy of this module")]
    pub async fn query_in_full(&mut self, text: &str) -> String {
        let mut printer = Printer::default();
        self.session.query(text.as_bytes(), &mut printer).await;
        let columns = printer.shape.map(|shape| format!("{:?}\n", shape.columns)).unwrap_or_default();
        let warnings = self.query("show warnings").await;
        format!("{columns}{}{warnings}", printer.text)
    }
}

/// Writes results as the `mysql` client's batch mode does: names, then rows, separated by tabs.
#[derive(Default)]
pub struct Printer {
    pub text: String,
    pub shape: Option<Arc<ResultShape>>,
    /// What the client sends when it is asked for a file; without pieces it sends none.
    pub file: Vec<Vec<u8>>,
}

impl ResultSink for Printer {
    fn columns(&mut self, shape: &Arc<ResultShape>) {
        let names: Vec<&str> = shape.columns.iter().map(|column| column.name.as_str()).collect();
        self.text.push_str(&names.join("\t"));
        self.text.push('\n');
        self.shape = Some(shape.clone());
    }

    fn row(&mut self, values: &[Value]) {
        let shape = self.shape.as_ref().expect("columns come before rows");
        assert_eq!(values.len(), shape.columns.len(), "a row has a value for each column");
        let texts = values.iter().zip(&shape.columns).map(|(value, column)| show(value, column.decimals));
        let texts: Vec<String> = texts.collect();
        self.text.push_str(&texts.join("\t"));
        self.text.push('\n');
    }

    fn end_rows(&mut self, status: &StatusInfo) {
        if status.warnings > 0 {
            self.text.push_str(&format!("({} warnings)\n", status.warnings));
        }
    }

    fn cursor_opened(&mut self, _: &StatusInfo) {
        self.text.push_str("cursor\n");
    }

    fn ok(&mut self, ok: &OkInfo) {
        self.text.push_str("ok");
        if ok.affected_rows > 0 {
            self.text.push_str(&format!(" {} rows", ok.affected_rows));
        }
        if ok.last_insert_id > 0 {
            self.text.push_str(&format!(" id {}", ok.last_insert_id));
        }
        if ok.warnings > 0 {
            self.text.push_str(&format!(" {} warnings", ok.warnings));
        }
        if !ok.info.is_empty() {
            self.text.push_str(&format!(" ({})", ok.info));
        }
        self.text.push('\n');
    }

    fn error(&mut self, error: &SqlError) {
        self.text.push_str(&format!("{error}\n"));
    }

    fn needs_flush(&self) -> bool {
        false
    }

    fn sends_files(&self) -> bool {
        !self.file.is_empty()
    }

    fn ask_for_file(&mut self, _path: &str) -> FlushFuture<'_> {
        Box::pin(async { Ok(()) })
    }

    fn next_piece(&mut self) -> PieceFuture<'_> {
        let piece = if self.file.is_empty() { Vec::new() } else { self.file.remove(0) };
        Box::pin(async { Ok(piece) })
    }

    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Ok(()) })
    }
}

fn show(value: &Value, decimals: u8) -> String {
    let kind = match value {
        Value::Null => return "NULL".to_owned(),
        Value::Bit(bits) => return format!("b'{bits:b}'"),
        Value::Time(_) => TypeKind::Time { fsp: decimals },
        Value::DateTime(_) => TypeKind::DateTime { fsp: decimals },
        _ => TypeKind::LongText,
    };
    let text = value.to_text(&ColumnType::new(kind)).into_owned();
    match String::from_utf8(text) {
        Ok(text) => text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t").replace('\0', "\\0"),
        Err(error) => error.as_bytes().iter().map(|byte| format!("{byte:02X}")).collect(),
    }
}
