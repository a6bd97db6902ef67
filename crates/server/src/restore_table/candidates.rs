//! The backups that a statement may use, the newest first.
//!
//! Invariant: they are only read. An increment comes with all that it continues; one whose base is not there is left out, and why is
//! kept for the message. Called by `statement`.
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{BackupReader, is_backup_file};
use engine::BackupHead;
use env::local::{ThreadSpawner, block_on};

use crate::backup_file::read_key;
use crate::copy_directory::refuse_unfinished;
use crate::folder::folder_of;

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

/// Looks into a folder of backups, at one backup file (whose bases lie beside it) or at one directory. Files of another log than
/// `log_id` are left out.
pub(crate) fn find(place: &Path, key_file: Option<&Path>, log_id: u64) -> Result<Found, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", place.display());
    let mut found = Found::default();
    if is_data_directory(place) {
        found.candidates.push(of_directory(place)?);
        return Ok(found);
    }
    let is_one_file = fs::metadata(place).map_err(|error| cannot(&error))?.is_file();
    let folder = if is_one_file { folder_of(place) } else { place };
    let key = key_file.map(read_key).transpose()?;
    let mut files: Vec<(PathBuf, BackupHead, u64)> = Vec::new();
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
        if path.extension().is_some_and(|ending| ending == "part") || !is_backup_file(File::open(&path).ok())
        {
            continue;
        }
        let name = path.display().to_string();
        let opened = File::open(&path).map_err(|error| format!("cannot read {name}: {error}"));
        let head = opened.and_then(|file| {
            let length = file.metadata().map_or(0, |known| known.len());
            let reader = BackupReader::open(BufReader::new(file), &name, key.as_ref());
            reader.map(|reader| (*reader.head(), length)).map_err(|error| error.to_string())
        });
        match head {
            Ok((head, _)) if head.log_id != log_id => {
                found.left_out.push(format!("{name} is of another server"));
            }
            Ok((head, length)) => files.push((path, head, length)),
            Err(why) => found.left_out.push(why),
        }
    }
    for (path, head, _) in &files {
        if is_one_file && path.file_name() != place.file_name() {
            continue;
        }
        match chain_of(path, head, &files) {
            Some(candidate) => found.candidates.push(candidate),
            None => {
                found.left_out.push(format!("{}: a backup that it continues is not there", path.display()))
            }
        }
    }
    found.candidates.sort_by(|one, other| {
        (other.from_lsn, other.begun_us, &other.from).cmp(&(one.from_lsn, one.begun_us, &one.from))
    });
    Ok(found)
}

fn chain_of(path: &Path, head: &BackupHead, files: &[(PathBuf, BackupHead, u64)]) -> Option<Candidate> {
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
