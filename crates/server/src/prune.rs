//! `evenkeel prune`: removes old backup files of a directory, and tells the archive which log the others need.
//!
//! Invariant: the newest backup stays in any case, and nothing goes that a kept backup continues; what is no backup file, or
//! cannot be read, is left alone and said; the archive is told before a file goes. Called by `main`.
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use archive::{KeepRule, Retention};
use engine::BackupHead;
use env::local::block_on;

use crate::backup_file::{is_backup, open, read_key};
use crate::backup_folder::BackupFolder;
use crate::log_archive::open_place;
use crate::options::name_and_value;
use crate::restore::show_time;

const DAY_US: u64 = 24 * 3600 * 1_000_000;
const USAGE: &str = "prune needs --backups DIRECTORY and --keep NUMBER or --keep-days NUMBER (or both)";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct PrunePlan {
    backups: PathBuf,
    newest: usize,
    days: Option<u64>,
    key_file: Option<PathBuf>,
    archive: Option<PathBuf>,
    is_dry: bool,
}

impl PrunePlan {
    /// The arguments behind `prune`.
    pub fn parse(arguments: &[String]) -> Result<PrunePlan, String> {
        let (mut backups, mut newest, mut days) = (None, None, None);
        let (mut key_file, mut archive, mut is_dry) = (None, None, false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--dry-run" {
                is_dry = true;
                continue;
            }
            let (name, value) = name_and_value("prune", word, &mut words)?;
            let number = || value.parse::<u64>().map_err(|_| format!("prune: '{value}' is no number"));
            match name {
                "--backups" => backups = Some(PathBuf::from(value)),
                "--keep" => newest = Some(number()? as usize),
                "--keep-days" => days = Some(number()?),
                "--key-file" => key_file = Some(PathBuf::from(value)),
                "--archive" => archive = Some(PathBuf::from(value)),
                _ => {
                    return Err(format!(
                        "prune takes --backups, --keep, --keep-days, --key-file, --archive and --dry-run, not '{name}'"
                    ));
                }
            }
        }
        let backups = backups.filter(|_| newest.is_some() || days.is_some()).ok_or(USAGE)?;
        Ok(PrunePlan { backups, newest: newest.unwrap_or(1).max(1), days, key_file, archive, is_dry })
    }
}

/// Does it and says what became of each file.
pub fn prune(plan: &PrunePlan) -> Result<(), String> {
    let mut backups = BackupFolder::open(&plan.backups)?;
    let found = find(plan, &mut backups)?;
    let heads: Vec<BackupHead> = found.iter().map(|(_, head)| *head).collect();
    let now_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let since_us = plan.days.map(|days| now_us.saturating_sub(days.saturating_mul(DAY_US)));
    let retention = Retention::of(&heads, KeepRule { newest: plan.newest, since_us });
    let say = |what: &str, index: &usize| {
        let (path, head) = &found[*index];
        println!("{what}: {}, begun {}", path.display(), show_time(head.begun_us));
    };
    retention.asked_for.iter().for_each(|index| say("kept", index));
    retention.bases.iter().for_each(|index| say("kept, since others continue it", index));
    retention
        .orphans
        .iter()
        .for_each(|index| say("left alone, since the backup that it continues is not here", index));
    if let Some(archive) = &plan.archive {
        tell_archive(archive, &retention, &heads, plan.is_dry)?;
    }
    let verb = if plan.is_dry { "would be removed" } else { "removed" };
    for index in &retention.removed {
        if !plan.is_dry {
            backups.remove(&found[*index].0)?;
        }
        say(verb, index);
    }
    Ok(())
}

/// The backup files of the directory.
fn find(plan: &PrunePlan, backups: &mut BackupFolder) -> Result<Vec<(PathBuf, BackupHead)>, String> {
    let key = plan.key_file.as_deref().map(read_key).transpose()?;
    let mut found: Vec<(PathBuf, BackupHead)> = Vec::new();
    for path in backups.files()? {
        match open(&path, key.as_ref()) {
            Ok(reader) => found.push((path, *reader.head())),
            // With it unread it is not known what it continues.
            Err(error) if is_backup(&path) => return Err(format!("nothing is removed: {error}")),
            Err(_) => println!("left alone, since it is no backup file: {}", path.display()),
        }
    }
    found.sort_by(|one, other| one.1.begun_us.cmp(&other.1.begun_us).then_with(|| one.0.cmp(&other.0)));
    Ok(found)
}

fn tell_archive(
    path: &Path,
    retention: &Retention,
    heads: &[BackupHead],
    is_dry: bool,
) -> Result<(), String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("cannot use the archive {}: {error}", path.display());
    let disk = open_place(path)?;
    if !block_on(archive::is_archive(&*disk)).map_err(|error| failed(&error))? {
        return Err(failed(&"it is no archive of a log"));
    }
    let Some(lsn) = retention.log_needed_from(heads) else { return Ok(()) };
    if !is_dry {
        block_on(archive::keep_log_from(&*disk, lsn)).map_err(|error| failed(&error))?;
    }
    println!("the log is needed from LSN {lsn} on; {} keeps it from there", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            PrunePlan::parse(&words)
        };
        let plan = parse(&["--backups=b", "--keep", "7", "--keep-days=3", "--dry-run", "--archive", "a"]);
        let expected = PrunePlan {
            backups: "b".into(),
            newest: 7,
            days: Some(3),
            key_file: None,
            archive: Some("a".into()),
            is_dry: true,
        };
        assert_eq!(plan, Ok(expected));
        for wrong in
            [&["--backups=b"][..], &["--keep=1"], &["--backups=b", "--keep=x"], &["--other=1"], &["--keep"]]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
