//! What replicas and other readers of the binary log ask of a session: a stream of its events.
use std::time::Duration;

use auth::Privilege;
use datum::{ErrorCode, SqlError, Value};
use expression::SessionServices;
use source::{EventStream, Replica, SemiSyncReplica, SourceError, StreamOptions};

use crate::session::Session;

/// 1236, whose text the reader shows.
const ER_SOURCE_FATAL_ERROR_READING_BINLOG: ErrorCode = ErrorCode::new(1236, "HY000", "%s");

/// The error that ends a stream.
pub fn stream_error(error: &SourceError) -> SqlError {
    let text = match error {
        SourceError::UnknownFile(_) => {
            "Could not find first log file name in binary log index file".to_owned()
        }
        SourceError::WrongPosition(_) => {
            "Client requested source to start replication from position > file size".to_owned()
        }
        other => other.to_string(),
    };
    ER_SOURCE_FATAL_ERROR_READING_BINLOG.with(&[&text])
}

impl Session {
    /// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
    pub async fn open_event_stream(&self, options: StreamOptions) -> Result<EventStream, SqlError> {
        self.require_global(Privilege::ReplicationSlave)?;
        let Some(log) = self.instance.binary_log() else {
            return Err(ER_SOURCE_FATAL_ERROR_READING_BINLOG.with(&[&"Binary log is not open"]));
        };
        let without_checksums = !self.knows_checksums();
        let options = StreamOptions { without_checksums, ..options };
        EventStream::open(log.clone(), options).await.map_err(|error| stream_error(&error))
    }

    /// COM_REGISTER_REPLICA: who may ask for a stream may say so.
    pub fn register_replica(&mut self, server_id: u32, host: &[u8], port: u16) -> Result<(), SqlError> {
        self.require_global(Privilege::ReplicationSlave)?;
        let uuid = match self.replica_variable(["replica_uuid", "slave_uuid"]) {
            Some(Value::Bytes(uuid)) => String::from_utf8_lossy(&uuid).into_owned(),
            _ => String::new(),
        };
        let host = String::from_utf8_lossy(host).into_owned();
        let replica = Replica { server_id, host, port, uuid };
        self.registration = self.instance.binary_log().map(|log| log.register(replica));
        Ok(())
    }

    fn replica_variable(&self, names: [&str; 2]) -> Option<Value> {
        names.iter().find_map(|name| self.shared.user_variable(name)).map(|(value, _)| value)
    }

    /// Whether a reader confirms what it has, which it has said with a variable; it does as long as what this returns lives.
    pub fn semi_sync_replica(&self, server_id: u32) -> Option<SemiSyncReplica> {
        let confirms = match self.replica_variable(["rpl_semi_sync_replica", "rpl_semi_sync_slave"])? {
            Value::Int(number) => number != 0,
            Value::UInt(number) => number != 0,
            _ => false,
        };
        let log = self.instance.binary_log().filter(|_| confirms)?;
        Some(log.semi_sync_replica(server_id))
    }

    /// Readers say with a variable that they know checksums.
    fn knows_checksums(&self) -> bool {
        match self.replica_variable(["source_binlog_checksum", "master_binlog_checksum"]) {
            Some(Value::Bytes(name)) => name.eq_ignore_ascii_case(b"CRC32"),
            _ => false,
        }
    }

    /// How long the reader wants to hear nothing at most.
    pub fn heartbeat_period(&self) -> Option<Duration> {
        let nanoseconds =
            match self.replica_variable(["source_heartbeat_period", "master_heartbeat_period"])? {
                Value::Int(number) => u64::try_from(number).ok()?,
                Value::UInt(number) => number,
                Value::Decimal(number) => number.to_u64()?,
                _ => return None,
            };
        (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
    }
}
