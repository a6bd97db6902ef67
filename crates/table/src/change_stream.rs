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
//!
//! Pace: while the build takes up records it holds the writers (`hold`), and each record that it takes up lets less than one
//! come (`give`). So what is left gets less however many write. They wait in the order in which they came.
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
/// Of so many records that the build takes up it lets `PACE_ADDED` come.
const PACE_TAKEN: i64 = 4;
const PACE_ADDED: i64 = 3;
/// Of so many records that it has looked at, whether or not it could take them up, it lets one more come: those of a transaction
/// that has not ended are taken up behind its end only, which must come.
const PACE_SEEN: i64 = 16;
/// What writers may add at once when they have added less for a while, or owe when they were not held.
const PACE_RANGE: i64 = 512;

/// The changes that one build has not seen yet.
pub struct ChangeStream {
    /// Those whose old values the build has to know; a change of other columns does not concern it.
    columns: Vec<usize>,
    /// Whether changes of other columns count too.
    every_change: bool,
    /// A leaf lock, held for the copying of a record or to take all of them.
    state: Mutex<State>,
    /// Whether who comes to write has to wait: the records take `STREAM_BYTES`, or all that may come has come. Changed under the
    /// mutex; before the waiters are woken, and tested after registering: see `WaitQueue`.
    must_wait: AtomicBool,
    /// Those who wait.
    writers: WaitQueue,
}

#[derive(Default)]
struct State {
    records: EntryBatch,
    open: BTreeSet<u64>,
    /// Nobody takes the records any more.
    is_closed: bool,
    pace: Pace,
}

/// How many records may come.
#[derive(Default)]
struct Pace {
    /// Those who write wait while there is no credit.
    is_held: bool,
    /// Counted from the first `hold` to `release`; below zero what came while nobody was held.
    credit: Option<i64>,
}

impl State {
    fn must_wait(&self) -> bool {
        let is_full = self.records.bytes_len() >= STREAM_BYTES;
        let is_slowed = self.pace.is_held && self.pace.credit.is_some_and(|credit| credit <= 0);
        !self.is_closed && (is_full || is_slowed)
    }
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
        let was_open = self.stream.state.lock().open.remove(&self.id);
        debug_assert!(was_open, "a transaction ends once");
    }
}

impl ChangeStream {
    /// For a build that needs the old values of `columns`, and is told of changes of those, or of any column.
    pub fn new(columns: Vec<usize>, every_change: bool) -> ChangeStream {
        ChangeStream {
            columns,
            every_change,
            state: Mutex::default(),
            must_wait: AtomicBool::new(false),
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
        self.wake(&state);
        records
    }

    /// From now on those who write add no more than `give` allows.
    pub fn hold(&self) {
        let mut state = self.state.lock();
        state.pace.is_held = true;
        state.pace.credit.get_or_insert(0);
        self.wake(&state);
    }

    /// The build has looked at so many records and `taken` up some of them.
    pub fn give(&self, seen: usize, taken: usize) {
        let mut state = self.state.lock();
        debug_assert!(taken <= seen, "only what was looked at is taken up");
        let Some(credit) = state.pace.credit else { return };
        let more = taken as i64 * PACE_ADDED / PACE_TAKEN + seen as i64 / PACE_SEEN + 1;
        state.pace.credit = Some((credit + more).min(PACE_RANGE));
        self.wake(&state);
    }

    /// Nobody is held until the next `hold`, but what comes is counted.
    pub fn let_pass(&self) {
        let mut state = self.state.lock();
        state.pace.is_held = false;
        self.wake(&state);
    }

    /// Nobody is held, and nothing counted.
    pub fn release(&self) {
        let mut state = self.state.lock();
        state.pace = Pace::default();
        self.wake(&state);
    }

    /// Has those go on who may. Each of them adds a record or two, which its credit may lack then.
    fn wake(&self, state: &State) {
        if state.must_wait() {
            self.must_wait.store(true, Ordering::SeqCst);
            return;
        }
        match state.pace.credit {
            Some(credit) if state.pace.is_held && !state.is_closed => {
                debug_assert!((1..=PACE_RANGE).contains(&credit), "who may go on has credit");
                let woken = (0..credit).take_while(|_| self.writers.wake_one()).count();
                // Who comes now stands behind those who are left.
                self.must_wait.store(woken as i64 == credit, Ordering::SeqCst);
            }
            _ => {
                self.must_wait.store(false, Ordering::SeqCst);
                self.writers.wake_all();
            }
        }
    }

    /// The build is over: nobody waits for it any more.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.records = EntryBatch::default();
        self.wake(&state);
    }

    /// Waits until the build lets another record come.
    pub(super) async fn wait_for_room(&self) {
        if self.must_wait.load(Ordering::SeqCst) {
            let place = self.writers.register();
            if self.must_wait.load(Ordering::SeqCst) {
                place.await;
            }
        }
    }

    /// The transactions that have written and not ended. What the others wrote can be seen once the engine's commits are
    /// settled.
    pub fn open_writers(&self) -> BTreeSet<u64> {
        self.state.lock().open.clone()
    }

    pub(super) fn concerns(&self, old: &[Value], new: &[Value]) -> bool {
        self.every_change || self.columns.iter().any(|column| old[*column] != new[*column])
    }

    pub(super) fn add(
        self: &Arc<Self>,
        transaction: &mut Transaction,
        row_key: &[u8],
        old: Option<&[Value]>,
    ) {
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
            if let Some(credit) = &mut state.pace.credit {
                *credit = (*credit - 1).max(-PACE_RANGE);
            }
            if state.must_wait() {
                self.must_wait.store(true, Ordering::SeqCst);
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
    pub(super) is_attached: AtomicBool,
    stream: Mutex<Option<Arc<ChangeStream>>>,
}

impl StreamCell {
    pub(super) fn get(&self) -> Option<Arc<ChangeStream>> {
        match self.is_attached.load(Ordering::Relaxed) {
            true => self.stream.lock().clone(),
            false => None,
        }
    }

    pub(super) fn set(&self, stream: Option<Arc<ChangeStream>>) {
        let mut place = self.stream.lock();
        self.is_attached.store(stream.is_some(), Ordering::Relaxed);
        *place = stream;
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

    /// However many write, what is left gets less with each record that is taken up.
    #[test]
    fn writers_keep_the_pace() {
        const WRITERS: usize = 100;
        let stream = ChangeStream::new(vec![0], false);
        let mut context = Context::from_waker(Waker::noop());
        let old = [Value::Int(1)];
        for _ in 0..10_000 {
            stream.push(7, b"key", Some(&old));
        }
        let mut left = stream.take().len();
        stream.hold();
        let mut waiting: Vec<_> = (0..WRITERS).map(|_| Box::pin(stream.wait_for_room())).collect();
        let mut writes = [0; WRITERS];
        let (mut taken, mut came) = (0, 0);
        while left > 400 {
            stream.give(200, 200);
            (taken, left) = (taken + 200, left - 200);
            let mut goes_on = true;
            while std::mem::take(&mut goes_on) {
                for (writer, count) in waiting.iter_mut().zip(&mut writes) {
                    if writer.as_mut().poll(&mut context).is_ready() {
                        stream.push(7, b"key", Some(&old));
                        *count += 1;
                        *writer = Box::pin(stream.wait_for_room());
                        goes_on = true;
                    }
                }
            }
            let more = stream.take().len();
            (came, left) = (came + more, left + more);
            assert!(came <= taken * 13 / 16 + taken / 200 + 2 * WRITERS, "{came} of {taken}");
        }
        let (least, most) = (writes.iter().min().unwrap(), writes.iter().max().unwrap());
        assert!(*least > 20 && *most <= 2 * least + 2, "{least} to {most}");
        // Nobody is held behind it.
        stream.release();
        assert!(waiting.iter_mut().all(|writer| writer.as_mut().poll(&mut context).is_ready()));
        assert!((0..10_000).all(|_| pin!(stream.wait_for_room()).poll(&mut context).is_ready()));
    }

    /// A transaction whose records cannot be taken up before its end comes to its end.
    #[test]
    fn an_open_writer_goes_on() {
        let stream = ChangeStream::new(vec![0], false);
        let mut context = Context::from_waker(Waker::noop());
        stream.hold();
        for _ in 0..100 {
            let mut waiting = pin!(stream.wait_for_room());
            if waiting.as_mut().poll(&mut context).is_pending() {
                stream.give(1, 0);
                assert!(waiting.poll(&mut context).is_ready());
            }
            stream.push(7, b"key", None);
        }
        // What comes while nobody is held is owed.
        stream.let_pass();
        for _ in 0..50 {
            assert!(pin!(stream.wait_for_room()).poll(&mut context).is_ready());
            stream.push(7, b"key", None);
        }
        stream.hold();
        let mut waiting = pin!(stream.wait_for_room());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        stream.give(40, 40);
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        stream.give(40, 40);
        assert!(waiting.poll(&mut context).is_ready());
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
