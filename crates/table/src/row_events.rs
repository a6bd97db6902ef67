//! The row events of a transaction: every change of a row is noted as it happens, and at the commit they become the events
//! of the binary log, statement by statement.
//!
//! Invariant: a change is noted after it has been made, with the transaction's savepoint of that moment; so a rollback
//! to a savepoint forgets exactly what it undoes. Notes are made by `change`, statements begin by `session`'s word.
use crate::error::damaged;
use crate::row_shape::{masks, shown, table_map};
use crate::write_set::WriteSet;
use binlog::{
    BinlogError, Checksum, CommitPackage, DatabaseFilter, Event, EventHeader, Query, RowMetadata, RowsHeader,
    RowsKind, XaPrepare, event_type, header_flag, put_image, rows_flag, write_event,
};
use datum::{ErrorCode, SqlError, Value};
use engine::{EventSource, Transaction};
use schema::TableDef;
use std::any::Any;
use std::sync::Arc;

/// `binlog_row_image`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RowImages {
    /// All columns.
    #[default]
    Full,
    /// The key before, what has changed after.
    Minimal,
    /// All columns but TEXT, BLOB and JSON that are not needed.
    WithoutLargeObjects,
}

/// What the events of a transaction have in common.
#[derive(Clone, Debug)]
pub struct EventSettings {
    pub images: RowImages,
    pub metadata: RowMetadata,
    /// `binlog_row_event_max_size`.
    pub event_bytes: usize,
    /// `max_binlog_cache_size`, or less.
    pub bytes_max: u64,
    /// Rows of other databases are not noted.
    pub databases: Arc<DatabaseFilter>,
    /// Everything but the events; the moment of the commit is added with the commit.
    pub package: CommitPackage,
    /// The moment of the commit.
    pub now_us: fn() -> u64,
}

/// What the events of one statement need to know of it.
#[derive(Clone, Debug)]
pub struct StatementEvents {
    /// Seconds since 1970.
    pub timestamp: u32,
    /// See `rows_flag`.
    pub flags: u16,
    /// `binlog_rows_query_log_events`.
    pub rows_query: Option<Arc<[u8]>>,
    /// BEGIN with the settings and the database of the session, for the first statement of a transaction.
    pub begin: Arc<Query>,
}

/// One table and which of its columns are in the images.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    table: Arc<TableDef>,
    kind: RowsKind,
    before: Vec<bool>,
    after: Vec<bool>,
    /// A foreign key made the change: whoever applies it checks none.
    follows_key: bool,
}

struct Note {
    savepoint: u64,
    /// Where its images end in `images`.
    end: usize,
    shape: usize,
    statement: usize,
}

/// See the head of this file.
pub struct RowEvents {
    settings: EventSettings,
    statements: Vec<StatementEvents>,
    shapes: Vec<Shape>,
    notes: Vec<Note>,
    images: Vec<u8>,
    /// What is noted now was made by a foreign key.
    follows_key: bool,
    /// A statement that is one event: data definition, or the end of a prepared transaction.
    query: Option<TextEvent>,
    /// CREATE TABLE .. SELECT: the table whose rows follow.
    created: Option<TextEvent>,
    /// The transaction changes nothing, and is logged all the same for its identifier.
    is_kept: bool,
    /// The transaction is a branch of an XA transaction, and this is its end.
    branch: Option<XaPrepare>,
    /// The keys of the rows that were changed.
    pub(crate) writes: WriteSet,
}

/// A statement that is logged as text.
#[derive(Clone, Debug)]
pub struct TextEvent {
    /// Seconds since 1970.
    pub timestamp: u32,
    /// Of the event's header; see `header_flag`.
    pub flags: u16,
    pub query: Query,
}

const ER_TRANS_CACHE_FULL: ErrorCode = ErrorCode::new(
    1197,
    "HY000",
    "Multi-statement transaction required more than 'max_binlog_cache_size' bytes of storage; increase this mysqld variable and try again",
);

impl RowEvents {
    pub fn new(settings: EventSettings) -> RowEvents {
        RowEvents {
            settings,
            statements: Vec::new(),
            shapes: Vec::new(),
            notes: Vec::new(),
            images: Vec::new(),
            follows_key: false,
            query: None,
            created: None,
            is_kept: false,
            branch: None,
            writes: WriteSet::default(),
        }
    }

    /// BEGIN and COMMIT and nothing between.
    pub fn of_nothing(settings: EventSettings, statement: StatementEvents) -> RowEvents {
        RowEvents { statements: vec![statement], is_kept: true, ..RowEvents::new(settings) }
    }

    /// The events of a statement that is written as its text, in one transaction with what it does.
    pub fn of_statement(settings: EventSettings, text: TextEvent) -> RowEvents {
        RowEvents { query: Some(text), ..RowEvents::new(settings) }
    }

    /// The transaction begins with a table that the text makes. Its statement has begun.
    pub fn create(&mut self, text: TextEvent) {
        self.created = Some(text);
    }

    /// The transaction ends as this branch.
    pub fn end_as(&mut self, branch: XaPrepare) {
        self.branch = Some(branch);
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.query.is_none() && self.created.is_none() && self.notes.is_empty() && !self.is_kept
    }

    /// The rows that follow are of another statement.
    pub fn begin_statement(&mut self, statement: StatementEvents) {
        let is_empty = self.notes.last().is_none_or(|note| note.statement + 1 < self.statements.len());
        if is_empty {
            self.statements.pop();
        }
        self.statements.push(statement);
    }

    fn shape(&mut self, shape: Shape) -> usize {
        match self.shapes.iter().rposition(|known| *known == shape) {
            Some(place) => place,
            None => {
                self.shapes.push(shape);
                self.shapes.len() - 1
            }
        }
    }

    fn note(
        &mut self,
        savepoint: u64,
        table: &Arc<TableDef>,
        before: Option<&[Value]>,
        after: Option<&[Value]>,
    ) -> Result<(), SqlError> {
        if self.statements.is_empty() || !self.settings.databases.takes(&table.database) {
            return Ok(());
        }
        let kind = match (before, after) {
            (None, _) => RowsKind::Write,
            (_, None) => RowsKind::Delete,
            _ => RowsKind::Update,
        };
        let (masks_before, masks_after) = masks(self.settings.images, table, before, after);
        let images = [(before, &masks_before), (after, &masks_after)];
        for (row, mask) in images.into_iter().filter_map(|(row, mask)| Some((row?, mask))) {
            let present = shown(table).zip(mask).filter(|(_, present)| **present).map(|(place, _)| place);
            let cells = present.map(|place| (&row[place], &table.columns[place].column_type));
            put_image(cells, &mut self.images).map_err(|_| damaged(&table.name))?;
        }
        if self.images.len() as u64 > self.settings.bytes_max {
            return Err(ER_TRANS_CACHE_FULL.plain());
        }
        let (before, after, follows_key) = (masks_before, masks_after, self.follows_key);
        let shape = Shape { table: table.clone(), kind, before, after, follows_key };
        let shape = self.shape(shape);
        let (end, statement) = (self.images.len(), self.statements.len() - 1);
        self.notes.push(Note { savepoint, end, shape, statement });
        Ok(())
    }

    /// The events of all statements, without positions and checksums.
    fn events(&self) -> Result<Vec<u8>, BinlogError> {
        let mut out = Vec::with_capacity(self.images.len() + 512);
        let mut rest = &self.notes[..];
        let mut start = 0;
        let first = rest.first().map(|note| note.statement);
        let Some(begun) = self.statements.get(first.unwrap_or_default()) else { return Ok(out) };
        let control = |sql: Vec<u8>, out: &mut Vec<u8>| {
            let query = Event::Query(Query { sql, ..Query::clone(&begun.begin) });
            self.put(begun.timestamp, header_flag::SUPPRESS_USE, &query, out);
        };
        match &self.branch {
            Some(branch) => control(format!("XA START {}", branch.xid()).into_bytes(), &mut out),
            None => control(begun.begin.sql.clone(), &mut out),
        }
        if let Some(created) = &self.created {
            self.put_text(created, &mut out);
        }
        while let Some(first) = rest.first() {
            let statement = &self.statements[first.statement];
            let count = rest.iter().take_while(|note| note.statement == first.statement).count();
            let (notes, behind) = rest.split_at(count);
            self.put_statement(statement, notes, start, &mut out);
            start = notes.last().map_or(start, |note| note.end);
            rest = behind;
        }
        if self.is_kept {
            control(b"COMMIT".to_vec(), &mut out);
        }
        if let Some(branch) = &self.branch {
            control(format!("XA END {}", branch.xid()).into_bytes(), &mut out);
            self.put(begun.timestamp, 0, &Event::XaPrepare(branch.clone()), &mut out);
        }
        Ok(out)
    }

    fn put_text(&self, text: &TextEvent, out: &mut Vec<u8>) {
        self.put(text.timestamp, text.flags, &Event::Query(text.query.clone()), out);
    }

    fn put(&self, timestamp: u32, flags: u16, event: &Event, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        event.encode(&mut body);
        self.put_body(timestamp, flags, event.event_type(), &body, out);
    }

    fn put_body(&self, timestamp: u32, flags: u16, event_type: u8, body: &[u8], out: &mut Vec<u8>) {
        let server_id = self.settings.package.server_id;
        let header = EventHeader { timestamp, event_type, server_id, flags, ..EventHeader::default() };
        write_event(&header, body, Checksum::None, out);
    }

    /// The tables of a statement, then its rows.
    fn put_statement(
        &self,
        statement: &StatementEvents,
        notes: &[Note],
        mut start: usize,
        out: &mut Vec<u8>,
    ) {
        let timestamp = statement.timestamp;
        if let Some(text) = &statement.rows_query {
            let mut body = vec![0];
            body.extend_from_slice(text);
            self.put_body(timestamp, header_flag::IGNORABLE, event_type::ROWS_QUERY, &body, out);
        }
        let mut tables: Vec<&Arc<TableDef>> = Vec::new();
        for note in notes {
            let table = &self.shapes[note.shape].table;
            if tables.last().is_none_or(|last| last.id != table.id)
                && tables.iter().all(|one| one.id != table.id)
            {
                let map = Event::TableMap(table_map(table, self.settings.metadata));
                self.put(timestamp, 0, &map, out);
                tables.push(table);
            }
        }
        let mut rest = notes;
        while let Some(first) = rest.first() {
            // At least one row, and what fits.
            let fits =
                |note: &&Note| note.shape == first.shape && note.end - start <= self.settings.event_bytes;
            let count = rest[1..].iter().take_while(fits).count() + 1;
            let (rows, behind) = rest.split_at(count);
            let end = rows[count - 1].end;
            let shape = &self.shapes[first.shape];
            let last = if behind.is_empty() { rows_flag::STATEMENT_END } else { 0 };
            let header = RowsHeader {
                kind: shape.kind,
                table_id: shape.table.id.0,
                flags: statement.flags
                    | last
                    | if shape.follows_key { rows_flag::NO_FOREIGN_KEY_CHECKS } else { 0 },
                extra: Vec::new(),
                before: shape.before.clone(),
                after: shape.after.clone(),
            };
            let mut body = Vec::with_capacity(end - start + 64);
            header.encode(&mut body);
            body.extend_from_slice(&self.images[start..end]);
            self.put_body(timestamp, 0, shape.kind.event_type(), &body, out);
            start = end;
            rest = behind;
        }
    }
}

impl EventSource for RowEvents {
    fn undone_to(&mut self, savepoint: u64) {
        let kept = self.notes.partition_point(|note| note.savepoint <= savepoint);
        self.notes.truncate(kept);
        self.images.truncate(self.notes.last().map_or(0, |note| note.end));
        if savepoint == 0 {
            self.query = None;
        }
    }

    fn finish(&mut self) -> Vec<u8> {
        let mut package = self.settings.package.clone();
        match &self.query {
            Some(text) => {
                package.timestamp = text.timestamp;
                package.has_statements = true;
                package.ends_in_xid = false;
                self.put_text(text, &mut package.events);
            }
            None if self.is_empty() => return Vec::new(),
            None => {
                package.timestamp = self.statements.last().map_or(0, |statement| statement.timestamp);
                let is_plain = self.created.is_none() && self.branch.is_none();
                package.keys = self.writes.take().filter(|_| is_plain);
                package.has_statements = self.created.is_some() || self.is_kept;
                package.ends_in_xid = self.branch.is_none() && !self.is_kept;
                package.events = self.events().unwrap_or_default();
            }
        }
        package.immediate_commit_us = (self.settings.now_us)();
        if package.original_commit_us == 0 {
            package.original_commit_us = package.immediate_commit_us;
        }
        let mut bytes = Vec::with_capacity(package.events.len() + 64);
        package.encode(&mut bytes);
        bytes
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The row events of a transaction whose changes are noted.
pub fn row_events(transaction: &mut Transaction) -> Option<&mut RowEvents> {
    transaction.events()?.as_any().downcast_mut()
}

/// Notes a change that has just been made.
pub(crate) fn note_change(
    transaction: &mut Transaction,
    table: &Arc<TableDef>,
    before: Option<&[Value]>,
    after: Option<&[Value]>,
) -> Result<(), SqlError> {
    if table.temporary || transaction.events().is_none() {
        return Ok(());
    }
    let savepoint = transaction.savepoint().0;
    match row_events(transaction) {
        Some(events) => events.note(savepoint, table, before, after),
        None => Ok(()),
    }
}

/// Notes a row that has come into a new table without the table's own ways.
pub fn note_loaded(
    transaction: &mut Transaction,
    table: &Arc<TableDef>,
    row: &[Value],
) -> Result<(), SqlError> {
    if let Some(events) = row_events(transaction) {
        events.writes.give_up();
    }
    note_change(transaction, table, None, Some(row))
}

/// Says whether what is changed next follows from a foreign key, or has had its children dealt with: whoever applies it checks
/// none and goes to no children.
pub fn follow_key(transaction: &mut Transaction, follows: bool) {
    if let Some(events) = row_events(transaction) {
        events.follows_key = follows;
    }
}

/// Whether changes of the table are noted.
pub(crate) fn are_noted(transaction: &mut Transaction, table: &TableDef) -> bool {
    !table.temporary && row_events(transaction).is_some()
}
