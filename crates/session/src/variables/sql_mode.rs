//! `sql_mode` as a set of bits and as its words.
use super::definition::SQL_MODES;

/// The bit of a mode named in this program.
pub const fn bit(name: &str) -> u64 {
    let name = name.as_bytes();
    let mut index = 0;
    while index < SQL_MODES.len() {
        if equal(SQL_MODES[index].as_bytes(), name) {
            return 1 << index;
        }
        index += 1;
    }
    panic!("no such SQL mode")
}

const fn equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut index = 0;
    while index < left.len() {
        if left[index] != right[index] {
            return false;
        }
        index += 1;
    }
    true
}

pub const REAL_AS_FLOAT: u64 = bit("REAL_AS_FLOAT");
pub const PIPES_AS_CONCAT: u64 = bit("PIPES_AS_CONCAT");
pub const ANSI_QUOTES: u64 = bit("ANSI_QUOTES");
pub const IGNORE_SPACE: u64 = bit("IGNORE_SPACE");
pub const ONLY_FULL_GROUP_BY: u64 = bit("ONLY_FULL_GROUP_BY");
pub const NO_UNSIGNED_SUBTRACTION: u64 = bit("NO_UNSIGNED_SUBTRACTION");
pub const ANSI: u64 = bit("ANSI");
pub const NO_AUTO_VALUE_ON_ZERO: u64 = bit("NO_AUTO_VALUE_ON_ZERO");
pub const NO_BACKSLASH_ESCAPES: u64 = bit("NO_BACKSLASH_ESCAPES");
pub const STRICT_TRANS_TABLES: u64 = bit("STRICT_TRANS_TABLES");
pub const STRICT_ALL_TABLES: u64 = bit("STRICT_ALL_TABLES");
pub const NO_ZERO_IN_DATE: u64 = bit("NO_ZERO_IN_DATE");
pub const NO_ZERO_DATE: u64 = bit("NO_ZERO_DATE");
pub const ALLOW_INVALID_DATES: u64 = bit("ALLOW_INVALID_DATES");
pub const ERROR_FOR_DIVISION_BY_ZERO: u64 = bit("ERROR_FOR_DIVISION_BY_ZERO");
pub const TRADITIONAL: u64 = bit("TRADITIONAL");
pub const HIGH_NOT_PRECEDENCE: u64 = bit("HIGH_NOT_PRECEDENCE");
pub const NO_ENGINE_SUBSTITUTION: u64 = bit("NO_ENGINE_SUBSTITUTION");
pub const PAD_CHAR_TO_FULL_LENGTH: u64 = bit("PAD_CHAR_TO_FULL_LENGTH");
pub const TIME_TRUNCATE_FRACTIONAL: u64 = bit("TIME_TRUNCATE_FRACTIONAL");

const ANSI_MEMBERS: u64 =
    REAL_AS_FLOAT | PIPES_AS_CONCAT | ANSI_QUOTES | IGNORE_SPACE | ONLY_FULL_GROUP_BY | ANSI;
const TRADITIONAL_MEMBERS: u64 = STRICT_TRANS_TABLES
    | STRICT_ALL_TABLES
    | NO_ZERO_IN_DATE
    | NO_ZERO_DATE
    | ERROR_FOR_DIVISION_BY_ZERO
    | TRADITIONAL
    | NO_ENGINE_SUBSTITUTION;

/// ANSI and TRADITIONAL bring their members along.
pub fn expand(bits: u64) -> u64 {
    let bits = if bits & ANSI != 0 { bits | ANSI_MEMBERS } else { bits };
    if bits & TRADITIONAL != 0 { bits | TRADITIONAL_MEMBERS } else { bits }
}

/// Words joined by commas, or the first word that is none.
pub fn parse(text: &str) -> Result<u64, String> {
    let mut bits = 0;
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let index = SQL_MODES.iter().position(|mode| mode.eq_ignore_ascii_case(word));
        bits |= 1 << index.ok_or_else(|| word.to_owned())?;
    }
    Ok(expand(bits))
}

pub fn words_of(bits: u64) -> String {
    let words: Vec<&str> = SQL_MODES
        .iter()
        .enumerate()
        .filter(|(index, word)| bits >> index & 1 == 1 && !word.is_empty())
        .map(|(_, word)| *word)
        .collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combined_modes_bring_their_members() {
        assert_eq!(
            words_of(parse("ansi").unwrap()),
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
        );
        assert_eq!(parse("STRICT_TRANS_TABLES, foo"), Err("foo".to_owned()));
        assert_eq!(words_of(parse("").unwrap()), "");
    }
}
