//! A thin MySQL client: connects, asks in text or by prepared statements, and keeps several commands in flight.
//!
//! Invariant: bytes from a server never panic, and an answer is read into one buffer that the caller reuses, so
//! a statement costs one write, one read and no allocation. Callers: `replica`, `workload`, `recording`, `bench`,
//! `companion`.
//!
//! Reading order: `dsn` says where, `connection` is the dialogue, `answer` is what came back, `statement` is a
//! statement that may be prepared; `auth`, `stream` and `field` are beneath.
#![forbid(unsafe_code)]

mod answer;
mod auth;
mod blocking;
mod connection;
mod dsn;
mod dump;
mod error;
mod field;
mod greeting;
mod rows;
mod statement;
mod stream;
mod tls;
mod value;

pub use answer::{Answer, Cell};
pub use blocking::Cutter;
pub use connection::Connection;
pub use dsn::{Dsn, TlsMode};
pub use dump::{DumpFrom, take_confirmation_mark};
pub use error::Error;
pub use rows::fields;
pub use statement::Statement;
pub use value::{Value, put_literal};

/// What every call of this crate answers.
pub type Result<T> = std::result::Result<T, Error>;
