//! What all sessions of a server share: engine, catalog, accounts, global variables, process list, counters.
//!
//! Created once by the program after the engine is open; every session holds an `Arc` of it.
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use datum::{SqlError, error_code};

use crate::connection_info::ConnectionId;
use crate::kill::KillKind;
use crate::process_list::ProcessList;

pub type SleepFuture = Pin<Box<dyn Future<Output = ()>>>;

/// The way to wait for time to pass; the program supplies its runtime's timer, so that this crate knows none.
pub trait Timer: Send + Sync {
    fn sleep(&self, duration: Duration) -> SleepFuture;
}

pub struct ServerConfig {
    /// `version`, for example `9.7.0-evenkeel`.
    pub version: String,
    pub version_comment: String,
    /// System variables set on the command line or in an option file, by name with `_`; checked at open.
    /// The program also passes what it alone knows: port, socket, datadir, hostname, pid_file, have_ssl.
    pub variables: Vec<(String, String)>,
    pub timer: Arc<dyn Timer>,
}

pub struct Server {
    engine: Arc<engine::Engine>,
    config: ServerConfig,
    processes: ProcessList,
    next_connection_id: AtomicU32,
    started: Instant,
}

impl Server {
    /// Loads the data dictionary (creating it in a new store) and applies the configured variables.
    pub async fn open(engine: Arc<engine::Engine>, config: ServerConfig) -> Result<Arc<Server>, SqlError> {
        Ok(Arc::new(Server {
            engine,
            config,
            processes: ProcessList::default(),
            next_connection_id: AtomicU32::new(1),
            started: Instant::now(),
        }))
    }

    /// The number of the next connection, for the handshake; taken before the client is authenticated.
    pub fn next_connection_id(&self) -> ConnectionId {
        ConnectionId(self.next_connection_id.fetch_add(1, Ordering::Relaxed))
    }

    pub fn version(&self) -> &str {
        &self.config.version
    }

    pub fn engine(&self) -> &Arc<engine::Engine> {
        &self.engine
    }

    pub fn processes(&self) -> &ProcessList {
        &self.processes
    }

    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// KILL without the privilege check, for the server's own use (shutdown, idle connections).
    pub fn kill(&self, id: ConnectionId, kind: KillKind) -> Result<(), SqlError> {
        let entry =
            self.processes.find(id).ok_or_else(|| error_code::ER_NO_SUCH_THREAD.with(&[&u64::from(id.0)]))?;
        entry.kill.kill(kind);
        Ok(())
    }
}
