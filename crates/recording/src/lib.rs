//! Samples of a server and its host, second by second, in one compressed file that describes itself.
//!
//! A recording is JSON lines in zstd frames, one frame every few seconds, so that whatever ends the recorder leaves a
//! file that reads (`zstdcat FILE | jq` does, too):
//!
//! ```text
//! {"type":"recording", format, at, server, variables, durability, host, device}     at the start and after a restart;
//!                                                       `server.unseen` is what the account could not see
//! {"type":"server"|"host", at, set:{name:value}}        every second; only what changed, NULL for what is gone
//! {"type":"gap", at, until, why}                        a time without samples of the server
//! ```
//!
//! A run of `bench` is JSON lines too, and both may stand in one file. Invariant: a value is there for the time at which
//! it was asked for; what could not be asked is a gap and never an old value. Callers: `bench`, `report`, `companion`.
#![forbid(unsafe_code)]

mod cgroup;
mod host;
mod limit;
mod pressure;
mod probes;
mod reader;
mod recorder;
mod server;
mod unseen;
mod writer;

pub use host::Host;
pub use limit::Limit;
pub use reader::{Gap, Recording, Series};
pub use recorder::{RecordPlan, record};
pub use server::{Sampler, describe_server};
pub use unseen::Unseen;

use std::collections::BTreeMap;

/// Numbers by their names.
pub type Values = BTreeMap<String, f64>;

/// Milliseconds since 1970.
#[must_use]
pub fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    now.map_or(0, |time| time.as_millis() as u64)
}
