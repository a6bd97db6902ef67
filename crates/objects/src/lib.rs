//! Objects of a store that speaks the protocol of Amazon S3: read as a stream, written as one (decision 0046).
//!
//! Invariant: an object has its name only when it is whole, since the store makes it of its parts in one step. Every request is signed
//! together with a digest of what it carries, so a byte that changes on the way is refused. All calls wait: this is for commands, not
//! for the server's workers; they have `Folder`, whose own thread waits. `evenkeel backup` writes backups, `restore` and `verify` read
//! them, and the archive of the log is a `Folder` (decision 0050).
//! Reading order: `location`, `settings`, `signature`, `http`, `bucket`, `upload`, `download`, `store`, `parts`, `folder`.
#![forbid(unsafe_code)]

mod bucket;
mod download;
mod folder;
mod http;
mod location;
mod parts;
mod settings;
mod signature;
mod store;
mod turns;
mod upload;
mod xml;

pub use bucket::Bucket;
pub use download::Download;
pub use folder::{Folder, Patience};
pub use location::Location;
pub use settings::Settings;
pub use store::Store;
pub use upload::Upload;

/// What went wrong and what to do about it, for people.
pub type Result<T> = std::result::Result<T, String>;
