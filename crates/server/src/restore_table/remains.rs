//! The working directory of a RESTORE TABLE, and what is done at a start with those that an end in the middle has left.
//!
//! Invariant: before the unfinished table is made its name is durable in the directory, so whatever ends the server the next start
//! drops that table. The name is of random digits; nobody else has it. Called by `statement` and `start`.
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instance::Instance;
use session::Session;

use super::table_copy::TableName;
use crate::data_directory::write_private;
use crate::log;

/// In the data directory.
const WORK: &str = "restore-table";
const MARK: &str = "table";
const OWNER_ONLY: u32 = 0o700;
/// ER_BAD_DB_ERROR.
const NO_SUCH_DATABASE: u16 = 1049;

/// A directory of its own; it goes with this.
pub(super) struct WorkDirectory {
    path: PathBuf,
}

impl WorkDirectory {
    pub fn create(data_directory: &Path, number: u64) -> io::Result<WorkDirectory> {
        let path = data_directory.join(WORK).join(format!("{number:016x}"));
        DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(&path)?;
        Ok(WorkDirectory { path })
    }

    /// Where the database is restored.
    pub fn copy(&self) -> PathBuf {
        self.path.join("copy")
    }

    /// Makes the name of the unfinished table durable.
    pub fn mark(&self, loading: &TableName, is_logged: bool) -> Result<(), String> {
        let text = format!("{}\0{}\0{}", u8::from(is_logged), loading.database, loading.table);
        write_private(&self.path.join(MARK), text.as_bytes())?;
        let mut upper = self.path.ancestors().take(3);
        upper.try_for_each(sync).map_err(|error| format!("cannot sync {}: {error}", self.path.display()))
    }
}

impl Drop for WorkDirectory {
    fn drop(&mut self) {
        // The next start removes what cannot be removed now.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn read_mark(path: &Path) -> Option<(bool, TableName)> {
    let text = fs::read_to_string(path.join(MARK)).ok()?;
    let parts: Vec<&str> = text.split('\0').collect();
    let [is_logged, database, table] = parts[..] else { return None };
    Some((is_logged == "1", TableName { database: database.to_owned(), table: table.to_owned() }))
}

/// Drops the tables and removes the files of what an end in the middle has left. Before clients are let in.
pub(crate) async fn remove_remains(instance: Arc<Instance>, data_directory: PathBuf) {
    let Ok(entries) = fs::read_dir(data_directory.join(WORK)) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if let Some((is_logged, table)) = read_mark(&path) {
            match drop_table(&instance, &table, is_logged).await {
                Ok(()) => log::system(&format!(
                    "the unfinished table {} of a RESTORE TABLE is gone",
                    table.quoted()
                )),
                Err(error) => {
                    log::warning(&format!(
                        "the unfinished table {} of a RESTORE TABLE cannot be dropped: {error}; the next start tries again",
                        table.quoted()
                    ));
                    continue;
                }
            }
        }
        // Giving back gigabytes takes a file system a while.
        let removed =
            std::thread::Builder::new().name("remove-restore".into()).spawn(move || fs::remove_dir_all(path));
        if let Err(error) = removed {
            log::warning(&format!("a directory of a RESTORE TABLE is left behind: {error}"));
        }
    }
}

async fn drop_table(instance: &Arc<Instance>, table: &TableName, is_logged: bool) -> Result<(), String> {
    let mut session = Session::of_server(instance.clone(), crate::FAMILIES);
    let drop = format!("DROP TABLE IF EXISTS {}", table.quoted());
    let mut dropped = session.obey(format!("SET sql_log_bin = {}", u8::from(is_logged)).as_bytes()).await;
    if dropped.is_ok() {
        dropped = session.obey(drop.as_bytes()).await;
    }
    session.close().await;
    match dropped {
        Err(error) if error.errno != NO_SUCH_DATABASE => Err(error.message),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_and_the_directory_goes() {
        let data = std::env::temp_dir().join(format!("evenkeel-remains-{}", std::process::id()));
        let work = WorkDirectory::create(&data, 7).expect("writable");
        assert_eq!(read_mark(&work.path), None);
        let table = TableName { database: "a.b\n".into(), table: "c".into() };
        work.mark(&table, true).expect("writable");
        assert_eq!(read_mark(&work.path), Some((true, table)));
        let path = work.path.clone();
        drop(work);
        assert!(!path.exists());
        fs::remove_dir_all(data).expect("removable");
    }
}
