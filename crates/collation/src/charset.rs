//! The character sets a string may be stored in, with the facts `information_schema.CHARACTER_SETS` shows.
//!
//! Called by the type system for byte limits and by the wire layer for the connection's character set.
use crate::registry::CollationId;

/// A character set the server can store and convert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    Utf8mb4,
    Utf8mb3,
    Latin1,
    Ascii,
    Binary,
}

impl Charset {
    pub const ALL: [Charset; 5] =
        [Charset::Ascii, Charset::Binary, Charset::Latin1, Charset::Utf8mb3, Charset::Utf8mb4];

    /// Finds a character set by name, ignoring ASCII case; `utf8` is the alias MySQL keeps for `utf8mb3`.
    pub fn by_name(name: &str) -> Option<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Charset::ALL.into_iter().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "UTF-8 Unicode",
            Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    /// The most bytes one character takes (`MAXLEN`).
    pub fn bytes_per_character_max(self) -> u32 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Binary => 1,
        }
    }

    pub fn default_collation(self) -> CollationId {
        match self {
            Charset::Utf8mb4 => CollationId::UTF8MB4_0900_AI_CI,
            Charset::Utf8mb3 => CollationId::UTF8MB3_GENERAL_CI,
            Charset::Latin1 => CollationId::LATIN1_SWEDISH_CI,
            Charset::Ascii => CollationId::ASCII_GENERAL_CI,
            Charset::Binary => CollationId::BINARY,
        }
    }

    /// The collation that `BINARY` as a column attribute or `COLLATE binary` of a character set means.
    pub fn binary_collation(self) -> CollationId {
        match self {
            Charset::Utf8mb4 => CollationId::UTF8MB4_BIN,
            Charset::Utf8mb3 => CollationId::UTF8MB3_BIN,
            Charset::Latin1 => CollationId::LATIN1_BIN,
            Charset::Ascii => CollationId::ASCII_BIN,
            Charset::Binary => CollationId::BINARY,
        }
    }

    /// Whether the bytes are UTF-8 (both Unicode character sets).
    pub fn is_unicode(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_defaults_belong() {
        for charset in Charset::ALL {
            assert_eq!(Charset::by_name(&charset.name().to_uppercase()), Some(charset));
            assert_eq!(charset.default_collation().charset(), charset);
            assert_eq!(charset.binary_collation().charset(), charset);
        }
        assert_eq!(Charset::by_name("utf8"), Some(Charset::Utf8mb3));
        assert_eq!(Charset::by_name("klingon"), None);
    }
}
