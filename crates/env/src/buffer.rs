//! `IoBuf`: the memory that a disk operation owns while the kernel may touch it.
//!
//! Invariant: the bytes stay valid and unmoved until the buffer is dropped, so an operation whose future was
//! dropped can still finish safely. Two sources: aligned heap memory, or a region lent by an owner (a buffer
//! pool frame), which the owner handle keeps alive. Heap buffers of some classes are kept for the next one that asks
//! for the same class: fresh memory would cost a clearing for each, and a page fault for each 4K of a large one.

use parking_lot::Mutex;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Heap buffers start at a multiple of this, which O_DIRECT accepts on every device.
pub const BUFFER_ALIGNMENT: usize = 4096;

/// Smaller buffers are left to the allocator.
const SPARE_BYTES_MIN: usize = 4 << 10;
/// Up to here the classes are powers of two, from here on multiples of this.
const LARGE_BYTES_MIN: usize = 64 << 10;
/// All small spare buffers together, and all large ones.
const SMALL_BYTES_MAX: usize = 1 << 20;
const LARGE_BYTES_MAX: usize = 8 << 20;

/// Heap memory that waits for its next use, apart so that the small ones cannot take the large ones' place.
static SMALL: Mutex<Spare> = Mutex::new(Spare { buffers: Vec::new(), bytes: 0, bytes_max: SMALL_BYTES_MAX });
static LARGE: Mutex<Spare> = Mutex::new(Spare { buffers: Vec::new(), bytes: 0, bytes_max: LARGE_BYTES_MAX });

struct Spare {
    buffers: Vec<HeapMemory>,
    bytes: usize,
    bytes_max: usize,
}

impl Spare {
    /// Where buffers of a class wait.
    fn of(class: usize) -> &'static Mutex<Spare> {
        if class < LARGE_BYTES_MIN { &SMALL } else { &LARGE }
    }

    fn take(&mut self, class: usize) -> Option<HeapMemory> {
        let index = self.buffers.iter().rposition(|memory| memory.capacity == class)?;
        debug_assert!(self.bytes >= class, "the bytes of all spare buffers are counted");
        self.bytes -= class;
        Some(self.buffers.swap_remove(index))
    }

    /// Gives it back when there is no room.
    fn keep(&mut self, memory: HeapMemory) -> Option<HeapMemory> {
        if self.bytes + memory.capacity > self.bytes_max {
            return Some(memory);
        }
        self.bytes += memory.capacity;
        debug_assert!(self.bytes <= self.bytes_max, "no more is kept than there is room for");
        self.buffers.push(memory);
        None
    }
}

/// The capacity that serves buffers of this length, if such are kept.
fn class_of(len: usize) -> Option<usize> {
    match len {
        ..SPARE_BYTES_MIN => None,
        SPARE_BYTES_MIN..LARGE_BYTES_MIN => Some(len.next_power_of_two()),
        _ => Some(len.next_multiple_of(LARGE_BYTES_MIN)).filter(|class| *class <= LARGE_BYTES_MAX),
    }
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
        debug_assert!(capacity > 0, "memory has bytes");
        let layout = layout(capacity);
        // SAFETY: the callers pass a capacity above zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(memory) else { handle_alloc_error(layout) };
        Self { start, capacity }
    }

    /// Into the spare ones, or back to the allocator.
    fn retire(self) {
        let is_of_class = class_of(self.capacity) == Some(self.capacity);
        let left = if is_of_class { Spare::of(self.capacity).lock().keep(self) } else { Some(self) };
        let Some(left) = left else { return };
        // SAFETY: allocated in `zeroed` with this very layout; `left` is gone afterwards.
        unsafe { dealloc(left.start.as_ptr(), layout(left.capacity)) }
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
        let Some(class) = class_of(len) else { return Self::zeroed(len) };
        let spare = Spare::of(class).lock().take(class);
        let memory = spare.unwrap_or_else(|| HeapMemory::zeroed(class));
        debug_assert!(memory.capacity == class && len <= class, "a buffer has memory of its class");
        Self { start: memory.start, len, capacity: class, source: Source::Heap }
    }

    /// Aligned heap memory with a copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buffer = Self::for_overwriting(bytes.len());
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

    /// A part of a buffer, for writing it to disk without a copy. It keeps the whole alive, whose bytes cannot change while
    /// it has several owners.
    pub fn part_of(whole: &Arc<IoBuf>, range: Range<usize>) -> Self {
        let bytes = &whole.as_slice()[range];
        let owner: Arc<dyn Any + Send + Sync> = whole.clone();
        // SAFETY: the bytes lie in the whole, which the owner keeps alive and which nobody can write: writing takes
        // `&mut IoBuf`, and an `Arc` with another owner, this part, does not give that.
        unsafe { Self::lend_shared(NonNull::from(bytes).cast(), bytes.len(), owner) }
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
    fn buffers_of_a_class_are_used_again() {
        for (len, class) in [(5 * LARGE_BYTES_MIN - 100, 5 * LARGE_BYTES_MIN), (30_000, 32 << 10)] {
            let mut first = IoBuf::for_overwriting(len);
            assert_eq!((first.len(), first.capacity()), (len, class));
            first.as_mut_slice().fill(7);
            let start = first.start() as usize;
            drop(first);
            let second = IoBuf::for_overwriting(len - 1);
            assert_eq!((second.start() as usize, second.len()), (start, len - 1));
            assert!(IoBuf::zeroed(class).as_slice().iter().all(|byte| *byte == 0));
            let many: Vec<_> = (0..100).map(|_| IoBuf::for_overwriting(class)).collect();
            drop(many);
            let spare = Spare::of(class).lock();
            assert!(spare.bytes <= spare.bytes_max && spare.buffers.len() > 1);
        }
        assert_eq!(IoBuf::copy_of(&[5; 9000]).as_slice(), [5; 9000]);
    }

    #[test]
    fn buffers_of_no_class_are_not_kept() {
        drop(IoBuf::zeroed(17_000));
        assert!(SMALL.lock().buffers.iter().all(|memory| memory.capacity.is_power_of_two()));
        assert_eq!((class_of(4095), class_of(4096), class_of(LARGE_BYTES_MAX + 1)), (None, Some(4096), None));
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
    fn a_part_outlives_the_whole_and_cannot_be_written() {
        let whole = Arc::new(IoBuf::copy_of(&[3; 8192]));
        let part = IoBuf::part_of(&whole, 4096..8192);
        drop(whole);
        assert_eq!((part.as_slice(), part.is_writable()), ([3; 4096].as_slice(), false));
        assert!(IoBuf::part_of(&Arc::new(IoBuf::zeroed(10)), 10..10).is_empty());
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
