//! `evenkeel replicate`: what has to be known before the store is opened, the copy, and how an unfinished one is noticed.
//!
//! Invariant: a directory with an unfinished copy has a mark until the copy is whole, and no server starts on it but to make the copy anew.
//! Called by `start`, before clients are let in.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use instance::Instance;
use replica::{CopyPlan, CopySource, Facts};

use crate::data_directory::{DataDirectory, write_private};
use crate::log;
use crate::options::Settings;
use crate::signals::{StopSignals, Wish};
use crate::worker::WorkerPool;

const MARK: &str = "replicate.unfinished";

/// A server that is to be the copy of another one.
pub(crate) struct Attachment {
    source: CopySource,
    /// `None` for a copy that is whole already.
    work: Option<Work>,
}

struct Work {
    facts: Facts,
    begins_anew: bool,
    last: Vec<String>,
    mark: PathBuf,
}

/// Looks at the directory and at the source, and sets what follows from them.
pub(crate) fn prepare(
    runtime: &tokio::runtime::Runtime,
    settings: &mut Settings,
    directory: &DataDirectory,
) -> Result<Option<Attachment>, String> {
    let mark = directory.path().join(MARK);
    let is_unfinished = mark.exists();
    let Some(source) = settings.copies_from.clone() else {
        return match is_unfinished {
            true => Err(format!(
                "{} holds a copy that was not finished: evenkeel replicate makes it anew",
                directory.path().display()
            )),
            false => Ok(None),
        };
    };
    if !directory.is_new() && !is_unfinished {
        return Ok(Some(Attachment { source, work: None }));
    }
    let facts = runtime.block_on(source.look())?;
    let last = settle_variables(settings, &facts)?;
    if !is_unfinished {
        write_private(&mark, b"")?;
    }
    Ok(Some(Attachment { source, work: Some(Work { facts, begins_anew: is_unfinished, last, mark }) }))
}

/// What the command line does not say follows from the source, and stays so in later starts.
fn settle_variables(settings: &mut Settings, facts: &Facts) -> Result<Vec<String>, String> {
    let mut last = Vec::new();
    let given =
        |name: &str| settings.variables.iter().find(|(given, _)| given == name).map(|(_, value)| value);
    if let Some(id) = given("server_id") {
        if *id == facts.server_id.to_string() {
            return Err(format!("the source has the server id {id} as well: choose another --server-id"));
        }
    } else {
        // Above what people give by hand.
        let id = 0x4000_0000 | (crate::random::random_u64() as u32 >> 2);
        let id = if id == facts.server_id { id ^ 1 } else { id };
        last.push(format!("SET PERSIST server_id = {id}"));
        settings.variables.push(("server_id".to_owned(), id.to_string()));
    }
    let given = |name: &str| settings.variables.iter().any(|(given, _)| given == name);
    if !given("super_read_only") && !given("read_only") {
        last.push("SET PERSIST super_read_only = ON".to_owned());
    }
    if facts.has_gtids && !given("gtid_mode") {
        settings.variables.push(("gtid_mode".to_owned(), "ON".to_owned()));
        last.push("SET PERSIST_ONLY gtid_mode = 'ON'".to_owned());
    }
    Ok(last)
}

impl Attachment {
    /// Copies, unless that has been done; a signal ends it early.
    pub(crate) fn run(
        self,
        runtime: &tokio::runtime::Runtime,
        signals: &mut StopSignals,
        server: &Arc<Instance>,
        pool: &WorkerPool,
    ) -> Result<(), String> {
        let Attachment { source, work } = self;
        let Some(work) = work else {
            return match source.is_followed_by(server) {
                true => Ok(()),
                false => {
                    Err("the data directory has data of its own: replicate begins with an empty one"
                        .to_owned())
                }
            };
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        let (instance, asked, mark) = (server.clone(), stop.clone(), work.mark.clone());
        pool.first().run(move || {
            crate::worker::spawn(async move {
                let plan = CopyPlan {
                    source: &source,
                    facts: &work.facts,
                    begins_anew: work.begins_anew,
                    last: &work.last,
                    teller: &|message| log::system(message),
                    stop: &asked,
                };
                // Nobody waits any more only when the program is already ending.
                let _ = sender.send(Box::pin(replica::copy(instance, crate::FAMILIES, plan)).await);
            });
        });
        let copied = runtime.block_on(async {
            loop {
                tokio::select! {
                    copied = &mut receiver => return copied,
                    wish = signals.wait() => match wish {
                        Wish::End(signal) => {
                            log::system(&format!("{signal}: the copy ends"));
                            stop.store(true, Ordering::Relaxed);
                        }
                        Wish::NewLogs => server.reopen_logs(),
                    },
                }
            }
        });
        copied.map_err(|_| "a worker ended before the copy was made".to_owned())??;
        let directory = mark.parent().unwrap_or(&mark);
        let removed = fs::remove_file(&mark).and_then(|()| File::open(directory)?.sync_all());
        removed.map_err(|error| format!("cannot remove {}: {error}", mark.display()))
    }
}
