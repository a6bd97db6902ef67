//! Reads the account tables of earlier versions of this program.
//!
//! Layout of both: account count u32, then per account: user, host, plugin u8, stored credential, flags u8, grant count
//! u16, then per grant: scope u8, its zero to two names, privilege bits u64; texts begin with a length of u16. Called
//! by `encoding` when the version is not the present one.

use super::CorruptAccounts;
use super::fields::Reader;
use crate::account::Account;
use crate::account_name::AccountName;
use crate::credential::Credential;
use crate::dynamic::{DynamicPrivilege, DynamicSet};
use crate::grants::Grants;
use crate::plugin::Plugin;
use crate::policy::TlsRequirement;
use crate::privilege::{Privilege, PrivilegeSet};

/// Had one dynamic privilege, among the static ones.
const VERSION_WITH_XA: u8 = 2;
const VERSION_WITHOUT_XA: u8 = 1;
const XA_RECOVER_ADMIN_BIT: u64 = 1 << 31;
const FLAG_LOCKED: u8 = 1;
const FLAG_REQUIRES_TLS: u8 = 2;

pub fn decode(version: u8, reader: &mut Reader<'_>) -> Result<Vec<Account>, CorruptAccounts> {
    if !matches!(version, VERSION_WITH_XA | VERSION_WITHOUT_XA) {
        return Err(CorruptAccounts);
    }
    let count: u32 = reader.take()?;
    (0..count).map(|_| account(reader)).collect()
}

fn account(reader: &mut Reader<'_>) -> Result<Account, CorruptAccounts> {
    let name = AccountName::new(&text(reader)?, &text(reader)?);
    let plugin = match reader.take::<u8>()? {
        0 => Plugin::CachingSha2,
        1 => Plugin::Native,
        _ => return Err(CorruptAccounts),
    };
    let credential = Credential::from_stored(plugin, &bytes(reader)?).ok_or(CorruptAccounts)?;
    let flags: u8 = reader.take()?;
    let mut grants = Grants::default();
    for _ in 0..reader.take::<u16>()? {
        read_grant(reader, &mut grants)?;
    }
    // Whoever could do everything can do everything still.
    let all = PrivilegeSet::all_global();
    if grants.global.has(all) {
        grants.dynamic = DynamicSet::all();
    }
    if grants.global.has(all | Privilege::GrantOption.into()) {
        grants.grantable = DynamicSet::all();
    }
    let mut account = Account::new(name, credential);
    account.grants = grants;
    account.locked = flags & FLAG_LOCKED != 0;
    if flags & FLAG_REQUIRES_TLS != 0 {
        account.tls = TlsRequirement::Ssl;
    }
    Ok(account)
}

fn read_grant(reader: &mut Reader<'_>, grants: &mut Grants) -> Result<(), CorruptAccounts> {
    let set = |bits: u64| PrivilegeSet::from_bits(bits & !XA_RECOVER_ADMIN_BIT);
    match reader.take::<u8>()? {
        0 => {
            let bits: u64 = reader.take()?;
            grants.global |= set(bits);
            if bits & XA_RECOVER_ADMIN_BIT != 0 {
                grants.dynamic |= DynamicPrivilege::XaRecoverAdmin.into();
            }
        }
        1 => {
            let name = text(reader)?;
            grants.grant_database(&name, set(reader.take()?));
        }
        2 => {
            let key = (text(reader)?, text(reader)?);
            let granted = set(reader.take()?);
            grants.change_table(&key, |table| table.table |= granted);
        }
        _ => return Err(CorruptAccounts),
    }
    Ok(())
}

fn bytes(reader: &mut Reader<'_>) -> Result<Vec<u8>, CorruptAccounts> {
    let length: u16 = reader.take()?;
    reader.bytes(usize::from(length))
}

fn text(reader: &mut Reader<'_>) -> Result<String, CorruptAccounts> {
    String::from_utf8(bytes(reader)?).map_err(|_| CorruptAccounts)
}

#[cfg(test)]
mod tests {
    use crate::encoding::decode;

    #[test]
    fn who_could_do_everything_still_can() {
        let all: u64 = (1 << 32) - 1;
        let mut bytes = vec![2, 1, 0, 0, 0];
        for text in ["root", "localhost"] {
            bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.extend_from_slice(&[0, 0, 0, 1, 1, 0, 0]);
        bytes.extend_from_slice(&all.to_le_bytes());
        let accounts = decode(&bytes).expect("readable");
        assert!(accounts[0].locked);
        assert_eq!(accounts[0].grants.dynamic, crate::DynamicSet::all());
        assert_eq!(accounts[0].grants.grantable, crate::DynamicSet::all());
        assert!(decode(&bytes[..bytes.len() - 1]).is_err());
    }
}
