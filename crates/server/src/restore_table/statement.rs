//! What RESTORE TABLE does: finds the newest backup of before the moment, restores it and the log behind it beside the data, and
//! copies the table out of it (decision 0060).
//!
//! Invariant: one at a time, on a thread of its own, so workers go on with what others ask. A kill is looked at with each piece that is read
//! and each statement of rows; whatever ends it, the directory and the unfinished table are gone when the future is ready. Handed to the
//! instance by `start`.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use archive::{Archive, ArchiveError, Reach, Restored, Until};
use catalog::{Progress, Stage};
use datum::{SqlError, error_code};
use env::Disk;
use instance::{ProcessEntry, RestoreFuture, RestoreMoment, RestoreOrder, RestoredTable, TableRestorer};
use session::Session;

use super::candidates::{Candidate, find};
use super::remains::WorkDirectory;
use super::table_copy::{SETTINGS, Source, TableCopy, TableName, Target, told};
use crate::log_archive::is_object;
use crate::restore::{RestorePlan, make_from, show_time};

/// As deep as a worker's.
const STACK_BYTES: usize = 16 << 20;
/// An archive that lags longer than this is taken as it is.
const CATCH_UP_US_MAX: u64 = 5_000_000;

/// Where things lie.
pub(crate) struct RestorePlaces {
    pub backups: Option<PathBuf>,
    pub key_file: Option<PathBuf>,
    pub archive: Option<Arc<Archive>>,
    pub data_directory: PathBuf,
}

/// See the head of this file.
pub(crate) struct Restorer {
    places: Arc<RestorePlaces>,
    is_busy: Arc<AtomicBool>,
}

impl Restorer {
    pub(crate) fn new(places: Arc<RestorePlaces>) -> Restorer {
        Restorer { places, is_busy: Arc::default() }
    }
}

/// Lets the next one begin.
struct Turn(Arc<AtomicBool>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl TableRestorer for Restorer {
    fn restore(&self, order: RestoreOrder) -> RestoreFuture {
        if self.is_busy.swap(true, Ordering::AcqRel) {
            let busy = fault("another one is under way: one at a time, since each restores a whole backup");
            return Box::pin(std::future::ready(Err(busy)));
        }
        let turn = Turn(self.is_busy.clone());
        let places = self.places.clone();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let work = move || {
            env::real::roam();
            let restored = run(&places, order);
            drop(turn);
            // Nobody waits any more only when the program is already ending.
            let _ = sender.send(restored);
        };
        let started =
            std::thread::Builder::new().name("restore-table".into()).stack_size(STACK_BYTES).spawn(work);
        Box::pin(async move {
            started.map_err(|error| fault(&format!("cannot start a thread: {error}")))?;
            receiver.await.unwrap_or_else(|_| Err(fault("it ended unexpectedly")))
        })
    }
}

fn fault(what: &str) -> SqlError {
    told(&format!("RESTORE TABLE: {what}"))
}

fn check_kill(process: &ProcessEntry) -> Result<(), SqlError> {
    match process.kill.state() {
        Some(_) => Err(error_code::ER_QUERY_INTERRUPTED.plain()),
        None => Ok(()),
    }
}

fn run(places: &RestorePlaces, order: RestoreOrder) -> Result<RestoredTable, SqlError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| fault(&error.to_string()))?;
    let reach = places.archive.as_ref().map(|archive| runtime.block_on(archive.catch_up(CATCH_UP_US_MAX)));
    check_kill(&order.process)?;
    let work = WorkDirectory::create(&places.data_directory, crate::random::random_u64());
    let work = work.map_err(|error| fault(&format!("cannot make a directory: {error}")))?;
    let (restored, name) = restore(places, &order, reach, &work)?;
    order.instance.log(&format!(
        "RESTORE TABLE: {name} and the log up to LSN {} are restored beside the data",
        restored.to_lsn
    ));
    runtime.block_on(copy(&order, &restored, &work))
}

/// Makes the database of the newest backup of before the moment; answers its name too.
fn restore(
    places: &RestorePlaces,
    order: &RestoreOrder,
    reach: Option<Reach>,
    work: &WorkDirectory,
) -> Result<(Restored, String), SqlError> {
    let place = match (&order.from, &places.backups) {
        (Some(from), _) => PathBuf::from(from),
        (None, Some(place)) => place.clone(),
        (None, None) => return Err(fault("no backup is known: set backup-dir, or name one with FROM")),
    };
    if !place.is_absolute() && !is_object(&place) && order.from.is_some() {
        return Err(error_code::ER_WRONG_VALUE.with(&[&"path", &place.display()]));
    }
    let log_id = order.instance.engine().log_id();
    let found = find(&place, places.key_file.as_deref(), log_id).map_err(|why| fault(&why))?;
    let mut why = found.left_out.join("; ");
    for candidate in found.candidates.iter().filter(|candidate| may_be_before(candidate, order.moment)) {
        check_kill(&order.process)?;
        let needed =
            candidate.bytes + reach.map_or(0, |reach| reach.durable_to.saturating_sub(candidate.from_lsn));
        check_room(&places.data_directory, needed)?;
        let progress = Arc::new(Progress::default());
        progress.enter(Stage::Restore);
        progress.expect(needed);
        order.process.watch_progress(&progress);
        let tell = |bytes| {
            progress.add(bytes);
            match order.process.kill.state() {
                Some(_) => Err(ArchiveError::Unfit("killed".into())),
                None => Ok(()),
            }
        };
        let is_directory = candidate.from.is_dir();
        let plan = RestorePlan {
            from: candidate.from.clone(),
            increments: candidate.increments.clone(),
            key_file: places.key_file.clone().filter(|_| !is_directory),
            to: work.copy(),
            archive: None,
            until: until_of(order.moment),
        };
        let archive: Option<Arc<dyn Disk>> = places.archive.as_ref().map(|archive| archive.disk());
        match make_from(&plan, archive, &tell) {
            Ok(restored) => {
                check_end(&restored, order.moment, reach)?;
                return Ok((restored, candidate.name()));
            }
            Err(error) => {
                check_kill(&order.process)?;
                match error {
                    ArchiveError::TooNew(what) => why = format!("{}: {what}", candidate.name()),
                    other => return Err(fault(&format!("{}: {other}", candidate.name()))),
                }
            }
        }
    }
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    Err(fault(&format!("there is no backup of before that moment in {}{why}", place.display())))
}

/// Leaves out what is certainly too new.
fn may_be_before(candidate: &Candidate, moment: RestoreMoment) -> bool {
    match moment {
        RestoreMoment::Time(micros) => candidate.begun_us.is_none_or(|begun| begun <= micros),
        RestoreMoment::Lsn(lsn) => candidate.from_lsn <= lsn,
        RestoreMoment::End | RestoreMoment::Transaction { .. } => true,
    }
}

fn until_of(moment: RestoreMoment) -> Until {
    match moment {
        RestoreMoment::End => Until::End,
        RestoreMoment::Time(micros) => Until::Time(micros),
        RestoreMoment::Lsn(lsn) => Until::Lsn(lsn),
        RestoreMoment::Transaction { gtid, is_wanted } => Until::Transaction { gtid, is_wanted },
    }
}

/// Whether all commits up to the moment are in it.
fn check_end(restored: &Restored, moment: RestoreMoment, reach: Option<Reach>) -> Result<(), SqlError> {
    let is_known = match moment {
        RestoreMoment::End => false,
        _ => restored.is_reached,
    };
    let ends = restored.read_to_lsn;
    match reach {
        _ if is_known => Ok(()),
        Some(reach) if ends >= reach.durable_to => Ok(()),
        Some(reach) => Err(fault(&format!(
            "the archive of the log lacks what comes behind LSN {ends} (the server is at LSN {}): a backup from behind the gap is needed",
            reach.durable_to
        ))),
        // As of the end of the backup.
        None if moment == RestoreMoment::End => Ok(()),
        None => {
            let newest = restored
                .last_commit_us
                .map_or(String::new(), |time| format!("; its newest commit is of {}", show_time(time)));
            Err(fault(&format!(
                "the backup ends at LSN {ends}, before that moment, and the server has no archive of the log (log-archive-dir){newest}"
            )))
        }
    }
}

fn check_room(directory: &Path, needed: u64) -> Result<(), SqlError> {
    // A file system that does not say how much is free is tried.
    let Ok(room) = rustix::fs::statvfs(directory) else { return Ok(()) };
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    match needed > free {
        true => Err(fault(&format!(
            "the backup and the log take about {needed} bytes while the table is read, and {free} are free in {}",
            directory.display()
        ))),
        false => Ok(()),
    }
}

async fn copy(
    order: &RestoreOrder,
    restored: &Restored,
    work: &WorkDirectory,
) -> Result<RestoredTable, SqlError> {
    let mut source = Source::open(&work.copy()).await?;
    let copied = copy_from(order, restored, work, &mut source).await;
    source.close().await;
    copied
}

async fn copy_from(
    order: &RestoreOrder,
    restored: &Restored,
    work: &WorkDirectory,
    source: &mut Source,
) -> Result<RestoredTable, SqlError> {
    check_kill(&order.process)?;
    let name =
        |(database, table): &(String, String)| TableName { database: database.clone(), table: table.clone() };
    let (table, new) = (name(&order.table), name(&order.new));
    let number = format!("restoring_{:016x}", crate::random::random_u64());
    let loading = TableName { table: number, ..new.clone() };
    let expected = source.look_at(&table).await?;
    let (foreign_keys, triggers) = source.left_out(&table).await?;
    let mut session = Session::of_server(order.instance.clone(), crate::FAMILIES);
    for statement in SETTINGS.iter().chain(&OWN_SETTINGS) {
        session.obey(statement.as_bytes()).await?;
    }
    let is_logged = format!("SET sql_log_bin = {}", u8::from(order.is_logged));
    session.obey(is_logged.as_bytes()).await?;
    work.mark(&loading, order.is_logged).map_err(|why| fault(&why))?;
    let shown = Arc::new(Progress::default());
    shown.enter(Stage::Refill);
    shown.expect(expected);
    order.process.watch_progress(&shown);
    let progress = |rows| {
        shown.add(rows);
        check_kill(&order.process)
    };
    let mut target = Target::Server(Box::new(session));
    let copying = TableCopy { table: &table, new: &new, loading: &loading, progress: &progress };
    let copied = copying.run(source, &mut target).await;
    target.close().await;
    let rows = copied?;
    Ok(RestoredTable { rows, lsn: restored.to_lsn, foreign_keys, triggers })
}

/// What the server's own variables may say otherwise.
const OWN_SETTINGS: [&str; 2] = ["SET autocommit = 1", "SET sql_require_primary_key = 0"];
