//! Notes as the events of the binary log, without positions and checksums.
//!
//! Invariant: the rows of a statement follow the maps of their tables and end in the flag that says so. Of a statement in several blocks
//! each part has both, as if it were a statement. Called by `row_events` at the commit.
use super::notes::{Note, Notes};
use super::{RowEvents, StatementEvents, TextEvent};
use crate::row_shape::table_map;
use binlog::{
    Checksum, Event, EventHeader, Query, RowsHeader, RowsKind, event_type, header_flag, rows_flag,
    write_event,
};
use schema::TableDef;
use std::sync::Arc;

/// One table and which of its columns are in the images.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub table: Arc<TableDef>,
    pub kind: RowsKind,
    pub before: Vec<bool>,
    pub after: Vec<bool>,
    /// A foreign key made the change: whoever applies it checks none.
    pub follows_key: bool,
}

/// Events, and how many.
#[derive(Default)]
pub(super) struct EventBytes {
    pub bytes: Vec<u8>,
    pub count: u64,
}

impl EventBytes {
    pub fn with_room(bytes: usize) -> EventBytes {
        EventBytes { bytes: Vec::with_capacity(bytes), count: 0 }
    }
}

impl RowEvents {
    /// What is before the rows of a transaction whose first statement is `begun`.
    pub(super) fn put_begin(&self, begun: &StatementEvents, out: &mut EventBytes) {
        match &self.branch {
            Some(branch) => {
                self.put_control(begun, format!("XA START {}", branch.xid()).into_bytes(), out);
            }
            None => self.put_control(begun, begun.begin.sql.clone(), out),
        }
        if let Some(created) = &self.created {
            self.put_text(created, out);
        }
    }

    /// What is behind them; XID is not among it.
    pub(super) fn put_end(&self, begun: &StatementEvents, out: &mut EventBytes) {
        if self.is_kept {
            self.put_control(begun, b"COMMIT".to_vec(), out);
        }
        if let Some(branch) = &self.branch {
            self.put_control(begun, format!("XA END {}", branch.xid()).into_bytes(), out);
            self.put(begun.timestamp, 0, &Event::XaPrepare(branch.clone()), out);
        }
    }

    fn put_control(&self, begun: &StatementEvents, sql: Vec<u8>, out: &mut EventBytes) {
        let query = Event::Query(Query { sql, ..Query::clone(&begun.begin) });
        self.put(begun.timestamp, header_flag::SUPPRESS_USE, &query, out);
    }

    /// A statement that is one event.
    pub(super) fn put_text(&self, text: &TextEvent, out: &mut EventBytes) {
        self.put(text.timestamp, text.flags, &Event::Query(text.query.clone()), out);
    }

    fn put(&self, timestamp: u32, flags: u16, event: &Event, out: &mut EventBytes) {
        let mut body = Vec::new();
        event.encode(&mut body);
        self.put_body(timestamp, flags, event.event_type(), &body, out);
    }

    fn put_body(&self, timestamp: u32, flags: u16, event_type: u8, body: &[u8], out: &mut EventBytes) {
        let server_id = self.settings.package.server_id;
        let header = EventHeader { timestamp, event_type, server_id, flags, ..EventHeader::default() };
        write_event(&header, body, Checksum::None, &mut out.bytes);
        out.count += 1;
    }

    /// All statements of the notes.
    pub(super) fn put_notes(&self, notes: &Notes, out: &mut EventBytes) {
        let (mut rest, mut start) = (&notes.notes[..], 0);
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|note| note.statement == first.statement).count();
            let (of_statement, behind) = rest.split_at(count);
            let end = of_statement.last().map_or(start, |note| note.end);
            debug_assert!(start <= end && end <= notes.images.len(), "images are those of the notes");
            let statement = &notes.statements[first.statement];
            self.put_statement(statement, of_statement, (start, &notes.images[start..end]), out);
            start = end;
            rest = behind;
        }
    }

    /// The tables of a statement, then its rows, whose images begin at `start`.
    fn put_statement(
        &self,
        statement: &StatementEvents,
        notes: &[Note],
        (mut start, images): (usize, &[u8]),
        out: &mut EventBytes,
    ) {
        let timestamp = statement.timestamp;
        if let Some(text) = &statement.rows_query {
            let mut body = vec![0];
            body.extend_from_slice(text);
            self.put_body(timestamp, header_flag::IGNORABLE, event_type::ROWS_QUERY, &body, out);
        }
        self.put_tables(timestamp, notes, out);
        let (mut rest, first_image) = (notes, start);
        while let Some(first) = rest.first() {
            // At least one row, and what fits.
            let fits =
                |note: &&Note| note.shape == first.shape && note.end - start <= self.settings.event_bytes;
            let count = rest[1..].iter().take_while(fits).count() + 1;
            let (rows, behind) = rest.split_at(count);
            let end = rows[count - 1].end;
            debug_assert!(first_image <= start && start <= end, "rows follow each other");
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
            body.extend_from_slice(&images[start - first_image..end - first_image]);
            self.put_body(timestamp, 0, shape.kind.event_type(), &body, out);
            start = end;
            rest = behind;
        }
    }

    fn put_tables(&self, timestamp: u32, notes: &[Note], out: &mut EventBytes) {
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
    }
}
