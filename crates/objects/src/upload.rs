//! An object that is written as a stream: in parts, which a thread sends while the next one gathers.
//!
//! Invariant: at most two parts are in memory. The object exists when `finish` has returned without an error, and otherwise not: parts without
//! an end are removed. Called by `evenkeel backup`.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::bucket::{Bucket, Request};
use crate::{Location, Result, Settings, xml};

/// Stores take parts of 5 MB and more, and 10,000 of them.
const PART_BYTES: usize = 8 << 20;
/// Parts are twice as long behind so many: then 10,000 are as much as the largest object of S3.
const PARTS_PER_LENGTH: usize = 1500;

/// See the head of this file.
pub struct Upload {
    at: Location,
    part: Vec<u8>,
    parts: usize,
    /// Gone when it has ended.
    sender: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<Result<Parts>>>,
}

/// What the thread has.
struct Parts {
    bucket: Bucket,
    at: Location,
    /// Of the upload in parts, once it has begun.
    id: Option<String>,
    /// Of each part.
    tags: Vec<String>,
    bytes: u64,
}

fn part_bytes(number: usize) -> usize {
    PART_BYTES << (number / PARTS_PER_LENGTH)
}

impl Upload {
    /// An error if the object is there already.
    pub fn begin(settings: &Settings, at: &Location) -> Result<Upload> {
        let mut bucket = Bucket::new(settings, at)?;
        if bucket.length(at)?.is_some() {
            return Err(format!("{at} is there already: name a new object"));
        }
        let parts = Parts { bucket, at: at.clone(), id: None, tags: Vec::new(), bytes: 0 };
        let (sender, receiver) = sync_channel(0);
        let thread = std::thread::Builder::new().name("upload".into()).spawn(move || parts.run(&receiver));
        let thread = thread.map_err(|error| format!("cannot start: {error}"))?;
        let upload =
            Upload { at: at.clone(), part: Vec::new(), parts: 0, sender: Some(sender), thread: Some(thread) };
        Ok(upload)
    }

    fn send(&mut self) -> io::Result<()> {
        let part = std::mem::take(&mut self.part);
        self.parts += 1;
        let sent = self.sender.as_ref().map(|sender| sender.send(part));
        match sent {
            Some(Ok(())) => Ok(()),
            // The thread has ended, and knows why.
            _ => Err(io::Error::other(self.end().err().unwrap_or_else(|| "the upload has ended".into()))),
        }
    }

    /// Ends the thread and takes what it has.
    fn end(&mut self) -> Result<Parts> {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(parts)) => parts,
            _ => Err(format!("{}: the upload has ended", self.at)),
        }
    }

    /// Sends what is left and gives the object its name.
    pub fn finish(mut self) -> Result<()> {
        let last = std::mem::take(&mut self.part);
        let mut parts = self.end()?;
        let finished = parts.finish(last);
        if finished.is_err() {
            parts.give_up();
        }
        finished
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = part_bytes(self.parts) - self.part.len();
        let taken = &bytes[..bytes.len().min(room)];
        self.part.extend_from_slice(taken);
        if taken.len() == room {
            self.send()?;
        }
        Ok(taken.len())
    }

    /// What has gathered leaves when it is a part, or at the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.thread.is_some()
            && let Ok(mut parts) = self.end()
        {
            parts.give_up();
        }
    }
}

impl Parts {
    fn run(mut self, receiver: &Receiver<Vec<u8>>) -> Result<Parts> {
        while let Ok(part) = receiver.recv() {
            if let Err(error) = self.add(&part) {
                self.give_up();
                return Err(error);
            }
        }
        Ok(self)
    }

    fn add(&mut self, part: &[u8]) -> Result<()> {
        let id = match &self.id {
            Some(id) => id.clone(),
            None => {
                let begin = Request { parameters: &[("uploads", "")], ..Request::new("POST", &self.at) };
                let answer = self.bucket.good_answer(&begin)?;
                let id = xml::element(&answer.text, "UploadId");
                let id =
                    id.ok_or_else(|| format!("{}: the store does not name the upload it begins", self.at))?;
                self.id.insert(id).clone()
            }
        };
        let number = (self.tags.len() + 1).to_string();
        let parameters = [("partNumber", number.as_str()), ("uploadId", id.as_str())];
        let request = Request { parameters: &parameters, payload: part, ..Request::new("PUT", &self.at) };
        let answer = self.bucket.good_answer(&request)?;
        let tag = answer.head.header("etag").map(str::to_owned);
        self.tags.push(tag.ok_or_else(|| format!("{}: the store does not name part {number}", self.at))?);
        self.bytes += part.len() as u64;
        Ok(())
    }

    fn finish(&mut self, last: Vec<u8>) -> Result<()> {
        if self.id.is_none() {
            let request = Request { payload: &last, ..Request::new("PUT", &self.at) };
            return self.bucket.good_answer(&request).map(drop);
        }
        if !last.is_empty() {
            self.add(&last)?;
        }
        let Some(id) = &self.id else { return Ok(()) };
        let parts: String = self
            .tags
            .iter()
            .enumerate()
            .map(|(at, tag)| {
                format!(
                    "<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>",
                    at + 1,
                    tag.replace('"', "&quot;")
                )
            })
            .collect();
        let list = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let parameters = [("uploadId", id.as_str())];
        let headers = [("content-type", "application/xml".to_owned())];
        let request = Request {
            parameters: &parameters,
            headers: &headers,
            payload: list.as_bytes(),
            ..Request::new("POST", &self.at)
        };
        let answer = self.bucket.answer(&request)?;
        // Failures behind its beginning are told in an answer that began well.
        let failed = xml::element(&answer.text, "Code");
        if answer.head.is_good() && failed.is_none() {
            return Ok(());
        }
        // An earlier attempt may have done it, whose answer was lost.
        if failed.as_deref() == Some("NoSuchUpload") && self.bucket.length(&self.at)? == Some(self.bytes) {
            return Ok(());
        }
        Err(self.bucket.refused(&self.at, &answer))
    }

    /// Parts without an end cost room until somebody removes them.
    fn give_up(&mut self) {
        let Some(id) = self.id.take() else { return };
        let parameters = [("uploadId", id.as_str())];
        let request = Request { parameters: &parameters, ..Request::new("DELETE", &self.at) };
        // The error that led here is the one to tell.
        let _ = self.bucket.answer(&request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_parts_are_the_largest_object() {
        let all: u64 = (0..10_000).map(|number| part_bytes(number) as u64).sum();
        assert!(all > 1 << 40);
        assert_eq!(part_bytes(0), 8 << 20);
    }
}
