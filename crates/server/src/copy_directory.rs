//! Directories of copies of the database (CLONE): made for their owner alone, and marked until the copy is whole.
//!
//! Invariant: no server starts on a directory with the mark, so what a kill leaves of a copy never passes for a new, empty
//! database. Handed to the instance by `start`; the mark is looked for by `data_directory`.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use env::Disk;
use instance::Directories;

use crate::folder::folder_of;

const MARK: &str = "clone-unfinished";
const OWNER_ONLY: u32 = 0o700;

pub(crate) struct CopyDirectories;

impl Directories for CopyDirectories {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn Disk>> {
        DirBuilder::new().mode(OWNER_ONLY).create(path)?;
        let marked = File::create_new(path.join(MARK)).and_then(|_| sync(path));
        let disk = marked.and_then(|()| env::real_disk(path).map_err(io::Error::other));
        let disk = disk.map(|disk| disk as Arc<dyn Disk>);
        disk.inspect_err(|_| self.remove(path))
    }

    fn finish(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path.join(MARK))?;
        sync(path)?;
        sync(folder_of(path))
    }

    fn remove(&self, path: &Path) {
        let path = path.to_owned();
        let remove = move || {
            if let Err(error) = fs::remove_dir_all(&path) {
                crate::log::warning(&format!(
                    "cannot remove the unfinished copy {}: {error}",
                    path.display()
                ));
            }
        };
        // Giving back gigabytes takes a file system a while.
        let spawned = std::thread::Builder::new().name("remove-copy".into()).spawn(remove);
        if let Err(error) = spawned {
            crate::log::warning(&format!("an unfinished copy is left behind: {error}"));
        }
    }
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// For a server that is about to use the directory.
pub(crate) fn refuse_unfinished(directory: &Path) -> Result<(), String> {
    match directory.join(MARK).exists() {
        false => Ok(()),
        true => Err(format!(
            "{} holds a copy that was not finished: remove it and make the copy again",
            directory.display()
        )),
    }
}
