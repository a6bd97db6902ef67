//! QUERY: a statement as text with the settings that it needs: BEGIN, data definition, XA commands.
//!
//! | bytes | field |
//! |---|---|
//! | 4 | connection |
//! | 4 | seconds that it took |
//! | 1 | length of the database's name |
//! | 2 | error that it ended in |
//! | 2 | length of the settings |
//! | n | settings: a number, then a value whose length follows from the number |
//! | n + 1 | database, ends in zero |
//! | rest | text |
//!
//! Invariant: settings that are unknown here end the known ones and are kept as they are.
use crate::BinlogError;
use crate::bytes::{Reader, put_short_text, text};

/// Bits of [`QuerySettings::options`].
pub mod query_option {
    /// `SET sql_auto_is_null`.
    pub const AUTO_IS_NULL: u32 = 0x4000;
    /// `SET autocommit = 0`.
    pub const NOT_AUTOCOMMIT: u32 = 0x8_0000;
    /// `SET foreign_key_checks = 0`.
    pub const NO_FOREIGN_KEY_CHECKS: u32 = 0x400_0000;
    /// `SET unique_checks = 0`.
    pub const RELAXED_UNIQUE_CHECKS: u32 = 0x800_0000;
}

/// The settings under which a statement ran. What is `None` is not said.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct QuerySettings {
    /// See [`query_option`].
    pub options: Option<u32>,
    /// The bits of `sql_mode`.
    pub sql_mode: Option<u64>,
    /// Always `std`.
    pub catalog: Option<String>,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: Option<(u16, u16)>,
    /// Numbers of the collations of client, connection and server.
    pub charset: Option<[u16; 3]>,
    /// `time_zone`.
    pub time_zone: Option<String>,
    /// The number of `lc_time_names`.
    pub locale: Option<u16>,
    /// The number of `collation_database`.
    pub database_collation: Option<u16>,
    /// Which tables of a join an UPDATE changes.
    pub updated_tables: Option<u64>,
    /// The account that a definer is taken from: user and host.
    pub invoker: Option<(String, String)>,
    /// The databases that the statement changes; `None` inside: too many to be named.
    pub databases: Option<Option<Vec<String>>>,
    /// The micros of the statement's moment.
    pub micros: Option<u32>,
    /// `explicit_defaults_for_timestamp`.
    pub explicit_timestamp_defaults: Option<bool>,
    /// The transaction of a statement of data definition.
    pub definition_xid: Option<u64>,
    /// The number of `default_collation_for_utf8mb4`.
    pub utf8mb4_collation: Option<u16>,
    /// `sql_require_primary_key`.
    pub require_primary_key: Option<bool>,
    /// `default_table_encryption`.
    pub table_encryption: Option<bool>,
    /// From the first unknown setting on.
    pub unknown: Vec<u8>,
}

/// The event.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Query {
    /// The connection on which it ran.
    pub thread_id: u32,
    /// Seconds that it took.
    pub seconds: u32,
    /// 0, or what it ended in.
    pub error_code: u16,
    /// See there.
    pub settings: QuerySettings,
    /// The default database; may be empty.
    pub database: String,
    /// The statement, in the character set of the client.
    pub sql: Vec<u8>,
}

impl Query {
    /// The event's body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.thread_id.to_le_bytes());
        out.extend_from_slice(&self.seconds.to_le_bytes());
        let database = &self.database.as_bytes()[..self.database.len().min(255)];
        out.push(database.len() as u8);
        out.extend_from_slice(&self.error_code.to_le_bytes());
        let mut settings = Vec::with_capacity(64);
        self.settings.encode(&mut settings);
        out.extend_from_slice(&(settings.len() as u16).to_le_bytes());
        out.extend_from_slice(&settings);
        out.extend_from_slice(database);
        out.push(0);
        out.extend_from_slice(&self.sql);
    }

    /// Reads an event's body.
    pub fn decode(body: &[u8]) -> Result<Query, BinlogError> {
        let mut reader = Reader(body);
        let (thread_id, seconds) = (reader.u32()?, reader.u32()?);
        let database_length = usize::from(reader.u8()?);
        let error_code = reader.u16()?;
        let settings_length = usize::from(reader.u16()?);
        let settings = QuerySettings::decode(reader.take(settings_length)?)?;
        let database = text(reader.take(database_length)?)?;
        reader.take(1)?;
        Ok(Query { thread_id, seconds, error_code, settings, database, sql: reader.rest().to_vec() })
    }
}

/// The most databases that are named.
const DATABASES_MAX: usize = 16;
/// Stands for more.
const TOO_MANY_DATABASES: u8 = 254;

impl QuerySettings {
    fn encode(&self, out: &mut Vec<u8>) {
        if let Some(options) = self.options {
            put(0, &options.to_le_bytes(), out);
        }
        if let Some(sql_mode) = self.sql_mode {
            put(1, &sql_mode.to_le_bytes(), out);
        }
        if let Some(catalog) = &self.catalog {
            out.push(6);
            put_short_text(catalog, out);
        }
        if let Some((increment, offset)) = self.auto_increment {
            put(3, &increment.to_le_bytes(), out);
            out.extend_from_slice(&offset.to_le_bytes());
        }
        if let Some(charset) = self.charset {
            put(4, &charset.map(u16::to_le_bytes).concat(), out);
        }
        if let Some(zone) = &self.time_zone {
            out.push(5);
            put_short_text(zone, out);
        }
        for (number, value) in [(7, self.locale), (8, self.database_collation)] {
            if let Some(value) = value {
                put(number, &value.to_le_bytes(), out);
            }
        }
        if let Some(tables) = self.updated_tables {
            put(9, &tables.to_le_bytes(), out);
        }
        if let Some((user, host)) = &self.invoker {
            out.push(11);
            put_short_text(user, out);
            put_short_text(host, out);
        }
        self.encode_later(out);
    }

    fn encode_later(&self, out: &mut Vec<u8>) {
        match &self.databases {
            None => {}
            Some(Some(names)) if names.len() <= DATABASES_MAX => {
                put(12, &[names.len() as u8], out);
                for name in names {
                    out.extend_from_slice(name.as_bytes());
                    out.push(0);
                }
            }
            Some(_) => put(12, &[TOO_MANY_DATABASES], out),
        }
        if let Some(micros) = self.micros {
            put(13, &micros.to_le_bytes()[..3], out);
        }
        if let Some(explicit) = self.explicit_timestamp_defaults {
            put(16, &[u8::from(explicit)], out);
        }
        if let Some(xid) = self.definition_xid {
            put(17, &xid.to_le_bytes(), out);
        }
        if let Some(collation) = self.utf8mb4_collation {
            put(18, &collation.to_le_bytes(), out);
        }
        for (number, value) in [(19, self.require_primary_key), (20, self.table_encryption)] {
            if let Some(value) = value {
                put(number, &[u8::from(value)], out);
            }
        }
        out.extend_from_slice(&self.unknown);
    }

    fn decode(bytes: &[u8]) -> Result<QuerySettings, BinlogError> {
        let mut settings = QuerySettings::default();
        let mut reader = Reader(bytes);
        while !reader.is_empty() {
            let before = reader;
            let number = reader.u8()?;
            if !settings.decode_one(number, &mut reader)? {
                settings.unknown = before.0.to_vec();
                break;
            }
        }
        Ok(settings)
    }

    /// False if the number is unknown.
    fn decode_one(&mut self, number: u8, reader: &mut Reader<'_>) -> Result<bool, BinlogError> {
        match number {
            0 => self.options = Some(reader.u32()?),
            1 => self.sql_mode = Some(reader.u64()?),
            3 => self.auto_increment = Some((reader.u16()?, reader.u16()?)),
            4 => self.charset = Some([reader.u16()?, reader.u16()?, reader.u16()?]),
            5 => self.time_zone = Some(reader.short_text()?),
            6 => self.catalog = Some(reader.short_text()?),
            7 => self.locale = Some(reader.u16()?),
            8 => self.database_collation = Some(reader.u16()?),
            9 => self.updated_tables = Some(reader.u64()?),
            11 => self.invoker = Some((reader.short_text()?, reader.short_text()?)),
            12 => self.databases = Some(read_databases(reader)?),
            13 => self.micros = Some(reader.uint(3)? as u32),
            16 => self.explicit_timestamp_defaults = Some(reader.u8()? != 0),
            17 => self.definition_xid = Some(reader.u64()?),
            18 => self.utf8mb4_collation = Some(reader.u16()?),
            19 => self.require_primary_key = Some(reader.u8()? != 0),
            20 => self.table_encryption = Some(reader.u8()? != 0),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn put(number: u8, value: &[u8], out: &mut Vec<u8>) {
    out.push(number);
    out.extend_from_slice(value);
}

fn read_databases(reader: &mut Reader<'_>) -> Result<Option<Vec<String>>, BinlogError> {
    let count = reader.u8()?;
    if count == TOO_MANY_DATABASES {
        return Ok(None);
    }
    let mut names = Vec::new();
    for _ in 0..count {
        let end = reader.0.iter().position(|byte| *byte == 0).ok_or(BinlogError::Truncated)?;
        names.push(text(reader.take(end)?)?);
        reader.take(1)?;
    }
    Ok(Some(names))
}
