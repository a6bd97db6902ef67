//! A server on a simulated machine, and clients that keep what they are answered as text.

use datum::{ColumnType, SqlError, TypeKind, Value};
use engine::{Engine, EngineOptions, Packing};
use env::{Clock, Env};
use instance::{Instance, InstanceConfig, ResultShape, SleepFuture, Timer};
use session::{ClientCapabilities, ConnectionInfo, FlushFuture, OkInfo, ResultSink, Session, StatusInfo};
use std::sync::Arc;
use std::time::Duration;

struct SimulatedTimer(Arc<dyn Clock>);

impl Timer for SimulatedTimer {
    fn sleep(&self, duration: Duration) -> SleepFuture {
        self.0.sleep(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }
}

/// Opens the server, recovering if need be, or creates it. `roomy`: nothing is evicted.
pub async fn open(env: Env, roomy: bool) -> Result<Arc<Instance>, String> {
    let clock = env.clock.clone();
    let engine =
        Engine::open(env.clone(), engine_options(&env, roomy)).await.map_err(|error| error.to_string())?;
    let config = InstanceConfig {
        version: "9.7.0-evenkeel".to_owned(),
        version_comment: "Evenkeel".to_owned(),
        variables: Vec::new(),
        initial_root_password: String::new(),
        digest_seed: (1, 2),
        timer: Arc::new(SimulatedTimer(clock)),
        session_memory_bytes: 1 << 30,
        system_tables: system_tables::join,
    };
    let server = Instance::open(engine, config).await.map_err(|error| error.to_string())?;
    server.temporary().remove_remains().await.map_err(|error| error.to_string())?;
    Ok(server)
}

/// Sizes so small that a statement meets evictions, splits, checkpoints and spills.
fn engine_options(env: &Env, roomy: bool) -> EngineOptions {
    let draw = |count: u64| (env.random.u64() % count) as usize;
    let frames = if roomy { 2_000 } else { [64, 96, 256][draw(3)] };
    EngineOptions {
        page_size_bytes: [4096, 8192][draw(2)],
        buffer_pool_bytes: frames * (8192 + 256),
        redo_capacity_bytes: 2 << 20,
        redo_memory_bytes: [0, 0, 0, 30_000][draw(4)],
        undo_memory_bytes: if roomy { 0 } else { [0, 0, 1, 4_000][draw(4)] },
        late_change_bytes: [None, None, Some(2_000), Some(200_000)][draw(4)],
        packing: [Packing::Never, Packing::Sixteenths(8)][draw(2)],
        page_log_bytes: [None, Some(0), Some(30_000), Some(400_000)][draw(4)],
        ..EngineOptions::default()
    }
}

pub struct Client {
    session: Session,
}

impl Client {
    pub fn connect(server: &Arc<Instance>) -> Client {
        let root = "root".to_owned();
        let information = ConnectionInfo {
            id: server.next_connection_id(),
            user: root.clone(),
            host: "localhost".to_owned(),
            account_user: root,
            account_host: "localhost".to_owned(),
            peer: None,
            attributes: Vec::new(),
            capabilities: ClientCapabilities::default(),
            collation_id: 255,
            tls: None,
        };
        Client { session: Session::new(server.clone(), &statements::Statements, information) }
    }

    /// One statement.
    pub async fn query(&mut self, text: &str) -> Answer {
        let mut answer = Answer::default();
        self.session.query(text.as_bytes(), &mut answer).await;
        answer
    }
}

/// What a client was told.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Of a result set, values separated by tabs.
    pub rows: Vec<String>,
    /// `ok`, with the figures, or the error.
    pub end: String,
    pub is_error: bool,
    types: Vec<u8>,
}

impl Answer {
    /// All of it.
    pub fn text(&self) -> String {
        if self.rows.is_empty() {
            self.end.clone()
        } else {
            format!("{}\n{}", self.rows.join("\n"), self.end)
        }
    }
}

impl ResultSink for Answer {
    fn columns(&mut self, shape: &Arc<ResultShape>) {
        self.types = shape.columns.iter().map(|column| column.decimals).collect();
    }

    fn row(&mut self, values: &[Value]) {
        let texts: Vec<String> =
            values.iter().zip(&self.types).map(|(value, decimals)| show(value, *decimals)).collect();
        self.rows.push(texts.join("\t"));
    }

    fn end_rows(&mut self, _: &StatusInfo) {}

    fn cursor_opened(&mut self, _: &StatusInfo) {}

    fn ok(&mut self, ok: &OkInfo) {
        self.end = format!("ok {} {} {}", ok.affected_rows, ok.last_insert_id, ok.info);
    }

    fn error(&mut self, error: &SqlError) {
        self.end = error.to_string();
        self.is_error = true;
    }

    fn needs_flush(&self) -> bool {
        false
    }

    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async { Ok(()) })
    }
}

fn show(value: &Value, decimals: u8) -> String {
    let kind = match value {
        Value::Null => return "NULL".to_owned(),
        Value::Time(_) => TypeKind::Time { fsp: decimals },
        Value::DateTime(_) => TypeKind::DateTime { fsp: decimals },
        _ => TypeKind::LongText,
    };
    String::from_utf8_lossy(&value.to_text(&ColumnType::new(kind))).into_owned()
}
