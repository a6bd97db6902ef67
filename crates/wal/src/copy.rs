//! A copy of the log in another directory, made while the log goes on.
//!
//! Invariant: only blocks below the durable LSN are read, which are never written again, so a copy needs no lock. The copy
//! has the same segments under the same names; the last is filled with zeros, and an opening finds there what a crash at that
//! moment would have left. The caller holds a pin (`LogPin`) on what is not copied yet.

use crate::format::{BLOCK_BYTES, align_up, segment_before, segment_path};
use crate::segments::ZEROS_BYTES;
use crate::{Lsn, Wal, WalError};
use env::{Disk, File, IoBuf, OpenOptions};
use std::sync::Arc;

/// One read and one write of the copy.
const PIECE_BYTES: u64 = 1 << 20;

/// The copy under way. `finish` makes it durable; dropped before that it is worth nothing.
pub struct LogCopy {
    disk: Arc<dyn Disk>,
    directory: String,
    /// Up to here, on a block border.
    position: u64,
    /// The segment of `position`.
    open: Option<OpenSegment>,
}

/// A segment's files, here and there.
struct OpenSegment {
    number: u64,
    source: Arc<dyn File>,
    target: Arc<dyn File>,
}

impl Wal {
    /// Begins a copy of the log from `from` on in a directory of another disk, which is created.
    pub async fn copy_to(
        &self,
        disk: Arc<dyn Disk>,
        directory: &str,
        from: Lsn,
    ) -> Result<LogCopy, WalError> {
        disk.create_dir(directory).await?;
        let position =
            segment_before(from, self.shared.options.segment_bytes) * self.shared.options.segment_bytes;
        Ok(LogCopy { disk, directory: directory.into(), position, open: None })
    }

    /// Copies what has become durable since; answers up to where the copy reaches now.
    pub async fn continue_copy(&self, copy: &mut LogCopy) -> Result<Lsn, WalError> {
        let segment_bytes = self.shared.options.segment_bytes;
        let durable = self.durable_lsn();
        let end = align_up(durable.0);
        while copy.position < end {
            debug_assert!(copy.position.is_multiple_of(BLOCK_BYTES as u64), "a copy grows by blocks");
            let number = copy.position / segment_bytes;
            let (source, target) = self.segment_of(copy, number).await?;
            let piece_end = end.min((number + 1) * segment_bytes).min(copy.position + PIECE_BYTES);
            let offset = copy.position % segment_bytes;
            debug_assert!(
                offset + (piece_end - copy.position) <= segment_bytes,
                "a piece lies in one segment"
            );
            let buffer = IoBuf::for_overwriting((piece_end - copy.position) as usize);
            let (buffer, result) = source.read_at(offset, buffer).await;
            result?;
            let (_, result) = target.write_at(offset, buffer).await;
            result?;
            copy.position = piece_end;
        }
        Ok(durable)
    }

    async fn segment_of(
        &self,
        copy: &mut LogCopy,
        number: u64,
    ) -> Result<(Arc<dyn File>, Arc<dyn File>), WalError> {
        if let Some(open) = &copy.open
            && open.number == number
        {
            return Ok((open.source.clone(), open.target.clone()));
        }
        if let Some(finished) = copy.open.take() {
            finished.target.sync_all().await?;
        }
        let here = segment_path(&self.shared.options.directory, number);
        let source = self.shared.env.disk.open(&here, OpenOptions::existing().direct()).await?;
        let there = segment_path(&copy.directory, number);
        let target = copy.disk.open(&there, OpenOptions::create().direct()).await?;
        target.allocate(self.shared.options.segment_bytes).await?;
        copy.open = Some(OpenSegment { number, source: source.clone(), target: target.clone() });
        Ok((source, target))
    }

    /// Fills the rest of the last segment and makes the copy durable.
    pub async fn finish_copy(&self, mut copy: LogCopy) -> Result<(), WalError> {
        let segment_bytes = self.shared.options.segment_bytes;
        let Some(OpenSegment { number, target, .. }) = copy.open.take() else {
            return Ok(copy.disk.sync_dir(&copy.directory).await?);
        };
        fill(&*target, copy.position - number * segment_bytes, segment_bytes).await?;
        // Where a segment has said that it ended, its continuation is looked for in the next one.
        if self.shared.state.lock().staging.segment() > number {
            let next = segment_path(&copy.directory, number + 1);
            let next = copy.disk.open(&next, OpenOptions::create().direct()).await?;
            fill(&*next, 0, segment_bytes).await?;
        }
        copy.disk.sync_dir(&copy.directory).await?;
        Ok(())
    }
}

/// Zeros up to the end of a segment, which is durable then.
async fn fill(file: &dyn File, from: u64, segment_bytes: u64) -> Result<(), WalError> {
    debug_assert!(from <= segment_bytes, "a segment is filled to its end");
    let mut at = from;
    while at < segment_bytes {
        let zeros = IoBuf::zeroed((segment_bytes - at).min(ZEROS_BYTES) as usize);
        let length = zeros.len() as u64;
        let (_, result) = file.write_at(at, zeros).await;
        result?;
        at += length;
    }
    Ok(file.sync_all().await?)
}

impl LogCopy {
    /// Up to where the log has been copied.
    pub fn position(&self) -> Lsn {
        Lsn(self.position)
    }
}
