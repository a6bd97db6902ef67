//! The task that writes the files of the binary log behind the commits.
//!
//! Invariant: the note of the position is stored only when the file is synced up to it, and before readers see a new file. So
//! whatever a crash takes lies behind the note, in one file, and the engine's log behind the note's LSN makes the same bytes again.
mod large;
mod opening;

use crate::SourceError;
use crate::dependencies::Dependencies;
use crate::files::previous_gtids;
use crate::log::{BinaryLog, LogFile, Request};
use crate::position::{Position, store_position};
use binlog::{
    Checksum, CommitPackage, Event, EventHeader, FormatDescription, IdentifierState, MAGIC, Place,
    event_type, header_flag, write_event,
};
use engine::{CommittedEvents, Engine, EventNews, LogPin};
use env::{File, IoBuf, OpenOptions};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So much is written before it is synced, if nothing else asks for it.
const SYNC_BYTES: u64 = 8 << 20;
/// One write.
const WRITE_BYTES: usize = 1 << 20;
/// How long a full disk is waited for before the next try.
const NO_SPACE_RETRY_US: u64 = 200_000;
/// What becomes the index.
const NEW_INDEX: &str = "binlog.index.new";

pub(crate) struct Writer {
    log: Arc<BinaryLog>,
    file: Arc<dyn File>,
    checksum: Checksum,
    /// What is in the file; `length` counts what is written.
    at: Position,
    synced_length: u64,
    hold: LogPin,
    /// Of what is behind the note.
    dependencies: Dependencies,
    out: Vec<u8>,
    /// Files of events that have been copied; they go once that is certain.
    copied: Vec<u64>,
}

impl Writer {
    /// Until the log is closed.
    pub async fn run(mut self) -> Result<(), SourceError> {
        loop {
            match self.log.engine.next_events().await? {
                EventNews::Commits(commits) => {
                    for commit in &commits {
                        self.add(commit).await?;
                        if self.out.len() >= WRITE_BYTES {
                            self.write().await?;
                        }
                    }
                    self.write().await?;
                    if self.at.length >= (self.log.config.live)().file_bytes_max {
                        self.rotate(true).await?;
                    } else if self.at.length - self.synced_length >= SYNC_BYTES {
                        self.store().await?;
                        self.log_identifiers();
                    }
                }
                EventNews::Called => {
                    let requests = std::mem::take(&mut *self.log.requests.lock());
                    for (request, done) in requests {
                        let result = self.serve(request).await;
                        done.set();
                        result?;
                    }
                    self.store().await?;
                    self.log_identifiers();
                }
                EventNews::Stopped => {
                    self.put(&Event::Stop, 0);
                    self.write().await?;
                    self.store().await?;
                    // The next start reads from there, though the engine's last checkpoint is behind it.
                    self.log.engine.hold_to_end(self.hold);
                    return Ok(());
                }
            }
        }
    }

    async fn serve(&mut self, request: Request) -> Result<(), SourceError> {
        match request {
            Request::Rotate => self.rotate(true).await,
            Request::Purge(number) => self.purge_unread(number).await,
            Request::Reset(first) => self.reset(first).await,
        }
    }

    async fn reset(&mut self, first: u64) -> Result<(), SourceError> {
        if self.at.file == first {
            // The note is of a whole file until the new one is certain.
            self.rotate(true).await?;
        }
        self.purge(self.at.file).await?;
        let old = self.log.file_name(self.at.file);
        self.at = Position {
            base: std::mem::take(&mut self.at.base),
            lsn: self.at.lsn,
            log_from: self.at.log_from,
            file: first - 1,
            ..Position::default()
        };
        self.log.published.lock().files.clear();
        self.log.semi_sync_reset();
        self.next_file().await?;
        self.log.env.disk.remove(&old).await?;
        Ok(self.log.env.disk.sync_dir("").await?)
    }

    async fn purge_unread(&mut self, number: u64) -> Result<(), SourceError> {
        let oldest_read = self.log.oldest_read().map_or(number, |(oldest, _)| oldest);
        self.purge(number.min(oldest_read)).await
    }

    /// The transaction's bytes, which readers do not see yet: unwritten, but for those of a large one.
    async fn add(&mut self, commit: &CommittedEvents) -> Result<(), SourceError> {
        let package = CommitPackage::decode(&commit.bytes)?;
        let number = self.at.sequence_number + 1;
        let last_committed = self.dependencies.last_committed(number, package.keys.as_deref());
        let gtid = match package.file {
            Some(file) => self.copy_large(&package, file, (commit.lsn, last_committed)).await?,
            None => {
                let (place, out) = self.place(commit.lsn, last_committed);
                package.write(&place, out)?
            }
        };
        if let Some(gtid) = gtid {
            self.at.executed.add(gtid);
        }
        self.at.sequence_number += 1;
        self.at.lsn = commit.lsn;
        self.log.semi_sync_written((self.at.file, self.at.length + self.out.len() as u64), commit.lsn);
        Ok(())
    }

    /// Where the next transaction goes, and what its bytes are appended to.
    fn place(&mut self, lsn: u64, last_committed: u64) -> (Place<'_>, &mut Vec<u8>) {
        let place = Place {
            source: self.log.config.server_uuid,
            executed: &self.at.executed,
            sequence_number: self.at.sequence_number + 1,
            last_committed,
            position: self.at.length,
            checksum: self.checksum,
            xid: lsn,
        };
        (place, &mut self.out)
    }

    fn put(&mut self, event: &Event, flags: u16) {
        let mut body = Vec::new();
        event.encode(&mut body);
        let live = (self.log.config.live)();
        let is_description = event.event_type() == event_type::FORMAT_DESCRIPTION;
        let checksum = if is_description { Checksum::Crc32 } else { self.checksum };
        let length = binlog::HEADER_BYTES + body.len() + checksum.len();
        let header = EventHeader {
            timestamp: (self.log.config.now_s)(),
            event_type: event.event_type(),
            server_id: live.server_id,
            length: 0,
            next_position: (self.at.length + (self.out.len() + length) as u64) as u32,
            flags,
        };
        write_event(&header, &body, checksum, &mut self.out);
    }

    /// Writes what has gathered; readers see it then.
    async fn write(&mut self) -> Result<(), SourceError> {
        self.write_unseen().await?;
        let mut published = self.log.published.lock();
        if let Some(last) = published.files.last_mut().filter(|file| file.number == self.at.file) {
            last.length = self.at.length;
        }
        if published.executed != self.at.executed {
            published.executed.clone_from(&self.at.executed);
        }
        drop(published);
        self.log.written_lsn.store(self.at.lsn, Ordering::Release);
        self.log.progress.wake_all();
        Ok(())
    }

    async fn write_unseen(&mut self) -> Result<(), SourceError> {
        while !self.out.is_empty() {
            let (_, result) = self.file.write_at(self.at.length, IoBuf::copy_of(&self.out)).await;
            match result.map_err(SourceError::from) {
                Ok(()) => {
                    self.at.length += self.out.len() as u64;
                    self.out.clear();
                }
                Err(SourceError::NoSpace) => self.log.env.clock.sleep(NO_SPACE_RETRY_US).await,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Makes sure of what is written, and lets the engine's log before it go.
    async fn store(&mut self) -> Result<(), SourceError> {
        let lsn = self.log.engine.events_taken_to(self.at.lsn);
        if self.at.length == self.synced_length && lsn <= self.at.log_from {
            return Ok(());
        }
        loop {
            match self.try_store(lsn).await {
                Err(SourceError::NoSpace) => self.log.env.clock.sleep(NO_SPACE_RETRY_US).await,
                other => return other,
            }
        }
    }

    async fn try_store(&mut self, lsn: u64) -> Result<(), SourceError> {
        self.file.sync_all().await?;
        self.at.log_from = lsn.max(self.at.log_from);
        // No commit with events is between them.
        self.at.lsn = self.at.lsn.max(self.at.log_from);
        store_position(&self.log.env, &self.at).await?;
        self.synced_length = self.at.length;
        self.dependencies = dependencies_behind(&self.log, &self.at);
        Engine::release_log(&mut self.hold, self.at.log_from);
        self.remove_copied().await
    }

    /// Ends the file and begins the next one.
    async fn rotate(&mut self, names_next: bool) -> Result<(), SourceError> {
        if names_next {
            let file = self.log.file_name(self.at.file + 1);
            self.put(&Event::Rotate { position: MAGIC.len() as u64, file }, 0);
            self.write_unseen().await?;
        }
        self.file.sync_all().await?;
        let ended = self.at.length;
        self.next_file().await?;
        let number = self.at.file - 1;
        {
            let mut published = self.log.published.lock();
            if let Some(file) = published.files.iter_mut().find(|file| file.number == number) {
                file.length = ended;
            }
        }
        self.log.progress.wake_all();
        self.expire().await
    }

    /// Begins the file behind the present one; readers see it when it is certain.
    async fn next_file(&mut self) -> Result<(), SourceError> {
        let taken = self.log.engine.events_taken_to(self.at.lsn);
        self.next_file_from(taken).await?;
        self.log_identifiers();
        Ok(())
    }

    /// The engine's log is needed from there on.
    async fn next_file_from(&mut self, log_from: u64) -> Result<(), SourceError> {
        self.at.file += 1;
        (self.at.length, self.at.sequence_number) = (0, 0);
        let file = self.log.env.disk.open(&self.log.file_name(self.at.file), OpenOptions::create()).await?;
        file.set_len(0).await?;
        self.file = file;
        self.checksum = self.log.config.checksum;
        self.out.extend_from_slice(&MAGIC);
        let description = FormatDescription::new(&self.log.config.server_version, 0, self.checksum);
        self.put(&Event::FormatDescription(description), 0);
        self.put(&Event::PreviousGtids(self.at.executed.clone()), header_flag::IGNORABLE);
        self.write_unseen().await?;
        self.file.sync_all().await?;
        let begun_at = (self.log.config.now_s)();
        let new = LogFile { number: self.at.file, length: self.at.length, begun_at };
        let mut files = self.log.files();
        files.push(new);
        self.write_index(&files).await?;
        // Sequence numbers begin anew, so the note must be of this file before it has a transaction.
        self.synced_length = u64::MAX;
        self.try_store(log_from).await?;
        {
            let mut published = self.log.published.lock();
            published.files.push(new);
            published.executed.clone_from(&self.at.executed);
            published.purged.clone_from(&self.at.purged);
        }
        self.log.written_lsn.store(self.at.lsn, Ordering::Release);
        self.log.progress.wake_all();
        Ok(())
    }

    /// Says in the engine's log which identifiers are taken, so that an archive of it knows without these files.
    fn log_identifiers(&self) {
        let source = self.log.config.server_uuid;
        let mut state = IdentifierState { source, executed: self.at.executed.clone() };
        self.log.engine.log_event_state(|untaken| {
            for bytes in untaken {
                state.add(CommitPackage::choice_of(bytes).ok()?);
            }
            (!state.executed.is_empty()).then(|| state.encode())
        });
    }

    async fn write_index(&self, files: &[LogFile]) -> Result<(), SourceError> {
        let text: String =
            files.iter().map(|file| format!("./{}\n", self.log.file_name(file.number))).collect();
        let disk = &*self.log.env.disk;
        Ok(env::replace_file(disk, "", &self.log.index_name(), NEW_INDEX, text.as_bytes()).await?)
    }

    /// Removes the files before `number`.
    async fn purge(&mut self, number: u64) -> Result<(), SourceError> {
        let (gone, kept): (Vec<LogFile>, Vec<LogFile>) =
            self.log.files().into_iter().partition(|file| file.number < number.min(self.at.file));
        let Some(first) = kept.first().filter(|_| !gone.is_empty()) else { return Ok(()) };
        self.at.purged = previous_gtids(&self.log, first.number).await?;
        // The note first: a file that it counts as purged may still be there, but none is missed.
        let lsn = self.log.engine.events_taken_to(self.at.lsn);
        self.try_store(lsn).await?;
        {
            let mut published = self.log.published.lock();
            published.files.clone_from(&kept);
            published.purged.clone_from(&self.at.purged);
        }
        self.write_index(&kept).await?;
        for file in gone {
            self.log.env.disk.remove(&self.log.file_name(file.number)).await?;
        }
        self.log.env.disk.sync_dir("").await?;
        Ok(())
    }

    /// Purges by age.
    async fn expire(&mut self) -> Result<(), SourceError> {
        let seconds = (self.log.config.live)().expire_seconds;
        if seconds == 0 {
            return Ok(());
        }
        let oldest_kept = u64::from((self.log.config.now_s)()).saturating_sub(seconds);
        // A file's last transaction is as old as the next file.
        let first =
            self.log.files().iter().rev().find(|file| u64::from(file.begun_at) < oldest_kept).copied();
        match first {
            Some(first) => self.purge_unread(first.number).await,
            None => Ok(()),
        }
    }
}

/// What a note of the position leaves to remember: nothing.
fn dependencies_behind(log: &BinaryLog, at: &Position) -> Dependencies {
    Dependencies::behind(at.sequence_number, (log.config.live)().dependency_keys_max)
}
