//! The schedules of this repository with their recorded answers, and the differences that are known.
//!
//! `schedules/TOPIC.txt` holds schedules, `schedules/TOPIC.recorded` what MySQL answered, and
//! `schedules/known-differences.txt` the schedules that show a difference, under the class and the reason:
//!
//! ```text
//! [stricter] a scan protects the range up to its bound
//!     gaps: insert behind the last row [RR]
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::recording;
use crate::schedule::{Schedule, parse};

/// Where this repository keeps its schedules.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schedules")
}

/// A schedule under `topic: name`, with what MySQL answered.
#[derive(Debug)]
pub struct Entry {
    pub topic: String,
    pub schedule: Schedule,
    pub recorded: Option<Vec<String>>,
}

impl Entry {
    pub fn id(&self) -> String {
        format!("{}: {}", self.topic, self.schedule.name)
    }
}

#[derive(Debug)]
pub struct Library {
    pub folder: PathBuf,
    pub entries: Vec<Entry>,
}

impl Library {
    /// Reads a folder; an error names the file.
    pub fn read(folder: &Path) -> Result<Library, String> {
        let mut entries = Vec::new();
        let mut names = BTreeSet::new();
        for topic in topics(folder)? {
            let path = folder.join(format!("{topic}.txt"));
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let recorded =
                std::fs::read_to_string(folder.join(format!("{topic}.recorded"))).unwrap_or_default();
            let mut recorded = recording::read(&recorded);
            for schedule in parse(&text).map_err(|error| format!("{}: {error}", path.display()))? {
                let recorded = recorded.remove(&schedule.name);
                let entry = Entry { topic: topic.clone(), schedule, recorded };
                if !names.insert(entry.id()) {
                    return Err(format!("two schedules are called {}", entry.id()));
                }
                entries.push(entry);
            }
        }
        Ok(Library { folder: folder.to_path_buf(), entries })
    }

    /// Keeps the entries whose id contains the text.
    pub fn only(mut self, part: &str) -> Library {
        self.entries.retain(|entry| entry.id().contains(part));
        self
    }

    /// Writes the recordings of all entries beside their schedules.
    pub fn write(&self) -> Result<(), String> {
        let mut by_topic: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in &self.entries {
            by_topic.entry(&entry.topic).or_default().push(entry);
        }
        for (topic, entries) in by_topic {
            let path = self.folder.join(format!("{topic}.recorded"));
            let lines = entries.iter().filter_map(|entry| {
                entry.recorded.as_deref().map(|lines| (entry.schedule.name.as_str(), lines))
            });
            std::fs::write(&path, recording::write(lines))
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }
}

fn topics(folder: &Path) -> Result<Vec<String>, String> {
    let listed = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut topics: Vec<String> = listed
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".txt")?.to_owned()))
        .filter(|topic| topic != "known-differences")
        .collect();
    topics.sort();
    Ok(topics)
}

/// Which schedules are known to differ, and why.
#[derive(Debug, Default)]
pub struct KnownDifferences {
    /// The reason by schedule id.
    pub reasons: BTreeMap<String, String>,
}

impl KnownDifferences {
    pub fn read(folder: &Path) -> Result<KnownDifferences, String> {
        match std::fs::read_to_string(folder.join("known-differences.txt")) {
            Ok(text) => KnownDifferences::parse(&text),
            Err(_) => Ok(KnownDifferences::default()),
        }
    }

    fn parse(text: &str) -> Result<KnownDifferences, String> {
        let mut known = KnownDifferences::default();
        let mut reason = None;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line.starts_with('[') {
                reason = Some(line.to_owned());
                continue;
            }
            let reason = reason.clone().ok_or(format!("known-differences.txt: no reason before {line}"))?;
            if known.reasons.insert(line.trim().to_owned(), reason).is_some() {
                return Err(format!("known-differences.txt: {} stands there twice", line.trim()));
            }
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_differences_have_reasons() {
        let known =
            KnownDifferences::parse("# head\n[laxer] because\n    a: b [RR]\n    a: c\n").expect("parsed");
        assert_eq!(known.reasons["a: b [RR]"], "[laxer] because");
        assert_eq!(known.reasons.len(), 2);
        assert!(KnownDifferences::parse("    a: b\n").is_err());
    }

    #[test]
    fn every_schedule_is_recorded_and_every_known_difference_exists() {
        let library = Library::read(&folder()).expect("the schedules are well formed");
        let missing: Vec<String> =
            library.entries.iter().filter(|entry| entry.recorded.is_none()).map(Entry::id).collect();
        assert!(missing.is_empty(), "not recorded: {missing:?}");
        let ids: BTreeSet<String> = library.entries.iter().map(Entry::id).collect();
        let known = KnownDifferences::read(&folder()).expect("the list is well formed");
        let unknown: Vec<&String> = known.reasons.keys().filter(|id| !ids.contains(*id)).collect();
        assert!(unknown.is_empty(), "known differences of schedules that do not exist: {unknown:?}");
    }
}
