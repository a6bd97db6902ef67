//! `AppendRing`: memory for an endless stream of bytes that many threads append to without a lock.
//!
//! The stream lies in pieces, of which one at most is open. An appender takes its place in the open piece by one
//! compare-and-swap of `tail`, writes into it, and counts its bytes as copied. Who closes a piece gets it as a
//! `ClosedPiece`, whose `take` waits for those that still copy: they do nothing else, so that is short. Opening and closing
//! are for one thread at a time, under a lock of the caller's; the next piece can be open before the last one is complete.
//!
//! Invariant: places are disjoint, and a piece's memory stays where it is until every place in it has been written.
//! `tail` holds the end of the stream, which only grows, so it never has one value twice: a swap that succeeds proves
//! that everything the appender had read about the piece still holds. There is no handle that could be stale.
//!
//! Caller: `wal` (its open chunk is a piece).

use crate::IoBuf;
use parts::{AtomicBool, AtomicU64, PIECES_BITS, SPINS, UnsafeCell, point, yield_now};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pieces that are open or not yet taken.
const PIECES_MAX: usize = 1 << PIECES_BITS;

/// `tail`: the end of the stream, above it the slot of the open piece, above that whether none is open.
const CLOSED: u64 = 1 << 63;
const SLOT_SHIFT: u32 = 63 - PIECES_BITS;
const POSITION_MASK: u64 = (1 << SLOT_SHIFT) - 1;

/// See the module's documentation.
pub struct AppendRing {
    tail: Apart<AtomicU64>,
    slots: [Slot; PIECES_MAX],
}

/// Alone in its cache lines (processors fetch them in pairs), because everybody writes it.
#[repr(align(128))]
struct Apart<T>(T);

struct Slot {
    /// From before a piece is opened here until it is taken.
    busy: AtomicBool,
    /// The end of the piece's memory. Written before `tail` names the slot.
    limit: AtomicU64,
    /// Written by whoever has made `busy` true or waits in `take`; read by those who have a place.
    piece: UnsafeCell<Piece>,
    /// Bytes of the piece that are written.
    copied: Apart<AtomicU64>,
}

struct Piece {
    /// The position of the first byte.
    start: u64,
    buffer: IoBuf,
}

/// A piece that nobody can take a place in any more. Dropping it waits as `take` does.
pub struct ClosedPiece {
    ring: Arc<AppendRing>,
    slot: usize,
    used: usize,
    taken: bool,
}

// SAFETY: what is in the cells may move between threads (`IoBuf` is Send), and `busy`, `tail` and `copied` say who may
// use them when, as argued where it is done.
unsafe impl Sync for AppendRing {}

impl AppendRing {
    /// A stream that ends at `end`; nothing is open.
    pub fn new(end: u64) -> Arc<Self> {
        assert!(end <= POSITION_MASK, "positions are below 2^60");
        let slot = |_| Slot {
            busy: AtomicBool::new(false),
            limit: AtomicU64::new(0),
            piece: UnsafeCell::new(Piece { start: 0, buffer: IoBuf::empty() }),
            copied: Apart(AtomicU64::new(0)),
        };
        Arc::new(Self { tail: Apart(AtomicU64::new(CLOSED | end)), slots: std::array::from_fn(slot) })
    }

    /// Where the last place that was taken ends. Its bytes may not be written yet.
    pub fn end(&self) -> u64 {
        // Acquire: what an appender did before it took a place has happened for whoever sees the end behind that place.
        self.tail.0.load(Ordering::Acquire) & POSITION_MASK
    }

    /// Takes a place of `len` bytes, lets `write` fill it, and answers its position, which `write` is told too. `None`
    /// when nothing is open or too little is left. The bytes hold what was there before: `write` writes all of them.
    #[inline]
    pub fn append(&self, len: usize, write: impl FnOnce(u64, &mut [u8])) -> Option<u64> {
        assert!(len > 0, "every place moves the end");
        point();
        let mut tail = self.tail.0.load(Ordering::Acquire);
        loop {
            if tail & CLOSED != 0 {
                return None;
            }
            let (slot, position) = (&self.slots[slot_of(tail)], tail & POSITION_MASK);
            point();
            // Relaxed: it is the limit of the piece that was open at `tail`, or a later one's, as the load of `tail`
            // comes after the store of its piece's. If a later one's, `tail` is not what it was and the swap fails.
            let left = slot.limit.load(Ordering::Relaxed).saturating_sub(position);
            if len as u64 > left {
                return None;
            }
            point();
            // Release: who sees this end, or closes the piece, comes after what the caller did before. Acquire: the
            // swap goes on with a chain that began with the store of `open`, so the piece is the one that it put there.
            let swapped = self.tail.0.compare_exchange_weak(
                tail,
                tail + len as u64,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match swapped {
                // SAFETY: the swap has just given this thread the place.
                Ok(_) => unsafe { fill(slot, position, len, write) },
                Err(now) => {
                    tail = now;
                    continue;
                }
            }
            return Some(position);
        }
    }

    /// Opens a piece of the stream that begins at `start` and has the whole buffer as its memory, and takes the first
    /// place in it, behind `head` bytes that belong to whoever takes the piece. Answers the place's position.
    ///
    /// # Panics
    /// If a piece is open, if none of the slots is free (see `wait_for_slot`), or if the place is empty or does not fit.
    pub fn open(
        &self,
        buffer: IoBuf,
        start: u64,
        head: usize,
        len: usize,
        write: impl FnOnce(u64, &mut [u8]),
    ) -> u64 {
        let tail = self.tail.0.load(Ordering::Acquire);
        let (limit, position) = (start + buffer.len() as u64, start + head as u64);
        assert!(tail & CLOSED != 0, "one piece is open at a time");
        assert!(position >= tail & POSITION_MASK && limit <= POSITION_MASK, "positions grow, up to 2^60");
        assert!(len > 0 && head + len <= buffer.len() && buffer.is_writable(), "the first place must fit");
        // Acquire: comes after the `take` of the piece that was here.
        let take = |slot: &Slot| {
            slot.busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let index = self.slots.iter().position(take).expect("a slot is free before a piece is opened");
        let slot = &self.slots[index];
        // SAFETY: this thread alone has turned `busy` on, and nobody has a place in a slot that was not busy.
        slot.piece.with_mut(|piece| unsafe { *piece = Piece { start, buffer } });
        slot.limit.store(limit, Ordering::Relaxed);
        slot.copied.0.store(head as u64, Ordering::Relaxed);
        point();
        let opened = (index as u64) << SLOT_SHIFT | (position + len as u64);
        // Release: the slot is as it should be for whoever sees that it is open.
        let swapped = self.tail.0.compare_exchange(tail, opened, Ordering::AcqRel, Ordering::Relaxed);
        assert!(swapped.is_ok(), "one thread at a time opens pieces");
        // SAFETY: no other place begins before the end that `opened` names.
        unsafe { fill(slot, position, len, write) };
        position
    }

    /// From now on nobody takes a place in the open piece. `None` when nothing is open.
    pub fn close(self: &Arc<Self>) -> Option<ClosedPiece> {
        point();
        // Acquire: comes after all who have a place in the piece took it. Release: what is opened next comes after.
        let tail = self.tail.0.fetch_or(CLOSED, Ordering::AcqRel);
        if tail & CLOSED != 0 {
            return None;
        }
        let slot = slot_of(tail);
        // SAFETY: nobody writes the cell while the slot is busy, and only `take` of the piece made here ends that.
        let start = self.slots[slot].piece.with(|piece| unsafe { (*piece).start });
        let used = ((tail & POSITION_MASK) - start) as usize;
        debug_assert!(tail & POSITION_MASK >= start, "a piece ends behind its start");
        Some(ClosedPiece { ring: self.clone(), slot, used, taken: false })
    }

    /// Whether `open` would find no slot.
    pub fn is_full(&self) -> bool {
        self.slots.iter().all(|slot| slot.busy.load(Ordering::Relaxed))
    }

    /// Waits until another thread has taken a piece, if that is needed for `open`.
    pub fn wait_for_slot(&self) {
        wait_until(|| !self.is_full());
    }
}

impl ClosedPiece {
    /// From the piece's start to the end of its last place.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The piece's memory, once everything in it is written.
    pub fn take(mut self) -> IoBuf {
        self.take_out()
    }

    fn take_out(&mut self) -> IoBuf {
        debug_assert!(!self.taken, "a piece is taken once");
        self.taken = true;
        let slot = &self.ring.slots[self.slot];
        // Acquire: comes after each of the additions in `fill`, which form one chain.
        wait_until(|| slot.copied.0.load(Ordering::Acquire) == self.used as u64);
        // SAFETY: the piece is closed and all its places are written, so no appender uses the cell any more; there is
        // one `ClosedPiece` for each piece, and no other is opened here before `busy` is off.
        let buffer =
            slot.piece.with_mut(|piece| unsafe { std::mem::replace(&mut (*piece).buffer, IoBuf::empty()) });
        point();
        // Release: who opens the next piece here comes after.
        debug_assert!(slot.busy.load(Ordering::Relaxed), "a slot with a piece is busy");
        slot.busy.store(false, Ordering::Release);
        buffer
    }
}

impl Drop for ClosedPiece {
    fn drop(&mut self) {
        if !self.taken {
            drop(self.take_out());
        }
    }
}

/// Writes a place and counts it.
///
/// # Safety
/// The caller has taken this very place, in the piece that is in the slot.
unsafe fn fill(slot: &Slot, position: u64, len: usize, write: impl FnOnce(u64, &mut [u8])) {
    point();
    // SAFETY: `take`, which alone writes the cell, waits until this place is counted below.
    let place =
        slot.piece.with(|piece| unsafe { (*piece).buffer.start().add((position - (*piece).start) as usize) });
    // SAFETY: the place ends before `limit`, so it lies in the buffer, all of whose bytes are initialised; it was
    // given to this thread alone, and nobody looks at the buffer as a whole before `take` has waited.
    let bytes = unsafe { std::slice::from_raw_parts_mut(place, len) };
    let half_written = AbortOnUnwind;
    write(position, bytes);
    std::mem::forget(half_written);
    point();
    // Release: the bytes are there for whoever sees them counted.
    slot.copied.0.fetch_add(len as u64, Ordering::Release);
}

/// A place that is taken cannot be given back, and what is not written must not pass for data. Whoever waits for it has
/// acknowledged nothing yet.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

fn slot_of(tail: u64) -> usize {
    (tail >> SLOT_SHIFT) as usize % PIECES_MAX
}

fn wait_until(is_reached: impl Fn() -> bool) {
    let mut spins = 0;
    while !is_reached() {
        spins += 1;
        point();
        if spins < SPINS {
            std::hint::spin_loop();
        } else {
            yield_now();
        }
    }
}

mod parts;

#[cfg(all(test, loom))]
mod orders;
#[cfg(all(test, not(loom)))]
mod tests;
