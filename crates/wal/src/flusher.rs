//! The flusher: one task that writes what gathered in memory, syncs it, and tells everyone how far it got.
//!
//! Group commit is greedy: as soon as one flush ends, everything that was appended meanwhile goes into the next,
//! so there is no delay to tune; only where pages are slow to come, or flushes themselves come in bursts, they keep a
//! distance (`spacing`). The task sleeps while nobody asks for anything. A flush of one chunk, which most are, is one write
//! that is durable at its end: the kernel makes of that what the device does best, a forced write or a write and a flush.
//!
//! Invariant: `durable` is published only after a sync, or such a write, that covers every byte before it returned Ok; the first
//! failed write or sync ends the log for good.

use crate::Lsn;
use crate::format::align_up;
use crate::log::{Shared, State};
use crate::spacing::Pace;
use crate::staging::Chunk;
use env::{File, IoBuf, IoError};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Batch {
    /// One, unless the log is much ahead of the disk.
    chunks: SmallVec<[Outgoing; 1]>,
    /// The end of the last group in the chunks.
    through: Lsn,
    sync: bool,
}

/// A chunk and where it goes.
struct Outgoing {
    chunk: Chunk,
    segment: u64,
    file: Arc<dyn File>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Sync,
    Write,
}

/// Runs until the log is stopped or fails.
pub(crate) async fn run(shared: Arc<Shared>) {
    // Segments that were written to since they were last synced.
    let mut unsynced = BTreeMap::new();
    let mut pace = Pace::default();
    loop {
        shared.flush_requested.notified().await;
        while what_is_wanted(&shared, shared.end()).is_some() {
            let now_us = pace.hold_back(&shared.spacing, &shared.env).await;
            let Some(batch) = next_batch(&shared) else { break };
            pace.begin(&shared.spacing, now_us);
            if let Err(error) = write(&shared, batch, &mut unsynced).await {
                shared.fail(error);
                return;
            }
        }
        if shared.state.lock().stopped {
            return;
        }
    }
}

/// Whether what somebody asks for needs a sync, or a write only; `None` when it is there.
fn what_is_wanted(shared: &Shared, end: Lsn) -> Option<Wanted> {
    let is_ahead = |target: &AtomicU64, reached: &AtomicU64| {
        target.load(Ordering::SeqCst).min(end.0) > reached.load(Ordering::Acquire)
    };
    if is_ahead(&shared.sync_target, &shared.durable) {
        return Some(Wanted::Sync);
    }
    is_ahead(&shared.write_target, &shared.written).then_some(Wanted::Write)
}

fn next_batch(shared: &Shared) -> Option<Batch> {
    let mut guard = shared.state.lock();
    let state: &mut State = &mut guard;
    if state.failure.is_some() || state.stopped {
        return None;
    }
    let sync = what_is_wanted(shared, state.staging.end())? == Wanted::Sync;
    let chunks = state.staging.take().map(|chunk| {
        let segment = chunk.start.0 / shared.options.segment_bytes;
        let file = state.files.get(&segment).expect("a chunk lies in a prepared segment").clone();
        Outgoing { chunk, segment, file }
    });
    let chunks: SmallVec<[Outgoing; 1]> = chunks.collect();
    // Files of segments that are full are kept by the chunks and by `unsynced` from here on.
    let current = state.staging.segment();
    while let Some(entry) = state.files.first_entry().filter(|entry| *entry.key() < current) {
        entry.remove();
    }
    // Nothing is open now, so this is the end of the chunks.
    let through = state.staging.end();
    debug_assert!(through.0 >= shared.written.load(Ordering::Acquire), "the log is written in order");
    drop(guard);
    // Without the lock: others may open the next chunk while groups are still being copied into these.
    let chunks = chunks.into_iter().map(|outgoing| Outgoing { chunk: outgoing.chunk.complete(), ..outgoing });
    Some(Batch { chunks: chunks.collect(), through, sync })
}

async fn write(
    shared: &Shared,
    batch: Batch,
    unsynced: &mut BTreeMap<u64, Arc<dyn File>>,
) -> Result<(), IoError> {
    let durable = Lsn(shared.durable.load(Ordering::Acquire));
    // It speaks for itself alone.
    let writes_through = batch.sync && batch.chunks.len() == 1 && unsynced.is_empty();
    let mut writes = SmallVec::<[_; 1]>::with_capacity(batch.chunks.len());
    let mut border = align_up(shared.written.load(Ordering::Acquire));
    for Outgoing { chunk, segment, file } in batch.chunks {
        let start = chunk.start;
        assert!(start.0 >= border, "a block that may hold durable bytes is never written again");
        let offset = chunk.start.0 % shared.options.segment_bytes;
        let bytes = chunk.into_disk_bytes(shared.log_id, shared.epoch, durable);
        border = start.0 + bytes.len() as u64;
        assert!(
            offset + bytes.len() as u64 <= shared.options.segment_bytes,
            "a chunk never crosses a segment"
        );
        debug_assert_eq!(segment, start.0 / shared.options.segment_bytes, "a chunk goes to its own segment");
        if writes_through {
            writes.push(file.write_through_at(offset, bytes));
        } else {
            writes.push(file.write_at(offset, bytes));
            unsynced.insert(segment, file);
        }
    }
    let mut buffers = SmallVec::<[IoBuf; 1]>::with_capacity(writes.len());
    for write in writes {
        let (buffer, result) = write.await;
        result?;
        buffers.push(buffer);
    }
    debug_assert!(batch.through.0 >= shared.written.load(Ordering::Acquire), "what is written only grows");
    shared.written.store(batch.through.0, Ordering::Release);
    shared.written_waiters.wake_through(batch.through);
    if batch.sync {
        let syncs: Vec<_> = unsynced.values().map(|file| file.sync()).collect();
        for sync in syncs {
            sync.await?;
        }
        debug_assert!(batch.through >= durable, "what is durable only grows");
        unsynced.clear();
        shared.durable.store(batch.through.0, Ordering::Release);
        shared.durable_waiters.wake_through(batch.through);
    }
    debug_assert!(shared.is_in_order(), "a written batch leaves the log's ends in order");
    let mut state = shared.state.lock();
    for buffer in buffers {
        state.staging.release(buffer);
    }
    drop(state);
    shared.space_waiters.wake_all();
    Ok(())
}
