//! Changes of rows with their images, in the order in which they were made: what of a transaction is in memory, or one block of
//! the rest.
//!
//! | bytes of a block | field |
//! |---|---|
//! | 4 | number of statements |
//! | 4 + 2 + 4 + 4 + n, each | timestamp, flags, which BEGIN, length of the text or all ones without one, text |
//! | 8 | number of notes |
//! | 8 + 8 + 4 + 4, each | savepoint, end of the images, shape, statement |
//! | rest | images |
//!
//! Invariant: savepoints never fall from note to note. Called by `row_events` and `overflow`.
use super::StatementEvents;
use binlog::Query;
use std::sync::Arc;

const NO_TEXT: u32 = u32::MAX;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Note {
    pub savepoint: u64,
    /// Where its images end in `images`.
    pub end: usize,
    pub shape: usize,
    pub statement: usize,
}

/// See the head of this file.
#[derive(Default)]
pub(super) struct Notes {
    pub statements: Vec<StatementEvents>,
    pub notes: Vec<Note>,
    pub images: Vec<u8>,
}

impl Notes {
    /// The images are those of the notes, and each note is of a statement.
    fn is_whole(&self) -> bool {
        self.notes.last().map_or(0, |note| note.end) == self.images.len()
            && self.notes.last().is_none_or(|note| note.statement < self.statements.len())
    }

    /// What it takes in memory, about.
    pub fn bytes(&self) -> usize {
        self.images.len()
            + self.notes.len() * size_of::<Note>()
            + self.statements.len() * size_of::<StatementEvents>()
    }

    /// The rows that follow are of another statement.
    pub fn begin_statement(&mut self, statement: StatementEvents) {
        let is_empty = self.notes.last().is_none_or(|note| note.statement + 1 < self.statements.len());
        if is_empty {
            self.statements.pop();
        }
        self.statements.push(statement);
    }

    /// Forgets what was noted behind a savepoint.
    pub fn undo_to(&mut self, savepoint: u64) {
        debug_assert!(
            self.notes.is_sorted_by_key(|note| note.savepoint),
            "notes are in the order of their savepoints"
        );
        let kept = self.notes.partition_point(|note| note.savepoint <= savepoint);
        self.notes.truncate(kept);
        self.images.truncate(self.notes.last().map_or(0, |note| note.end));
        debug_assert!(self.is_whole(), "undoing leaves images with their notes");
    }

    /// Takes everything but the statement that goes on.
    pub fn take(&mut self) -> Notes {
        let goes_on = self.statements.last().map(|last| StatementEvents { rows_query: None, ..last.clone() });
        let statements = goes_on.into_iter().collect();
        std::mem::replace(self, Notes { statements, ..Notes::default() })
    }

    /// What follows these.
    pub fn append(&mut self, later: Notes) {
        debug_assert!(self.is_whole() && later.is_whole(), "images are with their notes");
        let (statements, images) = (self.statements.len(), self.images.len());
        self.statements.extend(later.statements);
        self.notes.extend(later.notes.into_iter().map(|note| Note {
            end: note.end + images,
            statement: note.statement + statements,
            ..note
        }));
        self.images.extend_from_slice(&later.images);
        debug_assert!(self.is_whole(), "images are with their notes");
    }

    /// As a block; `begins` has the BEGINs that statements name.
    pub fn encode(&self, begins: &mut Vec<Arc<Query>>) -> Vec<u8> {
        debug_assert!(self.is_whole(), "images are written with their notes");
        let mut out = Vec::with_capacity(self.bytes() + 64);
        out.extend_from_slice(&(self.statements.len() as u32).to_le_bytes());
        for statement in &self.statements {
            if begins.last().is_none_or(|begin| !Arc::ptr_eq(begin, &statement.begin)) {
                begins.push(statement.begin.clone());
            }
            out.extend_from_slice(&statement.timestamp.to_le_bytes());
            out.extend_from_slice(&statement.flags.to_le_bytes());
            out.extend_from_slice(&(begins.len() as u32 - 1).to_le_bytes());
            let text = statement.rows_query.as_deref();
            out.extend_from_slice(&text.map_or(NO_TEXT, |text| text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.unwrap_or_default());
        }
        out.extend_from_slice(&(self.notes.len() as u64).to_le_bytes());
        for note in &self.notes {
            out.extend_from_slice(&note.savepoint.to_le_bytes());
            out.extend_from_slice(&(note.end as u64).to_le_bytes());
            out.extend_from_slice(&(note.shape as u32).to_le_bytes());
            out.extend_from_slice(&(note.statement as u32).to_le_bytes());
        }
        out.extend_from_slice(&self.images);
        out
    }

    /// What `encode` wrote; `None` if that is not what it is.
    pub fn decode(mut bytes: &[u8], begins: &[Arc<Query>]) -> Option<Notes> {
        let mut decoded = Notes::default();
        for _ in 0..u32::from_le_bytes(take(&mut bytes)?) {
            let (timestamp, flags) = (take(&mut bytes)?, take(&mut bytes)?);
            let begin = begins.get(u32::from_le_bytes(take(&mut bytes)?) as usize)?.clone();
            let rows_query = match u32::from_le_bytes(take(&mut bytes)?) {
                NO_TEXT => None,
                length => {
                    let (text, rest) = bytes.split_at_checked(length as usize)?;
                    bytes = rest;
                    Some(Arc::from(text))
                }
            };
            let (timestamp, flags) = (u32::from_le_bytes(timestamp), u16::from_le_bytes(flags));
            decoded.statements.push(StatementEvents { timestamp, flags, rows_query, begin });
        }
        for _ in 0..u64::from_le_bytes(take(&mut bytes)?) {
            decoded.notes.push(Note {
                savepoint: u64::from_le_bytes(take(&mut bytes)?),
                end: u64::from_le_bytes(take(&mut bytes)?) as usize,
                shape: u32::from_le_bytes(take(&mut bytes)?) as usize,
                statement: u32::from_le_bytes(take(&mut bytes)?) as usize,
            });
        }
        decoded.images = bytes.to_vec();
        let is_whole = decoded.notes.last().map_or(0, |note| note.end) == decoded.images.len()
            && decoded.notes.is_sorted_by_key(|note| note.end)
            && decoded.notes.iter().all(|note| note.statement < decoded.statements.len());
        is_whole.then_some(decoded)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}
