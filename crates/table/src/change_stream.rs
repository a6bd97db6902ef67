//! What is told of rows that change while an index of their table, or a copy of it, is being built (decision 0047).
//!
//! Invariant: from the attachment on, which happens while nobody writes to the table, every change of a row that the build has
//! to know is in the stream before the change can be seen, and its transaction is among `open_writers` until it
//! has ended. A record says that the row may have changed and what it was; what it is now is in the table. So a change that was
//! undone needs no record of its own. Written by `change`, read by the catalog's builds.
//!
//! Memory: those who write wait before their next row while the records take `STREAM_BYTES`, until the build has taken them. So
//! there is at most that, and a record of each writer. The build waits for no row and for no writer, but in steps between
//! which it takes the records.
use crate::handle::TableHandle;
use datum::{SqlError, Value};
use engine::{EntryBatch, Transaction};
use env::sync::WaitQueue;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What records may take before those who write wait.
const STREAM_BYTES: usize = 8 << 20;

/// The changes that one build has not seen yet.
pub struct ChangeStream {
    /// Those whose old values the build has to know; a change of other columns does not concern it.
    columns: Vec<usize>,
    /// Whether changes of other columns count too.
    every_change: bool,
    /// A leaf lock, held for the copying of a record or to take all of them.
    state: Mutex<State>,
    /// Whether the records take `STREAM_BYTES`. Changed under the mutex; before the waiters are woken, and tested
    /// after registering: see `WaitQueue`.
    is_full: AtomicBool,
    /// Those who wait for it to have room.
    writers: WaitQueue,
}

#[derive(Default)]
struct State {
    records: EntryBatch,
    open: BTreeSet<u64>,
    /// Nobody takes the records any more.
    is_closed: bool,
}

impl fmt::Debug for ChangeStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ChangeStream").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// One record of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedRow {
    pub row_key: Vec<u8>,
    /// The transaction that changed it.
    pub writer: u64,
    /// The encoded values of the stream's columns before; `None`: there was no row.
    pub old: Option<Vec<u8>>,
}

/// A transaction that has written; it ends when this is dropped.
struct OpenWriter {
    stream: Arc<ChangeStream>,
    id: u64,
}

impl Drop for OpenWriter {
    fn drop(&mut self) {
        self.stream.state.lock().open.remove(&self.id);
    }
}

impl ChangeStream {
    /// For a build that needs the old values of `columns`, and is told of changes of those, or of any column.
    pub fn new(columns: Vec<usize>, every_change: bool) -> ChangeStream {
        ChangeStream {
            columns,
            every_change,
            state: Mutex::default(),
            is_full: AtomicBool::new(false),
            writers: WaitQueue::new(),
        }
    }

    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Takes all records that there are: keys of rows, and the rest encoded (`ChangedRow::decode`).
    pub fn take(&self) -> EntryBatch {
        let mut state = self.state.lock();
        let records = std::mem::take(&mut state.records);
        self.make_room();
        records
    }

    /// The caller holds the mutex and has taken the records.
    fn make_room(&self) {
        self.is_full.store(false, Ordering::SeqCst);
        self.writers.wake_all();
    }

    /// The build is over: nobody waits for it any more.
    fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.records = EntryBatch::default();
        self.make_room();
    }

    /// Waits until the build has taken what there is, if that is much.
    async fn wait_for_room(&self) {
        while self.is_full.load(Ordering::SeqCst) {
            let place = self.writers.register();
            if self.is_full.load(Ordering::SeqCst) {
                place.await;
            }
        }
    }

    /// The transactions that have written and not ended. What the others wrote can be seen once the engine's commits are
    /// settled.
    pub fn open_writers(&self) -> BTreeSet<u64> {
        self.state.lock().open.clone()
    }

    fn concerns(&self, old: &[Value], new: &[Value]) -> bool {
        self.every_change || self.columns.iter().any(|column| old[*column] != new[*column])
    }

    fn add(self: &Arc<Self>, transaction: &mut Transaction, row_key: &[u8], old: Option<&[Value]>) {
        let id = transaction.id().expect("who has changed a row has a number");
        if self.push(id, row_key, old) {
            transaction.keep_until_ended(OpenWriter { stream: self.clone(), id });
        }
    }

    /// True for the first record of a transaction.
    fn push(&self, id: u64, row_key: &[u8], old: Option<&[Value]>) -> bool {
        let mut rest = id.to_le_bytes().to_vec();
        rest.push(u8::from(old.is_some()));
        if let Some(old) = old {
            rowstore::write_row(self.columns.iter().map(|column| &old[*column]), &mut rest);
        }
        let mut state = self.state.lock();
        if !state.is_closed {
            state.records.push(row_key, &rest);
            if state.records.bytes_len() >= STREAM_BYTES {
                self.is_full.store(true, Ordering::SeqCst);
            }
        }
        state.open.insert(id)
    }
}

impl ChangedRow {
    /// From a record as `ChangeStream::take` gives it; `None` for bytes that are none.
    pub fn decode(row_key: &[u8], rest: &[u8]) -> Option<ChangedRow> {
        let (writer, rest) = rest.split_first_chunk()?;
        let (has_old, old) = rest.split_first()?;
        let old = (*has_old == 1).then(|| old.to_vec());
        Some(ChangedRow { row_key: row_key.to_vec(), writer: u64::from_le_bytes(*writer), old })
    }

    /// The old values, each in its column's place of `row`; false when there was no row.
    pub fn read_old(&self, columns: &[usize], row: &mut [Value]) -> Result<bool, SqlError> {
        let Some(old) = &self.old else { return Ok(false) };
        let mut values = vec![Value::Null; columns.len()];
        rowstore::read_row_into(old, &mut values)?;
        columns.iter().zip(values).for_each(|(column, value)| row[*column] = value);
        Ok(true)
    }
}

/// Where writers of a table find the stream, if there is one.
#[derive(Debug, Default)]
pub(crate) struct StreamCell {
    /// All that a write pays while nothing is built. Relaxed: it changes while no writer is inside, and the metadata lock
    /// comes between.
    is_attached: AtomicBool,
    stream: Mutex<Option<Arc<ChangeStream>>>,
}

impl StreamCell {
    fn get(&self) -> Option<Arc<ChangeStream>> {
        match self.is_attached.load(Ordering::Relaxed) {
            true => self.stream.lock().clone(),
            false => None,
        }
    }

    fn set(&self, stream: Option<Arc<ChangeStream>>) {
        let mut place = self.stream.lock();
        self.is_attached.store(stream.is_some(), Ordering::Relaxed);
        *place = stream;
    }
}

/// The stream is the table's until this is dropped.
#[must_use]
pub struct AttachedStream {
    table: Arc<TableHandle>,
    stream: Arc<ChangeStream>,
}

impl AttachedStream {
    pub fn stream(&self) -> &Arc<ChangeStream> {
        &self.stream
    }
}

impl Drop for AttachedStream {
    fn drop(&mut self) {
        self.table.changes.set(None);
        self.stream.close();
    }
}

impl TableHandle {
    /// Has writers tell `stream` what they change. The caller holds a lock that no writer passes, and is the only one
    /// who changes the table's definition until the result is dropped.
    pub fn attach_stream(self: &Arc<Self>, stream: ChangeStream) -> AttachedStream {
        let stream = Arc::new(stream);
        self.changes.set(Some(stream.clone()));
        AttachedStream { table: self.clone(), stream }
    }

    /// Called before a change, while no page is latched: waits for a build that does not keep up.
    #[inline]
    pub(crate) async fn wait_for_build(&self) {
        if let Some(stream) = self.changes.get() {
            stream.wait_for_room().await;
        }
    }

    /// Called behind the change: of a new row, of one that has other values, or of both rows when its key changes.
    pub(crate) fn tell_change(
        &self,
        transaction: &mut Transaction,
        (old_key, old): (&[u8], Option<&[Value]>),
        (new_key, new): (&[u8], &[Value]),
    ) {
        let Some(stream) = self.changes.get() else { return };
        let Some(old) = old else { return stream.add(transaction, new_key, None) };
        let moves = old_key != new_key;
        if moves || stream.concerns(old, new) {
            stream.add(transaction, old_key, Some(old));
        }
        if moves {
            stream.add(transaction, new_key, None);
        }
    }

    /// Whether a build has to be told of changes.
    pub(crate) fn has_stream(&self) -> bool {
        self.changes.is_attached.load(Ordering::Relaxed)
    }

    /// Behind the deletion of a row.
    pub(crate) fn tell_deletion(&self, transaction: &mut Transaction, row_key: &[u8], row: Option<&[Value]>) {
        if let (Some(stream), Some(row)) = (self.changes.get(), row) {
            stream.add(transaction, row_key, Some(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn writers_wait_for_room() {
        let stream = ChangeStream::new(vec![0], false);
        let old = [Value::Bytes(vec![b'x'; 1 << 20])];
        let mut context = Context::from_waker(Waker::noop());
        let mut records = 0;
        while pin!(stream.wait_for_room()).poll(&mut context).is_ready() {
            assert_eq!(stream.push(7, b"key", Some(&old)), records == 0);
            records += 1;
        }
        assert_eq!(records, STREAM_BYTES >> 20);
        let mut waiting = pin!(stream.wait_for_room());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert_eq!(stream.take().len(), records);
        assert!(waiting.poll(&mut context).is_ready());
        // Nor for a build that is over.
        assert!((0..records).all(|_| !stream.push(7, b"key", Some(&old))));
        let mut waiting = pin!(stream.wait_for_room());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        stream.close();
        assert!(waiting.poll(&mut context).is_ready());
        assert!((0..records).all(|_| !stream.push(7, b"key", Some(&old))));
        assert!(pin!(stream.wait_for_room()).poll(&mut context).is_ready());
        assert!(stream.take().is_empty());
    }

    #[test]
    fn records_come_back() {
        let mut rest = 7u64.to_le_bytes().to_vec();
        rest.push(1);
        rowstore::write_row([&Value::Int(3), &Value::Null], &mut rest);
        let record = ChangedRow::decode(b"key", &rest).expect("a record");
        assert_eq!((record.row_key.as_slice(), record.writer), (&b"key"[..], 7));
        let mut row = vec![Value::Int(9); 4];
        assert_eq!(record.read_old(&[3, 1], &mut row), Ok(true));
        assert_eq!(row, [Value::Int(9), Value::Null, Value::Int(9), Value::Int(3)]);
        assert_eq!(ChangedRow::decode(b"key", &rest[..8]), None);
        rest.truncate(9);
        rest[8] = 0;
        let record = ChangedRow::decode(b"key", &rest).expect("a record");
        assert_eq!(record.read_old(&[3, 1], &mut row), Ok(false));
    }
}
