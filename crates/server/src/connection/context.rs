//! One command of a client: what it needs, and the work that each kind is. Called by `commands` for each packet.
use crate::connection::client::borrow_buffer;
use crate::connection::definition_cache::{build, definition, definitions};
use crate::connection::error_reply::write_error;
use crate::connection::login::Introduction;
use crate::connection::parameters::to_value;
use crate::connection::reply::{Reply, RowFormat, wire_status, write_ok};
use crate::connection::stream::Stream;
use datum::{SqlError, Value, error_code};
use instance::{ConnectionId, ProcessEntry, ResultShape};
use session::{CursorKind, NumberedList, PreparedInfo, Session, StatementId};
use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use wire::{
    Capabilities, Command, CursorKind as WireCursor, OkReply, PacketReader, PacketWriter, ParameterBinding,
    PrepareReply,
};

/// What the connection knows of a prepared statement; the rest is the session's.
#[derive(Default)]
pub struct Prepared {
    binding: ParameterBinding,
    /// Long data that could not be kept: said at the next execution, because the command has no answer.
    long_data_error: Option<Box<SqlError>>,
    /// The columns of its open cursor.
    cursor: Option<Arc<ResultShape>>,
}

/// What follows a command.
pub enum After {
    Continue,
    Quit,
    SetMultiStatements(bool),
    ChangeUser(Introduction),
}

/// Everything that a command works with.
pub struct Context<'a> {
    pub session: &'a mut Session,
    pub process: &'a ProcessEntry,
    pub(super) prepared: &'a mut NumberedList<Prepared>,
    pub stream: &'a RefCell<Stream>,
    pub writer: &'a mut PacketWriter,
    pub(super) capabilities: Capabilities,
    pub write_timeout: Duration,
    pub(super) long_data_bytes_max: usize,
    /// Set when the command may have changed the session's variables.
    pub(super) settings_touched: &'a mut bool,
}

impl Context<'_> {
    /// A flat dispatch; each command's work is a method of its own when it is more than a call.
    pub(super) async fn run(&mut self, command: Command<'_>) -> After {
        if !matches!(command, Command::Query { .. } | Command::StatementExecute { .. }) {
            // The two others may wait long before they answer; their sink borrows when they do.
            borrow_buffer(self.writer);
        }
        match command {
            Command::Quit => return After::Quit,
            Command::Query { text, attributes: _ } => return pin!(self.query(text)).await,
            Command::StatementExecute { statement, flags, parameters } => {
                return pin!(self.execute(statement, flags, parameters)).await;
            }
            Command::StatementFetch { statement, row_count } => {
                return pin!(self.fetch(statement, row_count)).await;
            }
            Command::StatementPrepare(text) => self.prepare(text).await,
            Command::StatementSendLongData { statement, parameter, data } => {
                self.keep_long_data(statement, parameter, data);
            }
            Command::RegisterReplica { server_id, host, port } => {
                let ok = self.session.ok_info();
                let result = self.session.register_replica(server_id, host, port).map(|()| ok);
                self.answer(result);
            }
            Command::BinlogDump(dump) => {
                return match pin!(self.send_events(dump)).await {
                    StreamEnd::ReaderGone => After::Quit,
                    StreamEnd::Over => After::Continue,
                };
            }
            Command::StatementReset(statement) => self.reset(statement),
            Command::StatementClose(statement) => {
                self.prepared.remove(statement);
                self.session.close_statement(StatementId(statement));
            }
            Command::InitDatabase(name) => {
                self.session.log_command("Init DB", name);
                let result = self.session.init_db(name).await;
                self.answer(result);
            }
            Command::Ping => self.answer(Ok(self.session.ok_info())),
            Command::Statistics => {
                let text = self.session.statistics();
                self.writer.statistics(&text);
            }
            Command::Debug => match self.session.log_state() {
                Ok(ok) => self.end_with(ok.status),
                Err(error) => self.refuse(&error),
            },
            Command::ProcessKill(id) => {
                let result = self.session.kill(ConnectionId(id));
                self.answer(result);
            }
            Command::ResetConnection => {
                self.prepared.clear();
                *self.settings_touched = true;
                let result = self.session.reset_connection().await;
                self.answer(result);
            }
            Command::SetMultiStatements(on) => {
                self.session.set_multi_statements(on);
                self.end_with(self.session.ok_info().status);
                return After::SetMultiStatements(on);
            }
            Command::FieldList { table, pattern } => self.field_list(table, pattern).await,
            Command::ChangeUser(change) => return After::ChangeUser(Introduction::from_change(&change)),
        }
        After::Continue
    }

    /// The end of a result without rows, which tells the status.
    fn end_with(&mut self, status: session::StatusFlags) {
        let status = wire_status(status);
        self.writer.result_end(self.capabilities, &OkReply { status, ..OkReply::default() });
    }

    fn answer(&mut self, result: Result<session::OkInfo, SqlError>) {
        match result {
            Ok(ok) => write_ok(self.writer, self.capabilities, &ok),
            Err(error) => self.refuse(&error),
        }
    }

    pub(super) fn refuse(&mut self, error: &SqlError) {
        write_error(self.writer, self.capabilities, error);
    }

    /// The session, and the sink for what it will report.
    fn reply(&mut self, format: RowFormat, status: session::StatusFlags) -> (&mut Session, Reply<'_>) {
        let reply = Reply {
            stream: self.stream,
            writer: self.writer,
            capabilities: self.capabilities,
            write_timeout: self.write_timeout,
            process: self.process,
            format,
            status,
            shape: None,
            owes_definitions_end: false,
            has_opened_cursor: false,
            is_in_rows: false,
            is_gone: false,
            file: PacketReader::default(),
            settings_touched: self.settings_touched,
        };
        (self.session, reply)
    }

    async fn query(&mut self, text: &[u8]) -> After {
        let status = self.session.ok_info().status;
        let (session, mut reply) = self.reply(RowFormat::Text, status);
        // Pinned where it is made: awaiting it by value would copy its kilobytes of state first.
        pin!(session.query(text, &mut reply)).await;
        if reply.is_gone { After::Quit } else { After::Continue }
    }

    async fn prepare(&mut self, text: &[u8]) {
        match self.session.prepare(text).await {
            Ok(info) => {
                self.write_prepared(&info);
                let count = u16::try_from(info.parameters.len()).unwrap_or(u16::MAX);
                let prepared = Prepared { binding: ParameterBinding::new(count), ..Prepared::default() };
                self.prepared.insert(info.id.0, prepared);
            }
            Err(error) => self.refuse(&error),
        }
    }

    fn write_prepared(&mut self, info: &PreparedInfo) {
        let column_count = info.columns.as_ref().map_or(0, |shape| shape.columns.len());
        self.writer.prepare_ok(&PrepareReply {
            statement: info.id.0,
            // The session refuses statements with more of either than the protocol can say.
            column_count: u16::try_from(column_count).unwrap_or(u16::MAX),
            parameter_count: u16::try_from(info.parameters.len()).unwrap_or(u16::MAX),
            warning_count: info.warnings,
        });
        let status = wire_status(self.session.ok_info().status);
        if !info.parameters.is_empty() {
            self.writer.definitions(&build(&info.parameters));
            self.writer.definitions_end(self.capabilities, status);
        }
        if let Some(shape) = &info.columns
            && column_count > 0
        {
            self.writer.definitions(&definitions(shape));
            self.writer.definitions_end(self.capabilities, status);
        }
    }

    async fn execute(&mut self, statement: u32, flags: u8, payload: &[u8]) -> After {
        let values = match self.bind(statement, flags, payload) {
            Ok(values) => values,
            Err(error) => {
                self.refuse(&error);
                return After::Continue;
            }
        };
        let cursor = match WireCursor::from_flags(flags) {
            WireCursor::None => CursorKind::None,
            WireCursor::ReadOnly => CursorKind::ReadOnly,
            WireCursor::Unsupported => {
                self.refuse(&error_code::ER_NOT_SUPPORTED_YET.with(&[&"this kind of cursor"]));
                return After::Continue;
            }
        };
        let status = self.session.ok_info().status;
        let (session, mut reply) = self.reply(RowFormat::Binary, status);
        pin!(session.execute(StatementId(statement), values, cursor, &mut reply)).await;
        let Reply { is_gone, has_opened_cursor, shape, .. } = reply;
        if let Some(prepared) = self.prepared.get_mut(statement) {
            prepared.cursor = shape.filter(|_| has_opened_cursor);
        }
        if is_gone { After::Quit } else { After::Continue }
    }

    fn bind(&mut self, statement: u32, flags: u8, payload: &[u8]) -> Result<Vec<Value>, SqlError> {
        let unknown = || error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&statement, &"mysqld_stmt_execute"]);
        let prepared = self.prepared.get_mut(statement).ok_or_else(unknown)?;
        if let Some(error) = prepared.long_data_error.take() {
            prepared.binding.clear_long_data();
            return Err(*error);
        }
        let (mut values, mut refused) = (Vec::new(), None);
        let decoded =
            prepared.binding.decode_each(payload, flags, self.capabilities, |value| match to_value(&value) {
                Ok(value) => values.push(value),
                Err(error) => drop(refused.get_or_insert(error)),
            });
        prepared.binding.clear_long_data();
        match (decoded, refused) {
            (Err(_), _) => Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"mysqld_stmt_execute"])),
            (Ok(()), Some(error)) => Err(error),
            (Ok(()), None) => Ok(values),
        }
    }

    fn keep_long_data(&mut self, statement: u32, parameter: u16, data: &[u8]) {
        let Some(prepared) = self.prepared.get_mut(statement) else { return };
        if !prepared.binding.append_long_data(parameter, data, self.long_data_bytes_max) {
            prepared.long_data_error =
                Some(Box::new(error_code::ER_WRONG_ARGUMENTS.with(&[&"mysql_stmt_send_long_data"])));
        }
    }

    fn reset(&mut self, statement: u32) {
        if let Some(prepared) = self.prepared.get_mut(statement) {
            prepared.binding.clear_long_data();
            prepared.long_data_error = None;
            prepared.cursor = None;
        }
        let result = self.session.reset_statement(StatementId(statement));
        self.answer(result);
    }

    async fn fetch(&mut self, statement: u32, row_count: u32) -> After {
        let shape = self.prepared.get(statement).and_then(|prepared| prepared.cursor.clone());
        if shape.is_none() {
            self.refuse(&error_code::ER_UNKNOWN_STMT_HANDLER.with(&[&statement, &"mysqld_stmt_fetch"]));
            return After::Continue;
        }
        let (session, mut reply) = self.reply(RowFormat::Binary, session::StatusFlags::default());
        reply.shape = shape;
        pin!(session.fetch(StatementId(statement), row_count, &mut reply)).await;
        if reply.is_gone { After::Quit } else { After::Continue }
    }

    /// Deprecated, but command-line clients complete names with it: the columns of a table, without rows.
    async fn field_list(&mut self, table: &[u8], pattern: &[u8]) {
        let mut text = b"SELECT * FROM `".to_vec();
        for &byte in table {
            text.push(byte);
            if byte == b'`' {
                text.push(byte);
            }
        }
        text.extend_from_slice(b"` LIMIT 0");
        let info = match self.session.prepare(&text).await {
            Ok(info) => info,
            Err(error) => return self.refuse(&error),
        };
        for column in info.columns.iter().flat_map(|shape| &shape.columns) {
            let has_wildcard = pattern.iter().any(|byte| matches!(byte, b'%' | b'_'));
            if pattern.is_empty() || has_wildcard || column.name.as_bytes().eq_ignore_ascii_case(pattern) {
                self.writer.field_list_entry(&definition(column), None);
            }
        }
        let status = wire_status(self.session.ok_info().status);
        self.writer.result_end(self.capabilities, &OkReply { status, ..OkReply::default() });
        self.session.close_statement(info.id);
    }
}

/// How a stream ended.
pub enum StreamEnd {
    ReaderGone,
    /// It has been told.
    Over,
}
