//! The files that hold the segments, in order. Only the last may have fewer segments than fit.

use super::place::Geometry;
use super::sync::RwLock;
use crate::StoreError;
use env::{Completion, Env, File, IoBuf, OpenOptions};
use std::sync::Arc;

const SUPERBLOCK_FILE: &str = "superblock.db";

pub(super) struct Files {
    directory: String,
    geometry: Geometry,
    /// Locked for writing only when a file is added.
    open: RwLock<Vec<Arc<dyn File>>>,
}

fn path(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

fn segment_path(directory: &str, number: usize) -> String {
    path(directory, &format!("segments-{number:04}.db"))
}

pub(super) async fn open_superblock(
    env: &Env,
    directory: &str,
    create: bool,
) -> Result<Arc<dyn File>, StoreError> {
    let options = if create { OpenOptions::create() } else { OpenOptions::existing() };
    Ok(env.disk.open(&path(directory, SUPERBLOCK_FILE), options.direct()).await?)
}

impl Files {
    pub(super) fn new(directory: &str, geometry: Geometry) -> Self {
        Self { directory: directory.to_owned(), geometry, open: RwLock::default() }
    }

    /// Opens the files that are there and syncs them: what a killed process has left in the kernel is read by recovery,
    /// so it must not vanish later (see `write_again` there). Returns the number of whole segments.
    pub(super) async fn open_existing(&self, env: &Env) -> Result<u32, StoreError> {
        let mut count = 0;
        let full = self.geometry.segments_per_file;
        loop {
            let number = self.open.read().len();
            let path = segment_path(&self.directory, number);
            let file = match env.disk.open(&path, OpenOptions::existing().direct()).await {
                Ok(file) => file,
                Err(error) if error.is_not_found() => {
                    // The last file may have been made by a process that was killed before its name was durable.
                    env.disk.sync_dir(&self.directory).await?;
                    return Ok(count);
                }
                Err(error) => return Err(error.into()),
            };
            file.sync().await?;
            let segments = (file.len().await? / self.geometry.segment_bytes).min(u64::from(full)) as u32;
            if segments > 0 && count % full != 0 {
                return Err(StoreError::Damaged { path, what: "the file before it is too short" });
            }
            self.open.write().push(file);
            count += segments;
        }
    }

    /// The file of a segment, made if it is the next one.
    pub(super) async fn file_or_new(&self, env: &Env, segment: u32) -> Result<Arc<dyn File>, StoreError> {
        let (number, _) = self.geometry.file_of(segment);
        if let Some(file) = self.open.read().get(number) {
            return Ok(file.clone());
        }
        assert_eq!(number, self.open.read().len(), "files are made in order");
        let path = segment_path(&self.directory, number);
        let file = env.disk.open(&path, OpenOptions::create().direct()).await?;
        env.disk.sync_dir(&self.directory).await?;
        self.open.write().push(file.clone());
        Ok(file)
    }

    pub(super) fn file(&self, number: usize) -> Arc<dyn File> {
        self.open.read()[number].clone()
    }

    pub(super) fn read(&self, segment: u32, offset: u64, buffer: IoBuf) -> Completion {
        let (number, start) = self.geometry.file_of(segment);
        self.open.read()[number].read_at(start + offset, buffer)
    }

    pub(super) fn write(&self, segment: u32, offset: u64, buffer: IoBuf) -> Completion {
        let (number, start) = self.geometry.file_of(segment);
        self.open.read()[number].write_at(start + offset, buffer)
    }

    pub(super) fn path(&self, segment: u32) -> String {
        segment_path(&self.directory, self.geometry.file_of(segment).0)
    }
}
