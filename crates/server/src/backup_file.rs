//! Backup files for `evenkeel restore` and `evenkeel verify`: opened by their names, `-` being standard input and
//! `s3://` an object of a store, with the key of a key file.
//!
//! Invariant: they are only read, once, from the beginning to the end. Called by `restore`, `verify`, `prune` and who repairs from
//! backups.
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use archive::{ArchiveError, BackupKey, BackupReader, check_backup, is_backup_file};
use objects::{Download, Location};

use crate::restore::{Progress, RestorePlan, show_time};

const BUFFER_BYTES: usize = 1 << 20;
/// Standard input.
const INPUT: &str = "-";

pub(crate) type Reader = BackupReader<Box<dyn Read>>;

/// The full backup and its increments.
pub(crate) fn open_all(plan: &RestorePlan) -> Result<Vec<Reader>, String> {
    let key = plan.key_file.as_deref().map(read_key).transpose()?;
    let all = std::iter::once(&plan.from).chain(&plan.increments);
    if all.clone().filter(|path| path.as_os_str() == INPUT).count() > 1 {
        return Err("only one of the backups can come from standard input".into());
    }
    all.map(|path| open(path, key.as_ref()).map_err(|error| error.to_string())).collect()
}

pub(crate) fn open(path: &Path, key: Option<&BackupKey>) -> Result<Reader, ArchiveError> {
    let name = path.display().to_string();
    let input: Box<dyn Read> = match path.as_os_str() == INPUT {
        false if Location::is_one(&name) => {
            let download = Download::named(&name).map_err(ArchiveError::Io)?;
            Box::new(BufReader::with_capacity(BUFFER_BYTES, download))
        }
        true => Box::new(std::io::stdin().lock()),
        false if path.is_dir() => {
            let what = format!("{name} is a directory: increments continue a backup in a file");
            return Err(ArchiveError::Unfit(what));
        }
        false => {
            let opened = File::open(path);
            let file = opened.map_err(|error| ArchiveError::Io(format!("cannot read {name}: {error}")))?;
            Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
        }
    };
    BackupReader::open(input, &name, key)
}

pub(crate) fn read_key(path: &Path) -> Result<BackupKey, String> {
    let name = path.display();
    let content = std::fs::read(path).map_err(|error| format!("cannot read the key file {name}: {error}"))?;
    BackupKey::new(&content)
        .ok_or_else(|| format!("the key file {name} is too short: it needs 32 bytes or more"))
}

/// Whether it begins as one, or cannot be read.
pub(crate) fn is_backup(path: &Path) -> bool {
    let name = path.display().to_string();
    match Location::is_one(&name) {
        true => is_backup_file(Download::named(&name).ok()),
        false => is_backup_file(File::open(path).ok()),
    }
}

/// Whether `evenkeel verify` was given one.
pub(crate) fn is_one(path: &Path) -> bool {
    path.as_os_str() == INPUT || path.is_file() || path.to_str().is_some_and(Location::is_one)
}

/// Checks every byte of a backup file and says what it is. True when nothing is wrong.
pub(crate) fn verify(path: &Path, key_file: Option<&Path>) -> Result<bool, String> {
    let key = key_file.map(read_key).transpose()?;
    let file = match open(path, key.as_ref()) {
        Err(ArchiveError::Damaged(what)) => {
            println!("damaged: {what}");
            return Ok(false);
        }
        other => other.map_err(|error| error.to_string())?,
    };
    let progress = Progress::default();
    let check = check_backup(file, &|bytes| progress.add(bytes));
    progress.end();
    let head = &check.head;
    let base = if head.base == 0 { String::new() } else { format!(", continues {:016x}", head.base) };
    println!("{} {:016x}{base}, begun {}", check.kind, head.id, show_time(head.begun_us));
    println!(
        "pages: {} of {} bytes; log: {} bytes from LSN {} on; file: {} bytes",
        check.pages, head.page_size_bytes, check.log_bytes, head.from_lsn, check.bytes
    );
    if let Some(end) = &check.end {
        println!("complete up to LSN {}", end.to_lsn);
    }
    check.faults.iter().for_each(|fault| println!("damaged: {fault}"));
    let is_sound = check.faults.is_empty();
    println!("{}", if is_sound { "everything is sound" } else { "there is damage, see above" });
    Ok(is_sound)
}
