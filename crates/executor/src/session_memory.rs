//! What one session holds in memory, and what all of them hold together: the server's bound and MySQL's `connection_memory_limit` and
//! `global_connection_memory_limit`.
//!
//! Invariants: the server's total is the sum of what its sessions have counted there, each in whole chunks, and never beyond its bound; whoever
//! takes gives back, or drops the session. Only the session's own task takes and gives; others read. `MemoryBudget` charges a statement's rows
//! here, the session what outlives statements.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use datum::{ErrorCode, SqlError};

const ER_GLOBAL_CONN_LIMIT: ErrorCode = ErrorCode::new(
    4081,
    "HY000",
    "Connection closed. Global connection memory limit %d bytes exceeded. Consumed %d bytes.",
);
const ER_CONN_LIMIT: ErrorCode = ErrorCode::new(
    4082,
    "HY000",
    "Connection closed. Connection memory limit %d bytes exceeded. Consumed %d bytes.",
);
/// MySQL's 1037 with a text that tells what is used up here.
const ER_SESSIONS_OUT_OF_MEMORY: ErrorCode = ErrorCode::new(
    1037,
    "HY001",
    "Out of memory: the statements of all sessions may hold %d bytes together, and %d more are needed. Run fewer large \
     statements at a time, or raise session_memory_size",
);

/// The least that is counted for the whole server at a time, so that its counter is not written for each row.
const CHUNK_BYTES: u64 = 64 * 1024;

/// The memory of all sessions.
#[derive(Debug)]
pub struct ServerMemory {
    bound: u64,
    held: AtomicU64,
    /// Of sessions with `global_connection_memory_tracking`.
    tracked: AtomicU64,
    /// `global_connection_memory_limit`.
    tracked_max: AtomicU64,
    most_held: AtomicU64,
}

impl ServerMemory {
    /// No more than `bound` bytes are given to all sessions together.
    pub fn new(bound: u64) -> ServerMemory {
        ServerMemory {
            bound,
            held: AtomicU64::new(0),
            tracked: AtomicU64::new(0),
            tracked_max: AtomicU64::new(u64::MAX),
            most_held: AtomicU64::new(0),
        }
    }

    pub fn bound(&self) -> u64 {
        self.bound
    }

    pub fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    pub fn most_held(&self) -> u64 {
        self.most_held.load(Relaxed)
    }

    /// `Global_connection_memory`.
    pub fn tracked(&self) -> u64 {
        self.tracked.load(Relaxed)
    }

    pub fn limit_tracked(&self, bytes: u64) {
        self.tracked_max.store(bytes, Relaxed);
    }

    fn grow(&self, bytes: u64) -> Result<(), SqlError> {
        let held = self.held.fetch_add(bytes, Relaxed) + bytes;
        if held > self.bound {
            self.held.fetch_sub(bytes, Relaxed);
            return Err(ER_SESSIONS_OUT_OF_MEMORY.with(&[&self.bound, &bytes]));
        }
        self.most_held.fetch_max(held, Relaxed);
        Ok(())
    }
}

/// What MySQL's variables say of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// `connection_memory_limit`.
    pub session_bytes: u64,
    /// `connection_memory_chunk_size`.
    pub chunk_bytes: u64,
    /// `global_connection_memory_tracking`.
    pub is_tracked: bool,
    /// Its account is not closed for its memory (CONNECTION_ADMIN).
    pub is_exempt: bool,
}

impl Default for MemoryLimits {
    fn default() -> MemoryLimits {
        MemoryLimits { session_bytes: u64::MAX, chunk_bytes: 8192, is_tracked: false, is_exempt: true }
    }
}

/// The memory of one session.
#[derive(Debug)]
pub struct SessionMemory {
    server: Arc<ServerMemory>,
    /// What was taken and not given back.
    taken: AtomicU64,
    /// What was taken when the running statement began, and what its task has allocated since, where that is known.
    taken_before: AtomicU64,
    allocated: AtomicU64,
    /// Counted in `server.held`.
    counted: AtomicU64,
    /// Counted in `server.tracked`.
    tracked: AtomicU64,
    session_bytes_max: AtomicU64,
    chunk_bytes: AtomicU64,
    is_tracked: AtomicBool,
    is_exempt: AtomicBool,
    /// Something was asked for that makes MySQL close the connection.
    is_over: AtomicBool,
}

impl SessionMemory {
    pub fn new(server: Arc<ServerMemory>) -> SessionMemory {
        let limits = MemoryLimits::default();
        SessionMemory {
            server,
            taken: AtomicU64::new(0),
            taken_before: AtomicU64::new(0),
            allocated: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            tracked: AtomicU64::new(0),
            session_bytes_max: AtomicU64::new(limits.session_bytes),
            chunk_bytes: AtomicU64::new(limits.chunk_bytes),
            is_tracked: AtomicBool::new(limits.is_tracked),
            is_exempt: AtomicBool::new(limits.is_exempt),
            is_over: AtomicBool::new(false),
        }
    }

    /// For tests and tools: bounded by nothing.
    pub fn unbounded() -> Arc<SessionMemory> {
        Arc::new(SessionMemory::new(Arc::new(ServerMemory::new(u64::MAX))))
    }

    pub fn set_limits(&self, limits: MemoryLimits) {
        self.session_bytes_max.store(limits.session_bytes, Relaxed);
        self.chunk_bytes.store(limits.chunk_bytes.max(1), Relaxed);
        self.is_tracked.store(limits.is_tracked, Relaxed);
        self.is_exempt.store(limits.is_exempt, Relaxed);
    }

    /// What the session holds: what it has said, or more, if the allocator has counted more.
    pub fn used(&self) -> u64 {
        let (taken, before) = (self.taken.load(Relaxed), self.taken_before.load(Relaxed));
        taken.max(before.saturating_add(self.allocated.load(Relaxed)))
    }

    /// A statement begins, perhaps inside another one; nothing is allocated for it yet.
    pub fn begin_statement(&self) -> OuterStatement {
        let outer = OuterStatement {
            before: self.taken_before.load(Relaxed),
            allocated: self.allocated.load(Relaxed),
        };
        self.taken_before.store(self.used(), Relaxed);
        self.allocated.store(0, Relaxed);
        outer
    }

    pub fn end_statement(&self, outer: OuterStatement) {
        self.taken_before.store(outer.before, Relaxed);
        self.allocated.store(outer.allocated, Relaxed);
        self.shrink();
    }

    /// The allocator has counted so many bytes for the running statement.
    pub fn measure(&self, allocated: u64) -> Result<(), SqlError> {
        let before = self.allocated.swap(allocated, Relaxed);
        if allocated < before {
            self.shrink();
            return Ok(());
        }
        self.grow().inspect_err(|_| self.allocated.store(before, Relaxed))
    }

    /// Whether a limit was exceeded that ends the session.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// The same, since the last call.
    pub fn take_is_over(&self) -> bool {
        self.is_over.swap(false, Relaxed)
    }

    pub fn take(&self, bytes: usize) -> Result<(), SqlError> {
        let taken = self.taken.load(Relaxed);
        self.taken.store(taken.saturating_add(bytes as u64), Relaxed);
        self.grow().inspect_err(|_| self.taken.store(taken, Relaxed))
    }

    fn grow(&self) -> Result<(), SqlError> {
        let (used, counted) = (self.used(), self.counted.load(Relaxed));
        if used > counted {
            let more = (used - counted).next_multiple_of(CHUNK_BYTES);
            self.server.grow(more)?;
            self.counted.store(counted + more, Relaxed);
        }
        self.obey_limits(used)
    }

    /// The limits of MySQL's variables.
    fn obey_limits(&self, used: u64) -> Result<(), SqlError> {
        let is_exempt = self.is_exempt.load(Relaxed);
        let session_max = self.session_bytes_max.load(Relaxed);
        if !is_exempt && used > session_max {
            self.is_over.store(true, Relaxed);
            return Err(ER_CONN_LIMIT.with(&[&session_max, &used]));
        }
        let tracked = self.tracked.load(Relaxed);
        if self.is_tracked.load(Relaxed) && used > tracked {
            let more = (used - tracked).next_multiple_of(self.chunk_bytes.load(Relaxed));
            let all = self.server.tracked.fetch_add(more, Relaxed) + more;
            self.tracked.store(tracked + more, Relaxed);
            let all_max = self.server.tracked_max.load(Relaxed);
            if !is_exempt && all > all_max {
                self.is_over.store(true, Relaxed);
                return Err(ER_GLOBAL_CONN_LIMIT.with(&[&all_max, &all]));
            }
        }
        Ok(())
    }

    pub fn give_back(&self, bytes: usize) {
        let taken = self.taken.load(Relaxed).saturating_sub(bytes as u64);
        self.taken.store(taken, Relaxed);
        self.taken_before.fetch_min(taken, Relaxed);
        self.shrink();
    }

    fn shrink(&self) {
        let used = self.used();
        let keep = used.next_multiple_of(CHUNK_BYTES);
        let counted = self.counted.load(Relaxed);
        // A chunk of slack: who takes and gives back by turns does not come here each time.
        if counted > keep + CHUNK_BYTES {
            self.counted.store(keep, Relaxed);
            self.server.held.fetch_sub(counted - keep, Relaxed);
        }
        let keep = if self.is_tracked.load(Relaxed) { used.saturating_add(CHUNK_BYTES) } else { 0 };
        let tracked = self.tracked.load(Relaxed);
        if tracked > keep {
            self.tracked.store(keep, Relaxed);
            self.server.tracked.fetch_sub(tracked - keep, Relaxed);
        }
    }

    /// So many bytes for as long as the charge lives.
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Result<MemoryCharge, SqlError> {
        self.take(bytes)?;
        Ok(MemoryCharge { session: self.clone(), bytes })
    }
}

impl Drop for SessionMemory {
    fn drop(&mut self) {
        self.server.held.fetch_sub(*self.counted.get_mut(), Relaxed);
        self.server.tracked.fetch_sub(*self.tracked.get_mut(), Relaxed);
    }
}

/// What was counted of the statement that another one runs inside of.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct OuterStatement {
    before: u64,
    allocated: u64,
}

/// Memory that is kept beyond a statement: rows of cursors, user variables, prepared statements.
#[derive(Debug)]
pub struct MemoryCharge {
    session: Arc<SessionMemory>,
    bytes: usize,
}

impl MemoryCharge {
    pub fn grow(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.session.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.session.give_back(bytes);
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.session.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    #[test]
    fn all_sessions_together_stay_within_the_bound() {
        let server = Arc::new(ServerMemory::new(3 * MB as u64));
        let sessions: Vec<_> = (0..2).map(|_| Arc::new(SessionMemory::new(server.clone()))).collect();
        let first = sessions[0].charge(2 * MB).expect("room");
        assert_eq!(sessions[1].take(2 * MB).expect_err("no room").errno, 1037);
        drop(first);
        sessions[1].take(2 * MB).expect("room again");
        assert_eq!(server.held(), 2 * MB as u64);
        drop(sessions);
        assert_eq!(server.held(), 0);
    }

    #[test]
    fn what_the_allocator_counts_is_counted_once() {
        let server = Arc::new(ServerMemory::new(10 * MB as u64));
        let session = Arc::new(SessionMemory::new(server.clone()));
        let kept = session.charge(MB).expect("room");
        let outer = session.begin_statement();
        session.take(2 * MB).expect("room");
        session.measure(3 * MB as u64).expect("room");
        assert_eq!(session.used(), 4 * MB as u64);
        assert_eq!(session.measure(20 * MB as u64).expect_err("no room").errno, 1037);
        assert_eq!(session.used(), 4 * MB as u64);
        session.give_back(2 * MB);
        session.end_statement(outer);
        assert_eq!(session.used(), MB as u64);
        drop(kept);
        assert!(server.held() <= 2 * CHUNK_BYTES);
    }

    #[test]
    fn mysql_limits_end_only_who_is_not_exempt() {
        let server = Arc::new(ServerMemory::new(u64::MAX));
        let session = SessionMemory::new(server.clone());
        let limits =
            MemoryLimits { session_bytes: 2 * MB as u64, is_exempt: false, ..MemoryLimits::default() };
        session.set_limits(limits);
        assert_eq!(session.take(3 * MB).expect_err("too much").errno, 4082);
        assert!(session.take_is_over() && !session.take_is_over());
        assert_eq!(session.used(), 0);
        session.set_limits(MemoryLimits { is_exempt: true, is_tracked: true, ..limits });
        server.limit_tracked(MB as u64);
        session.take(3 * MB).expect("exempt");
        assert!(server.tracked() >= 3 * MB as u64);
        session.set_limits(MemoryLimits { session_bytes: u64::MAX, is_tracked: true, ..limits });
        assert_eq!(session.take(MB).expect_err("too much of all").errno, 4081);
        session.give_back(3 * MB);
        assert!(server.tracked() <= CHUNK_BYTES);
    }
}
