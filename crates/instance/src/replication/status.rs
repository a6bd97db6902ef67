//! What the tasks of a channel tell of themselves: SHOW REPLICA STATUS and `performance_schema.replication_*` show it.
use binlog::{Gtid, GtidSet};

use super::Part;

/// Why a task has ended, or tries again.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Failure {
    pub number: u16,
    pub message: String,
    /// Micros since 1970; 0 for none.
    pub at_us: u64,
}

/// `Replica_IO_Running`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReceiverState {
    #[default]
    Off,
    Connecting,
    On,
}

/// A transaction with its moments, in micros since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AppliedTransaction {
    /// `None` with a moment: it has none.
    pub gtid: Option<Gtid>,
    pub original_commit_us: u64,
    pub immediate_commit_us: u64,
    pub begun_us: u64,
    pub ended_us: u64,
}

#[derive(Clone, Debug, Default)]
pub struct ChannelStatus {
    pub receiver: ReceiverState,
    pub receiver_doing: &'static str,
    pub applier_doing: &'static str,
    /// The source's own.
    pub source_id: u32,
    pub source_uuid: String,
    /// How far has been received.
    pub read_file: String,
    pub read_position: u64,
    pub retrieved: GtidSet,
    pub heartbeats: u64,
    pub heartbeat_us: u64,
    pub receiver_failure: Failure,
    pub applier_failure: Failure,
    pub last_queued: AppliedTransaction,
    pub last_applied: AppliedTransaction,
    /// `None` between transactions.
    pub applying: Option<AppliedTransaction>,
    /// When the event that is applied was made, in seconds since 1970; 0 when all is applied.
    pub event_second: u32,
    pub retries: u64,
    /// The source is told how far its transactions are applied (semi-synchronous replication).
    pub confirms: bool,
    /// The connections that the process list shows.
    pub receiver_thread: Option<u32>,
    pub applier_thread: Option<u32>,
    /// A delayed transaction waits until then, in seconds since 1970; 0 for none.
    pub delayed_until: u64,
}

impl ChannelStatus {
    pub fn forget_failure(&mut self, part: Part) {
        match part {
            Part::Receiver => self.receiver_failure = Failure::default(),
            Part::Applier => self.applier_failure = Failure::default(),
        }
    }
}
