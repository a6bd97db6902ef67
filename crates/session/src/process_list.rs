//! The connections that exist, what each is doing, and the way to kill one.
//!
//! Invariant: an entry lives exactly as long as its session. Written by its session, read by SHOW PROCESSLIST,
//! `information_schema.PROCESSLIST` and KILL.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::connection_info::ConnectionId;
use crate::kill::KillSwitch;

/// One connection as others see it.
#[derive(Debug)]
pub struct ProcessEntry {
    pub id: ConnectionId,
    pub kill: KillSwitch,
    /// Leaf lock; held for a copy only.
    activity: Mutex<Activity>,
}

#[derive(Clone, Debug)]
pub struct Activity {
    pub user: String,
    /// `host:port`, or `localhost` for a socket file.
    pub host: String,
    pub database: Option<Arc<str>>,
    pub command: &'static str,
    pub since: Instant,
    pub state: &'static str,
    /// The text of the running statement, when `has_info`; the buffer is kept from statement to statement.
    info: String,
    has_info: bool,
}

/// How much of a statement's text others can see.
const INFO_BYTES_MAX: usize = 65_536;
/// The largest buffer that a session keeps for the text of its next statement.
const INFO_BYTES_KEPT_MAX: usize = 1024;

impl Activity {
    pub fn info(&self) -> Option<&str> {
        self.has_info.then_some(&self.info)
    }

    pub(crate) fn set_info(&mut self, text: Option<&[u8]>) {
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
    pub(crate) fn new(id: ConnectionId, user: &str, host: String) -> ProcessEntry {
        let activity = Activity {
            user: user.to_owned(),
            host,
            database: None,
            command: "Sleep",
            since: Instant::now(),
            state: "",
            info: String::new(),
            has_info: false,
        };
        ProcessEntry { id, kill: KillSwitch::default(), activity: Mutex::new(activity) }
    }

    pub fn activity(&self) -> Activity {
        self.activity.lock().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut Activity)) {
        change(&mut self.activity.lock());
    }
}

#[derive(Debug, Default)]
pub struct ProcessList {
    /// Leaf lock; held for an insert, a removal or a copy of the list.
    entries: Mutex<BTreeMap<ConnectionId, Arc<ProcessEntry>>>,
}

impl ProcessList {
    pub(crate) fn add(&self, entry: Arc<ProcessEntry>) {
        self.entries.lock().insert(entry.id, entry);
    }

    pub(crate) fn remove(&self, id: ConnectionId) {
        self.entries.lock().remove(&id);
    }

    pub fn find(&self, id: ConnectionId) -> Option<Arc<ProcessEntry>> {
        self.entries.lock().get(&id).cloned()
    }

    pub fn all(&self) -> Vec<Arc<ProcessEntry>> {
        self.entries.lock().values().cloned().collect()
    }

    pub fn count(&self) -> usize {
        self.entries.lock().len()
    }
}
