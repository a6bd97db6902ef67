//! Backups in one file or stream: records of the engine, each in a frame that may be compressed and sealed (decision 0056).
//!
//! | bytes | head |
//! |---|---|
//! | 8 | `EKBACKU1` |
//! | 1 + 7 | 1 if the frames are sealed with a key, else 0; zeros |
//! | 32 | salt, drawn for this file; zeros without a key |
//! | 12 | what the key gives with this salt, to know the key by; zeros without |
//! | 4 | crc32c of all before |
//!
//! | bytes | frame |
//! |---|---|
//! | 4 + 4 | bytes of the record, bytes that are stored |
//! | 1 + 1 + 2 | 1 if they are stored as zstd does it, else 0; 1 in the last frame; zeros |
//! | n | what is stored |
//! | 4 or 16 | without a key crc32c, with one the tag of AES-256-GCM, of the frame, the head and the frame's number |
//!
//! The key of the frames is drawn from the key file and the salt by HKDF-SHA256; the number of a frame is its nonce, so no two frames of
//! any file share both. Invariant: a reader hands out nothing that the writer has not written in this place: cut, exchanged and
//! repeated frames are noticed, and a file without its last frame is truncated.
//! Reading order: `seal`, `writer`, `reader`, `chain`, `check`.

mod chain;
mod check;
mod reader;
mod seal;
mod writer;

pub use chain::restore_chain;
pub use check::{BackupCheck, check_backup};
pub use reader::{BackupReader, is_backup_file};
pub use seal::BackupKey;
pub use writer::BackupWriter;
