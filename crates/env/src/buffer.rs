//! `IoBuf`: the memory that a disk operation owns while the kernel may touch it.
//!
//! Invariant: the bytes stay valid and unmoved until the buffer is dropped, so an operation whose future was
//! dropped can still finish safely. Two sources: aligned heap memory, or a region lent by an owner (a buffer
//! pool frame), which the owner handle keeps alive. Large heap buffers are kept for the next one that asks for
//! the same class: fresh memory would cost a page fault and a clearing for each 4K of every batch.

use parking_lot::Mutex;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

/// Heap buffers start at a multiple of this, which O_DIRECT accepts on every device.
pub const BUFFER_ALIGNMENT: usize = 4096;

/// Buffers below this are left to the allocator.
const SPARE_BYTES_MIN: usize = 64 << 10;
/// All spare buffers together.
const SPARE_BYTES_MAX: usize = 8 << 20;

/// Heap memory that waits for its next use.
static SPARE: Mutex<Spare> = Mutex::new(Spare { buffers: Vec::new(), bytes: 0 });

struct Spare {
    buffers: Vec<HeapMemory>,
    bytes: usize,
}

/// Zeroed once, written by earlier users since: every byte is initialised.
struct HeapMemory {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: the only handle on its memory.
unsafe impl Send for HeapMemory {}

impl HeapMemory {
    fn zeroed(capacity: usize) -> Self {
        let layout = layout(capacity);
        // SAFETY: the callers pass a capacity above zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(memory) else { handle_alloc_error(layout) };
        Self { start, capacity }
    }

    /// Into the spare ones, or back to the allocator.
    fn retire(self) {
        if self.capacity >= SPARE_BYTES_MIN {
            let mut spare = SPARE.lock();
            if spare.bytes + self.capacity <= SPARE_BYTES_MAX {
                spare.bytes += self.capacity;
                spare.buffers.push(self);
                return;
            }
        }
        // SAFETY: allocated in `zeroed` with this very layout; `self` is gone afterwards.
        unsafe { dealloc(self.start.as_ptr(), layout(self.capacity)) }
    }
}

/// An owned buffer for one disk operation.
pub struct IoBuf {
    start: NonNull<u8>,
    /// The bytes that an operation transfers; at most `capacity`.
    len: usize,
    capacity: usize,
    source: Source,
}

enum Source {
    /// From `HeapMemory`.
    Heap,
    /// Lent; dropping the owner handle gives the region back. `writable` says whether bytes may change.
    Lent { writable: bool, _owner: Arc<dyn Any + Send + Sync> },
    /// No bytes at all.
    Empty,
}

// SAFETY: the buffer is the only user of its heap memory, and for lent memory the constructors demand that
// nobody else conflicts with it and that the owner is Send + Sync; so it may move between threads.
unsafe impl Send for IoBuf {}
// SAFETY: through `&IoBuf` the bytes can only be read.
unsafe impl Sync for IoBuf {}

impl IoBuf {
    /// A buffer without bytes; what a sync carries.
    pub const fn empty() -> Self {
        Self { start: NonNull::dangling(), len: 0, capacity: 0, source: Source::Empty }
    }

    /// Zeroed heap memory of `len` bytes, aligned to `BUFFER_ALIGNMENT`.
    pub fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self::empty();
        }
        let memory = HeapMemory::zeroed(len);
        Self { start: memory.start, len, capacity: len, source: Source::Heap }
    }

    /// Heap memory of `len` bytes for a caller who writes all of them, or whose read does: they hold what an earlier
    /// user left there.
    pub fn for_overwriting(len: usize) -> Self {
        let capacity = len.next_multiple_of(SPARE_BYTES_MIN);
        if len < SPARE_BYTES_MIN || capacity > SPARE_BYTES_MAX {
            return Self::zeroed(len);
        }
        let mut spare = SPARE.lock();
        let found = spare.buffers.iter().rposition(|memory| memory.capacity == capacity);
        let memory = found.map(|index| spare.buffers.swap_remove(index));
        spare.bytes -= memory.as_ref().map_or(0, |memory| memory.capacity);
        drop(spare);
        let memory = memory.unwrap_or_else(|| HeapMemory::zeroed(capacity));
        Self { start: memory.start, len, capacity, source: Source::Heap }
    }

    /// Aligned heap memory with a copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.as_mut_slice().copy_from_slice(bytes);
        buffer
    }

    /// Lends `len` bytes at `start` for reading from disk into them (or writing them out).
    ///
    /// # Safety
    /// Until this buffer is dropped the region must be valid for reads and writes, `owner` must keep it alive,
    /// and nothing else may read or write it.
    pub unsafe fn lend_exclusive(start: NonNull<u8>, len: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { start, len, capacity: len, source: Source::Lent { writable: true, _owner: owner } }
    }

    /// Lends `len` bytes at `start` for writing them to disk while others may read them too.
    ///
    /// # Safety
    /// Until this buffer is dropped the region must be valid for reads, `owner` must keep it alive, and nothing
    /// may write it.
    pub unsafe fn lend_shared(start: NonNull<u8>, len: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self { start, len, capacity: len, source: Source::Lent { writable: false, _owner: owner } }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes it can hold; `set_len` moves `len` within it.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Sets how many bytes the next operation transfers. The bytes themselves stay as they are.
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity, "length {len} exceeds the capacity {}", self.capacity);
        self.len = len;
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes (zeroed at allocation, or by the lender's
        // contract) and nobody writes them while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// # Panics
    /// If the region was lent for reading only.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        assert!(self.is_writable(), "this buffer was lent for reading only");
        // SAFETY: as in `as_slice`, and the assertion says that the region is exclusively ours.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    pub fn is_writable(&self) -> bool {
        !matches!(self.source, Source::Lent { writable: false, .. })
    }

    /// The address that is handed to the kernel.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for IoBuf {
    fn drop(&mut self) {
        if matches!(self.source, Source::Heap) {
            HeapMemory { start: self.start, capacity: self.capacity }.retire();
        }
    }
}

impl std::fmt::Debug for IoBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IoBuf").field("len", &self.len).field("capacity", &self.capacity).finish()
    }
}

fn layout(capacity: usize) -> Layout {
    Layout::from_size_align(capacity, BUFFER_ALIGNMENT).expect("buffer sizes are far below isize::MAX")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_buffers_are_aligned_and_zeroed() {
        for len in [1, 512, 4096, 10_000] {
            let buffer = IoBuf::zeroed(len);
            assert_eq!(buffer.start() as usize % BUFFER_ALIGNMENT, 0);
            assert!(buffer.as_slice().iter().all(|byte| *byte == 0));
        }
        assert!(IoBuf::zeroed(0).as_slice().is_empty());
    }

    #[test]
    fn large_buffers_are_used_again() {
        const LEN: usize = 5 * SPARE_BYTES_MIN - 100;
        let mut first = IoBuf::for_overwriting(LEN);
        assert_eq!((first.len(), first.capacity()), (LEN, 5 * SPARE_BYTES_MIN));
        first.as_mut_slice().fill(7);
        let start = first.start() as usize;
        drop(first);
        let second = IoBuf::for_overwriting(LEN - 1);
        assert_eq!((second.start() as usize, second.len()), (start, LEN - 1));
        assert!(IoBuf::zeroed(5 * SPARE_BYTES_MIN).as_slice().iter().all(|byte| *byte == 0));
        let many: Vec<_> = (0..100).map(|_| IoBuf::for_overwriting(1 << 20)).collect();
        drop(many);
        assert!(SPARE.lock().bytes <= SPARE_BYTES_MAX);
    }

    #[test]
    fn lent_memory_is_released_with_the_buffer() {
        let mut memory = vec![7u8; 64];
        let owner: Arc<dyn Any + Send + Sync> = Arc::new(());
        let start = NonNull::new(memory.as_mut_ptr()).unwrap();
        // SAFETY: `memory` outlives the buffer and is not touched meanwhile.
        let mut buffer = unsafe { IoBuf::lend_exclusive(start, 64, owner.clone()) };
        buffer.as_mut_slice()[3] = 9;
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(buffer);
        assert_eq!(Arc::strong_count(&owner), 1);
        assert_eq!(memory[3], 9);
    }

    #[test]
    #[should_panic(expected = "lent for reading only")]
    fn shared_memory_cannot_be_written() {
        let mut memory = [0u8; 8];
        let start = NonNull::new(memory.as_mut_ptr()).unwrap();
        // SAFETY: `memory` outlives the buffer and is not touched meanwhile.
        let mut buffer = unsafe { IoBuf::lend_shared(start, 8, Arc::new(())) };
        buffer.as_mut_slice()[0] = 1;
    }
}
