//! The backups that a statement may use, the newest first.
//!
//! Invariant: they are only read. An increment comes with all that it continues; one whose base is not there is left out, and why is
//! kept for the message. Called by `statement`.
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::BackupKey;
use engine::BackupHead;
use env::local::{ThreadSpawner, block_on};

use crate::backup_file::{is_backup, open, read_key};
use crate::backup_folder::BackupFolder;
use crate::copy_directory::refuse_unfinished;
use crate::folder::folder_of;
use crate::log_archive::is_object;

/// A backup that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// A directory, or a full backup file.
    pub from: PathBuf,
    /// Increments, the oldest first.
    pub increments: Vec<PathBuf>,
    /// The newest part begins here.
    pub from_lsn: u64,
    /// When that was begun, in microseconds since 1970; a directory does not say.
    pub begun_us: Option<u64>,
    /// How much room its pages take, about.
    pub bytes: u64,
}

impl Candidate {
    /// The file or directory that gives it its moment.
    pub fn name(&self) -> String {
        self.increments.last().unwrap_or(&self.from).display().to_string()
    }
}

/// What is in a place.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub candidates: Vec<Candidate>,
    /// What is left out, and why.
    pub left_out: Vec<String>,
}

/// Looks into a folder of backups (also one of a bucket), at one backup file (whose bases lie beside it) or at one directory. Files of another log than
/// `log_id` are left out.
pub(crate) fn find(place: &Path, key_file: Option<&Path>, log_id: u64) -> Result<Found, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", place.display());
    let mut found = Found::default();
    if is_object(place) {
        return find_objects(place, key_file, log_id);
    }
    if is_data_directory(place) {
        found.candidates.push(of_directory(place)?);
        return Ok(found);
    }
    let is_one_file = fs::metadata(place).map_err(|error| cannot(&error))?.is_file();
    let folder = if is_one_file { folder_of(place) } else { place };
    let key = key_file.map(read_key).transpose()?;
    let mut files: Vec<File> = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| cannot(&error))? {
        let path = entry.map_err(|error| cannot(&error))?.path();
        if path.is_dir() {
            if !is_one_file && is_data_directory(&path) {
                match of_directory(&path) {
                    Ok(candidate) => found.candidates.push(candidate),
                    Err(why) => found.left_out.push(why),
                }
            }
            continue;
        }
        if path.extension().is_some_and(|ending| ending == "part") || !is_backup(&path) {
            continue;
        }
        let length = fs::metadata(&path).map_or(0, |known| known.len());
        look_at(path, length, key.as_ref(), log_id, &mut files, &mut found);
    }
    let wanted = if is_one_file { place.file_name() } else { None };
    choose(&files, wanted, &mut found);
    Ok(found)
}

/// The same in a folder of a bucket, or for an object whose name is that of a backup.
fn find_objects(place: &Path, key_file: Option<&Path>, log_id: u64) -> Result<Found, String> {
    let wanted = place.extension().filter(|ending| *ending == "ekb").and_then(|_| place.file_name());
    let folder = match wanted {
        Some(name) => {
            let (whole, name) = (place.display().to_string(), name.to_string_lossy());
            PathBuf::from(whole.strip_suffix(&*name).unwrap_or(&whole))
        }
        None => place.to_owned(),
    };
    let key = key_file.map(read_key).transpose()?;
    let (mut found, mut files) = (Found::default(), Vec::new());
    for (path, length) in BackupFolder::open(&folder)?.files_with_lengths()? {
        look_at(path, length, key.as_ref(), log_id, &mut files, &mut found);
    }
    choose(&files, wanted, &mut found);
    Ok(found)
}

type File = (PathBuf, BackupHead, u64);

/// Takes a backup file of the same log into the list.
fn look_at(
    path: PathBuf,
    length: u64,
    key: Option<&BackupKey>,
    log_id: u64,
    files: &mut Vec<File>,
    found: &mut Found,
) {
    match open(&path, key).map(|reader| *reader.head()) {
        Ok(head) if head.log_id != log_id => {
            found.left_out.push(format!("{} is of another server", path.display()));
        }
        Ok(head) => files.push((path, head, length)),
        Err(why) => found.left_out.push(why.to_string()),
    }
}

/// Each file with all that it continues, or the one of this name; the newest first.
fn choose(files: &[File], wanted: Option<&OsStr>, found: &mut Found) {
    for (path, head, _) in files {
        if wanted.is_some() && path.file_name() != wanted {
            continue;
        }
        match chain_of(path, head, files) {
            Some(candidate) => found.candidates.push(candidate),
            None => {
                found.left_out.push(format!("{}: a backup that it continues is not there", path.display()))
            }
        }
    }
    found.candidates.sort_by(|one, other| {
        (other.from_lsn, other.begun_us, &other.from).cmp(&(one.from_lsn, one.begun_us, &one.from))
    });
}

fn chain_of(path: &Path, head: &BackupHead, files: &[File]) -> Option<Candidate> {
    let mut chain = vec![path.to_owned()];
    let mut at = *head;
    let mut bytes = 0;
    // A chain is no longer than the list.
    while at.base != 0 && chain.len() <= files.len() {
        let (path, base, length) = files.iter().find(|(_, other, _)| other.id == at.base)?;
        bytes += length;
        chain.push(path.clone());
        at = *base;
    }
    let from = chain.pop().filter(|_| at.base == 0)?;
    chain.reverse();
    let bytes = bytes + at.pages_total * at.page_size_bytes;
    let (from_lsn, begun_us) = (head.from_lsn, Some(head.begun_us));
    Some(Candidate { from, increments: chain, from_lsn, begun_us, bytes })
}

fn is_data_directory(path: &Path) -> bool {
    path.join("data").is_dir()
}

fn of_directory(path: &Path) -> Result<Candidate, String> {
    refuse_unfinished(path)?;
    let env = env::real::scratch_env(path, Arc::new(ThreadSpawner::new(1)));
    let extent = block_on(engine::copy_extent(&env));
    let extent = extent.map_err(|error| format!("{}: {error}", path.display()))?;
    let bytes = ["data", "wal"].iter().map(|folder| folder_bytes(&path.join(folder))).sum();
    let from = path.to_owned();
    Ok(Candidate { from, increments: Vec::new(), from_lsn: extent.from_lsn, begun_us: None, bytes })
}

fn folder_bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|known| known.len()).sum()
}
