//! The files of the general, slow and audit log: one thread writes what sessions queue.
//!
//! Invariant: queueing never waits. The queue is bounded in records and in bytes; a record that finds no room is lost and
//! counted, and a line in the error log tells of it when there is room again (decision 0040). A file is opened when its log is
//! switched on, so an idle log has none.
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use instance::logs::{ErrorRow, LogFile, LogWriter, Ring};

const RECORDS_MAX: usize = 16_384;
const BYTES_MAX: u64 = 64 << 20;

enum Message {
    Record(LogFile, Vec<u8>),
    Open(LogFile, File, PathBuf),
    Reopen(LogFile),
    /// Answers when everything before it is written.
    Settle(SyncSender<()>),
}

pub(crate) struct LogFiles {
    queue: SyncSender<Message>,
    queued_bytes: Arc<AtomicU64>,
    lost: AtomicU64,
    directory: PathBuf,
    /// What a new file begins with.
    head: String,
}

impl LogFiles {
    pub(crate) fn start(directory: &Path, head: String) -> Result<Arc<LogFiles>, String> {
        let (queue, messages) = sync_channel(RECORDS_MAX);
        let queued_bytes = Arc::new(AtomicU64::new(0));
        let writer =
            Writer { files: BTreeMap::new(), queued_bytes: queued_bytes.clone(), head: head.clone() };
        std::thread::Builder::new()
            .name("logs".to_owned())
            .spawn(move || writer.run(&messages))
            .map_err(|error| format!("cannot start the writer of the logs: {error}"))?;
        let directory = directory.to_owned();
        Ok(Arc::new(LogFiles { queue, queued_bytes, lost: AtomicU64::new(0), directory, head }))
    }

    fn send(&self, message: Message) {
        // The thread ends with the program only.
        let _ = self.queue.send(message);
    }

    /// Waits until what was queued is in the files: at the end of the program.
    pub(crate) fn settle(&self) {
        let (sender, receiver) = sync_channel(1);
        self.send(Message::Settle(sender));
        let _ = receiver.recv();
    }
}

fn open(path: &Path, head: &str) -> std::io::Result<File> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(head.as_bytes())?;
    Ok(file)
}

/// The general and the slow log begin with the server's version; the audit log is JSON from its first byte.
fn head_of(log: LogFile, head: &str) -> &str {
    if log == LogFile::Audit { "" } else { head }
}

impl LogWriter for LogFiles {
    fn append(&self, log: LogFile, record: Vec<u8>) {
        let bytes = record.len() as u64;
        let room = self.queued_bytes.fetch_add(bytes, Relaxed) + bytes <= BYTES_MAX;
        let sent = if room { self.queue.try_send(Message::Record(log, record)) } else { Err(full(record)) };
        if sent.is_err() {
            self.queued_bytes.fetch_sub(bytes, Relaxed);
            if self.lost.fetch_add(1, Relaxed).is_multiple_of(RECORDS_MAX as u64) {
                crate::log::warning(
                    "the disk takes the general, slow or audit log too slowly: records are lost, and counted in Evenkeel_log_records_lost",
                );
            }
        }
    }

    fn open(&self, log: LogFile, path: PathBuf) -> std::io::Result<()> {
        let file = open(&path, head_of(log, &self.head))?;
        self.send(Message::Open(log, file, path));
        Ok(())
    }

    fn reopen(&self, log: LogFile) {
        self.send(Message::Reopen(log));
    }

    fn reopen_error_log(&self) {
        crate::log::reopen();
    }

    fn set_error_verbosity(&self, level: u64) {
        crate::log::set_verbosity(level);
    }

    fn set_error_json(&self, is_json: bool) {
        crate::log::set_json(is_json);
    }

    fn errors(&self) -> &Ring<ErrorRow> {
        crate::log::last_messages()
    }

    fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

fn full(record: Vec<u8>) -> TrySendError<Message> {
    TrySendError::Full(Message::Record(LogFile::General, record))
}

struct Writer {
    files: BTreeMap<&'static str, (File, PathBuf)>,
    queued_bytes: Arc<AtomicU64>,
    head: String,
}

fn key(log: LogFile) -> &'static str {
    match log {
        LogFile::General => "general",
        LogFile::Slow => "slow",
        LogFile::Audit => "audit",
    }
}

impl Writer {
    fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(message) = messages.recv() {
            match message {
                Message::Record(log, record) => {
                    self.queued_bytes.fetch_sub(record.len() as u64, Relaxed);
                    if let Some((file, path)) = self.files.get_mut(key(log))
                        && let Err(error) = file.write_all(&record)
                    {
                        crate::log::error(&format!("cannot write {}: {error}", path.display()));
                        self.files.remove(key(log));
                    }
                }
                Message::Open(log, file, path) => {
                    self.files.insert(key(log), (file, path));
                }
                Message::Reopen(log) => self.reopen(log),
                Message::Settle(done) => {
                    let _ = done.send(());
                }
            }
        }
    }

    fn reopen(&mut self, log: LogFile) {
        let Some((_, path)) = self.files.remove(key(log)) else { return };
        match open(&path, head_of(log, &self.head)) {
            Ok(file) => {
                self.files.insert(key(log), (file, path));
            }
            Err(error) => crate::log::error(&format!("cannot open {}: {error}", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("evenkeel-logs-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory for the test");
        path
    }

    #[test]
    fn a_renamed_log_goes_on_in_a_new_file() {
        let path = directory("renamed");
        let files = LogFiles::start(&path, "head\n".to_owned()).expect("the writer starts");
        let slow = path.join("slow.log");
        files.open(LogFile::Slow, slow.clone()).expect("the file opens");
        files.append(LogFile::Slow, b"one\n".to_vec());
        files.settle();
        std::fs::rename(&slow, path.join("slow.old")).expect("renamed");
        files.append(LogFile::Slow, b"two\n".to_vec());
        files.reopen(LogFile::Slow);
        files.append(LogFile::Slow, b"three\n".to_vec());
        files.settle();
        assert_eq!(std::fs::read_to_string(path.join("slow.old")).expect("old"), "head\none\ntwo\n");
        assert_eq!(std::fs::read_to_string(&slow).expect("new"), "head\nthree\n");
        std::fs::remove_dir_all(path).expect("removed");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_an_error() {
        let files = LogFiles::start(Path::new("/"), String::new()).expect("the writer starts");
        assert!(files.open(LogFile::General, PathBuf::from("/no/such/folder/log")).is_err());
    }
}
