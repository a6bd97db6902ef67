//! SHOW of the binary log: its files, where it stands, and the events of a file.
use binlog::{Checksum, Event, Events, GtidEvent, RowsKind, header_flag, rows_flag, split_event};
use datum::{SqlError, Value};
use parser::ast::Limit;
use source::{EventStream, StreamOptions, StreamedEvent};

use super::conditions::offset_and_count;
use crate::caller::Caller;
use crate::replication::ER_REPLICA_CHANNEL_DOES_NOT_EXIST;
use session::log_error;
use session::stream_error;
use session::{MadeColumn, MadeRows};

const ER_NO_BINARY_LOGGING: datum::ErrorCode =
    datum::ErrorCode::new(1381, "HY000", "You are not using binary logging");

const ER_NO_RELAY_FILES: datum::ErrorCode = datum::ErrorCode::new(
    1235,
    "42000",
    "This server keeps received events in memory and has no relay log files for SHOW RELAYLOG EVENTS",
);

const ER_ERROR_WHEN_EXECUTING_COMMAND: datum::ErrorCode =
    datum::ErrorCode::new(1220, "HY000", "Error when executing command %s: %s");

const NO_TARGET: &str = "Could not find target log";

/// What SHOW BINLOG EVENTS wants.
pub(super) struct WantedEvents<'a> {
    pub file: Option<&'a [u8]>,
    pub position: Option<u64>,
    pub limit: Option<Limit<'a>>,
}

impl Caller<'_> {
    pub(super) async fn show_binary_logs(&self) -> Result<MadeRows, SqlError> {
        let log = self.instance().binary_log().ok_or_else(|| ER_NO_BINARY_LOGGING.plain())?;
        log.catch_up().await.map_err(|error| log_error(&error))?;
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Log_name", 255),
            MadeColumn::Number("File_size"),
            MadeColumn::Text("Encrypted", 3),
        ]);
        for file in log.files() {
            let name = log.file_name(file.number);
            rows.push(vec![Value::bytes(name), Value::UInt(file.length), Value::bytes("No")]);
        }
        Ok(rows)
    }

    pub(super) async fn show_binary_log_status(&self) -> Result<MadeRows, SqlError> {
        let mut rows = super::empty::binary_log_status();
        let Some(log) = self.instance().binary_log() else { return Ok(rows) };
        log.catch_up().await.map_err(|error| log_error(&error))?;
        if let Some(last) = log.files().last() {
            let set = log.executed().to_string();
            let databases = log.databases();
            let [only, ignored] = [&databases.only, &databases.ignored].map(|names| names.join(","));
            let texts = [log.file_name(last.number), last.length.to_string(), only, ignored, set];
            rows.push(texts.into_iter().map(Value::bytes).collect());
        }
        Ok(rows)
    }

    pub(super) fn show_replicas(&self) -> MadeRows {
        let mut rows = MadeRows::new(&[
            MadeColumn::Number("Server_Id"),
            MadeColumn::Text("Host", 20),
            MadeColumn::Number("Port"),
            MadeColumn::Number("Source_Id"),
            MadeColumn::Text("Replica_UUID", 36),
        ]);
        let Some(log) = self.instance().binary_log() else { return rows };
        let source = self.instance().globals.by_name("server_id").as_unsigned();
        for replica in log.replicas() {
            rows.push(vec![
                Value::UInt(u64::from(replica.server_id)),
                Value::bytes(replica.host),
                Value::UInt(u64::from(replica.port)),
                Value::UInt(source),
                Value::bytes(replica.uuid),
            ]);
        }
        rows
    }

    /// There are no relay log files: a server that is no replica has nothing to show, another one says so.
    pub(super) fn show_relay_log_events(
        &self,
        file: Option<&[u8]>,
        channel: Option<&str>,
    ) -> Result<MadeRows, SqlError> {
        let replication = &self.instance().replication;
        let name = channel.unwrap_or("");
        if !name.is_empty() && replication.channel(name).is_none() {
            return Err(ER_REPLICA_CHANNEL_DOES_NOT_EXIST.with(&[&name]));
        }
        if !replication.channels().iter().any(|channel| !channel.settings.lock().host.is_empty()) {
            return Ok(event_rows());
        }
        Err(match file {
            Some(_) => ER_ERROR_WHEN_EXECUTING_COMMAND.with(&[&"SHOW RELAYLOG EVENTS", &NO_TARGET]),
            None => ER_NO_RELAY_FILES.plain(),
        })
    }

    pub(super) async fn show_binlog_events(&self, wanted: WantedEvents<'_>) -> Result<MadeRows, SqlError> {
        let mut rows = event_rows();
        let Some(log) = self.instance().binary_log() else { return Ok(rows) };
        log.catch_up().await.map_err(|error| log_error(&error))?;
        let (mut skipped, count) = offset_and_count(wanted.limit)?;
        // For MySQL no rows are as many as there are.
        let count = if count == 0 { usize::MAX } else { count };
        let file = match wanted.file {
            Some(name) => {
                let name = String::from_utf8_lossy(name).into_owned();
                log.file_named(&name).ok_or_else(no_such_file)?;
                name
            }
            None => String::new(),
        };
        // The position need not be one where an event begins.
        let begin = wanted.position.unwrap_or(0);
        let mut position = binlog::MAGIC.len() as u64;
        let options = StreamOptions { file, position, ..StreamOptions::default() };
        let opened = EventStream::open(log.clone(), options).await;
        let mut stream = opened.map_err(|error| stream_error(&error))?;
        let name = stream.file_name();
        loop {
            let events = stream.next().await.map_err(|error| stream_error(&error))?;
            if events.is_empty() || stream.file_name() != name {
                return Ok(rows);
            }
            for StreamedEvent { bytes, .. } in events {
                let raw =
                    split_event(&bytes, Checksum::Crc32).map_err(|error| stream_error(&error.into()))?;
                if raw.header.next_position == 0 {
                    continue;
                }
                if position < begin || skipped > 0 {
                    skipped -= usize::from(position >= begin);
                    position = u64::from(raw.header.next_position);
                    continue;
                }
                if rows.rows.len() == count {
                    return Ok(rows);
                }
                let shown = match Event::decode(&raw) {
                    Ok(event) => (event_name(&event), info(&event, raw.header.flags)),
                    Err(_) => ("Unknown", String::new()),
                };
                rows.push(vec![
                    Value::bytes(&name),
                    Value::UInt(position),
                    Value::bytes(shown.0),
                    Value::UInt(u64::from(raw.header.server_id)),
                    Value::UInt(u64::from(raw.header.next_position)),
                    Value::bytes(shown.1),
                ]);
                position = u64::from(raw.header.next_position);
            }
        }
    }
}

fn event_rows() -> MadeRows {
    MadeRows::new(&[
        MadeColumn::Text("Log_name", 20),
        MadeColumn::Number("Pos"),
        MadeColumn::Text("Event_type", 20),
        MadeColumn::Number("Server_id"),
        MadeColumn::Number("End_log_pos"),
        MadeColumn::LongText("Info"),
    ])
}

fn no_such_file() -> SqlError {
    ER_ERROR_WHEN_EXECUTING_COMMAND.with(&[&"SHOW BINLOG EVENTS", &NO_TARGET])
}

fn event_name(event: &Event) -> &'static str {
    match event {
        Event::FormatDescription(_) => "Format_desc",
        Event::PreviousGtids(_) => "Previous_gtids",
        Event::Gtid(GtidEvent { gtid: None, .. }) => "Anonymous_Gtid",
        Event::Gtid(_) => "Gtid",
        Event::Query(_) => "Query",
        Event::TableMap(_) => "Table_map",
        Event::Rows(rows) => match rows.header.kind {
            RowsKind::Write => "Write_rows",
            RowsKind::Update => "Update_rows",
            RowsKind::Delete => "Delete_rows",
        },
        Event::Xid(_) => "Xid",
        Event::XaPrepare(_) => "XA_prepare",
        Event::Rotate { .. } => "Rotate",
        Event::Stop => "Stop",
        Event::Heartbeat { .. } => "Heartbeat",
        Event::RowsQuery(_) => "Rows_query",
        Event::TransactionPayload(_) => "Transaction_payload",
        Event::MariaDbGtid(_) | Event::Ignored(_) => "Unknown",
    }
}

const ROWS_FLAGS: [(u16, &str); 4] = [
    (rows_flag::STATEMENT_END, "STMT_END_F"),
    (rows_flag::NO_FOREIGN_KEY_CHECKS, "NO_FOREIGN_KEY_CHECKS_F"),
    (rows_flag::RELAXED_UNIQUE_CHECKS, "RELAXED_UNIQUE_CHECKS_F"),
    (rows_flag::USE_SQL_FOREIGN_KEY, "USE_SQL_FOREIGN_KEY_F"),
];

fn info(event: &Event, header_flags: u16) -> String {
    match event {
        Event::FormatDescription(description) => {
            format!("Server ver: {}, Binlog ver: 4", description.server_version)
        }
        Event::PreviousGtids(set) => set.to_string(),
        Event::Gtid(GtidEvent { gtid: None, .. }) => "SET @@SESSION.GTID_NEXT= 'ANONYMOUS'".to_owned(),
        Event::Gtid(GtidEvent { gtid: Some(gtid), .. }) => format!("SET @@SESSION.GTID_NEXT= '{gtid}'"),
        Event::Query(query) => {
            let text = String::from_utf8_lossy(&query.sql);
            let is_alone = query.database.is_empty() || header_flags & header_flag::SUPPRESS_USE != 0;
            if is_alone { text.into_owned() } else { format!("use `{}`; {text}", query.database) }
        }
        Event::TableMap(map) => format!("table_id: {} ({}.{})", map.table_id, map.database, map.table),
        Event::Rows(rows) => {
            let flags = ROWS_FLAGS.iter().filter(|(bit, _)| rows.header.flags & bit != 0);
            let flags: String = flags.map(|(_, name)| format!(" {name}")).collect();
            let word = if flags.is_empty() { "" } else { " flags:" };
            format!("table_id: {}{word}{flags}", rows.header.table_id)
        }
        Event::XaPrepare(event) if event.one_phase => format!("XA COMMIT {} ONE PHASE", event.xid()),
        Event::XaPrepare(event) => format!("XA PREPARE {}", event.xid()),
        Event::Xid(xid) => format!("COMMIT /* xid={xid} */"),
        Event::Rotate { position, file } => format!("{file};pos={position}"),
        Event::RowsQuery(sql) => format!("# {}", String::from_utf8_lossy(sql)),
        Event::TransactionPayload(events) => {
            let count = Events::unpacked(events).count();
            format!("compression='ZSTD', decompressed_size={} bytes, {count} events", events.len())
        }
        _ => String::new(),
    }
}
