//! A directory of a disk as a disk of its own: a second place on the one simulated machine, for copies and archives.
//!
//! Invariant: it adds nothing to the disk's promises and takes nothing from them. Tests of copies and of the log's archive make it.
use std::sync::Arc;

use crate::{BoxFuture, Disk, File, IoError, OpenOptions};

/// The directory, which has to be there before anything is written.
pub fn inside(disk: Arc<dyn Disk>, directory: &str) -> Arc<dyn Disk> {
    Arc::new(Inside { disk, directory: directory.to_owned() })
}

struct Inside {
    disk: Arc<dyn Disk>,
    directory: String,
}

impl Inside {
    fn path(&self, path: &str) -> String {
        if path.is_empty() { self.directory.clone() } else { format!("{}/{path}", self.directory) }
    }
}

impl Disk for Inside {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Arc<dyn File>, IoError>> {
        Box::pin(async move { self.disk.open(&self.path(path), options).await })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async move { self.disk.remove(&self.path(path)).await })
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async move { self.disk.rename(&self.path(from), &self.path(to)).await })
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<String>, IoError>> {
        Box::pin(async move { self.disk.list(&self.path(path)).await })
    }

    fn create_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async move { self.disk.create_dir(&self.path(path)).await })
    }

    fn sync_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), IoError>> {
        Box::pin(async move { self.disk.sync_dir(&self.path(path)).await })
    }
}
