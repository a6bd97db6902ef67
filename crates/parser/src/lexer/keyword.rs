//! Keyword lookup: a table built at compile time and probed with a hash of a few bytes.
//!
//! MySQL's words are of two sorts: reserved ones are never a bare identifier; the others are keywords only where the
//! grammar asks for them. Words that the grammar never asks for are no keywords here.
pub use super::keyword_table::Keyword;
use super::keyword_table::{KEYWORDS, RESERVED_COUNT};

const SLOT_COUNT: usize = 4096;
const LENGTH_MAX: usize = 32;
const EMPTY: u16 = u16::MAX;

const SLOTS: [u16; SLOT_COUNT] = {
    let mut slots = [EMPTY; SLOT_COUNT];
    let mut index = 0;
    while index < KEYWORDS.len() {
        let mut slot = hash(KEYWORDS[index].0.as_bytes());
        while slots[slot] != EMPTY {
            slot = (slot + 1) % SLOT_COUNT;
        }
        slots[slot] = index as u16;
        index += 1;
    }
    slots
};

const _: () = assert!(KEYWORDS.len() * 4 < SLOT_COUNT, "long probe sequences would slow every identifier");

/// Clearing bit 5 folds letter case; that it also folds some signs only costs a comparison.
const fn hash(word: &[u8]) -> usize {
    let length = word.len();
    let first = (word[0] & 0xDF) as usize;
    let second = (word[length / 2] & 0xDF) as usize;
    let third = (word[length - 1] & 0xDF) as usize;
    let fourth = (word[length / 3] & 0xDF) as usize;
    let mixed = first.wrapping_mul(0x9E37).wrapping_add(second.wrapping_mul(0x85EB))
        ^ third
            .wrapping_mul(0xC2B3)
            .wrapping_add(fourth.wrapping_mul(0x27D5))
            .wrapping_add(length.wrapping_mul(0x1657));
    (mixed ^ (mixed >> 9)) % SLOT_COUNT
}

impl Keyword {
    /// The keyword that an unquoted word is, in any letter case; `Keyword::None` for an ordinary identifier.
    pub fn of(word: &[u8]) -> Keyword {
        if word.len() > LENGTH_MAX || word.len() < 2 {
            return Keyword::None;
        }
        let mut slot = hash(word);
        loop {
            let index = SLOTS[slot];
            if index == EMPTY {
                return Keyword::None;
            }
            let (name, keyword) = KEYWORDS[index as usize];
            if name.len() == word.len() && name.as_bytes().eq_ignore_ascii_case(word) {
                return keyword;
            }
            slot = (slot + 1) % SLOT_COUNT;
        }
    }

    /// Whether the word may not be a bare identifier.
    pub fn is_reserved(self) -> bool {
        (self as usize) < RESERVED_COUNT
    }

    /// The functions of MySQL's grammar whose names are ordinary identifiers unless a parenthesis follows at once.
    pub fn is_function_name(self) -> bool {
        use Keyword::*;
        matches!(
            self,
            Adddate
                | BitAnd
                | BitOr
                | BitXor
                | Cast
                | Count
                | Curdate
                | Curtime
                | DateAdd
                | DateSub
                | Extract
                | GroupConcat
                | JsonArrayagg
                | JsonObjectagg
                | Max
                | Mid
                | Min
                | Now
                | Position
                | StCollect
                | Std
                | Stddev
                | StddevPop
                | StddevSamp
                | Subdate
                | Substr
                | Substring
                | Sum
                | Sysdate
                | Trim
                | VarPop
                | VarSamp
                | Variance
        )
    }

    /// The keyword in capitals; empty for `None`.
    pub fn name(self) -> &'static str {
        KEYWORDS.get(self as usize).map_or("", |entry| entry.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case() {
        for (index, (name, keyword)) in KEYWORDS.iter().enumerate() {
            assert_eq!(*keyword as usize, index, "{name} stands at its own number");
            assert_eq!(Keyword::of(name.as_bytes()), *keyword);
            assert_eq!(Keyword::of(name.to_ascii_lowercase().as_bytes()), *keyword);
            assert!(name.len() <= LENGTH_MAX);
        }
    }

    #[test]
    fn other_words_are_identifiers() {
        for word in [
            "sbtest1",
            "x",
            "id",
            "selects",
            "",
            "SELECT_",
            "a_very_long_identifier_that_is_no_keyword_at_all",
        ] {
            assert_eq!(Keyword::of(word.as_bytes()), Keyword::None, "{word}");
        }
    }

    #[test]
    fn reserved_and_free_words_differ() {
        assert!(Keyword::of(b"select").is_reserved());
        assert!(Keyword::of(b"rank").is_reserved());
        assert!(!Keyword::of(b"status").is_reserved());
        assert!(!Keyword::None.is_reserved());
    }
}
