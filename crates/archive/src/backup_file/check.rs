//! A look at every byte of a backup file: frames, pages, log.
//!
//! Invariant: nothing is written. What is damaged in the file ends the look, since nothing behind it can be trusted; pages that were damaged
//! before they were copied are named. Called by the program's `verify`.

use super::chain::kind_of;
use super::reader::BackupReader;
use engine::{BackupEnd, BackupHead, BackupRecord};
use pagestore::header;
use std::io::Read;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupCheck {
    /// What the file says of itself.
    pub head: BackupHead,
    /// Full backup or increment.
    pub kind: &'static str,
    /// What it ends with; `None` if it was not reached.
    pub end: Option<BackupEnd>,
    /// Pages in it.
    pub pages: u64,
    /// Bytes of log in it.
    pub log_bytes: u64,
    /// How long it is, as far as it was read.
    pub bytes: u64,
    /// What is wrong, a line each.
    pub faults: Vec<String>,
}

/// Reads all of it.
pub fn check_backup<R: Read>(mut file: BackupReader<R>, progress: &dyn Fn(u64)) -> BackupCheck {
    let head = *file.head();
    let check = BackupCheck {
        head,
        kind: kind_of(&head),
        end: None,
        pages: 0,
        log_bytes: 0,
        bytes: 0,
        faults: Vec::new(),
    };
    let place = wal::segment_start(wal::Lsn(head.from_lsn), head.segment_bytes);
    let mut look = Look { check, wrong: Vec::new(), place, thread: None };
    let fault = loop {
        match file.next_record() {
            Ok(None) => break None,
            Ok(Some(record)) => match look.add(record) {
                Ok(bytes) => progress(bytes),
                Err(what) => break Some(format!("{}: {what}", file.name())),
            },
            Err(error) => break Some(error.to_string()),
        }
    };
    look.check.bytes = file.position();
    look.check.faults.extend(fault);
    look.finish(file.name())
}

/// What was seen so far.
struct Look {
    check: BackupCheck,
    /// Pages that are not intact.
    wrong: Vec<u64>,
    /// Where the next piece of log has to lie, and what it follows.
    place: u64,
    thread: Option<wal::LogThread>,
}

impl Look {
    /// How much it was; what is wrong with its place.
    fn add(&mut self, record: BackupRecord) -> Result<u64, String> {
        match record {
            BackupRecord::Pages { ids, images } => {
                let size = self.check.head.page_size_bytes as usize;
                if images.len() != ids.len() * size {
                    return Err("pages of another size".into());
                }
                self.check.pages += ids.len() as u64;
                let of = ids.iter().zip(images.chunks_exact(size));
                let wrong = of.filter(|(id, image)| header::verify(image, **id).is_err());
                self.wrong.extend(wrong.map(|(id, _)| id.0));
                Ok(images.len() as u64)
            }
            BackupRecord::Log(piece) => {
                let follows = self.thread.is_none_or(|thread| piece.follows(thread));
                if piece.start() != self.place || !follows {
                    return Err(format!("the log has a gap at LSN {}", self.place));
                }
                self.place = piece.next(self.check.head.segment_bytes);
                self.thread = Some(piece.thread());
                self.check.log_bytes += piece.bytes().len() as u64;
                Ok(piece.bytes().len() as u64)
            }
            BackupRecord::End(end) => {
                self.check.end = Some(end);
                Ok(0)
            }
            BackupRecord::Head(_) => Err("a second beginning".into()),
        }
    }

    fn finish(self, name: &str) -> BackupCheck {
        let Look { mut check, wrong, place, .. } = self;
        if let Some(end) = &check.end {
            if place < end.to_lsn {
                check.faults.push(format!("{name}: the log ends before LSN {}", end.to_lsn));
            }
            for page in wrong {
                check.faults.push(match end.damaged.contains(&page) {
                    true => format!("page {page} was damaged on the server already when it was copied"),
                    false => format!("{name}: page {page} is damaged"),
                });
            }
        }
        check
    }
}
