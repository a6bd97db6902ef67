//! Names of objects: `s3://bucket/key`, and how keys are written in a request. Called by whoever was given such a name.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::signature::Moment;

const SCHEME: &str = "s3://";
/// That of S3.
const KEY_BYTES_MAX: usize = 1024;

/// A bucket and the key of an object in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub bucket: String,
    pub key: String,
}

impl Location {
    /// Whether a name is meant to be one.
    pub fn is_one(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// An error says what it should look like.
    pub fn parse(text: &str) -> Result<Location, String> {
        let wrong = |what: &str| Err(format!("'{text}' {what}: write s3://BUCKET/KEY"));
        let Some((bucket, key)) = text.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')) else {
            return wrong("has no key behind its bucket");
        };
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(is_plain) {
            return wrong("has no name of a bucket");
        }
        if key.len() > KEY_BYTES_MAX {
            return wrong("has a key that is longer than 1024 bytes");
        }
        Ok(Location { bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// As a folder: the keys of what is in it begin with its own.
    pub fn as_folder(mut self) -> Location {
        if !self.key.is_empty() && !self.key.ends_with('/') {
            self.key.push('/');
        }
        self
    }

    /// What is in a folder.
    pub fn inside(&self, name: &str) -> Location {
        Location { bucket: self.bucket.clone(), key: format!("{}{name}", self.key) }
    }

    /// A key that ends in `/`, or none, is a folder: the object in it is called by the time.
    pub fn named(mut self) -> Location {
        if self.key.is_empty() || self.key.ends_with('/') {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            let Moment { day, time } = Moment::of(now);
            self.key.push_str(&format!("evenkeel-{day}-{}.ekb", &time[1..7]));
        }
        self
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}/{}", self.bucket, self.key)
    }
}

/// As a path or a parameter has it: every byte that is not unreserved as %XX. Slashes stay in a path.
pub(crate) fn escaped(text: &str, is_path: bool) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => written.push(byte as char),
            b'/' if is_path => written.push('/'),
            _ => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_have_a_bucket_and_a_key() {
        let location = Location::parse("s3://backups/nightly/full.ekb").expect("valid");
        assert_eq!((location.bucket.as_str(), location.key.as_str()), ("backups", "nightly/full.ekb"));
        assert_eq!(location.to_string(), "s3://backups/nightly/full.ekb");
        assert_eq!(location.clone().named(), location);
        let named = Location::parse("s3://backups/nightly/").expect("valid").named();
        assert!(named.key.starts_with("nightly/evenkeel-20") && named.key.ends_with(".ekb"), "{named}");
        for wrong in ["s3://", "s3://backups", "s3:///key", "s3://Back ups/key", "/backups/key"] {
            assert!(Location::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_are_escaped() {
        assert_eq!(escaped("a b/ü+%~", true), "a%20b/%C3%BC%2B%25~");
        assert_eq!(escaped("a/b", false), "a%2Fb");
    }
}
