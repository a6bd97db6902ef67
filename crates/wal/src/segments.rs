//! Segment files: one task prepares them ahead of need, from recycled ones or by filling new ones with zeros.
//!
//! A file gets a segment's name only when it is complete and synced, and it is written to only when the name is
//! durable; so recovery finds every segment whole under its name. Zeros are written, not merely allocated, so
//! that a later sync of the log has no file system metadata to write.
//!
//! Invariant: this task alone creates, renames and removes files of a running log.

use crate::WalError;
use crate::format::segment_path;
use crate::log::{Shared, State};
use env::{Disk, File, IoBuf, IoError, OpenOptions};
use std::sync::Arc;

pub(crate) const ZEROS_BYTES: u64 = 1 << 20;
/// How long it waits when no more files can be opened, before it tries again.
const TOO_MANY_FILES_RETRY_US: u64 = 10_000;
/// The name of a segment in preparation; left over by a crash, it is overwritten.
pub(crate) const PREPARE_NAME: &str = "prepare";

enum Step {
    Create(u64),
    Recycle { old: u64, new: u64 },
    Remove(u64),
}

/// Runs until the log is stopped or fails.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        shared.prepare_requested.notified().await;
        while let Some(step) = next_step(&shared) {
            if let Err(error) = take_step(&shared, step).await {
                shared.fail(error);
                return;
            }
        }
        let state = shared.state.lock();
        if state.stopped || state.failure.is_some() {
            return;
        }
    }
}

fn next_step(shared: &Shared) -> Option<Step> {
    let mut state = shared.state.lock();
    if state.stopped || state.failure.is_some() {
        return None;
    }
    debug_assert!(
        state.ready_through >= state.staging.segment(),
        "the segment that is being filled is prepared"
    );
    let next = state.ready_through + 1;
    let capacity_bytes = shared.capacity_bytes.load(std::sync::atomic::Ordering::Relaxed);
    let segments_max = capacity_bytes / shared.options.segment_bytes;
    if let Some(old) = state.recyclable.pop_front() {
        let keep = next - state.kept_from < segments_max;
        return Some(if keep { Step::Recycle { old, new: next } } else { Step::Remove(old) });
    }
    let spares = state.ready_through - state.staging.segment();
    let may_try = state.no_space_since_us.is_none() || std::mem::take(&mut state.retry_prepare);
    (spares == 0 && may_try).then_some(Step::Create(next))
}

async fn take_step(shared: &Shared, step: Step) -> Result<(), IoError> {
    let (disk, directory) = (&*shared.env.disk, &*shared.options.directory);
    match step {
        Step::Remove(old) => disk.remove(&segment_path(directory, old)).await,
        Step::Recycle { old, new } => {
            debug_assert!(old < new, "a segment becomes a later one");
            let path = segment_path(directory, new);
            disk.rename(&segment_path(directory, old), &path).await?;
            // Both open files, all of which clients may have taken; who waits for the segment then waits for them.
            let file = loop {
                let opened = async {
                    disk.sync_dir(directory).await?;
                    disk.open(&path, OpenOptions::existing().direct()).await
                };
                match opened.await {
                    Err(error) if error.is_too_many_files() && shared.state.lock().stopped => return Ok(()),
                    Err(error) if error.is_too_many_files() => {
                        shared.env.clock.sleep(TOO_MANY_FILES_RETRY_US).await;
                    }
                    opened => break opened?,
                }
            };
            shared.add_ready(new, file);
            Ok(())
        }
        Step::Create(new) => match create_segment(disk, directory, new, shared.options.segment_bytes).await {
            Ok(file) => {
                shared.add_ready(new, file);
                Ok(())
            }
            Err(error) if error.is_no_space() => {
                shared.state.lock().no_space_since_us = Some(shared.env.clock.now_us());
                // Whoever waits for the segment must now be refused instead.
                shared.space_waiters.wake_all();
                let path = format!("{directory}/{PREPARE_NAME}");
                // Frees the space that the attempt took; if even that fails the next attempt reuses the file.
                let _ = disk.remove(&path).await;
                Ok(())
            }
            Err(error) if error.is_too_many_files() => {
                // It is asked for again until it is there.
                shared.env.clock.sleep(TOO_MANY_FILES_RETRY_US).await;
                Ok(())
            }
            Err(error) => Err(error),
        },
    }
}

impl Shared {
    fn add_ready(&self, number: u64, file: Arc<dyn File>) {
        let mut state = self.state.lock();
        let state: &mut State = &mut state;
        assert_eq!(number, state.ready_through + 1, "segments are prepared in order");
        state.ready_through = number;
        state.files.insert(number, file);
        state.no_space_since_us = None;
        self.space_waiters.wake_all();
    }
}

/// Makes a segment full of zeros, durable under its name.
pub(crate) async fn create_segment(
    disk: &dyn Disk,
    directory: &str,
    number: u64,
    segment_bytes: u64,
) -> Result<Arc<dyn File>, IoError> {
    make_segment(disk, directory, number, segment_bytes, None).await
}

/// Puts a new file with the first `kept` bytes of a segment in its place. Until that is durable, the old one stands.
pub(crate) async fn copy_segment(
    disk: &dyn Disk,
    directory: &str,
    number: u64,
    segment_bytes: u64,
    kept: u64,
) -> Result<Arc<dyn File>, IoError> {
    let source = disk.open(&segment_path(directory, number), OpenOptions::existing().direct()).await?;
    make_segment(disk, directory, number, segment_bytes, Some((source, kept))).await
}

/// The rest of the segment is filled with zeros.
async fn make_segment(
    disk: &dyn Disk,
    directory: &str,
    number: u64,
    segment_bytes: u64,
    source: Option<(Arc<dyn File>, u64)>,
) -> Result<Arc<dyn File>, IoError> {
    let prepare_path = format!("{directory}/{PREPARE_NAME}");
    let file = disk.open(&prepare_path, OpenOptions::create().direct()).await?;
    file.set_len(0).await?;
    file.allocate(segment_bytes).await?;
    let mut offset = 0;
    let mut piece = IoBuf::zeroed(ZEROS_BYTES.min(segment_bytes) as usize);
    if let Some((source, kept)) = source {
        while offset < kept {
            piece.set_len((kept - offset).min(piece.capacity() as u64) as usize);
            let (read, result) = source.read_at(offset, piece).await;
            result?;
            let (buffer, result) = file.write_at(offset, read).await;
            result?;
            offset += buffer.len() as u64;
            piece = buffer;
        }
        piece = IoBuf::zeroed(ZEROS_BYTES.min(segment_bytes) as usize);
    }
    while offset < segment_bytes {
        piece.set_len((segment_bytes - offset).min(piece.capacity() as u64) as usize);
        let (buffer, result) = file.write_at(offset, piece).await;
        result?;
        offset += buffer.len() as u64;
        piece = buffer;
    }
    debug_assert_eq!(offset, segment_bytes, "a segment is filled to its end");
    file.sync_all().await?;
    // One file is enough for all of this.
    drop(file);
    let path = segment_path(directory, number);
    disk.rename(&prepare_path, &path).await?;
    disk.sync_dir(directory).await?;
    disk.open(&path, OpenOptions::existing().direct()).await
}

/// The segment files of a directory, sorted; None when the directory does not exist.
pub(crate) async fn list_segments(disk: &dyn Disk, directory: &str) -> Result<Option<Vec<u64>>, WalError> {
    match disk.list(directory).await {
        Ok(names) => {
            let mut numbers: Vec<u64> =
                names.iter().filter_map(|name| crate::format::segment_number(name)).collect();
            numbers.sort_unstable();
            Ok(Some(numbers))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
