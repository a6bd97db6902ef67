//! The LIKE operator under a collation.
//!
//! A pattern is compiled once and matched many times; matching backtracks only to the last `%`, so its cost is at
//! most text length times pattern length. Trailing spaces count, whatever the collation's padding (SQL standard).
use env::LONG_PIECE;

use crate::charset::Charset;
use crate::registry::{CollationId, Weighing};
use crate::weights::{UcaWeights, general_weight, uca_weights};

/// A pattern ready for matching.
#[derive(Clone, Debug, PartialEq)]
pub struct LikePattern {
    charset: Charset,
    weighing: Weighing,
    tokens: Vec<Token>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    AnyCharacters,
    AnyCharacter,
    /// A character, folded so that equal characters have equal tokens where the collation allows it.
    Character(u32),
}

impl LikePattern {
    /// `escape` is a code point of the collation's character set, `None` for no escape character.
    pub fn new(collation: CollationId, pattern: &[u8], escape: Option<u32>) -> LikePattern {
        let charset = collation.charset();
        let weighing = collation.collation().weighing;
        let mut tokens = Vec::with_capacity(pattern.len());
        let mut rest = pattern;
        while !rest.is_empty() {
            let (mut character, length) = charset.decode_first(rest);
            rest = &rest[length..];
            if Some(character) == escape && !rest.is_empty() {
                let (escaped, length) = charset.decode_first(rest);
                rest = &rest[length..];
                character = escaped;
                tokens.push(Token::Character(fold(weighing, character)));
                continue;
            }
            tokens.push(match character {
                0x25 if tokens.last() == Some(&Token::AnyCharacters) => continue,
                0x25 => Token::AnyCharacters,
                0x5F => Token::AnyCharacter,
                character => Token::Character(fold(weighing, character)),
            });
        }
        LikePattern { charset, weighing, tokens }
    }

    pub fn matches(&self, text: &[u8]) -> bool {
        let charset = self.charset;
        let (mut token, mut at) = (0, 0);
        // Where to resume when a token fails: after the last `%`, one character further on.
        let mut resume: Option<(usize, usize)> = None;
        let mut uncounted = 0;
        loop {
            uncounted += 1;
            if uncounted == LONG_PIECE {
                uncounted = 0;
                env::tick_long(LONG_PIECE * 4);
            }
            let current = self.tokens.get(token);
            if current == Some(&Token::AnyCharacters) {
                token += 1;
                if token == self.tokens.len() {
                    return true;
                }
                resume = Some((token, at));
                continue;
            }
            if at == text.len() {
                // More text cannot be found by resuming later, so the answer is final.
                return current.is_none();
            }
            let (character, length) = charset.decode_first(&text[at..]);
            let is_match = match current {
                None | Some(Token::AnyCharacters) => false,
                Some(Token::AnyCharacter) => true,
                Some(Token::Character(wanted)) => self.is_same(*wanted, character),
            };
            if is_match {
                token += 1;
                at += length;
                continue;
            }
            let Some((resume_token, resume_at)) = resume else { return false };
            let (_, skipped) = charset.decode_first(&text[resume_at..]);
            token = resume_token;
            at = resume_at + skipped;
            resume = Some((token, at));
        }
    }

    fn is_same(&self, wanted: u32, character: u32) -> bool {
        let folded = fold(self.weighing, character);
        if wanted == folded {
            return true;
        }
        // Characters without a single weight (ignorable, expanding, implicit) stay code points when folded.
        let is_plain = wanted & UCA_FOLDED == 0 && folded & UCA_FOLDED == 0;
        match self.weighing {
            Weighing::Uca(version) if is_plain => {
                uca_weights(version, wanted) == uca_weights(version, folded)
            }
            _ => false,
        }
    }
}

/// Marks a folded UCA character: the low bits are its single primary weight.
const UCA_FOLDED: u32 = 1 << 31;

/// Maps characters that are equal under the collation to one number, as far as one number can say it.
#[inline]
fn fold(weighing: Weighing, character: u32) -> u32 {
    match weighing {
        Weighing::Bytes => character,
        // In single-byte sets the "code point" that `decode_first` gives is the byte itself.
        Weighing::ByteTable(table) => {
            table.get(character as usize).map_or(character, |weight| u32::from(*weight))
        }
        Weighing::General => u32::from(general_weight(character)),
        Weighing::Uca(version) if character < 0x80 => match version.ascii()[character as usize] {
            0 => character,
            weight => UCA_FOLDED | u32::from(weight),
        },
        Weighing::Uca(version) => match uca_weights(version, character) {
            UcaWeights::Single(weight) => UCA_FOLDED | u32::from(weight),
            _ => character,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(collation: CollationId, text: &str, pattern: &str) -> bool {
        LikePattern::new(collation, pattern.as_bytes(), Some(u32::from('\\'))).matches(text.as_bytes())
    }

    #[test]
    fn wildcards_and_escapes() {
        let ai_ci = CollationId::UTF8MB4_0900_AI_CI;
        for (text, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "ABC", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "_b_", true),
            ("abc", "__", false),
            ("abc", "____", false),
            ("", "%", true),
            ("", "", true),
            ("a", "", false),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("a_c", "a\\_c", true),
            ("a\\", "a\\", true),
            ("mississippi", "%iss%ip%", true),
            ("mississippi", "%iss%ipp", false),
            ("été", "ETE", true),
            ("été", "_t_", true),
            ("a ", "a", false),
            ("ß", "ss", false),
            ("中文", "中_", true),
            ("😀x", "_x", true),
        ] {
            assert_eq!(check(ai_ci, text, pattern), expected, "{text} LIKE {pattern}");
        }
        assert!(!check(CollationId::UTF8MB4_BIN, "abc", "ABC"));
        assert!(!check(CollationId::UTF8MB4_BIN, "été", "ete"));
        assert!(check(CollationId::UTF8MB4_GENERAL_CI, "été", "ETE"));
        assert!(check(CollationId::LATIN1_SWEDISH_CI, "abc", "A_C"));
    }

    #[test]
    fn many_wildcards_stay_cheap() {
        let text = "a".repeat(5_000);
        let pattern = "a%".repeat(200) + "b";
        assert!(!check(CollationId::UTF8MB4_BIN, &text, &pattern));
    }
}
