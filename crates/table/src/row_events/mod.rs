//! The row events of a transaction: every change of a row is noted as it happens, and at the commit they become the events
//! of the binary log, statement by statement.
//!
//! Invariant: a change is noted after it has been made, with the transaction's savepoint of that moment; so a rollback
//! to a savepoint forgets exactly what it undoes. Beyond `memory_bytes` notes go to a temporary file, and at the commit the
//! events to one that the commit names (decision 0058). Notes are made by `change`, statements begin by `session`'s word.
mod encoding;
pub(crate) mod images;
mod notes;
mod overflow;
#[cfg(test)]
mod tests;

use crate::error::{damaged, engine_error};
use crate::row_events::images::RowImages;
use crate::row_shape::{masks, shown};
use crate::write_set::WriteSet;
use binlog::{
    CommitPackage, DatabaseFilter, FileOfEvents, Query, RowMetadata, RowsKind, XaPrepare, put_image,
};
use datum::{ErrorCode, SqlError, Value};
use encoding::{EventBytes, Shape};
use engine::{Engine, EngineError, EventFile, EventSource, Transaction};
use env::{BoxFuture, TemporarySpace};
use notes::{Note, Notes};
use overflow::Overflow;
use schema::TableDef;
use std::any::Any;
use std::sync::Arc;

/// What the events of a transaction have in common.
#[derive(Clone)]
pub struct EventSettings {
    pub images: RowImages,
    pub metadata: RowMetadata,
    /// `binlog_row_event_max_size`.
    pub event_bytes: usize,
    /// `max_binlog_cache_size`.
    pub bytes_max: u64,
    /// Rows of other databases are not noted.
    pub databases: Arc<DatabaseFilter>,
    /// What is in memory at most, and goes into the log.
    pub memory_bytes: u64,
    /// Where the rest is until the commit.
    pub temporary: Arc<TemporarySpace>,
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

/// See the head of this file.
pub struct RowEvents {
    settings: EventSettings,
    shapes: Vec<Shape>,
    /// The newest notes.
    notes: Notes,
    /// Those before, of a large transaction.
    overflow: Option<Overflow>,
    /// How many events are in the file that was written for the commit.
    file_count: u64,
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
            shapes: Vec::new(),
            notes: Notes::default(),
            overflow: None,
            file_count: 0,
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
        let notes = Notes { statements: vec![statement], ..Notes::default() };
        RowEvents { notes, is_kept: true, ..RowEvents::new(settings) }
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
        let has_notes = !self.notes.notes.is_empty() || self.has_overflow();
        self.query.is_none() && self.created.is_none() && !has_notes && !self.is_kept
    }

    fn has_overflow(&self) -> bool {
        self.overflow.as_ref().is_some_and(|overflow| !overflow.is_empty())
    }

    /// The rows that follow are of another statement.
    pub fn begin_statement(&mut self, statement: StatementEvents) {
        self.notes.begin_statement(statement);
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
        if self.notes.statements.is_empty() || !self.settings.databases.takes(&table.database) {
            return Ok(());
        }
        let kind = match (before, after) {
            (None, _) => RowsKind::Write,
            (_, None) => RowsKind::Delete,
            _ => RowsKind::Update,
        };
        debug_assert!(before.is_some() || after.is_some(), "a change has a row");
        let (masks_before, masks_after) = masks(self.settings.images, table, before, after);
        debug_assert!(masks_before.is_empty() == before.is_none(), "there is a mask for each image");
        debug_assert!(masks_after.is_empty() == after.is_none(), "there is a mask for each image");
        let images = [(before, &masks_before), (after, &masks_after)];
        for (row, mask) in images.into_iter().filter_map(|(row, mask)| Some((row?, mask))) {
            let present = shown(table).zip(mask).filter(|(_, present)| **present).map(|(place, _)| place);
            let cells = present.map(|place| (&row[place], &table.columns[place].column_type));
            put_image(cells, &mut self.notes.images).map_err(|_| damaged(&table.name))?;
        }
        let before_bytes = self.overflow.as_ref().map_or(0, Overflow::image_bytes);
        if before_bytes + self.notes.images.len() as u64 > self.settings.bytes_max {
            return Err(ER_TRANS_CACHE_FULL.plain());
        }
        let (before, after, follows_key) = (masks_before, masks_after, self.follows_key);
        let shape = Shape { table: table.clone(), kind, before, after, follows_key };
        let shape = self.shape(shape);
        let (end, statement) = (self.notes.images.len(), self.notes.statements.len() - 1);
        self.notes.notes.push(Note { savepoint, end, shape, statement });
        Ok(())
    }

    /// Moves the notes to the temporary file if they are too many.
    async fn make_room(&mut self) -> Result<(), EngineError> {
        let overflow = match &mut self.overflow {
            Some(overflow) => overflow,
            None => self.overflow.insert(Overflow::create(&self.settings.temporary).await?),
        };
        overflow.settle(&mut self.notes).await?;
        overflow.push(&mut self.notes).await
    }

    fn is_too_large(&self) -> bool {
        self.notes.bytes() as u64 > self.settings.memory_bytes
    }

    /// The events of all that is in memory, without positions and checksums.
    fn events(&self) -> Vec<u8> {
        let mut out = EventBytes::with_room(self.notes.images.len() + 512);
        let first = self.notes.notes.first().map_or(0, |note| note.statement);
        if let Some(begun) = self.notes.statements.get(first) {
            self.put_begin(begun, &mut out);
            self.put_notes(&self.notes, &mut out);
            self.put_end(begun, &mut out);
        }
        out.bytes
    }

    /// The events of all, in a file.
    async fn write_events(&mut self, engine: &Engine) -> Result<EventFile, EngineError> {
        if let Some(overflow) = &mut self.overflow {
            overflow.settle(&mut self.notes).await?;
        }
        let mut writer = engine.create_event_file().await?;
        let (mut out, mut begun, mut count) = (EventBytes::default(), None, 0);
        let blocks = self.overflow.as_ref().map_or(0, Overflow::block_count);
        for place in 0..=blocks {
            let loaded;
            let notes = match &self.overflow {
                Some(overflow) if place < blocks => {
                    loaded = overflow.load(place).await?;
                    &loaded
                }
                _ => &self.notes,
            };
            if let (None, Some(first)) = (&begun, notes.notes.first()) {
                let statement = notes.statements[first.statement].clone();
                self.put_begin(&statement, &mut out);
                begun = Some(statement);
            }
            self.put_notes(notes, &mut out);
            if let Some(begun) = begun.as_ref().filter(|_| place == blocks) {
                self.put_end(begun, &mut out);
            }
            writer.append(&out.bytes).await?;
            count += out.count;
            out = EventBytes::default();
        }
        self.file_count = count;
        writer.finish().await
    }
}

impl EventSource for RowEvents {
    fn undone_to(&mut self, savepoint: u64) {
        self.notes.undo_to(savepoint);
        if let Some(overflow) = &mut self.overflow {
            overflow.undo_to(savepoint);
        }
        if savepoint == 0 {
            self.query = None;
        }
    }

    fn write_file<'a>(
        &'a mut self,
        engine: &'a Engine,
    ) -> Option<BoxFuture<'a, Result<EventFile, EngineError>>> {
        match self.has_overflow() {
            true => Some(Box::pin(self.write_events(engine))),
            false => None,
        }
    }

    fn finish(&mut self, file: Option<&EventFile>) -> Vec<u8> {
        debug_assert!(file.is_none() || self.file_count > 0, "a file of events has some");
        let mut package = self.settings.package.clone();
        match &self.query {
            Some(text) => {
                package.timestamp = text.timestamp;
                package.has_statements = true;
                package.ends_in_xid = false;
                let mut events = EventBytes::default();
                self.put_text(text, &mut events);
                package.events = events.bytes;
            }
            None if self.is_empty() => return Vec::new(),
            None => {
                package.timestamp = self.notes.statements.last().map_or(0, |statement| statement.timestamp);
                let is_plain = self.created.is_none() && self.branch.is_none();
                package.keys = self.writes.take().filter(|_| is_plain);
                package.has_statements = self.created.is_some() || self.is_kept;
                package.ends_in_xid = self.branch.is_none() && !self.is_kept;
                let count = self.file_count;
                package.file =
                    file.map(|file| FileOfEvents { number: file.number(), bytes: file.bytes(), count });
                if file.is_none() {
                    package.events = self.events();
                }
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
pub(crate) async fn note_change(
    transaction: &mut Transaction,
    table: &Arc<TableDef>,
    before: Option<&[Value]>,
    after: Option<&[Value]>,
) -> Result<(), SqlError> {
    if table.temporary || transaction.events().is_none() {
        return Ok(());
    }
    let savepoint = transaction.savepoint().0;
    let Some(events) = row_events(transaction) else { return Ok(()) };
    events.note(savepoint, table, before, after)?;
    if events.is_too_large() {
        let made = Box::pin(events.make_room()).await;
        return made.map_err(|error| engine_error(&table.name, error));
    }
    Ok(())
}

/// Notes a row that has come into a new table without the table's own ways.
pub async fn note_loaded(
    transaction: &mut Transaction,
    table: &Arc<TableDef>,
    row: &[Value],
) -> Result<(), SqlError> {
    if let Some(events) = row_events(transaction) {
        events.writes.give_up();
    }
    note_change(transaction, table, None, Some(row)).await
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
