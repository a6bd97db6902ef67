//! Where backup files lie: a directory, or a folder of a bucket (`s3://bucket/folder/`).
//!
//! Invariant: only `remove` changes anything, and a file that is still being written is none. Called by `prune` and by
//! `restore_table::find`, for RESTORE TABLE and for repairs of pages.
use std::fs;
use std::path::{Path, PathBuf};

use objects::Store;

use crate::log_archive::is_object;

/// See the head of this file.
pub(crate) struct BackupFolder {
    path: PathBuf,
    /// `None`: a directory.
    store: Option<Store>,
}

impl BackupFolder {
    pub fn open(path: &Path) -> Result<BackupFolder, String> {
        let store = match is_object(path) {
            true => Some(Store::named(&path.display().to_string())?),
            false => None,
        };
        Ok(BackupFolder { path: path.to_owned(), store })
    }

    /// What may be a backup file.
    pub fn files(&mut self) -> Result<Vec<PathBuf>, String> {
        Ok(self.files_with_lengths()?.into_iter().map(|(path, _)| path).collect())
    }

    /// Objects are taken by their ending, since looking into each other one would take long.
    pub fn files_with_lengths(&mut self) -> Result<Vec<(PathBuf, u64)>, String> {
        if let Some(store) = &mut self.store {
            let found = store.objects()?;
            let folder = store.at().clone();
            let is_backup = |name: &str| name.ends_with(".ekb");
            let files = found.into_iter().filter(|(name, _)| is_backup(name));
            return Ok(files
                .map(|(name, length)| (folder.inside(&name).to_string().into(), length))
                .collect());
        }
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", self.path.display());
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_file() && path.extension().is_none_or(|ending| ending != "part") {
                let length = path.metadata().map_or(0, |known| known.len());
                files.push((path, length));
            }
        }
        Ok(files)
    }

    /// Removes one of the files.
    pub fn remove(&mut self, path: &Path) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("cannot remove {}: {error}", path.display());
        let Some(store) = &mut self.store else {
            return fs::remove_file(path).map_err(|error| failed(&error));
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        store.remove_object(&name).map_err(|error| failed(&error))
    }
}
