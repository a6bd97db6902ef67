//! Writes lines to the file in frames, and keeps them when the disk is full.
//!
//! Invariant: the file is whole frames at any time (a frame that did not fit is cut off again), and what waits for room
//! is bounded; what must be dropped is told as a gap. Used by `recorder`.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

const LEVEL: i32 = 3;
/// Bytes of frames that may wait for room on the disk.
const WAITING_MAX: usize = 64 << 20;

/// The file.
pub struct Writer {
    path: PathBuf,
    file: File,
    /// Bytes of whole frames in the file.
    length: u64,
    lines: Vec<u8>,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    waiting_max: usize,
    dropped_since: Option<u64>,
    /// The last trouble, told once.
    trouble: Option<String>,
}

impl Writer {
    pub fn create(path: &Path) -> Result<Self, String> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            length: 0,
            lines: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            waiting_max: WAITING_MAX,
            dropped_since: None,
            trouble: None,
        })
    }

    pub fn put(&mut self, line: &Value) {
        // A write to memory cannot fail.
        let _ = writeln!(self.lines, "{line}");
    }

    /// Writes a frame of the lines so far; answers a trouble once, when it begins.
    pub fn flush(&mut self, now: u64) -> Option<String> {
        if !self.lines.is_empty() {
            match zstd::bulk::compress(&self.lines, LEVEL) {
                Ok(frame) => self.keep(frame, now),
                Err(error) => return Some(format!("a frame cannot be packed: {error}")),
            }
            self.lines.clear();
        }
        while let Some(frame) = self.waiting.front() {
            let written =
                self.file.seek(SeekFrom::Start(self.length)).and_then(|_| self.file.write_all(frame));
            if let Err(error) = written {
                // What was written of it is cut off, so that the file still reads. Cutting needs no room.
                let _ = self.file.set_len(self.length);
                let trouble = format!("{}: {error}", self.path.display());
                return self.trouble.replace(trouble.clone()).is_none().then_some(trouble);
            }
            self.length += frame.len() as u64;
            self.waiting_bytes -= frame.len();
            self.waiting.pop_front();
        }
        self.trouble = None;
        if let Some(since) = self.dropped_since.take() {
            self.put(
                &json!({ "type": "gap", "at": since, "until": now, "why": "there was no room on the disk" }),
            );
        }
        None
    }

    fn keep(&mut self, frame: Vec<u8>, now: u64) {
        self.waiting_bytes += frame.len();
        self.waiting.push_back(frame);
        while self.waiting_bytes > self.waiting_max {
            let Some(oldest) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= oldest.len();
            self.dropped_since.get_or_insert(now);
        }
    }

    /// Writes what is left; fails if some of it finds no room.
    pub fn end(&mut self, now: u64) -> Result<u64, String> {
        let mut trouble = self.flush(now);
        if self.waiting.is_empty() {
            // What was dropped is told behind what waited.
            trouble = trouble.or(self.flush(now));
        }
        match trouble.or(self.trouble.take()) {
            Some(trouble) => Err(format!("{trouble}; {} bytes of samples are lost", self.waiting_bytes)),
            None => Ok(self.length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other_and_a_full_disk_loses_nothing() {
        let path = std::env::temp_dir().join(format!("evenkeel-writer-{}", std::process::id()));
        let mut writer = Writer::create(&path).unwrap();
        writer.put(&json!({"a": 1}));
        assert_eq!(writer.flush(0), None);
        // Every write to this device says that there is no room.
        let real =
            std::mem::replace(&mut writer.file, OpenOptions::new().write(true).open("/dev/full").unwrap());
        writer.put(&json!({"a": 2}));
        assert!(writer.flush(0).unwrap().contains("No space"));
        writer.put(&json!({"a": 3}));
        assert_eq!(writer.flush(0), None);
        assert!(writer.end(0).unwrap_err().contains("are lost"), "told before, and still a failure");
        writer.file = real;
        assert!(writer.end(0).is_ok());
        let text = zstd::decode_all(File::open(&path).unwrap()).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_disk_that_stays_full_costs_the_oldest_samples_and_says_so() {
        let path = std::env::temp_dir().join(format!("evenkeel-full-{}", std::process::id()));
        let mut writer = Writer::create(&path).unwrap();
        writer.waiting_max = 200;
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let real = std::mem::replace(&mut writer.file, full);
        for second in 0..100 {
            writer.put(&json!({ "second": second }));
            writer.flush(second * 1000);
            assert!(writer.waiting_bytes <= 200);
        }
        writer.file = real;
        assert_eq!(writer.flush(100_000), None);
        // The gap is told in the frame behind what waited.
        writer.put(&json!({"second": 100}));
        assert_eq!(writer.flush(101_000), None);
        let text = String::from_utf8(zstd::decode_all(File::open(&path).unwrap()).unwrap()).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let gap = lines.iter().find(|line| line["type"] == "gap").unwrap();
        let first = lines[0]["second"].as_u64().unwrap();
        assert!(gap["at"].as_u64().unwrap() <= first * 1000 && gap["until"] == 100_000, "{text}");
        assert_eq!(lines.iter().filter(|line| line["second"].is_u64()).count() as u64, 101 - first);
        std::fs::remove_file(path).unwrap();
    }
}
