//! How each part of an account is written and read.
//!
//! Invariant: `take` reads exactly what `put` wrote, and refuses what it cannot have written. Called by `encoding`.

use std::collections::BTreeMap;

use super::CorruptAccounts;
use crate::account::{Account, FormerPassword};
use crate::account_name::AccountName;
use crate::credential::Credential;
use crate::dynamic::DynamicSet;
use crate::grants::{Grants, Origin, ProxyGrant, RoutineGrants, RoutineKind, TableGrants};
use crate::plugin::Plugin;
use crate::policy::{PasswordPolicy, ResourceLimits, TlsRequirement};
use crate::privilege::PrivilegeSet;

pub struct Reader<'a> {
    pub rest: &'a [u8],
}

impl Reader<'_> {
    pub fn take<T: Field>(&mut self) -> Result<T, CorruptAccounts> {
        T::take(self)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], CorruptAccounts> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(CorruptAccounts)?;
        self.rest = tail;
        Ok(*head)
    }

    pub fn bytes(&mut self, length: usize) -> Result<Vec<u8>, CorruptAccounts> {
        let (head, tail) = self.rest.split_at_checked(length).ok_or(CorruptAccounts)?;
        self.rest = tail;
        Ok(head.to_vec())
    }
}

/// A part of an account.
pub trait Field: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts>;
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Field for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
                Ok(Self::from_le_bytes(reader.array()?))
            }
        })*
    };
}

numbers! { u8 u16 i16 u32 u64 }

/// A struct as its fields, one after the other.
macro_rules! structs {
    ($($name:ident { $($field:ident)* })*) => {
        $(impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
                Ok(Self { $($field: reader.take()?,)* })
            }
        })*
    };
}

structs! {
    Origin { grantor moment_us }
    TableGrants { table columns origin }
    RoutineGrants { privileges origin }
    ProxyGrant { with_grant origin }
    Grants { global dynamic grantable restrictions databases tables routines proxies roles }
    ResourceLimits { queries_per_hour updates_per_hour connections_per_hour user_connections }
    PasswordPolicy { expired lifetime history reuse_days require_current failed_attempts lock_days }
    FormerPassword { moment_us credential }
}

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        match reader.take::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(CorruptAccounts),
        }
    }
}

impl Field for Vec<u8> {
    fn put(&self, out: &mut Vec<u8>) {
        let length = u32::try_from(self.len()).expect("texts are checked to be short when they are made");
        length.put(out);
        out.extend_from_slice(self);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        let length: u32 = reader.take()?;
        reader.bytes(length as usize)
    }
}

impl Field for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_bytes().to_vec().put(out);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        String::from_utf8(reader.take()?).map_err(|_| CorruptAccounts)
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        Ok(if reader.take()? { Some(reader.take()?) } else { None })
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        Ok((reader.take()?, reader.take()?))
    }
}

impl<K: Field + Ord, V: Field> Field for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        let count: u32 = reader.take()?;
        (0..count).map(|_| reader.take()).collect()
    }
}

fn put_list<T: Field>(list: &[T], out: &mut Vec<u8>) {
    (list.len() as u32).put(out);
    list.iter().for_each(|item| item.put(out));
}

fn take_list<T: Field>(reader: &mut Reader<'_>) -> Result<Vec<T>, CorruptAccounts> {
    let count: u32 = reader.take()?;
    (0..count).map(|_| reader.take()).collect()
}

impl Field for PrivilegeSet {
    fn put(&self, out: &mut Vec<u8>) {
        self.bits().put(out);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        Ok(Self::from_bits(reader.take()?))
    }
}

impl Field for DynamicSet {
    fn put(&self, out: &mut Vec<u8>) {
        self.bits().put(out);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        Ok(Self::from_bits(reader.take()?))
    }
}

impl Field for RoutineKind {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        let number: u8 = reader.take()?;
        Self::ALL.get(usize::from(number)).copied().ok_or(CorruptAccounts)
    }
}

impl Field for AccountName {
    fn put(&self, out: &mut Vec<u8>) {
        self.user.put(out);
        self.host.as_str().to_owned().put(out);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        let (user, host): (String, String) = reader.take()?;
        // Only PROXY names an account without a host.
        Ok(if host.is_empty() { Self::anybody() } else { Self::new(&user, &host) })
    }
}

impl Field for Credential {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(match self.plugin() {
            Plugin::CachingSha2 => 0,
            Plugin::Native => 1,
        });
        self.stored().to_vec().put(out);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        let plugin = match reader.take::<u8>()? {
            0 => Plugin::CachingSha2,
            1 => Plugin::Native,
            _ => return Err(CorruptAccounts),
        };
        let stored: Vec<u8> = reader.take()?;
        Self::from_stored(plugin, &stored).ok_or(CorruptAccounts)
    }
}

impl Field for TlsRequirement {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => out.push(0),
            Self::Ssl => out.push(1),
            Self::X509 => out.push(2),
            Self::Specified { cipher, issuer, subject } => {
                out.push(3);
                [cipher, issuer, subject].into_iter().for_each(|text| text.put(out));
            }
        }
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        match reader.take::<u8>()? {
            0 => Ok(Self::None),
            1 => Ok(Self::Ssl),
            2 => Ok(Self::X509),
            3 => Ok(Self::Specified {
                cipher: reader.take()?,
                issuer: reader.take()?,
                subject: reader.take()?,
            }),
            _ => Err(CorruptAccounts),
        }
    }
}

impl Field for Account {
    fn put(&self, out: &mut Vec<u8>) {
        self.name.put(out);
        self.credential.put(out);
        self.second_credential.put(out);
        self.grants.put(out);
        put_list(&self.default_roles, out);
        self.locked.put(out);
        self.tls.put(out);
        self.limits.put(out);
        self.policy.put(out);
        self.password_changed_us.put(out);
        put_list(&self.former_passwords, out);
        self.attributes.put(out);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, CorruptAccounts> {
        let mut account = Self::new(reader.take()?, reader.take()?);
        account.second_credential = reader.take()?;
        account.grants = reader.take()?;
        account.default_roles = take_list(reader)?;
        account.locked = reader.take()?;
        account.tls = reader.take()?;
        account.limits = reader.take()?;
        account.policy = reader.take()?;
        account.password_changed_us = reader.take()?;
        account.former_passwords = take_list(reader)?;
        account.attributes = reader.take()?;
        Ok(account)
    }
}
