//! Files of the host that statements name: INTO OUTFILE, LOAD DATA INFILE, LOAD_FILE.
//!
//! Invariant: a file is opened or created only where `secure_file_priv` allows it, judged after links and `..` are followed;
//! nothing that exists is written, and nothing is created among the server's own files. Names without a folder are in
//! `files/DATABASE` of the data directory. All of it goes through `env`, so no worker waits for a disk.
use std::sync::{Arc, OnceLock};

use datum::{SqlError, error_code};
use env::{Disk, File, IoError, IoErrorKind, OpenOptions};

/// The folder of the data directory for names without one.
const OWN_FOLDER: &str = "files";

#[derive(Default)]
pub struct HostFiles {
    host: OnceLock<Host>,
}

struct Host {
    /// The root of the host's file system.
    disk: Arc<dyn Disk>,
    data_directory: String,
}

/// Where a name leads, before links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPath {
    /// As messages show it.
    pub shown: String,
    /// The server's own folder for it, which is made at need.
    own_folder: Option<String>,
}

impl HostFiles {
    /// Says where the files of the host are; once, by the program. `data_directory` is absolute.
    pub fn set(&self, disk: Arc<dyn Disk>, data_directory: &str) {
        let data_directory = data_directory.trim_end_matches('/').to_owned();
        let _ = self.host.set(Host { disk, data_directory });
    }

    /// The file that a statement in a database means by a name.
    pub fn path_of(&self, name: &str, database: Option<&str>) -> Result<HostPath, SqlError> {
        let own = format!("{}/{OWN_FOLDER}", self.host()?.data_directory);
        if name.starts_with('/') {
            return Ok(HostPath { shown: name.to_owned(), own_folder: None });
        }
        if name.contains('/') {
            return Ok(HostPath { shown: format!("{own}/{name}"), own_folder: Some(own) });
        }
        let folder = match database {
            Some(database) => format!("{own}/{}", folder_name(database)),
            None => own,
        };
        Ok(HostPath { shown: format!("{folder}/{name}"), own_folder: Some(folder) })
    }

    /// Creates a file that does not exist. `name` is what the statement calls it, `allowed` is `secure_file_priv`.
    pub async fn create(
        &self,
        path: &HostPath,
        name: &str,
        allowed: &str,
    ) -> Result<Arc<dyn File>, SqlError> {
        let host = self.host()?;
        let refused = |error: IoError| with_reason(error_code::EE_CANTCREATEFILE, &path.shown, &error);
        if allowed.eq_ignore_ascii_case("NULL") {
            return Err(not_allowed());
        }
        if let Some(folder) = &path.own_folder {
            host.disk.create_dir(inside_root(folder)).await.map_err(refused)?;
        }
        let (folder, file) = path.shown.rsplit_once('/').unwrap_or(("", &path.shown));
        let folder = host.disk.canonical(inside_root(folder)).await;
        let is_outside = matches!(&folder, Ok(folder) if !host.allows(allowed, folder).await);
        if is_outside || folder.is_err() && !allowed.is_empty() {
            return Err(not_allowed());
        }
        let folder = folder.map_err(refused)?;
        if file.is_empty() || file == "." || file == ".." {
            return Err(error_code::ER_FILE_EXISTS_ERROR.with(&[&name]));
        }
        if host.is_own(&folder).await {
            let denied = IoError::from_errno(env::IoOp::Open, &path.shown, PERMISSION_DENIED);
            return Err(refused(denied));
        }
        let full = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
        let options = OpenOptions::create_new().group_reads();
        host.disk.open(&full, options).await.map_err(|error| match error.kind {
            IoErrorKind::AlreadyExists => error_code::ER_FILE_EXISTS_ERROR.with(&[&name]),
            _ => refused(error),
        })
    }

    /// Opens a file for reading; gives its length too.
    pub async fn open(&self, path: &HostPath, allowed: &str) -> Result<(Arc<dyn File>, u64), SqlError> {
        let host = self.host()?;
        if allowed.eq_ignore_ascii_case("NULL") {
            return Err(not_allowed());
        }
        let real = host.disk.canonical(inside_root(&path.shown)).await;
        if !allowed.is_empty() {
            let real = real.as_deref().unwrap_or(inside_root(&path.shown));
            let folder = real.rsplit_once('/').map_or("", |(folder, _)| folder);
            let folder = host.disk.canonical(folder).await;
            let is_inside = matches!(&folder, Ok(folder) if host.allows(allowed, folder).await);
            if !is_inside {
                return Err(not_allowed());
            }
        }
        let real = real.map_err(|error| with_reason(error_code::EE_STAT, &path.shown, &error))?;
        let opened = host.disk.open(&real, OpenOptions::existing().read_only()).await;
        let file = opened.map_err(|error| match error.kind {
            IoErrorKind::Os(IS_A_DIRECTORY) => error_code::ER_TEXTFILE_NOT_READABLE.with(&[&path.shown]),
            _ => with_reason(error_code::EE_FILENOTFOUND, &path.shown, &error),
        })?;
        let length = file.len().await.map_err(|error| read_error(&path.shown, &error))?;
        Ok((file, length))
    }

    fn host(&self) -> Result<&Host, SqlError> {
        self.host.get().ok_or_else(not_allowed)
    }
}

impl Host {
    /// Whether a folder, without links, is the allowed one or inside of it. An empty rule allows all.
    async fn allows(&self, allowed: &str, folder: &str) -> bool {
        if allowed.is_empty() {
            return true;
        }
        match self.disk.canonical(inside_root(allowed)).await {
            Ok(allowed) => is_inside(folder, &allowed),
            Err(_) => false,
        }
    }

    /// Whether a folder has files of the server.
    async fn is_own(&self, folder: &str) -> bool {
        let Ok(data) = self.disk.canonical(inside_root(&self.data_directory)).await else { return false };
        is_inside(folder, &data) && !is_inside(folder, &format!("{data}/{OWN_FOLDER}"))
    }
}

const PERMISSION_DENIED: i32 = 13;
const IS_A_DIRECTORY: i32 = 21;

fn is_inside(folder: &str, outer: &str) -> bool {
    folder == outer
        || outer.is_empty()
        || folder.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// The disk's paths begin below its root.
fn inside_root(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// A database's name as the name of a folder.
fn folder_name(database: &str) -> String {
    let part = |letter: char| match letter {
        letter if letter.is_alphanumeric() || letter == '_' => letter.to_string(),
        other => format!("@{:04x}", u32::from(other)),
    };
    database.chars().map(part).collect()
}

fn not_allowed() -> SqlError {
    error_code::ER_OPTION_PREVENTS_STATEMENT.with(&[&"--secure-file-priv"])
}

fn with_reason(code: datum::ErrorCode, path: &str, error: &IoError) -> SqlError {
    let (number, text) = reason(error);
    code.with(&[&path, &number, &text])
}

/// Error 1024.
pub fn read_error(path: &str, error: &IoError) -> SqlError {
    with_reason(error_code::ER_ERROR_ON_READ, path, error)
}

/// Error 1026.
pub fn write_error(path: &str, error: &IoError) -> SqlError {
    with_reason(error_code::ER_ERROR_ON_WRITE, path, error)
}

fn reason(error: &IoError) -> (i32, String) {
    let number = error.errno();
    let text = std::io::Error::from_raw_os_error(number).to_string();
    (number, text.split(" (os error").next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::sim::{SimOptions, World};

    #[test]
    fn files_are_where_the_rule_allows_them_and_never_among_the_servers() {
        let world = World::new(1, SimOptions::default());
        let env = world.env();
        let run = async move {
            for folder in ["data/d", "exports/in", "exports2"] {
                env.disk.create_dir(folder).await.unwrap();
            }
            let files = HostFiles::default();
            let nowhere = files.path_of("x", None).unwrap_err();
            assert_eq!(nowhere.errno, 1290);
            files.set(env.disk.clone(), "/data/");
            let create = async |name: &str, allowed: &str| {
                let path = files.path_of(name, Some("d-b")).unwrap();
                files.create(&path, name, allowed).await.map(|_| ()).map_err(|error| error.errno)
            };
            assert_eq!(create("/exports/a", "NULL").await, Err(1290));
            assert_eq!(create("/exports2/a", "/exports").await, Err(1290));
            assert_eq!(create("/exports/in/a", "/exports").await, Ok(()));
            assert_eq!(create("/exports/in/a", "").await, Err(1086));
            assert_eq!(create("/nowhere/a", "").await, Err(1));
            assert_eq!(create("/data/a", "").await, Err(1));
            assert_eq!(create("a", "").await, Ok(()));
            assert_eq!(env.disk.list("data/files/d@002db").await.unwrap(), ["a"]);
            let open = async |name: &str, allowed: &str| {
                let path = files.path_of(name, Some("d-b")).unwrap();
                files.open(&path, allowed).await.map(|(_, length)| length).map_err(|error| error.errno)
            };
            assert_eq!(open("a", "").await, Ok(0));
            assert_eq!(open("a", "/exports").await, Err(1290));
            assert_eq!(open("/exports/in/a", "/exports/in").await, Ok(0));
        };
        world.block_on(run).unwrap();
    }
}
