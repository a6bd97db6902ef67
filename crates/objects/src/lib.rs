//! Objects of a store that speaks the protocol of Amazon S3: read as a stream, written as one (decision 0046).
//!
//! Invariant: an object has its name only when it is whole, since the store makes it of its parts in one step. Every request is signed
//! together with a digest of what it carries, so a byte that changes on the way is refused. All calls wait: this is for commands, not
//! for the server's workers. `evenkeel backup` writes backups, `restore` and `verify` read them.
//! Reading order: `location`, `settings`, `signature`, `http`, `bucket`, `upload`, `download`.
#![forbid(unsafe_code)]

mod bucket;
mod download;
mod http;
mod location;
mod settings;
mod signature;
mod upload;
mod xml;

pub use bucket::Bucket;
pub use download::Download;
pub use location::Location;
pub use settings::Settings;
pub use upload::Upload;

/// What went wrong and what to do about it, for people.
pub type Result<T> = std::result::Result<T, String>;
