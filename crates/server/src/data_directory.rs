//! The data directory: created for its owner alone, and held by one server at a time.
//!
//! Invariant: while a `DataDirectory` lives, no other process has this directory; the lock goes with the process,
//! however it ends. Called by `start`.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const LOCK_FILE: &str = "evenkeel.lock";
const OWNER_ONLY_DIRECTORY: u32 = 0o700;
const OWNER_ONLY_FILE: u32 = 0o600;

#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    /// True when nothing but the lock file was there: a new server is set up.
    is_new: bool,
    _lock: File,
}

impl DataDirectory {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        if !path.exists() {
            DirBuilder::new()
                .recursive(true)
                .mode(OWNER_ONLY_DIRECTORY)
                .create(path)
                .map_err(|error| format!("cannot create the data directory {}: {error}", path.display()))?;
        }
        let path = fs::canonicalize(path)
            .map_err(|error| format!("cannot use the data directory {}: {error}", path.display()))?;
        if !path.is_dir() {
            return Err(format!("the data directory {} is not a directory", path.display()));
        }
        crate::copy_directory::refuse_unfinished(&path)?;
        let lock = lock(&path)?;
        let entries = fs::read_dir(&path)
            .map_err(|error| format!("cannot list the data directory {}: {error}", path.display()))?;
        let is_new = entries.flatten().all(|entry| entry.file_name() == LOCK_FILE);
        Ok(Self { path, is_new, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// What to do when the directory cannot be opened and files are missing or belong to another server; empty when nothing is amiss.
    pub(crate) fn hint_of_missing_files(&self) -> String {
        hint_of_missing_files(&self.path, self.is_new)
    }
}

/// The same of a directory that nobody has opened.
pub(crate) fn hint_of_missing_files(path: &Path, is_new: bool) -> String {
    let has = |name: &str| path.join(name).exists();
    let place = path.display();
    if let Some(foreign) = FOREIGN_FILES.iter().find(|name| has(name)) {
        return format!(
            "; {place} holds {foreign}, a file of MySQL or MariaDB, which have another format: choose an empty directory \
             (--datadir) and load a dump"
        );
    }
    let log_is_empty = fs::read_dir(path.join("wal")).map_or(true, |mut entries| entries.next().is_none());
    let missing: Vec<&str> = [("data/pages.db", !has("data/pages.db")), ("wal/*", log_is_empty)]
        .into_iter()
        .filter_map(|(name, is_missing)| is_missing.then_some(name))
        .collect();
    if is_new || missing.is_empty() {
        return String::new();
    }
    format!(
        "; missing in {place}: {}. Put the files back, or restore the whole directory from one backup (files of different times do \
         not belong together); to begin with an empty server, choose another directory",
        missing.join(", ")
    )
}

/// What data directories of other servers have, and ours never.
const FOREIGN_FILES: [&str; 3] = ["ibdata1", "mysql.ibd", "aria_log_control"];

/// Keeps servers away from a directory that is only looked at. Nothing is written, so a copy without a lock file is
/// taken as it is.
pub(crate) fn hold_for_reading(directory: &Path) -> Result<Option<File>, String> {
    if !directory.join("data").is_dir() {
        return Err(format!("{} is not a data directory: it has no 'data' in it", directory.display()));
    }
    let path = directory.join(LOCK_FILE);
    match File::open(&path) {
        Ok(file) => take(&file, &path, directory).map(|()| Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot open {}: {error}", path.display())),
    }
}

fn take(file: &File, path: &Path, directory: &Path) -> Result<(), String> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let owner = fs::read_to_string(path).unwrap_or_default();
            let owner = owner.trim();
            let who = if owner.is_empty() { String::new() } else { format!(" (process {owner})") };
            Err(format!("another server{who} is running on the data directory {}", directory.display()))
        }
        Err(TryLockError::Error(error)) => Err(format!("cannot lock {}: {error}", path.display())),
    }
}

fn lock(directory: &Path) -> Result<File, String> {
    let path = directory.join(LOCK_FILE);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(OWNER_ONLY_FILE);
    let mut file = options.open(&path).map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    take(&file, &path, directory)?;
    // The number is only for the message above, so failing to write it is no reason not to start.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// Writes a file that only the owner can read, replacing none.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(OWNER_ONLY_FILE);
    let written =
        options.open(path).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_missing_or_foreign_is_told_with_what_to_do() {
        let path = std::env::temp_dir().join(format!("evenkeel-missing-{}", std::process::id()));
        let directory = DataDirectory::open(&path).expect("free");
        assert_eq!(directory.hint_of_missing_files(), "", "a new server");
        drop(directory);
        fs::create_dir_all(path.join("wal")).expect("made");
        fs::write(path.join("wal/0000"), "x").expect("written");
        let directory = DataDirectory::open(&path).expect("free");
        let hint = directory.hint_of_missing_files();
        assert!(hint.contains("data/pages.db. Put the files back") && !hint.contains("wal/*"), "{hint}");
        fs::write(path.join("auto.cnf"), "x").expect("written");
        assert_eq!(directory.hint_of_missing_files(), hint, "our servers have such a file too");
        fs::write(path.join("ibdata1"), "x").expect("written");
        assert!(directory.hint_of_missing_files().contains("load a dump"));
        fs::remove_dir_all(path).expect("removable");
    }

    #[test]
    fn a_directory_has_one_server_and_one_reader() {
        let path = std::env::temp_dir().join(format!("evenkeel-datadir-{}", std::process::id())).join("deep");
        let first = DataDirectory::open(&path).expect("free");
        assert!(first.is_new());
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, OWNER_ONLY_DIRECTORY);
        let error = DataDirectory::open(&path).expect_err("taken");
        assert!(error.contains("another server"), "{error}");
        write_private(&path.join("secret"), b"x").expect("writable");
        let mode = fs::metadata(path.join("secret")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, OWNER_ONLY_FILE);
        drop(first);
        assert!(!DataDirectory::open(&path).expect("free again").is_new());
        fs::remove_dir_all(path.parent().expect("deep")).expect("removable");
    }
}
