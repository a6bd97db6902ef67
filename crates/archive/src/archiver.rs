//! The task that takes the log to the archive behind the commits.
//!
//! Invariant: the engine's log is held from what the archive has for certain. If the archive cannot be written, the server goes on:
//! the task tries again each second, or with longer and longer rests where a store does not answer, and once half of the log's room is held
//! it lets the log go, which leaves a gap in the archive and a line that says so. So it does when the archive takes too long. A store that
//! is away when the server starts is waited for in the same way. Nothing happens while nothing is committed. Started by the server.

use crate::ArchiveError;
use crate::folder::FolderWriter;
use engine::{Engine, LogTap};
use env::sync::{Event, WaitQueue};
use env::{Disk, Env};
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use wal::LogPiece;

/// One piece of the log, read and compressed at once.
const PIECE_BYTES: u64 = 256 << 10;
/// What was committed is in the archive after this time, if the disks keep up.
const ROUND_US: u64 = 1_000_000;
/// Sooner when so large a part of the log's room has gathered.
const ROUND_SHARE: u64 = 16;
/// How long after a failure the next attempt is made.
const RETRY_US: u64 = 1_000_000;
/// How long at most, where a store does not answer: each rest is twice as long as the one before.
const RETRY_US_MAX: u64 = 32_000_000;
/// What the archive is asked for may take so long while half of the log's room is held, or the server waits for its end.
const PATIENCE_US: u64 = 10_000_000;
const LOOK_US: u64 = 1_000_000;

/// How much somebody has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It goes on as it should.
    Note,
    /// What was told as an error is over: who saw that sees this.
    Over,
    /// Something is to be done about it.
    Error,
}

/// Takes a line for the log of the server.
pub type Tell = Box<dyn Fn(Severity, &str) + Send + Sync>;

/// What the program says of its archive.
pub struct ArchiveConfig {
    /// What people know it by.
    pub name: String,
    /// Its folder.
    pub disk: Arc<dyn Disk>,
    /// Where the engine's log began before it was opened: if the archive does not answer, it may need all of that.
    pub log_begin: Option<u64>,
    /// Finished files are removed when all that is in them is older; 0 keeps all.
    pub keep_seconds: u64,
    /// Takes lines for the log of the server.
    pub tell: Tell,
}

/// An archive that is being written. See the head of this file.
pub struct Archive {
    env: Env,
    engine: Arc<Engine>,
    config: ArchiveConfig,
    stop: Event,
    ended: Event,
    failure: Mutex<Option<ArchiveError>>,
    /// Where the piece behind the last archived one lies.
    reached: AtomicU64,
    rounds: WaitQueue,
}

/// How far an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// What is archived for certain ends here.
    pub archived_to: u64,
    /// What was durable when it was asked ends here.
    pub durable_to: u64,
}

/// From where on the archive lacks the log; `None` if it is new. Known before the engine is opened. `Away` if nobody answers: then all log
/// that there is has to be kept.
pub async fn archived_to(disk: Arc<dyn Disk>) -> Result<Option<u64>, ArchiveError> {
    Ok(FolderWriter::open(disk).await?.place().map(|(place, _)| place))
}

impl Archive {
    /// Goes on where the archive ends, and starts to write. `Unfit` if it has the log of another server, or of another life of
    /// this one.
    pub async fn start(
        env: &Env,
        engine: Arc<Engine>,
        config: ArchiveConfig,
    ) -> Result<Arc<Archive>, ArchiveError> {
        let folder = match FolderWriter::open(config.disk.clone()).await {
            Err(ArchiveError::Away(why)) => Err(why),
            opened => Ok(opened?),
        };
        let (stop, ended) = (Event::new(), Event::new());
        let archive = Arc::new(Archive {
            env: env.clone(),
            engine,
            config,
            stop,
            ended,
            failure: Mutex::default(),
            reached: AtomicU64::new(0),
            rounds: WaitQueue::new(),
        });
        let (tap, folder, failing) = match folder {
            Ok(folder) => {
                let tap = archive.tap(&folder).await?;
                archive.reached.store(tap.place(), Ordering::Release);
                (tap, Some(folder), None)
            }
            Err(why) => {
                archive.tell_failure(&why);
                (archive.tap_of_all()?, None, Some(why))
            }
        };
        let is_begun = folder.is_some();
        let run = {
            let archive = archive.clone();
            async move {
                let rest_us = RETRY_US;
                let writing = Writing { archive: &archive, folder, tap, is_begun, failing, rest_us };
                if let Err(error) = writing.run().await {
                    *archive.failure.lock() = Some(error);
                }
                archive.ended.set();
            }
        };
        env.spawner.spawn("log-archive", Box::pin(run));
        Ok(archive)
    }

    /// All that there is of the engine's log, until it is known where the archive ends.
    fn tap_of_all(&self) -> Result<LogTap, ArchiveError> {
        let all = self.config.log_begin.and_then(|begin| self.engine.tap_log(Some(begin)));
        let tap = all.or_else(|| self.engine.tap_log(None));
        tap.ok_or(ArchiveError::Engine(engine::EngineError::Closed))
    }

    /// The engine's log from where the archive ends, or from where it is still there.
    async fn tap(&self, folder: &FolderWriter) -> Result<LogTap, ArchiveError> {
        let gone = || ArchiveError::Engine(engine::EngineError::Closed);
        let name = &self.config.name;
        let other = |what: &str| {
            let what = format!("the log archive {name} {what}: use another folder for this server");
            Err(ArchiveError::Unfit(what))
        };
        let Some((place, thread)) = folder.place() else {
            let tap = self.engine.tap_log(None).ok_or_else(gone)?;
            self.note(&format!("the log is archived in {name} from LSN {} on", tap.place()));
            return Ok(tap);
        };
        if self.engine.log_id() != thread.log_id {
            return other("has the log of another server");
        }
        let probe = match self.engine.tap_log(Some(place)) {
            Some(mut tap) => tap.next(PIECE_BYTES).await.map(|piece| (tap, piece)).ok(),
            None => None,
        };
        match probe {
            Some((_, Some(piece))) if !piece.follows(thread) => {
                return other("has another continuation of this log than the server");
            }
            Some((mut tap, _)) => {
                if place > tap.end_place() {
                    return other(
                        "is further than the log of the server, which was restored as of an earlier moment",
                    );
                }
                tap.go_back_to(place);
                return Ok(tap);
            }
            None => {}
        }
        let tap = self.engine.tap_log(None).ok_or_else(gone)?;
        if place > tap.end_place() {
            return other(
                "is further than the log of the server, which was restored as of an earlier moment",
            );
        }
        self.tell_gap(place, tap.place());
        Ok(tap)
    }

    /// The folder.
    pub fn disk(&self) -> Arc<dyn Disk> {
        self.config.disk.clone()
    }

    /// Waits until all that is durable now is archived, which takes a second as a rule, but no longer than this.
    pub async fn catch_up(&self, limit_us: u64) -> Reach {
        let durable_to = self.engine.tap_log(None).map_or(0, |tap| tap.end_place());
        let mut limit = pin!(self.env.clock.sleep(limit_us));
        loop {
            let round = self.rounds.register();
            let archived_to = self.reached.load(Ordering::Acquire);
            let reach = Reach { archived_to, durable_to };
            if archived_to >= durable_to {
                return reach;
            }
            let mut round = pin!(round);
            let is_over = poll_fn(|context| match limit.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(true),
                Poll::Pending => round.as_mut().poll(context).map(|_| false),
            });
            if is_over.await {
                return reach;
            }
        }
    }

    fn note(&self, line: &str) {
        (self.config.tell)(Severity::Note, line);
    }

    fn error(&self, line: &str) {
        (self.config.tell)(Severity::Error, line);
    }

    fn tell_failure(&self, why: &str) {
        self.error(&format!(
            "the log cannot be archived in {}: {why}; the server goes on, and it is tried again and again",
            self.config.name
        ));
    }

    /// What the folder is asked for, given up when it takes too long for who waits: for the log, which has to have room, or for the
    /// end of the server.
    async fn patiently<T>(
        &self,
        tap: &LogTap,
        work: impl Future<Output = Result<T, ArchiveError>>,
    ) -> Result<T, ArchiveError> {
        let mut work = pin!(work);
        let mut waited_us = 0;
        loop {
            let mut look = pin!(self.env.clock.sleep(LOOK_US));
            let done = poll_fn(|context| match work.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending => look.as_mut().poll(context).map(|_| None),
            });
            if let Some(done) = done.await {
                return done;
            }
            waited_us += LOOK_US;
            let presses = tap.held_bytes() > tap.capacity_bytes() / 2 || self.stop.is_set();
            if presses && waited_us >= PATIENCE_US {
                return Err(ArchiveError::Away("it takes too long".into()));
            }
        }
    }

    fn tell_gap(&self, from: u64, to: u64) {
        self.error(&format!(
            "the log archive {} lacks the log from LSN {from} to {to}: moments behind it can only be restored with a backup that \
             is made from now on",
            self.config.name
        ));
    }

    /// Archives what is left, and ends. Call it when nobody commits any more, before the engine is closed.
    pub async fn close(&self) -> Result<(), ArchiveError> {
        self.stop.set();
        self.ended.wait().await;
        self.failure.lock().clone().map_or(Ok(()), Err)
    }

    /// Waits for one or the other; false if the archive is to stop.
    async fn unless_stopped(&self, wait: impl Future) -> bool {
        let (mut stop, mut wait) = (pin!(self.stop.wait()), pin!(wait));
        poll_fn(|context| match stop.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(false),
            Poll::Pending => wait.as_mut().poll(context).map(|_| true),
        })
        .await
    }
}

/// What the task has.
struct Writing<'a> {
    archive: &'a Archive,
    /// `None` after a failure, until it could be opened again.
    folder: Option<FolderWriter>,
    tap: LogTap,
    /// The tap is where the archive ends, or behind a gap.
    is_begun: bool,
    /// Why the last attempt failed, as it was told.
    failing: Option<String>,
    /// Before the next attempt.
    rest_us: u64,
}

impl Writing<'_> {
    /// Until the archive is to stop. The next start goes on where the tap is, though the engine's last checkpoint is behind it.
    async fn run(mut self) -> Result<(), ArchiveError> {
        let ended = self.work().await;
        self.tap.end();
        ended
    }

    async fn work(&mut self) -> Result<(), ArchiveError> {
        let clock = self.archive.env.clock.clone();
        loop {
            let goes_on = self.archive.unless_stopped(self.tap.wait(1)).await;
            match self.round().await {
                Ok(()) => self.tell_success(),
                // What the engine cannot read now it cannot read later.
                Err(ArchiveError::Engine(error)) => {
                    self.archive.error(&format!("the log is not archived any more: {error}"));
                    return Err(ArchiveError::Engine(error));
                }
                // Seen late, since the archive did not answer when the server started.
                Err(ArchiveError::Unfit(what)) => {
                    self.archive.error(&format!("the log is not archived: {what}"));
                    return Err(ArchiveError::Unfit(what));
                }
                Err(error) if !goes_on => return Err(error),
                Err(error) => self.note_failure(&error),
            }
            if !goes_on {
                return self.finish().await;
            }
            match self.failing.is_some() {
                true => drop(self.archive.unless_stopped(clock.sleep(self.rest_us)).await),
                false => {
                    let much = self.tap.capacity_bytes() / ROUND_SHARE;
                    let enough = either(clock.sleep(ROUND_US), self.tap.wait(much));
                    self.archive.unless_stopped(enough).await;
                }
            }
        }
    }

    /// Archives all that is durable.
    async fn round(&mut self) -> Result<(), ArchiveError> {
        let mut folder = match self.folder.take() {
            Some(folder) => folder,
            None => {
                let open = FolderWriter::open(self.archive.config.disk.clone());
                let folder = self.archive.patiently(&self.tap, open).await?;
                if !self.is_begun {
                    self.tap = self.archive.tap(&folder).await?;
                    self.is_begun = true;
                } else if let Some((place, _)) =
                    folder.place().filter(|(place, _)| *place > self.tap.held_from())
                {
                    self.tap.go_back_to(place);
                } else {
                    self.tap.go_back_to(self.tap.held_from());
                }
                folder
            }
        };
        loop {
            let piece: Option<LogPiece> = self.tap.next(PIECE_BYTES).await?;
            let Some(piece) = piece else { break };
            self.archive.patiently(&self.tap, folder.add(&piece, self.tap.segment_bytes())).await?;
            if self.tap.place() - self.tap.held_from() > self.tap.capacity_bytes() / ROUND_SHARE {
                self.archive.patiently(&self.tap, folder.sync()).await?;
                self.tap.release(self.tap.place());
            }
            env::yield_now().await;
        }
        self.archive.patiently(&self.tap, folder.sync()).await?;
        debug_assert!(self.tap.held_from() <= self.tap.place(), "what is held was read");
        self.tap.release(self.tap.place());
        debug_assert!(
            self.tap.place() >= self.archive.reached.load(Ordering::Acquire),
            "an archive only grows"
        );
        self.archive.reached.store(self.tap.place(), Ordering::Release);
        self.archive.rounds.wake_all();
        let keep_us = self.archive.config.keep_seconds.saturating_mul(1_000_000);
        if keep_us > 0 {
            let before = self.archive.env.clock.unix_us().saturating_sub(keep_us);
            self.archive.patiently(&self.tap, folder.remove_before(before)).await?;
        }
        self.folder = Some(folder);
        Ok(())
    }

    fn tell_success(&mut self) {
        self.rest_us = RETRY_US;
        if self.failing.take().is_some() {
            let line = format!("the log is archived in {} again", self.archive.config.name);
            (self.archive.config.tell)(Severity::Over, &line);
        }
    }

    fn note_failure(&mut self, error: &ArchiveError) {
        let why = error.to_string();
        self.rest_us = match (error, &self.failing) {
            (ArchiveError::Away(_), Some(_)) => (self.rest_us * 2).min(RETRY_US_MAX),
            _ => RETRY_US,
        };
        // That a disk is full, or a key is wrong, is news behind a store that was away.
        let is_news = match &self.failing {
            Some(told) => *told != why && !matches!(error, ArchiveError::Away(_)),
            None => true,
        };
        if is_news {
            self.archive.tell_failure(&why);
            self.failing = Some(why);
        }
        let held_from = self.tap.held_from();
        if self.tap.held_bytes() > self.tap.capacity_bytes() / 2 {
            let Some(tap) = self.archive.engine.tap_log(None) else { return };
            self.tap = tap;
            self.archive.tell_gap(held_from, self.tap.place());
        }
    }

    async fn finish(&mut self) -> Result<(), ArchiveError> {
        match &mut self.folder {
            Some(folder) => self.archive.patiently(&self.tap, folder.finish_file()).await,
            None => Ok(()),
        }
    }
}

/// Waits for one or the other.
async fn either(one: impl Future, other: impl Future) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match (one.as_mut().poll(context), other.as_mut().poll(context)) {
        (Poll::Pending, Poll::Pending) => Poll::Pending,
        _ => Poll::Ready(()),
    })
    .await;
}
