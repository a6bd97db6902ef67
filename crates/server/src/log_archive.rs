//! The archive of the log, as the options name it: opened with the server, and closed behind the last commit.
//!
//! Invariant: the engine is opened with all the log that the archive still lacks, if that is there. An archive that has another
//! history than this server's ends the start, for two histories in one folder could not be told apart. A store that does not answer
//! does not: then all log that there is stays until it does. Called by `start`; `verify` looks through a folder, and commands open one.
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{Archive, ArchiveConfig, ArchiveError, ArchivedFile, Severity};
use engine::Engine;
use env::local::block_on;
use env::{Disk, Env};
use objects::{Folder, Location, Patience};

use crate::log;
use crate::options::Settings;
use crate::restore::show_time;

const OWNER_ONLY: u32 = 0o700;

/// What the options say of it.
pub(crate) struct ArchivePlan {
    folder: Option<(PathBuf, Arc<dyn Disk>)>,
    keep_seconds: u64,
}

impl ArchivePlan {
    pub(crate) fn of(settings: &Settings) -> Result<ArchivePlan, String> {
        let keep_seconds = settings.archive_keep_seconds;
        let Some(path) = &settings.archive_directory else {
            return Ok(ArchivePlan { folder: None, keep_seconds });
        };
        let failed = |error: &dyn std::fmt::Display| {
            format!("cannot use the log archive {} (log-archive-dir): {error}", path.display())
        };
        if is_object(path) {
            let disk = Folder::named(&path.display().to_string(), Patience::Server);
            let disk = disk.map_err(|error| failed(&error))?;
            return Ok(ArchivePlan { folder: Some((path.clone(), disk)), keep_seconds });
        }
        if !path.exists() {
            let made = DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(path);
            made.map_err(|error| failed(&error))?;
        }
        let disk = env::real_disk(path).map_err(|error| failed(&error))?;
        Ok(ArchivePlan { folder: Some((path.clone(), disk)), keep_seconds })
    }

    /// From where the engine's log is needed, as far as it is there; known before the engine is opened.
    pub(crate) async fn needed_from(&self, env: &Env) -> Result<Option<u64>, String> {
        let Some((_, disk)) = &self.folder else { return Ok(None) };
        let begin = engine::log_begin(env).await.unwrap_or_default();
        let place = match archive::archived_to(disk.clone()).await {
            Err(ArchiveError::Away(_)) => return Ok(begin),
            place => place.map_err(|error| self.failed(&error))?,
        };
        Ok(place.filter(|place| begin.is_some_and(|begin| begin < *place)))
    }

    /// `log_begin` is where the log began before the engine was opened.
    pub(crate) async fn start(
        self,
        env: &Env,
        engine: Arc<Engine>,
        log_begin: Option<u64>,
    ) -> Result<Option<Arc<Archive>>, String> {
        let Some((path, disk)) = &self.folder else { return Ok(None) };
        let tell = |severity: Severity, line: &str| match severity {
            Severity::Note => log::note(line),
            Severity::Over => log::warning(line),
            Severity::Error => log::error(line),
        };
        let config = ArchiveConfig {
            name: path.display().to_string(),
            disk: disk.clone(),
            log_begin,
            keep_seconds: self.keep_seconds,
            tell: Box::new(tell),
        };
        Archive::start(env, engine, config).await.map(Some).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &archive::ArchiveError) -> String {
        let path = self.folder.as_ref().map(|(path, _)| path.display().to_string()).unwrap_or_default();
        format!("cannot use the log archive {path} (log-archive-dir): {error}")
    }
}

/// Archives what is left.
pub(crate) async fn close(archive: Option<Arc<Archive>>) {
    if let Some(archive) = archive
        && let Err(error) = archive.close().await
    {
        log::error(&format!("the last of the log could not be archived: {error}"));
    }
}

/// Whether a name is meant for a place in a store.
pub(crate) fn is_object(path: &Path) -> bool {
    path.to_str().is_some_and(Location::is_one)
}

/// The archive that a command was given: a directory, or a folder of a bucket.
pub(crate) fn open_place(path: &Path) -> Result<Arc<dyn Disk>, String> {
    let name = path.display();
    if is_object(path) {
        return Ok(Folder::named(&name.to_string(), Patience::Command)?);
    }
    // A disk is made where there is none.
    if !path.is_dir() {
        return Err(format!("cannot use the archive {name}: there is no such directory"));
    }
    Ok(env::real_disk(path).map_err(|error| format!("cannot use the archive {name}: {error}"))?)
}

/// Whether `evenkeel verify` was given an archive.
pub(crate) fn is_archive(path: &Path) -> Result<bool, String> {
    if !is_object(path) && !path.is_dir() {
        return Ok(false);
    }
    block_on(archive::is_archive(&*open_place(path)?)).map_err(|error| error.to_string())
}

/// Checks every byte of an archive and says what it has. True when nothing is wrong.
pub(crate) fn verify(directory: &Path) -> Result<bool, String> {
    let disk = open_place(directory)?;
    println!("checking the log archive {}; nothing is written there", directory.display());
    let check = block_on(archive::check_folder(&*disk)).map_err(|error| error.to_string())?;
    for file in &check.files {
        println!("{}", describe(file));
    }
    check.gaps.iter().for_each(|(from, to)| println!("note: the log from LSN {from} to {to} is not in it"));
    check.faults.iter().for_each(|fault| println!("damaged: {fault}"));
    let is_sound = check.faults.is_empty();
    println!("{}", if is_sound { "everything is sound" } else { "there is damage, see above" });
    Ok(is_sound)
}

fn describe(file: &ArchivedFile) -> String {
    let ArchivedFile { first, end_lsn, bytes, .. } = file;
    let times = match file.first_us {
        0 => "no commits".to_owned(),
        _ => format!("commits of {} to {}", show_time(file.first_us), show_time(file.last_us)),
    };
    format!("{}: {bytes} bytes, LSN {first} to {end_lsn}, {times}", file.name())
}
