//! Whole objects in a folder of a bucket: listed, read, written and removed.
//!
//! Invariant: each is one request (a list is one for each 1,000 names), which is tried again a few times. Called by `folder`, and by the
//! commands that look through a folder of backups.
use std::fmt;

use crate::bucket::{ATTEMPTS, Bucket, Request, passes};
use crate::{Location, Result, Settings, xml};

/// No object of a folder that is read whole is longer.
const OBJECT_BYTES_MAX: u64 = 128 << 20;

/// See the head of this file.
pub struct Store {
    bucket: Bucket,
    /// Its key is empty or ends in `/`.
    at: Location,
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no such object.
    Absent,
    /// The store says no.
    Refused(String),
    /// It does not answer, or has no time: it may later.
    Away(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Absent => formatter.write_str("there is no such object"),
            Failure::Refused(what) | Failure::Away(what) => formatter.write_str(what),
        }
    }
}

impl Store {
    /// Of what people write, with the settings of the environment. Nothing is asked yet.
    pub fn named(text: &str) -> Result<Store> {
        Store::of(&Settings::of_environment()?, Location::parse(text)?, ATTEMPTS)
    }

    pub(crate) fn of(settings: &Settings, at: Location, attempts: u32) -> Result<Store> {
        let at = at.as_folder();
        Ok(Store { bucket: Bucket::new(settings, &at)?.with_attempts(attempts), at })
    }

    /// Its name.
    pub fn at(&self) -> &Location {
        &self.at
    }

    /// The objects right inside of the folder, with their lengths, in the order of their names.
    pub fn objects(&mut self) -> Result<Vec<(String, u64)>> {
        self.list("").map_err(|failure| failure.to_string())
    }

    /// Removes an object; one that is not there is no error.
    pub fn remove_object(&mut self, name: &str) -> Result<()> {
        self.remove(name).map_err(|failure| failure.to_string())
    }

    /// Those whose names begin like this.
    pub(crate) fn list(&mut self, beginning: &str) -> std::result::Result<Vec<(String, u64)>, Failure> {
        let root = Location { bucket: self.at.bucket.clone(), key: String::new() };
        let prefix = self.at.inside(beginning).key;
        let (mut found, mut behind): (Vec<(String, u64)>, Option<String>) = (Vec::new(), None);
        loop {
            // In the order of their names, as signatures need it.
            let mut parameters = vec![("list-type", "2"), ("prefix", prefix.as_str())];
            if let Some(token) = &behind {
                parameters.insert(0, ("continuation-token", token));
            }
            let text = self.good_text(&Request { parameters: &parameters, ..Request::new("GET", &root) })?;
            for entry in xml::elements(&text, "Contents") {
                let key = xml::element(entry, "Key").unwrap_or_default();
                let size = xml::element(entry, "Size").and_then(|size| size.parse().ok()).unwrap_or(0);
                let name = key.strip_prefix(&self.at.key).unwrap_or_default();
                if !name.is_empty() && !name.contains('/') {
                    found.push((name.to_owned(), size));
                }
            }
            let goes_on = xml::element(&text, "IsTruncated").as_deref() == Some("true");
            behind = xml::element(&text, "NextContinuationToken").filter(|_| goes_on);
            if behind.is_none() {
                found.sort();
                return Ok(found);
            }
        }
    }

    pub(crate) fn read(&mut self, name: &str) -> std::result::Result<Vec<u8>, Failure> {
        let at = self.at.inside(name);
        self.good(&Request::new("GET", &at))
    }

    /// What it does is tried as often as for a command.
    pub(crate) fn patiently<T>(&mut self, work: impl FnOnce(&mut Store) -> T) -> T {
        let attempts = self.bucket.set_attempts(ATTEMPTS);
        let done = work(self);
        self.bucket.set_attempts(attempts);
        done
    }

    pub(crate) fn write(&mut self, name: &str, bytes: &[u8]) -> std::result::Result<(), Failure> {
        let at = self.at.inside(name);
        self.good(&Request { payload: bytes, ..Request::new("PUT", &at) }).map(drop)
    }

    pub(crate) fn remove(&mut self, name: &str) -> std::result::Result<(), Failure> {
        let at = self.at.inside(name);
        match self.good(&Request::new("DELETE", &at)) {
            Ok(_) | Err(Failure::Absent) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    fn good_text(&mut self, request: &Request<'_>) -> std::result::Result<String, Failure> {
        Ok(String::from_utf8_lossy(&self.good(request)?).into_owned())
    }

    fn good(&mut self, request: &Request<'_>) -> std::result::Result<Vec<u8>, Failure> {
        let (head, bytes) = self.bucket.content(request, OBJECT_BYTES_MAX).map_err(Failure::Away)?;
        if head.is_good() {
            return Ok(bytes);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let has_bucket = xml::element(&text, "Code").as_deref() != Some("NoSuchBucket");
        let (status, answer) = (head.status, crate::bucket::Answer { head, text });
        Err(match status {
            404 if has_bucket => Failure::Absent,
            _ if passes(status) => Failure::Away(self.bucket.refused(request.at, &answer)),
            _ => Failure::Refused(self.bucket.refused(request.at, &answer)),
        })
    }
}
