//! The account table as bytes, for whoever persists it.
//!
//! Layout (little-endian; text is `length: u16, bytes`): version u8, account count u32, then per account: user,
//! host, plugin u8, stored credential, flags u8, grant count u16, then per grant: scope u8, its zero to two
//! names, privilege bits u64. Invariant: bytes that this module did not write give `CorruptAccounts`, no panic.

use std::fmt;

use crate::account::{Account, AccountName, Credential};
use crate::plugin::Plugin;
use crate::privilege::{Grants, Privilege, PrivilegeSet, Scope};

const VERSION: u8 = 2;
/// Before XA_RECOVER_ADMIN: who had every global privilege there was has it too.
const VERSION_WITHOUT_XA: u8 = 1;
const FLAG_LOCKED: u8 = 1;
const FLAG_REQUIRES_TLS: u8 = 2;

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
    out.extend_from_slice(&(accounts.len() as u32).to_le_bytes());
    for account in accounts {
        put_text(&mut out, account.name.user.as_bytes());
        put_text(&mut out, account.name.host.as_str().as_bytes());
        out.push(match account.credential.plugin() {
            Plugin::CachingSha2 => 0,
            Plugin::Native => 1,
        });
        put_text(&mut out, account.credential.stored());
        let locked = if account.locked { FLAG_LOCKED } else { 0 };
        let requires_tls = if account.requires_tls { FLAG_REQUIRES_TLS } else { 0 };
        out.push(locked | requires_tls);
        out.extend_from_slice(&(account.grants.iter().count() as u16).to_le_bytes());
        for (scope, privileges) in account.grants.iter() {
            put_scope(&mut out, scope);
            out.extend_from_slice(&privileges.bits().to_le_bytes());
        }
    }
    out
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Account>, CorruptAccounts> {
    let mut reader = Reader { rest: bytes };
    let version = reader.u8()?;
    if version != VERSION && version != VERSION_WITHOUT_XA {
        return Err(CorruptAccounts);
    }
    let count = u32::from_le_bytes(reader.array()?);
    let mut accounts = Vec::new();
    for _ in 0..count {
        let mut account = reader.account()?;
        if version == VERSION_WITHOUT_XA {
            let earlier = PrivilegeSet::all_global().without(Privilege::XaRecoverAdmin.into());
            if account.grants.permit(earlier, &Scope::Global) {
                account.grants.grant(Scope::Global, Privilege::XaRecoverAdmin.into());
            }
        }
        accounts.push(account);
    }
    if reader.rest.is_empty() { Ok(accounts) } else { Err(CorruptAccounts) }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let length =
        u16::try_from(text.len()).expect("names and hashes are checked to be short when they are made");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text);
}

fn put_scope(out: &mut Vec<u8>, scope: &Scope) {
    match scope {
        Scope::Global => out.push(0),
        Scope::Database(name) => {
            out.push(1);
            put_text(out, name.as_bytes());
        }
        Scope::Table(database, table) => {
            out.push(2);
            put_text(out, database.as_bytes());
            put_text(out, table.as_bytes());
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], CorruptAccounts> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(CorruptAccounts)?;
        self.rest = tail;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, CorruptAccounts> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    fn bytes(&mut self) -> Result<Vec<u8>, CorruptAccounts> {
        let length = usize::from(u16::from_le_bytes(self.array()?));
        let (head, tail) = self.rest.split_at_checked(length).ok_or(CorruptAccounts)?;
        self.rest = tail;
        Ok(head.to_vec())
    }

    fn text(&mut self) -> Result<String, CorruptAccounts> {
        String::from_utf8(self.bytes()?).map_err(|_| CorruptAccounts)
    }

    fn account(&mut self) -> Result<Account, CorruptAccounts> {
        let name = AccountName::new(&self.text()?, &self.text()?);
        let plugin = match self.u8()? {
            0 => Plugin::CachingSha2,
            1 => Plugin::Native,
            _ => return Err(CorruptAccounts),
        };
        let credential = Credential::from_stored(plugin, &self.bytes()?).ok_or(CorruptAccounts)?;
        let flags = self.u8()?;
        let mut grants = Grants::default();
        for _ in 0..u16::from_le_bytes(self.array()?) {
            let scope = match self.u8()? {
                0 => Scope::Global,
                1 => Scope::Database(self.text()?),
                2 => Scope::Table(self.text()?, self.text()?),
                _ => return Err(CorruptAccounts),
            };
            grants.grant(scope, PrivilegeSet::from_bits(u64::from_le_bytes(self.array()?)));
        }
        let mut account = Account::new(name, credential);
        account.grants = grants;
        account.locked = flags & FLAG_LOCKED != 0;
        account.requires_tls = flags & FLAG_REQUIRES_TLS != 0;
        Ok(account)
    }
}
