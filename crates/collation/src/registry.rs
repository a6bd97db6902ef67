//! The collations the server knows: id, name and the attributes `information_schema.COLLATIONS` shows.
//!
//! A `CollationId` is always one of the registered ids, so looking up its `Collation` cannot fail.
use crate::charset::Charset;
use crate::weight_table::UcaVersion;

/// The number of a registered collation, as the wire protocol and the stored schema carry it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollationId(u16);

/// Whether trailing spaces count when strings are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PadAttribute {
    PadSpace,
    NoPad,
}

/// How a collation weighs its characters; each has its own code path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weighing {
    /// Bytes as they are (also UTF-8 by code point, because UTF-8 keeps code point order).
    Bytes,
    /// One weight per byte through a table (single-byte character sets).
    ByteTable(&'static [u8; 256]),
    /// One 16-bit weight per code point, other planes all equal.
    General,
    /// Primary weights of a Unicode collation element table.
    Uca(UcaVersion),
}

#[derive(Debug)]
pub struct Collation {
    pub id: CollationId,
    pub name: &'static str,
    pub charset: Charset,
    pub is_default: bool,
    /// The `SORTLEN` that MySQL shows.
    pub sort_length: u32,
    pub pad: PadAttribute,
    pub(crate) weighing: Weighing,
}

impl CollationId {
    pub const LATIN1_GERMAN1_CI: CollationId = CollationId(5);
    pub const LATIN1_SWEDISH_CI: CollationId = CollationId(8);
    pub const ASCII_GENERAL_CI: CollationId = CollationId(11);
    pub const LATIN1_DANISH_CI: CollationId = CollationId(15);
    pub const UTF8MB3_GENERAL_CI: CollationId = CollationId(33);
    pub const UTF8MB4_GENERAL_CI: CollationId = CollationId(45);
    pub const UTF8MB4_BIN: CollationId = CollationId(46);
    pub const LATIN1_BIN: CollationId = CollationId(47);
    pub const LATIN1_GENERAL_CI: CollationId = CollationId(48);
    pub const LATIN1_GENERAL_CS: CollationId = CollationId(49);
    pub const BINARY: CollationId = CollationId(63);
    pub const ASCII_BIN: CollationId = CollationId(65);
    pub const UTF8MB3_BIN: CollationId = CollationId(83);
    pub const LATIN1_SPANISH_CI: CollationId = CollationId(94);
    pub const UTF8MB3_UNICODE_CI: CollationId = CollationId(192);
    pub const UTF8MB3_UNICODE_520_CI: CollationId = CollationId(214);
    pub const UTF8MB4_UNICODE_CI: CollationId = CollationId(224);
    pub const UTF8MB4_UNICODE_520_CI: CollationId = CollationId(246);
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    pub const UTF8MB4_0900_BIN: CollationId = CollationId(309);

    pub fn by_number(number: u16) -> Option<CollationId> {
        all_collations().iter().find(|collation| collation.id.0 == number).map(|collation| collation.id)
    }

    /// Finds a collation by name, ignoring ASCII case; the `utf8_` spelling of `utf8mb3_` is accepted.
    pub fn by_name(name: &str) -> Option<CollationId> {
        let lower = name.to_ascii_lowercase();
        let canonical = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower,
        };
        all_collations().iter().find(|collation| collation.name == canonical).map(|collation| collation.id)
    }

    pub fn number(self) -> u16 {
        self.0
    }

    #[inline]
    pub fn collation(self) -> &'static Collation {
        let collations = all_collations();
        let index = match self.0 {
            255 => 0,
            63 => 1,
            46 => 2,
            45 => 3,
            309 => 4,
            33 => 5,
            83 => 6,
            8 => 7,
            47 => 8,
            48 => 9,
            11 => 10,
            65 => 11,
            224 => 12,
            192 => 13,
            246 => 14,
            214 => 15,
            49 => 16,
            15 => 17,
            5 => 18,
            94 => 19,
            _ => unreachable!("a CollationId is only made from registered numbers"),
        };
        &collations[index]
    }

    pub fn name(self) -> &'static str {
        self.collation().name
    }

    pub fn charset(self) -> Charset {
        self.collation().charset
    }
}

impl std::fmt::Debug for CollationId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.name())
    }
}

const fn entry(
    id: CollationId,
    name: &'static str,
    charset: Charset,
    pad: PadAttribute,
    weighing: Weighing,
) -> Collation {
    Collation { id, name, charset, is_default: false, sort_length: 1, pad, weighing }
}

const fn default_of(collation: Collation) -> Collation {
    Collation { is_default: true, ..collation }
}

const fn latin1(id: CollationId, name: &'static str, weights: &'static [u8; 256]) -> Collation {
    entry(id, name, Charset::Latin1, PadAttribute::PadSpace, Weighing::ByteTable(weights))
}

const fn with_sort_length(collation: Collation, sort_length: u32) -> Collation {
    Collation { sort_length, ..collation }
}

static COLLATIONS: [Collation; 20] = {
    use Charset::{Ascii, Binary, Latin1, Utf8mb3, Utf8mb4};
    use CollationId as Id;
    use PadAttribute::{NoPad, PadSpace};
    use UcaVersion::{V400, V520, V900};
    use Weighing::{ByteTable, Bytes, General, Uca};
    [
        with_sort_length(
            default_of(entry(Id::UTF8MB4_0900_AI_CI, "utf8mb4_0900_ai_ci", Utf8mb4, NoPad, Uca(V900))),
            0,
        ),
        default_of(entry(Id::BINARY, "binary", Binary, NoPad, Bytes)),
        entry(Id::UTF8MB4_BIN, "utf8mb4_bin", Utf8mb4, PadSpace, Bytes),
        entry(Id::UTF8MB4_GENERAL_CI, "utf8mb4_general_ci", Utf8mb4, PadSpace, General),
        entry(Id::UTF8MB4_0900_BIN, "utf8mb4_0900_bin", Utf8mb4, NoPad, Bytes),
        default_of(entry(Id::UTF8MB3_GENERAL_CI, "utf8mb3_general_ci", Utf8mb3, PadSpace, General)),
        entry(Id::UTF8MB3_BIN, "utf8mb3_bin", Utf8mb3, PadSpace, Bytes),
        default_of(entry(
            Id::LATIN1_SWEDISH_CI,
            "latin1_swedish_ci",
            Latin1,
            PadSpace,
            ByteTable(&crate::latin1::SWEDISH_WEIGHTS),
        )),
        entry(Id::LATIN1_BIN, "latin1_bin", Latin1, PadSpace, Bytes),
        entry(
            Id::LATIN1_GENERAL_CI,
            "latin1_general_ci",
            Latin1,
            PadSpace,
            ByteTable(&crate::latin1::GENERAL_WEIGHTS),
        ),
        default_of(entry(
            Id::ASCII_GENERAL_CI,
            "ascii_general_ci",
            Ascii,
            PadSpace,
            ByteTable(&crate::latin1::ASCII_WEIGHTS),
        )),
        entry(Id::ASCII_BIN, "ascii_bin", Ascii, PadSpace, Bytes),
        with_sort_length(
            entry(Id::UTF8MB4_UNICODE_CI, "utf8mb4_unicode_ci", Utf8mb4, PadSpace, Uca(V400)),
            8,
        ),
        with_sort_length(
            entry(Id::UTF8MB3_UNICODE_CI, "utf8mb3_unicode_ci", Utf8mb3, PadSpace, Uca(V400)),
            8,
        ),
        with_sort_length(
            entry(Id::UTF8MB4_UNICODE_520_CI, "utf8mb4_unicode_520_ci", Utf8mb4, PadSpace, Uca(V520)),
            8,
        ),
        with_sort_length(
            entry(Id::UTF8MB3_UNICODE_520_CI, "utf8mb3_unicode_520_ci", Utf8mb3, PadSpace, Uca(V520)),
            8,
        ),
        latin1(Id::LATIN1_GENERAL_CS, "latin1_general_cs", &crate::latin1::GENERAL_CASE_WEIGHTS),
        latin1(Id::LATIN1_DANISH_CI, "latin1_danish_ci", &crate::latin1::DANISH_WEIGHTS),
        latin1(Id::LATIN1_GERMAN1_CI, "latin1_german1_ci", &crate::latin1::GERMAN1_WEIGHTS),
        latin1(Id::LATIN1_SPANISH_CI, "latin1_spanish_ci", &crate::latin1::SPANISH_WEIGHTS),
    ]
};

/// Every registered collation.
pub fn all_collations() -> &'static [Collation] {
    &COLLATIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_finds_its_own_entry() {
        for collation in all_collations() {
            assert_eq!(collation.id.collation().name, collation.name);
            assert_eq!(CollationId::by_name(collation.name), Some(collation.id));
            assert_eq!(CollationId::by_number(collation.id.number()), Some(collation.id));
        }
        assert_eq!(CollationId::by_name("utf8_general_ci"), Some(CollationId::UTF8MB3_GENERAL_CI));
        assert_eq!(CollationId::by_number(1), None);
    }
}
