//! The sink of a statement's outcome: rows and ends become packets in the connection's writer.
//!
//! Invariant: what a session reports is in the writer before the call returns, in the protocol's order; bytes
//! leave in one write unless a result outgrows `FLUSH_BYTES`, and then the statement waits for the client.

use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use datum::{SqlError, Value};
use instance::{ProcessEntry, ResultShape};
use session::{
    ClientGone, FlushFuture, OkInfo, PieceFuture, ResultSink, StateChange, StatusFlags as SessionStatus,
    StatusInfo,
};
use wire::{Capabilities, OkReply, PacketReader, PacketWriter, SessionChanges, StatusFlags};

use super::client::{borrow_buffer, flush};
use super::definition_cache::definitions;
use super::stream::Stream;
use super::value_encoding::{binary_row, text_row};
use crate::connection::error_reply::write_error;

/// The first byte of the packet that asks the client for a file.
const ASKS_FOR_FILE: u8 = 0xfb;
/// Clients send files in pieces of a few kilobytes.
const FILE_PIECE_MAX: usize = 64 * 1024 * 1024;
/// Large enough that a write costs little per byte, small enough that a slow client pins little.
const FLUSH_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFormat {
    Text,
    Binary,
}

pub(super) struct Reply<'a> {
    pub stream: &'a RefCell<Stream>,
    pub writer: &'a mut PacketWriter,
    pub capabilities: Capabilities,
    pub write_timeout: Duration,
    pub process: &'a ProcessEntry,
    pub format: RowFormat,
    /// Status for the packet that ends the definitions, which older clients get before the rows.
    pub status: SessionStatus,
    /// The columns of the result under way; for COM_STMT_FETCH those of the cursor.
    pub shape: Option<Arc<ResultShape>>,
    /// The end of the definitions has not been written yet: a cursor's comes with other flags.
    pub owes_definitions_end: bool,
    pub has_opened_cursor: bool,
    /// Between a result set's definitions and its end.
    pub is_in_rows: bool,
    pub is_gone: bool,
    /// Packets of a file that the client was asked for.
    pub file: PacketReader,
    /// Set by an OK that changed no rows: SET is among the statements that end so.
    pub settings_touched: &'a mut bool,
}

impl Reply<'_> {
    fn end_definitions(&mut self) {
        if std::mem::take(&mut self.owes_definitions_end) {
            self.writer.definitions_end(self.capabilities, wire_status(self.status));
        }
    }

    fn end(&mut self, status: &StatusInfo) {
        let changes = encode_changes(self.capabilities, &status.changes);
        let reply = OkReply {
            status: wire_status(status.status),
            warning_count: status.warnings,
            session_changes: changes.encoded(),
            ..OkReply::default()
        };
        self.writer.result_end(self.capabilities, &reply);
    }
}

impl ResultSink for Reply<'_> {
    fn columns(&mut self, shape: &Arc<ResultShape>) {
        borrow_buffer(self.writer);
        self.writer.result_start(&definitions(shape));
        self.shape = Some(shape.clone());
        self.owes_definitions_end = true;
        self.is_in_rows = true;
    }

    fn row(&mut self, values: &[Value]) {
        self.end_definitions();
        let columns = self.shape.as_ref().map_or(&[][..], |shape| &shape.columns);
        assert_eq!(columns.len(), values.len(), "a row has a value for each column");
        match self.format {
            RowFormat::Text => self.writer.packet(|out| text_row(out, columns, values)),
            RowFormat::Binary => self.writer.packet(|out| binary_row(out, columns, values)),
        }
    }

    fn end_rows(&mut self, status: &StatusInfo) {
        self.end_definitions();
        self.end(status);
        self.is_in_rows = false;
    }

    fn end_unfinished(&mut self, status: &StatusInfo) {
        if self.is_in_rows {
            borrow_buffer(self.writer);
            self.end_rows(status);
        }
    }

    fn cursor_opened(&mut self, status: &StatusInfo) {
        // One packet ends both the definitions and the response.
        self.owes_definitions_end = false;
        self.has_opened_cursor = true;
        self.is_in_rows = false;
        let status =
            StatusInfo { status: status.status.with(SessionStatus::CURSOR_EXISTS), ..status.clone() };
        self.end(&status);
    }

    fn ok(&mut self, ok: &OkInfo) {
        *self.settings_touched |= ok.affected_rows == 0;
        borrow_buffer(self.writer);
        write_ok(self.writer, self.capabilities, ok);
    }

    fn error(&mut self, error: &SqlError) {
        borrow_buffer(self.writer);
        self.end_definitions();
        self.is_in_rows = false;
        write_error(self.writer, self.capabilities, error);
    }

    fn needs_flush(&self) -> bool {
        self.writer.len() >= FLUSH_BYTES
    }

    fn flush(&mut self) -> FlushFuture<'_> {
        Box::pin(async {
            if self.is_gone
                || flush(self.stream, self.writer, self.write_timeout, Some(&self.process.kill))
                    .await
                    .is_err()
            {
                self.is_gone = true;
                return Err(ClientGone);
            }
            Ok(())
        })
    }

    fn sends_files(&self) -> bool {
        self.capabilities.has(Capabilities::LOCAL_FILES)
    }

    fn ask_for_file(&mut self, path: &str) -> FlushFuture<'_> {
        borrow_buffer(self.writer);
        self.writer.packet(|out| {
            out.push(ASKS_FOR_FILE);
            out.extend_from_slice(path.as_bytes());
        });
        self.flush()
    }

    fn next_piece(&mut self) -> PieceFuture<'_> {
        Box::pin(async move {
            loop {
                match self.file.next_packet(self.writer.sequence(), FILE_PIECE_MAX) {
                    Ok(Some((piece, sequence))) => {
                        self.writer.set_sequence(sequence);
                        return Ok(self.file.payload(piece).to_vec());
                    }
                    Ok(None) if self.read_file().await => {}
                    Ok(None) | Err(_) => {
                        self.is_gone = true;
                        return Err(ClientGone);
                    }
                }
            }
        })
    }
}

impl Reply<'_> {
    /// Waits for more of the file; false when there will be none.
    async fn read_file(&mut self) -> bool {
        let Reply { stream, file, process, .. } = self;
        let read = poll_fn(|context| stream.borrow_mut().poll_read_with(context, |bytes| file.feed(bytes)));
        tokio::select! {
            read = read => matches!(read, Ok(1..)),
            () = process.kill.connection_killed() => false,
        }
    }
}

/// Session and protocol use the same bits.
pub(super) fn wire_status(status: SessionStatus) -> StatusFlags {
    StatusFlags(status.0)
}

pub(super) fn write_ok(writer: &mut PacketWriter, capabilities: Capabilities, ok: &OkInfo) {
    let changes = encode_changes(capabilities, &ok.changes);
    let reply = OkReply {
        affected_rows: ok.affected_rows,
        last_insert_id: ok.last_insert_id,
        status: wire_status(ok.status),
        warning_count: ok.warnings,
        info: ok.info.as_bytes(),
        session_changes: changes.encoded(),
    };
    writer.ok(capabilities, &reply);
}

fn encode_changes(capabilities: Capabilities, changes: &[StateChange]) -> SessionChanges {
    let mut encoded = SessionChanges::default();
    if !capabilities.has(Capabilities::SESSION_TRACK) {
        return encoded;
    }
    for change in changes {
        match change {
            StateChange::SystemVariable { name, value } => encoded.system_variable(name, value.as_bytes()),
            StateChange::Schema(name) => encoded.schema(name.as_bytes()),
            StateChange::StateChanged => encoded.state_change(),
        }
    }
    encoded
}
