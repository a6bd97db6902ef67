//! Repairs damaged pages from the backups in `backup-dir`, the archive of the log and the server's own log (decision 0060).
//!
//! Invariant: one page at a time, on a thread of its own, while those who need the page wait and all others go on. A page that cannot be
//! had is looked for again only when somebody asks for it by its number. The log of the server has a line for each outcome. Handed
//! to the engine by `start`.
use std::collections::HashSet;
use std::io::Read;
use std::sync::{Arc, Weak};

use archive::{ArchiveError, PageSource, rebuild_page};
use engine::{CorruptPage, Engine, PageId, PageRepairer};
use env::local::{ThreadSpawner, block_on};
use env::{BoxFuture, Disk};
use parking_lot::Mutex;

use crate::backup_file::{self, read_key};
use crate::log;
use crate::restore_table::{Candidate, RestorePlaces, find};

const REMEDY: &str = "restore the table (RESTORE TABLE, evenkeel restore) or a dump, or put a backup and the archive of the log since where \
                      backup-dir and log-archive-dir say and ask again: ALTER INSTANCE REPAIR PAGE";

/// See the head of this file.
pub(crate) struct PageRepairs {
    work: Arc<Work>,
}

struct Work {
    places: Arc<RestorePlaces>,
    engine: Weak<Engine>,
    /// Pages that could not be had.
    failed: Mutex<HashSet<PageId>>,
    /// One reads at a time.
    turn: Mutex<()>,
}

impl PageRepairs {
    pub(crate) fn new(places: Arc<RestorePlaces>, engine: &Arc<Engine>) -> PageRepairs {
        let work =
            Work { places, engine: Arc::downgrade(engine), failed: Mutex::default(), turn: Mutex::default() };
        PageRepairs { work: Arc::new(work) }
    }
}

impl PageRepairer for PageRepairs {
    fn rebuild(&self, corrupt: CorruptPage, lsn: Option<u64>) -> BoxFuture<'static, Option<Vec<u8>>> {
        if self.work.failed.lock().contains(&corrupt.page) {
            return Box::pin(std::future::ready(None));
        }
        let work = self.work.clone();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let run = move || {
            env::real::roam();
            // Nobody waits any more only when the program is already ending.
            let _ = sender.send(work.rebuild(corrupt, lsn));
        };
        let started = std::thread::Builder::new().name("repair-page".into()).spawn(run);
        let work = self.work.clone();
        Box::pin(async move {
            let ended = match started {
                Ok(_) => receiver.await.map_err(|_| "its thread ended unexpectedly".to_owned()),
                Err(error) => Err(format!("cannot start a thread: {error}")),
            };
            ended.unwrap_or_else(|why| {
                work.give_up(corrupt, &why);
                None
            })
        })
    }

    fn try_again(&self, page: PageId) {
        self.work.failed.lock().remove(&page);
    }

    fn note_result(&self, corrupt: CorruptPage, lsn: u64, result: Result<(), String>) {
        match result {
            Ok(()) => log::warning(&format!("{corrupt}: it was repaired and is as of LSN {lsn}")),
            Err(why) => self.work.give_up(corrupt, &why),
        }
    }
}

impl Work {
    fn give_up(&self, corrupt: CorruptPage, why: &str) {
        self.failed.lock().insert(corrupt.page);
        log::error(&format!("{corrupt}: it cannot be repaired: {why}; {REMEDY}"));
    }

    /// From the newest backup that leads to the page.
    fn rebuild(&self, corrupt: CorruptPage, lsn: Option<u64>) -> Option<Vec<u8>> {
        let _turn = self.turn.lock();
        let engine = self.engine.upgrade()?;
        let place = self.places.backups.as_ref()?;
        let found = match find(place, self.places.key_file.as_deref(), engine.log_id()) {
            Ok(found) => found,
            Err(why) => {
                self.give_up(corrupt, &why);
                return None;
            }
        };
        let mut reasons = found.left_out;
        for candidate in &found.candidates {
            match self.rebuild_from(candidate, &engine, corrupt.page, lsn) {
                Ok(image) => {
                    log::warning(&format!("{corrupt}: made again from {} and the log", candidate.name()));
                    return Some(image);
                }
                Err(error) => reasons.push(format!("{}: {error}", candidate.name())),
            }
        }
        if found.candidates.is_empty() {
            reasons.push(format!("there is no backup in {}", place.display()));
        }
        self.give_up(corrupt, &reasons.join("; "));
        None
    }

    fn rebuild_from(
        &self,
        candidate: &Candidate,
        engine: &Arc<Engine>,
        page: PageId,
        lsn: Option<u64>,
    ) -> Result<Vec<u8>, ArchiveError> {
        let archive: Option<Arc<dyn Disk>> = self.places.archive.as_ref().map(|archive| archive.disk());
        let stop = || engine.is_closed();
        let progress = |_| match stop() {
            true => Err(ArchiveError::Unfit("the server stops".into())),
            false => Ok(()),
        };
        if candidate.from.is_dir() {
            let env = env::real::scratch_env(&candidate.from, Arc::new(ThreadSpawner::new(1)));
            let source: PageSource<'_, Box<dyn Read>> = PageSource::Directory(&env);
            return block_on(rebuild_page(source, archive, engine, page, lsn, &progress))
                .map(|made| made.image);
        }
        let key = self.places.key_file.as_deref().map(read_key).transpose().map_err(ArchiveError::Unfit)?;
        let files: Vec<_> = std::iter::once(&candidate.from).chain(&candidate.increments).collect();
        let open = |index: usize| backup_file::open(files[index], key.as_ref());
        let source = PageSource::Files(files.len(), &open);
        block_on(rebuild_page(source, archive, engine, page, lsn, &progress)).map(|made| made.image)
    }
}
