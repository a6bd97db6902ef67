//! CLONE LOCAL DATA DIRECTORY: a copy of the whole database in a new directory, made while everybody works.
//!
//! Invariant: a directory whose copy is not whole is removed, however the statement ends, and no server starts on one that
//! could not be removed. The copy has what was durable when the statement ends.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datum::{SqlError, error_code};
use instance::{Directories, Instance};

use crate::caller::Caller;
use session::Done;
use session::Shield;
use session::transaction_error;

impl Caller<'_> {
    pub(crate) async fn clone_local(&mut self, directory: &str, shield: &Shield) -> Result<Done, SqlError> {
        let path = Path::new(directory);
        if !path.is_absolute() {
            return Err(error_code::ER_WRONG_VALUE.with(&[&"path", &directory]));
        }
        let directories = self.instance().backups.directories();
        let directories =
            directories.ok_or_else(|| error_code::ER_NOT_SUPPORTED_YET.with(&[&"CLONE here"]))?;
        let instance = self.instance().clone();
        let Some(progress) = instance.backups.begin(self.connection().id, directory) else {
            return Err(error_code::ER_CLONE_TOO_MANY_CONCURRENT_CLONES.with(&[&1]));
        };
        let interrupted = error_code::ER_QUERY_INTERRUPTED.plain();
        let mut unfinished = Unfinished {
            instance: instance.clone(),
            directories: directories.clone(),
            made: None,
            failure: Some((interrupted.errno, interrupted.message)),
        };
        let result = async {
            let disk = directories.create(path).map_err(|error| not_created(directory, &error))?;
            unfinished.made = Some(path.to_owned());
            let copied = instance.engine().back_up(disk, &progress).await.map_err(transaction_error)?;
            // Only the mark goes: from here on it cannot be half done.
            shield.raise();
            let finished = directories.finish(path).map_err(|error| not_created(directory, &error));
            shield.lower();
            finished.map(|()| copied)
        }
        .await;
        match result {
            Ok(copied) => {
                unfinished.made = None;
                unfinished.failure = None;
                instance.log(&format!(
                    "a copy of the database was made in {directory}: {} pages of {} bytes, log up to LSN {}",
                    copied.pages, copied.page_size_bytes, copied.to_lsn
                ));
                Ok(Done::ok())
            }
            Err(error) => {
                unfinished.failure = Some((error.errno, error.message.clone()));
                Err(error)
            }
        }
    }
}

fn not_created(directory: &str, error: &std::io::Error) -> SqlError {
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => error_code::ER_DB_CREATE_EXISTS.with(&[&directory]),
        _ => {
            let text = error.to_string();
            let reason = text.split(" (os error").next().unwrap_or_default();
            let shown = format!("{}/", directory.trim_end_matches('/'));
            let errno = error.raw_os_error().unwrap_or(0);
            error_code::ER_CANT_CREATE_DB.with(&[&shown, &errno, &reason])
        }
    }
}

/// A copy under way: whatever ends the statement, what it has made goes and its end is noted.
struct Unfinished {
    instance: Arc<Instance>,
    directories: Arc<dyn Directories>,
    made: Option<PathBuf>,
    failure: Option<(u16, String)>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            self.directories.remove(path);
        }
        self.instance.backups.end(self.failure.take());
    }
}
