//! An object that is read as a stream, from its beginning to its end.
//!
//! Invariant: a read that is cut off goes on behind the last byte, and only in the same object: one that was replaced meanwhile is an error.
//! Called by `evenkeel restore` and `verify`, and by `backup` for the base of an increment.

use std::io::{self, Read};

use crate::bucket::{Answer, Attempts, Bucket, Request};
use crate::http::Connection;
use crate::{Location, Result, Settings};

/// See the head of this file.
pub struct Download {
    bucket: Bucket,
    at: Location,
    connection: Option<Connection>,
    /// Of the object.
    length: u64,
    tag: Option<String>,
    position: u64,
    /// Since the last byte came.
    attempts: Attempts,
}

impl Download {
    /// Of what people write, with the settings of the environment.
    pub fn named(text: &str) -> Result<Download> {
        Download::begin(&Settings::of_environment()?, &Location::parse(text)?)
    }

    /// An error if there is no such object.
    pub fn begin(settings: &Settings, at: &Location) -> Result<Download> {
        let bucket = Bucket::new(settings, at)?;
        let mut download = Download {
            bucket,
            at: at.clone(),
            connection: None,
            length: 0,
            tag: None,
            position: 0,
            attempts: Attempts::default(),
        };
        download.go_on().map_err(|error| error.to_string())?;
        Ok(download)
    }

    /// How long it is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Asks for the rest, again and again if need be.
    fn go_on(&mut self) -> io::Result<()> {
        loop {
            match self.try_once() {
                Ok(Some(refusal)) if refusal.head.status < 500 && refusal.head.status != 429 => {
                    let what = match refusal.head.status {
                        412 => format!("{}: somebody has replaced it while it was read", self.at),
                        _ => self.bucket.refused(&self.at, &refusal),
                    };
                    return Err(io::Error::other(what));
                }
                Ok(None) => return Ok(()),
                Ok(Some(_)) | Err(_) if self.attempts.rest() => {}
                Ok(Some(refusal)) => return Err(io::Error::other(self.bucket.refused(&self.at, &refusal))),
                Err(error) => return Err(io::Error::other(self.bucket.unreachable(&self.at, &error))),
            }
        }
    }

    /// What the store said instead, if it refused.
    fn try_once(&mut self) -> io::Result<Option<Answer>> {
        let mut headers = Vec::new();
        if self.position > 0 {
            headers.push(("range", format!("bytes={}-", self.position)));
            headers.extend(self.tag.clone().map(|tag| ("if-match", tag)));
        }
        let mut bucket = self.bucket.another();
        let request = Request { headers: &headers, ..Request::new("GET", &self.at) };
        let (head, mut connection) = bucket.ask(&request)?;
        if !head.is_good() {
            let text = connection.read_text()?;
            return Ok(Some(Answer { head, text }));
        }
        if self.position > 0 && head.status != 206 {
            return Err(io::Error::other("the store gives objects only as wholes"));
        }
        if self.position == 0 {
            let length = head.header("content-length").and_then(|length| length.parse().ok());
            self.length = length.ok_or_else(|| io::Error::other("the store does not say how long it is"))?;
            self.tag = head.header("etag").map(str::to_owned);
        }
        self.connection = Some(connection);
        Ok(None)
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.length || buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let read = match &mut self.connection {
                Some(connection) => connection.read_body(buffer),
                None => {
                    self.go_on()?;
                    continue;
                }
            };
            match read {
                Ok(read) if read > 0 => {
                    self.position += read as u64;
                    self.attempts = Attempts::default();
                    return Ok(read);
                }
                // The next request says what is wrong, if something still is.
                _ => self.connection = None,
            }
            if !self.attempts.rest() {
                return Err(io::Error::other(format!(
                    "{}: cut off at byte {} again and again",
                    self.at, self.position
                )));
            }
        }
    }
}
