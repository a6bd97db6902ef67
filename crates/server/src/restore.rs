//! `evenkeel restore`: a data directory of a backup, its increments and the archive of the log, as of a moment.
//!
//! Invariant: the backup and the archive are only read. The new directory has the mark of a copy that is not finished until it is whole,
//! so no server starts on what an end in the middle leaves. Called by `main`.
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use archive::{ArchiveError, Restored, Until};
use binlog::Gtid;
use datum::{DateTime, TimeZone};
use env::Disk;
use env::local::{ThreadSpawner, block_on};
use instance::Directories;

use crate::backup_file;
use crate::copy_directory::{CopyDirectories, refuse_unfinished};
use crate::data_directory::hold_for_reading;
use crate::log_archive::open_place;
use crate::options::name_and_value;

const MEGABYTE: u64 = 1 << 20;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct RestorePlan {
    pub(crate) from: PathBuf,
    /// Files that continue it, the oldest first.
    pub(crate) increments: Vec<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) to: PathBuf,
    pub(crate) archive: Option<PathBuf>,
    pub(crate) until: Until,
}

impl RestorePlan {
    /// The arguments behind `restore`.
    pub fn parse(arguments: &[String]) -> Result<RestorePlan, String> {
        let (mut from, mut to, mut archive, mut until) = (None, None, None, Until::End);
        let (mut increments, mut key_file) = (Vec::new(), None);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, value) = name_and_value("restore", word, &mut words)?;
            match name {
                "--from" => from = Some(PathBuf::from(value)),
                "--to" => to = Some(PathBuf::from(value)),
                "--increment" => increments.push(PathBuf::from(value)),
                "--key-file" => key_file = Some(PathBuf::from(value)),
                "--archive" => archive = Some(PathBuf::from(value)),
                "--until" => until = parse_moment(value)?,
                _ => {
                    return Err(format!(
                        "restore takes --from, --increment, --key-file, --to, --archive and --until, not '{name}'"
                    ));
                }
            }
        }
        match (from, to) {
            (Some(from), Some(to)) => Ok(RestorePlan { from, increments, key_file, to, archive, until }),
            _ => Err("restore needs --from BACKUP and --to DATADIR".to_owned()),
        }
    }
}

const UP_TO_TRANSACTION: &str = "gtid:";
const BEFORE_TRANSACTION: &str = "before-gtid:";

/// An LSN, a transaction, or a date and time of the system's time zone.
fn parse_moment(text: &str) -> Result<Until, String> {
    for (prefix, is_wanted) in [(UP_TO_TRANSACTION, true), (BEFORE_TRANSACTION, false)] {
        if let Some(identifier) = text.strip_prefix(prefix) {
            let gtid = Gtid::parse(identifier).ok_or_else(|| {
                format!("'{identifier}' is no identifier of a transaction, such as '3e11fa47-71ca-11e1-9e33-c80aa9429562:23'")
            })?;
            return Ok(Until::Transaction { gtid, is_wanted });
        }
    }
    if let Ok(lsn) = text.parse() {
        return Ok(Until::Lsn(lsn));
    }
    let parsed = DateTime::parse(text.as_bytes(), false).filter(|parsed| !parsed.truncated);
    let micros = parsed.and_then(|parsed| TimeZone::system().to_unix_micros(parsed.value));
    let micros = micros.and_then(|micros| u64::try_from(micros).ok());
    micros.map(Until::Time).ok_or_else(|| {
        format!(
            "'{text}' is neither an LSN nor a time such as '2026-01-31 23:59:59.5' (in the system's time zone) nor a transaction \
             (gtid:UUID:NUMBER or before-gtid:UUID:NUMBER)"
        )
    })
}

/// A time for people, in the system's time zone.
pub(crate) fn show_time(unix_us: u64) -> String {
    let local = i64::try_from(unix_us).ok().and_then(|micros| TimeZone::system().to_local(micros));
    let Some(local) = local else { return format!("{unix_us} us") };
    let mut text = Vec::new();
    local.write_text(6, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Does it and says what came out.
pub fn restore(plan: &RestorePlan) -> Result<(), String> {
    println!("{}", describe(&make(plan)?, &plan.to));
    Ok(())
}

/// Makes the directory and shows how far it is.
pub(crate) fn make(plan: &RestorePlan) -> Result<Restored, String> {
    let archive = plan.archive.as_deref().map(open_place).transpose()?;
    let progress = Progress::default();
    let made = make_from(plan, archive, &|bytes| {
        progress.add(bytes);
        Ok(())
    });
    progress.end();
    made.map_err(|error| format!("not restored: {error}"))
}

/// Makes the directory of the plan's backup and an archive.
pub(crate) fn make_from(
    plan: &RestorePlan,
    archive: Option<Arc<dyn Disk>>,
    progress: archive::Progress<'_>,
) -> Result<Restored, ArchiveError> {
    let RestorePlan { from, to, until, .. } = plan;
    if !from.is_dir() {
        let files = backup_file::open_all(plan).map_err(ArchiveError::Unfit)?;
        return restore_into(to, |target| {
            block_on(archive::restore_chain(files, archive, target, *until, progress))
        });
    }
    if !plan.increments.is_empty() || plan.key_file.is_some() {
        return Err(ArchiveError::Unfit(format!(
            "{} is a data directory: --increment and --key-file are for backup files (evenkeel backup --to-file)",
            from.display()
        )));
    }
    refuse_unfinished(from).map_err(ArchiveError::Unfit)?;
    let _lock = hold_for_reading(from).map_err(ArchiveError::Unfit)?;
    let backup = env::real::scratch_env(from, Arc::new(ThreadSpawner::new(1)));
    restore_into(to, |target| block_on(archive::restore(&backup, archive, target, *until, progress)))
}

/// Makes the directory and has it filled.
fn restore_into(
    to: &Path,
    fill: impl FnOnce(Arc<dyn Disk>) -> Result<Restored, ArchiveError>,
) -> Result<Restored, ArchiveError> {
    let target = CopyDirectories.create(to).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            ArchiveError::Unfit(format!("{} is there already: name a new directory", to.display()))
        }
        _ => ArchiveError::Io(format!("cannot make {}: {error}", to.display())),
    })?;
    let restored = fill(target).and_then(|restored| {
        CopyDirectories.finish(to).map_err(|error| ArchiveError::Io(error.to_string()))?;
        Ok(restored)
    });
    restored.inspect_err(|_| {
        // What was made is of no use to anybody.
        let _ = std::fs::remove_dir_all(to);
    })
}

/// What is in it, for people.
pub(crate) fn moment_of(restored: &Restored) -> String {
    let newest = match restored.last_commit_us {
        Some(time) => format!("; the newest commit is of {}", show_time(time)),
        None => String::new(),
    };
    let mut text = format!("LSN {}{newest}", restored.to_lsn);
    if !restored.is_reached {
        text.push_str("\nthe log ends before that moment: what was committed later is not in it");
    }
    text
}

fn describe(restored: &Restored, to: &Path) -> String {
    let to = to.display();
    let mut text = format!("{to} is restored as of {}", moment_of(restored));
    text.push_str(&format!(
        "\ncheck it:   evenkeel verify {to}\nstart it:   evenkeel serve --datadir={to} --port=3307"
    ));
    text
}

/// One line that is written over and over, for people; nothing when the output goes to a file.
#[derive(Default)]
pub(crate) struct Progress {
    bytes: AtomicU64,
}

impl Progress {
    pub(crate) fn add(&self, bytes: u64) {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let (before, after) = (before / MEGABYTE, (before + bytes) / MEGABYTE);
        if after > before && std::io::stderr().is_terminal() {
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(std::io::stderr(), "\r{after} MB ");
        }
    }

    pub(crate) fn end(&self) {
        if self.bytes.load(Ordering::Relaxed) >= MEGABYTE && std::io::stderr().is_terminal() {
            eprintln!();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<RestorePlan, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        RestorePlan::parse(&words)
    }

    #[test]
    fn moments_are_lsns_or_times() {
        assert_eq!(parse_moment("123456"), Ok(Until::Lsn(123_456)));
        let Ok(Until::Time(whole)) = parse_moment("2026-01-31 23:59:59") else { panic!("a time") };
        assert_eq!(parse_moment("2026-01-31 23:59:59.25"), Ok(Until::Time(whole + 250_000)));
        assert_eq!(show_time(whole + 250_000), "2026-01-31 23:59:59.250000");
        let gtid = Gtid::parse("3e11fa47-71ca-11e1-9e33-c80aa9429562:23").expect("an identifier");
        for (prefix, is_wanted) in [("gtid:", true), ("before-gtid:", false)] {
            assert_eq!(parse_moment(&format!("{prefix}{gtid}")), Ok(Until::Transaction { gtid, is_wanted }));
        }
        for wrong in [
            "",
            "-1",
            "gtid:",
            "gtid:7",
            "before-gtid:3e11fa47:1",
            "yesterday",
            "2026-13-01 00:00:00",
            "2026-01-31 23:59:59 x",
        ] {
            assert!(parse_moment(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_are_checked() {
        let plan = parse(&["--from", "a", "--to=b", "--archive", "c", "--until=7"]).expect("valid");
        let expected = RestorePlan {
            from: "a".into(),
            increments: Vec::new(),
            key_file: None,
            to: "b".into(),
            archive: Some("c".into()),
            until: Until::Lsn(7),
        };
        assert_eq!(plan, expected);
        let words = ["--from=a", "--increment=i", "--increment", "j", "--key-file=k", "--to=b"];
        let plan = parse(&words).expect("valid");
        assert_eq!(plan.increments, [PathBuf::from("i"), "j".into()]);
        assert_eq!(plan.key_file, Some("k".into()));
        for wrong in [&["--from", "a"][..], &["--from"], &["--from=a", "--to=b", "--other=c"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
