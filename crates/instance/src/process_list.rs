//! The connections that exist, what each is doing, and the way to kill one.
//!
//! Invariant: an entry lives exactly as long as its session. Written by its session, read by SHOW PROCESSLIST,
//! `information_schema.PROCESSLIST` and KILL.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use catalog::{Entered, Gate, LockName, LockOwner, MetadataLocks, Progress, Share, StageLog};
use engine::Isolation;
use parking_lot::Mutex;
use schema::ProgramKind;

use crate::connection_id::ConnectionId;
use crate::counters::{Counters, add};
use crate::kill::KillSwitch;
use crate::sight::SightCell;

/// One connection as others see it.
#[derive(Debug)]
pub struct ProcessEntry {
    pub id: ConnectionId,
    pub kill: KillSwitch,
    /// What the session has done.
    pub counters: Counters,
    /// The same by kind of statement, and its last statements.
    pub figures: telemetry::SessionFigures,
    /// Since when it is connected.
    pub connected: Instant,
    /// How it came: `TCP/IP`, `SSL/TLS` or `Socket`.
    pub connection_type: &'static str,
    /// What the client said of itself, in its order.
    pub attributes: Vec<(String, String)>,
    /// What the session lets others look at.
    pub sight: SightCell,
    /// Leaf lock; held for a copy only.
    activity: Mutex<Activity>,
    /// How far its change of a table is, and since when it goes on.
    progress: Mutex<Option<(Weak<Progress>, Instant)>>,
    /// The stages of that change, until they are told.
    stages: Mutex<Option<Arc<StageLog>>>,
    has_stages: AtomicBool,
    /// Whether its statements are counted and kept, as `setup_actors` said at its login.
    is_instrumented: AtomicBool,
    has_history: AtomicBool,
}

#[derive(Clone, Debug)]
pub struct Activity {
    pub user: String,
    /// `host:port`, or `localhost` for a socket file.
    pub host: String,
    /// Its account has SYSTEM_USER: only its like may end it.
    pub is_system_user: bool,
    pub database: Option<Arc<str>>,
    pub command: &'static str,
    pub since: Instant,
    pub state: &'static str,
    pub unique_checks: bool,
    pub foreign_key_checks: bool,
    /// The transaction that the last statement left open.
    pub transaction: Option<OpenTransaction>,
    /// The text of the running statement, when `has_info`; the buffer is kept from statement to statement.
    info: String,
    has_info: bool,
}

/// What others see of a transaction that a session has open between statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Which of the session's transactions it is.
    pub number: u64,
    /// When the first statement that left it open began.
    pub since: Instant,
    pub isolation: Isolation,
    pub is_read_only: bool,
}

/// How much of a statement's text others can see.
const INFO_BYTES_MAX: usize = 65_536;
/// The largest buffer that a session keeps for the text of its next statement.
const INFO_BYTES_KEPT_MAX: usize = 1024;

impl Activity {
    pub fn info(&self) -> Option<&str> {
        self.has_info.then_some(&self.info)
    }

    pub fn set_info(&mut self, text: Option<&[u8]>) {
        self.has_info = text.is_some();
        self.info.clear();
        if self.info.capacity() > INFO_BYTES_KEPT_MAX {
            self.info = String::new();
        }
        if let Some(text) = text {
            let text = &text[..text.len().min(INFO_BYTES_MAX)];
            match std::str::from_utf8(text) {
                Ok(text) => self.info.push_str(text),
                Err(_) => self.info.push_str(&String::from_utf8_lossy(text)),
            }
        }
    }
}

impl ProcessEntry {
    /// The command of what is no client and cannot be killed.
    pub const DAEMON: &'static str = "Daemon";
    /// The command of who reads the binary log by position.
    pub const DUMP: &'static str = "Binlog Dump";
    /// The same by identifiers.
    pub const DUMP_OF_IDENTIFIERS: &'static str = "Binlog Dump GTID";

    pub fn new(id: ConnectionId, user: &str, host: String, connection_type: &'static str) -> ProcessEntry {
        let activity = Activity {
            user: user.to_owned(),
            host,
            is_system_user: false,
            database: None,
            command: "Sleep",
            since: Instant::now(),
            state: "",
            unique_checks: true,
            foreign_key_checks: true,
            transaction: None,
            info: String::new(),
            has_info: false,
        };
        ProcessEntry {
            id,
            kill: KillSwitch::default(),
            counters: Counters::default(),
            figures: telemetry::SessionFigures::default(),
            connected: Instant::now(),
            connection_type,
            attributes: Vec::new(),
            sight: SightCell::default(),
            activity: Mutex::new(activity),
            progress: Mutex::default(),
            stages: Mutex::default(),
            has_stages: AtomicBool::new(false),
            is_instrumented: AtomicBool::new(true),
            has_history: AtomicBool::new(true),
        }
    }

    pub fn activity(&self) -> Activity {
        self.activity.lock().clone()
    }

    /// Shows others how far a change of a table is, as long as somebody has it.
    pub fn watch_progress(&self, progress: &Arc<Progress>) {
        *self.progress.lock() = Some((Arc::downgrade(progress), Instant::now()));
        *self.stages.lock() = Some(progress.log().clone());
        self.has_stages.store(true, Relaxed);
    }

    /// Whether a change of a table has come to stages since the last statement.
    pub fn has_stages(&self) -> bool {
        self.has_stages.load(Relaxed)
    }

    /// Those that nobody has taken yet.
    pub fn take_stages(&self) -> Vec<Entered> {
        if !self.has_stages() {
            return Vec::new();
        }
        self.stages.lock().as_ref().map(|log| log.take()).unwrap_or_default()
    }

    /// Its statement ends.
    pub fn forget_stages(&self) {
        if self.has_stages() {
            *self.stages.lock() = None;
            self.has_stages.store(false, Relaxed);
        }
    }

    /// Whether its statements are counted.
    pub fn is_instrumented(&self) -> bool {
        self.is_instrumented.load(Relaxed)
    }

    /// Whether its last statements are kept.
    pub fn has_history(&self) -> bool {
        self.has_history.load(Relaxed)
    }

    pub fn set_instrumented(&self, is_on: bool) -> bool {
        self.is_instrumented.swap(is_on, Relaxed) != is_on
    }

    pub fn set_history(&self, is_on: bool) -> bool {
        self.has_history.swap(is_on, Relaxed) != is_on
    }

    /// How far a change of a table is, and how long it has gone on.
    pub fn progress(&self) -> Option<(Share, Duration)> {
        let (progress, since) = self.progress.lock().clone()?;
        Some((progress.upgrade()?.share(), since.elapsed()))
    }

    /// The State column: a wait for a metadata lock goes before how far a change of a table is, and that before what the session
    /// said itself.
    pub fn shown_state(&self, activity: &Activity, locks: &MetadataLocks) -> Cow<'static, str> {
        let waits = self.shown_wait(locks);
        match (waits, self.progress()) {
            (Some(wait), _) => wait.into(),
            (None, Some((share, elapsed))) => progress_text(share, elapsed).into(),
            (None, None) => activity.state.into(),
        }
    }

    fn shown_wait(&self, locks: &MetadataLocks) -> Option<&'static str> {
        Some(match locks.awaited(LockOwner(u64::from(self.id.0))) {
            Some(LockName::Table(..)) => "Waiting for table metadata lock",
            Some(LockName::Database(_)) => "Waiting for schema metadata lock",
            Some(LockName::Gate(Gate::Changes)) => "Waiting for global read lock",
            Some(LockName::Gate(Gate::Commits)) => "Waiting for commit lock",
            Some(LockName::Gate(Gate::Definitions)) => "Waiting for backup lock",
            Some(LockName::Program(ProgramKind::Procedure, ..)) => {
                "Waiting for stored procedure metadata lock"
            }
            Some(LockName::Program(ProgramKind::Function, ..)) => "Waiting for stored function metadata lock",
            Some(LockName::Program(ProgramKind::Trigger, ..)) => "Waiting for trigger metadata lock",
            Some(LockName::Program(ProgramKind::Event, ..)) => "Waiting for event metadata lock",
            Some(LockName::Accounts) => "Waiting for acl cache lock",
            None => return None,
        })
    }

    /// Since when a transaction has been open.
    pub fn in_transaction_since(&self) -> Option<Instant> {
        self.activity.lock().transaction.map(|open| open.since)
    }

    /// The client's host without its port.
    pub fn client_host(&self) -> String {
        let host = &self.activity.lock().host;
        // An address of version 6 has colons of its own.
        match host.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => host.to_owned(),
            _ => host.clone(),
        }
    }

    /// Whether it reads the binary log, as replicas do.
    pub fn is_dump(&self) -> bool {
        matches!(self.activity.lock().command, Self::DUMP | Self::DUMP_OF_IDENTIFIERS)
    }

    /// Whether a statement runs now.
    pub fn is_running(&self) -> bool {
        self.activity.lock().has_info
    }

    /// Bytes of the protocol that were read and written since the last call.
    pub fn count_traffic(&self, received: u64, sent: u64) {
        add(&self.counters.bytes_received, received);
        add(&self.counters.bytes_sent, sent);
    }

    pub fn update(&self, change: impl FnOnce(&mut Activity)) {
        change(&mut self.activity.lock());
    }
}

/// MySQL's state with the share that is done and the time that is left.
fn progress_text(share: Share, elapsed: Duration) -> String {
    let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    let left = share.left_us(elapsed_us).map(|left| format!(", about {} s left", left.div_ceil(1_000_000)));
    format!("{} ({} % done{})", share.stage.text(), share.percent(), left.unwrap_or_default())
}

#[derive(Debug, Default)]
pub struct ProcessList {
    /// Leaf lock; held for an insert, a removal or a copy of the list.
    entries: Mutex<BTreeMap<ConnectionId, Arc<ProcessEntry>>>,
}

impl ProcessList {
    pub fn add(&self, entry: Arc<ProcessEntry>) {
        self.entries.lock().insert(entry.id, entry);
    }

    /// A session ends: its counters go to those of ended sessions. Both under the lock, so that `total` has them once.
    pub fn remove(&self, id: ConnectionId, ended: &Counters) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.remove(&id) {
            ended.add(&entry.counters);
        }
    }

    /// What all sessions together have done, ended ones included.
    pub fn total(&self, ended: &Counters) -> Counters {
        let total = Counters::default();
        let entries = self.entries.lock();
        total.add(ended);
        entries.values().for_each(|entry| total.add(&entry.counters));
        total
    }

    pub fn find(&self, id: ConnectionId) -> Option<Arc<ProcessEntry>> {
        self.entries.lock().get(&id).cloned()
    }

    pub fn all(&self) -> Vec<Arc<ProcessEntry>> {
        self.entries.lock().values().cloned().collect()
    }

    /// Without what works in the background.
    pub fn client_count(&self) -> usize {
        let is_client = |entry: &&Arc<ProcessEntry>| entry.activity.lock().command != ProcessEntry::DAEMON;
        self.entries.lock().values().filter(is_client).count()
    }

    pub fn count(&self) -> usize {
        self.entries.lock().len()
    }
}
