//! The account table as bytes, for whoever persists it.
//!
//! Layout: version u8, then the list of accounts, each part after the other as `fields` writes them (little-endian;
//! lists and texts begin with their length, u32). Invariant: bytes that this module did not write give
//! `CorruptAccounts`, no panic; tables of earlier versions are read (`earlier`), never written.

mod earlier;
mod fields;

use std::fmt;

use crate::account::Account;
use fields::{Field, Reader};

const VERSION: u8 = 3;

/// The persisted accounts cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptAccounts;

impl fmt::Display for CorruptAccounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the stored account table is damaged")
    }
}

impl std::error::Error for CorruptAccounts {}

pub(crate) fn encode<'a>(accounts: impl ExactSizeIterator<Item = &'a Account>) -> Vec<u8> {
    let mut out = vec![VERSION];
    (accounts.len() as u32).put(&mut out);
    for account in accounts {
        account.put(&mut out);
    }
    out
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Account>, CorruptAccounts> {
    let mut reader = Reader { rest: bytes };
    let accounts = match reader.take::<u8>()? {
        VERSION => {
            let count: u32 = reader.take()?;
            (0..count).map(|_| reader.take()).collect::<Result<_, _>>()?
        }
        version => earlier::decode(version, &mut reader)?,
    };
    if reader.rest.is_empty() { Ok(accounts) } else { Err(CorruptAccounts) }
}
