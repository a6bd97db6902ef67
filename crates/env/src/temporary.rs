//! Temporary files: space on disk for what a statement cannot keep in memory.
//!
//! Invariant: a temporary file has no name once it is open, so its space is free when it is dropped or when the process
//! ends in whatever way; all files together never grow beyond the space's limit. Nothing here is ever synced. Called by
//! the store of rows; the engine and the program make the spaces.

use crate::{Completion, Env, File, IoBuf, IoError, IoErrorKind, IoOp, OpenOptions};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the names of temporary files begin with, for the moment in which they have one.
const NAME_PREFIX: &str = "#evenkeel-temporary-";
/// A file with more than this is cut in the background before it is closed: freeing its blocks takes a while.
const CLOSED_AT_ONCE_BYTES: u64 = 1 << 20;

/// A directory for temporary files, with a limit on what all of them take.
pub struct TemporarySpace {
    env: Env,
    directory: String,
    /// Apart from those of other processes with the same directory.
    number: u64,
    next: AtomicU64,
    limit_bytes: AtomicU64,
    used_bytes: AtomicU64,
    is_ready: Mutex<bool>,
}

impl TemporarySpace {
    /// `directory` is inside the environment's disk; `""` is its root. It is created at its first use.
    pub fn new(env: Env, directory: &str) -> Arc<TemporarySpace> {
        Arc::new(TemporarySpace {
            number: env.random.u64(),
            env,
            directory: directory.into(),
            next: AtomicU64::new(0),
            limit_bytes: AtomicU64::new(u64::MAX),
            used_bytes: AtomicU64::new(0),
            is_ready: Mutex::new(false),
        })
    }

    /// Removes files whose process ended in the moment in which they had a name.
    pub async fn remove_remains(&self) -> Result<(), IoError> {
        let names = match self.env.disk.list(&self.directory).await {
            Err(error) if error.is_not_found() => return Ok(()),
            names => names?,
        };
        for name in names.iter().filter(|name| name.starts_with(NAME_PREFIX)) {
            match self.env.disk.remove(&self.path_of(name)).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// From now on all files together may have so many bytes.
    pub fn set_limit(&self, bytes: u64) {
        self.limit_bytes.store(bytes, Relaxed);
    }

    /// What all files together have.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Relaxed)
    }

    /// How many files have been created.
    pub fn files_created(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Where the files are, as messages name it.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    pub async fn create(self: &Arc<Self>) -> Result<TemporaryFile, IoError> {
        if !self.directory.is_empty() && !*self.is_ready.lock() {
            self.env.disk.create_dir(&self.directory).await?;
            *self.is_ready.lock() = true;
        }
        let number = self.next.fetch_add(1, Relaxed);
        let path = self.path_of(&format!("{NAME_PREFIX}{:016x}-{number}", self.number));
        let file = self.env.disk.open(&path, OpenOptions::create_new()).await?;
        match self.env.disk.remove(&path).await {
            // Another process that starts in the same directory may have removed it.
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        Ok(TemporaryFile { file, space: self.clone(), reserved_bytes: AtomicU64::new(0) })
    }

    fn path_of(&self, name: &str) -> String {
        if self.directory.is_empty() { name.to_owned() } else { format!("{}/{name}", self.directory) }
    }
}

/// An open file without a name.
pub struct TemporaryFile {
    file: Arc<dyn File>,
    space: Arc<TemporarySpace>,
    reserved_bytes: AtomicU64,
}

impl TemporaryFile {
    /// Asks for room at the file's end; to be called before it is written there.
    pub fn reserve(&self, bytes: u64) -> Result<(), IoError> {
        let space = &self.space;
        let before = space.used_bytes.fetch_add(bytes, Relaxed);
        if before.saturating_add(bytes) > space.limit_bytes.load(Relaxed) {
            space.used_bytes.fetch_sub(bytes, Relaxed);
            return Err(IoError::new(IoOp::Write, self.file.path(), IoErrorKind::NoSpace));
        }
        self.reserved_bytes.fetch_add(bytes, Relaxed);
        Ok(())
    }

    pub fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        debug_assert!(
            offset + buffer.len() as u64 <= self.reserved_bytes.load(Relaxed),
            "room is asked for before it is written"
        );
        self.file.write_at(offset, buffer)
    }

    pub fn read_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        debug_assert!(
            offset + buffer.len() as u64 <= self.reserved_bytes.load(Relaxed),
            "what is read was written"
        );
        self.file.read_at(offset, buffer)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let bytes = *self.reserved_bytes.get_mut();
        debug_assert!(self.space.used_bytes.load(Relaxed) >= bytes, "what each file has is counted");
        self.space.used_bytes.fetch_sub(bytes, Relaxed);
        if bytes > CLOSED_AT_ONCE_BYTES {
            let file = self.file.clone();
            let cut = async move {
                // The space is free at the latest when the file is closed.
                let _ = file.set_len(0).await;
            };
            self.space.env.spawner.spawn("give temporary space back", Box::pin(cut));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Fault, SimOptions, World};

    async fn write(file: &TemporaryFile, offset: u64, length: usize) -> Result<(), IoError> {
        file.reserve(length as u64)?;
        file.write_at(offset, IoBuf::copy_of(&vec![7; length])).await.1
    }

    #[test]
    fn files_have_no_names_and_give_their_space_back() {
        let world = World::new(1, SimOptions::default());
        let env = world.env();
        let run = async move {
            let space = TemporarySpace::new(env.clone(), "tmp");
            let file = space.create().await.unwrap();
            assert_eq!(env.disk.list("tmp").await.unwrap(), Vec::<String>::new());
            write(&file, 0, 3 << 20).await.unwrap();
            let (buffer, result) = file.read_at(8192, IoBuf::zeroed(4096)).await;
            assert_eq!((result, buffer.as_slice()), (Ok(()), [7; 4096].as_slice()));
            let other = space.create().await.unwrap();
            write(&other, 0, 100).await.unwrap();
            assert_eq!((space.used_bytes(), space.files_created()), ((3 << 20) + 100, 2));
            drop(file);
            assert_eq!(space.used_bytes(), 100);
            drop(other);
            assert_eq!(space.used_bytes(), 0);
            space.set_limit(4096);
            let file = space.create().await.unwrap();
            write(&file, 0, 4096).await.unwrap();
            let refused = write(&file, 4096, 1).await.unwrap_err();
            assert!(refused.is_no_space());
            assert_eq!(space.used_bytes(), 4096);
        };
        world.block_on(run).unwrap();
    }

    #[test]
    fn a_full_disk_is_an_error_of_the_write() {
        let options = SimOptions { capacity_bytes: Some(10_000), ..SimOptions::default() };
        let world = World::new(2, options);
        let env = world.env();
        let run = async move {
            let space = TemporarySpace::new(env, "");
            let file = space.create().await.unwrap();
            write(&file, 0, 8192).await.unwrap();
            assert!(write(&file, 8192, 8192).await.unwrap_err().is_no_space());
        };
        world.block_on(run).unwrap();
    }

    #[test]
    fn what_a_cut_off_creation_left_is_removed() {
        let fault = Fault::input_output_error(IoOp::Remove, NAME_PREFIX, 0);
        let world = World::new(3, SimOptions { faults: vec![fault], ..SimOptions::default() });
        let env = world.env();
        let run = async move {
            env.disk.open("other", OpenOptions::create()).await.unwrap();
            let space = TemporarySpace::new(env.clone(), "");
            assert!(space.create().await.is_err());
            assert_eq!(env.disk.list("").await.unwrap().len(), 2);
            space.remove_remains().await.unwrap();
            assert_eq!(env.disk.list("").await.unwrap(), ["other"]);
            TemporarySpace::new(env, "absent").remove_remains().await.unwrap();
        };
        world.block_on(run).unwrap();
    }
}
