//! Transactions whose events are a file: they are copied into the binary log in pieces.
//!
//! Invariant: the file stays until the binary log is synced behind its copy and the note says so; a crash before that copies it again.
//! Readers see the transaction when it is whole.
use super::{SYNC_BYTES, Writer};
use crate::SourceError;
use crate::files::read_events;
use binlog::{CommitPackage, FileOfEvents, Gtid};

/// What is read at once; an event may be larger.
const COPIED_BYTES: u64 = 256 << 10;

impl Writer {
    /// Copies the events of the commit at `lsn`; answers the transaction's identifier.
    pub(super) async fn copy_large(
        &mut self,
        package: &CommitPackage,
        events: FileOfEvents,
        (lsn, last_committed): (u64, u64),
    ) -> Result<Option<Gtid>, SourceError> {
        let file = self.log.engine.open_event_file(events.number).await?;
        let (place, out) = self.place(lsn, last_committed);
        let gtid = package.write_begin((events.bytes, events.count), &place, out);
        let (mut copied, mut synced) = (0, 0);
        while copied < events.bytes {
            let piece = read_events(&*file, copied, events.bytes, COPIED_BYTES).await?;
            let damaged =
                || SourceError::Damaged(format!("the events of the commit at LSN {lsn} are damaged"));
            let piece = piece.ok_or_else(damaged)?;
            let (place, out) = self.place(lsn, last_committed);
            copied += package.write_piece(&piece, &place, out)? as u64;
            self.write_unseen().await?;
            if copied - synced >= SYNC_BYTES {
                // Else the last sync would be of all of it, and the commits of others would wait for the disk meanwhile.
                self.file.sync().await?;
                synced = copied;
            }
        }
        let (place, out) = self.place(lsn, last_committed);
        package.write_end(&place, out);
        self.copied.push(events.number);
        Ok(gtid)
    }

    /// Removes the files that have been copied: the note has their commits.
    pub(super) async fn remove_copied(&mut self) -> Result<(), SourceError> {
        while let Some(number) = self.copied.pop() {
            self.log.engine.remove_event_file(number).await?;
        }
        Ok(())
    }
}
