//! Creating a log, and continuing one behind its last valid chunk.
//!
//! Invariant: before the first append, a chunk that opens a new epoch is durable at the tail, so that nothing an
//! earlier run left behind it can be mistaken for the continuation; and everything before that chunk is durable.
//!
//! A process may have been killed after a failed sync. The kernel then shows what it wrote, holds it for clean, and loses
//! it in the next power cut; another sync does nothing about that. So chunks that nothing proves to have been durable are
//! copied, with their segment, into a new file that takes the segment's name: written again in place they could be torn,
//! though they were durable. Without room for the copy they stay where they are, and only a sync speaks for them.

use crate::format::{BLOCK_BYTES, CHUNK_HEADER_BYTES, ChunkHeader, align_up, segment_before, segment_path};
use crate::log::{Shared, State};
use crate::reader::wrong_size;
use crate::segments::{PREPARE_NAME, copy_segment, create_segment, list_segments};
use crate::staging::Staging;
use crate::{LogTail, Lsn, Wal, WalError, WalOptions, WalReader, flusher, segments};
use env::{Disk, Env, File, IoBuf, IoError, OpenOptions, Overlap};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

impl Wal {
    /// Makes a new log, removing the files of an old one.
    pub async fn create(env: &Env, options: WalOptions) -> Result<Self, WalError> {
        options.check();
        let directory = &options.directory;
        env.disk.create_dir(directory).await?;
        for name in env.disk.list(directory).await? {
            env.disk.remove(&format!("{directory}/{name}")).await?;
        }
        env.disk.sync_dir("").await?;
        let first = create_segment(&*env.disk, directory, 0, options.segment_bytes).await?;
        let tail = LogTail {
            position: 0,
            end: Lsn::ZERO,
            epoch: 0,
            log_id: random_id(env),
            segment_bytes: options.segment_bytes,
            from: Lsn::ZERO,
            durable: Lsn::ZERO,
        };
        Self::start(env, options, tail, BTreeMap::from([(0, first)]), Vec::new()).await
    }

    /// Reads the log from `from` to its end without looking at the groups, and continues it there.
    pub async fn open(
        env: &Env,
        options: WalOptions,
        from: Lsn,
        known_durable: Lsn,
    ) -> Result<Self, WalError> {
        let mut reader = WalReader::open(env, &options.directory, from, known_durable).await?;
        while reader.next_group().await?.is_some() {}
        Self::resume(env, options, reader.into_tail()).await
    }

    /// Continues the log behind the tail that a reader found. The segment size is the log's, not the option's.
    pub async fn resume(env: &Env, mut options: WalOptions, tail: LogTail) -> Result<Self, WalError> {
        if !options.fit_to(tail.segment_bytes) {
            let current = tail.position / tail.segment_bytes;
            return Err(wrong_size(&options.directory, current, tail.segment_bytes, options.segment_bytes));
        }
        options.check();
        let (disk, directory) = (&*env.disk, &*options.directory);
        let numbers = list_segments(disk, directory).await?;
        let numbers = numbers.ok_or_else(|| WalError::Missing { directory: directory.into() })?;
        // A process that died may have left names and writes unsynced. Both are about to be relied upon.
        disk.sync_dir(directory).await?;
        match disk.remove(&format!("{directory}/{PREPARE_NAME}")).await {
            Err(error) if !error.is_not_found() => return Err(error.into()),
            _ => {}
        }
        if let (Some(keep), Some(oldest)) = (&mut options.keep_from, numbers.first()) {
            // What is gone cannot be kept: whoever asks to hold it is told so.
            *keep = (*keep).max(Lsn(oldest * tail.segment_bytes + 1));
        }
        let kept_from = kept_segment(&options, &tail);
        let current = tail.position / tail.segment_bytes;
        // From the current one on: there may be more segments than files that can be open.
        let mut files = BTreeMap::new();
        let mut recyclable = Vec::new();
        for number in numbers {
            if number < kept_from {
                recyclable.push(number);
                continue;
            }
            if number > current && !files.contains_key(&(number - 1)) {
                // Behind a gap that a lost rename left. Not recycled, because its name is still to come.
                disk.remove(&segment_path(directory, number)).await?;
                continue;
            }
            let file = disk.open(&segment_path(directory, number), OpenOptions::existing().direct()).await?;
            let size = file.len().await?;
            if size != tail.segment_bytes {
                return Err(wrong_size(directory, number, size, tail.segment_bytes));
            }
            let file = match tail.kept_in_doubt(number) {
                Some(kept) => write_again(disk, directory, number, tail.segment_bytes, kept).await?,
                None => None,
            }
            .unwrap_or(file);
            file.sync().await?;
            if number >= current {
                files.insert(number, file);
            }
        }
        if let Entry::Vacant(missing) = files.entry(current) {
            missing.insert(create_segment(disk, directory, current, tail.segment_bytes).await?);
        }
        Self::start(env, options, tail, files, recyclable).await
    }

    async fn start(
        env: &Env,
        options: WalOptions,
        tail: LogTail,
        files: BTreeMap<u64, Arc<dyn File>>,
        recyclable: Vec<u64>,
    ) -> Result<Self, WalError> {
        let epoch = random_id(env);
        let current = tail.position / tail.segment_bytes;
        debug_assert!(tail.position.is_multiple_of(BLOCK_BYTES as u64), "chunks begin on block borders");
        debug_assert!(tail.end.0 <= tail.position, "the log goes on behind what was read");
        let start = Lsn(tail.position);
        let end = start.advance(CHUNK_HEADER_BYTES as u64);
        let file = files.get(&current).expect("the current segment exists");
        open_epoch(&**file, &tail, epoch).await?;
        let kept_from = kept_segment(&options, &tail);
        let ready_through = *files.keys().next_back().expect("the current segment is in it");
        debug_assert!(kept_from <= current, "the segment that is being filled is kept");
        debug_assert_eq!(
            files.len() as u64,
            ready_through - current + 1,
            "prepared segments follow each other"
        );
        debug_assert!(
            recyclable.iter().all(|number| *number < kept_from),
            "only what nobody needs is used again"
        );
        let state = State {
            staging: Staging::new(tail.segment_bytes, align_up(end.0), end),
            files,
            ready_through,
            needed_from: segment_before(tail.from, tail.segment_bytes),
            pins: BTreeMap::new(),
            kept_from,
            recyclable: recyclable.into(),
            reserved: 0,
            failure: None,
            no_space_since_us: None,
            retry_prepare: false,
            lazy_sync_armed: false,
            lazy_sync_round: 0,
            stopped: false,
        };
        let shared = Arc::new(Shared::new(env.clone(), options, tail.log_id, epoch, state));
        env.spawner.spawn_dedicated("wal-flush", Overlap::None, Box::pin(flusher::run(shared.clone())));
        env.spawner.spawn("wal-segments", Box::pin(segments::run(shared.clone())));
        shared.prepare_requested.notify();
        Ok(Self { shared })
    }
}

/// The oldest segment that recovery or `keep_from` needs.
fn kept_segment(options: &WalOptions, tail: &LogTail) -> u64 {
    let from = options.keep_from.map_or(tail.from, |keep| keep.min(tail.from));
    segment_before(from, tail.segment_bytes)
}

/// The segment in a new file; None if the disk has no room for it.
async fn write_again(
    disk: &dyn Disk,
    directory: &str,
    number: u64,
    segment_bytes: u64,
    kept: u64,
) -> Result<Option<Arc<dyn File>>, IoError> {
    debug_assert!((1..=segment_bytes).contains(&kept), "what is kept lies in the segment");
    match copy_segment(disk, directory, number, segment_bytes, kept).await {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_no_space() => {
            disk.remove(&format!("{directory}/{PREPARE_NAME}")).await?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Writes the chunk that separates this run from everything before it.
async fn open_epoch(file: &dyn File, tail: &LogTail, epoch: u64) -> Result<(), IoError> {
    debug_assert_ne!(epoch, tail.epoch, "each opening has an epoch of its own");
    let header = ChunkHeader {
        log_id: tail.log_id,
        start: Lsn(tail.position),
        epoch,
        previous_epoch: tail.epoch,
        durable: tail.end,
        used: CHUNK_HEADER_BYTES as u32,
        flags: 0,
    };
    let mut block = IoBuf::zeroed(BLOCK_BYTES);
    header.seal(block.as_mut_slice());
    let (_, result) = file.write_at(tail.position % tail.segment_bytes, block).await;
    result?;
    file.sync().await
}

/// Zero is kept for "none".
fn random_id(env: &Env) -> u64 {
    env.random.u64().max(1)
}
