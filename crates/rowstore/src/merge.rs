//! Merges sorted runs, some in memory and some in temporary files, into one order.
//!
//! Invariant: of equal keys the one of the earlier source comes first, so a merge of runs in the order in which they were
//! made is as stable as they are.
use crate::buffer::Buffer;
use crate::failure::damaged;
use crate::key_order::{KeyOrder, prefix_of};
use crate::reader::StreamReader;
use datum::SqlError;
use std::cmp::Ordering;
use std::ops::Range;

/// Before the key in a record of a run.
pub(crate) const KEY_LENGTH_BYTES: usize = 4;

pub(crate) enum Source {
    /// Entries of the buffer, in order.
    Memory(Range<usize>),
    Stream {
        reader: StreamReader,
        key_end: usize,
    },
}

pub(crate) struct Merge {
    sources: Vec<Source>,
    /// A heap of the sources that have a current record: the least key first. With the start of the key.
    heap: Vec<(u64, usize)>,
    order: KeyOrder,
}

impl Source {
    pub(crate) fn stream(reader: StreamReader) -> Source {
        Source::Stream { reader, key_end: 0 }
    }

    fn key<'a>(&'a self, buffer: &'a Buffer) -> &'a [u8] {
        match self {
            Source::Memory(entries) => {
                debug_assert!(!entries.is_empty(), "a source that is asked has a row");
                buffer.key(entries.start)
            }
            Source::Stream { reader, key_end } => &reader.record()[KEY_LENGTH_BYTES..*key_end],
        }
    }

    fn row<'a>(&'a self, buffer: &'a Buffer) -> &'a [u8] {
        match self {
            Source::Memory(entries) => {
                debug_assert!(!entries.is_empty(), "a source that is asked has a row");
                buffer.row(entries.start)
            }
            Source::Stream { reader, key_end } => &reader.record()[*key_end..],
        }
    }

    /// Finds a stream's next record; false at its end.
    async fn load(&mut self) -> Result<bool, SqlError> {
        match self {
            Source::Memory(entries) => Ok(entries.start < entries.end),
            Source::Stream { reader, key_end } => {
                if !reader.advance().await? {
                    return Ok(false);
                }
                let record = reader.record();
                let length = record.first_chunk::<KEY_LENGTH_BYTES>().ok_or_else(damaged)?;
                *key_end = KEY_LENGTH_BYTES + u32::from_le_bytes(*length) as usize;
                if *key_end > record.len() { Err(damaged()) } else { Ok(true) }
            }
        }
    }
}

impl Merge {
    pub(crate) async fn start(
        sources: Vec<Source>,
        order: KeyOrder,
        buffer: &Buffer,
    ) -> Result<Merge, SqlError> {
        let mut merge = Merge { heap: Vec::with_capacity(sources.len()), sources, order };
        for index in 0..merge.sources.len() {
            if merge.sources[index].load().await? {
                merge.heap.push((merge.prefix(index, buffer), index));
            }
        }
        debug_assert!(merge.heap.len() <= merge.sources.len(), "each source is in the heap once");
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(place, buffer);
        }
        Ok(merge)
    }

    fn prefix(&self, index: usize, buffer: &Buffer) -> u64 {
        prefix_of(&self.order, self.sources[index].key(buffer))
    }

    /// The least key and its row.
    pub(crate) fn current<'a>(&'a self, buffer: &'a Buffer) -> Option<(&'a [u8], &'a [u8])> {
        let (_, index) = self.heap.first()?;
        let source = &self.sources[*index];
        Some((source.key(buffer), source.row(buffer)))
    }

    /// Goes on behind the current record.
    pub(crate) async fn advance(&mut self, buffer: &Buffer) -> Result<(), SqlError> {
        let Some(&(_, index)) = self.heap.first() else { return Ok(()) };
        if let Source::Memory(entries) = &mut self.sources[index] {
            entries.start += 1;
        }
        if self.sources[index].load().await? {
            self.heap[0].0 = self.prefix(index, buffer);
        } else {
            self.heap.swap_remove(0);
        }
        self.replace_first(buffer);
        Ok(())
    }

    /// Finds the place of the first one. It mostly is far down, so its way is first gone to the end, which asks for half as
    /// many comparisons as looking at each step whether it may stay.
    fn replace_first(&mut self, buffer: &Buffer) {
        let mut place = 0;
        // Rows of presorted input follow one another in their run.
        if self.heap.len() > 1 && !self.precedes(self.heap[self.least_child(0, buffer)], self.heap[0], buffer)
        {
            return;
        }
        while 2 * place + 1 < self.heap.len() {
            let child = self.least_child(place, buffer);
            self.heap.swap(place, child);
            place = child;
        }
        while place > 0 && self.precedes(self.heap[place], self.heap[(place - 1) / 2], buffer) {
            self.heap.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    /// The child with the smaller key of a place that has children.
    fn least_child(&self, place: usize, buffer: &Buffer) -> usize {
        let (left, right) = (2 * place + 1, 2 * place + 2);
        debug_assert!(left < self.heap.len(), "only a place with children has a least one");
        let has_right = right < self.heap.len();
        if has_right && self.precedes(self.heap[right], self.heap[left], buffer) { right } else { left }
    }

    fn precedes(&self, left: (u64, usize), right: (u64, usize), buffer: &Buffer) -> bool {
        let keys = || {
            let (left, right) = (self.sources[left.1].key(buffer), self.sources[right.1].key(buffer));
            self.order.compare(left, right)
        };
        let order = left.0.cmp(&right.0).then_with(keys).then(left.1.cmp(&right.1));
        order == Ordering::Less
    }

    fn sift_down(&mut self, mut place: usize, buffer: &Buffer) {
        loop {
            if 2 * place + 1 >= self.heap.len() {
                return;
            }
            let child = self.least_child(place, buffer);
            if !self.precedes(self.heap[child], self.heap[place], buffer) {
                return;
            }
            self.heap.swap(place, child);
            place = child;
        }
    }
}
