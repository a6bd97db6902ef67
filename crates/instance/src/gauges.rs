//! What happens to connections outside of sessions: counted by the program, shown by SHOW STATUS.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug, Default)]
pub struct Gauges {
    connections: AtomicU64,
    tls_connections: AtomicU64,
    refused: AtomicU64,
    aborted_connects: AtomicU64,
    aborted_clients: AtomicU64,
    moves: AtomicU64,
    slice_waits: AtomicU64,
    slice_wait_us: AtomicU64,
    most_sessions: AtomicU64,
    /// Seconds since 1970.
    most_sessions_at: AtomicU64,
}

impl Gauges {
    /// A client was turned away because all places were taken.
    pub fn count_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// A client did not get as far as a session.
    pub fn count_aborted_connect(&self) {
        self.aborted_connects.fetch_add(1, Relaxed);
    }

    /// A session ended without the client's word.
    pub fn count_aborted_client(&self) {
        self.aborted_clients.fetch_add(1, Relaxed);
    }

    /// A session moved from one of the program's threads to another.
    pub fn count_move(&self) {
        self.moves.fetch_add(1, Relaxed);
    }

    /// A session that could have gone on waited for its next slice of commands, after others.
    pub fn count_slice_wait(&self, duration: Duration) {
        self.slice_waits.fetch_add(1, Relaxed);
        self.slice_wait_us.fetch_add(duration.as_micros() as u64, Relaxed);
    }

    pub fn count_connection(&self, sessions: usize, is_tls: bool) {
        self.connections.fetch_add(1, Relaxed);
        if is_tls {
            self.tls_connections.fetch_add(1, Relaxed);
        }
        let sessions = sessions as u64;
        if self.most_sessions.fetch_max(sessions, Relaxed) < sessions {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.most_sessions_at.store(now.as_secs(), Relaxed);
        }
    }

    pub fn values(&self) -> [(&'static str, u64); 10] {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        [
            ("Aborted_clients", load(&self.aborted_clients)),
            ("Aborted_connects", load(&self.aborted_connects)),
            ("Connection_errors_max_connections", load(&self.refused)),
            ("Connections", load(&self.connections)),
            ("Evenkeel_session_moves", load(&self.moves)),
            ("Evenkeel_wait_slice", load(&self.slice_waits)),
            ("Evenkeel_wait_slice_us", load(&self.slice_wait_us)),
            ("Max_used_connections", load(&self.most_sessions)),
            ("Ssl_accepts", load(&self.tls_connections)),
            ("Ssl_finished_accepts", load(&self.tls_connections)),
        ]
    }

    /// When there were more sessions than ever before, in microseconds since 1970.
    pub fn most_sessions_unix_us(&self) -> i64 {
        (self.most_sessions_at.load(Relaxed) * 1_000_000) as i64
    }
}
