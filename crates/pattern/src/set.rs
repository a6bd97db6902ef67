//! Sets of characters: ranges, the classes that patterns name, and what lies outside of them. Callers: the parser, which makes
//! them, and the matcher, which asks whether a character is in one.
use super::fold;

/// A set of characters: ranges, possibly complemented.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set {
    pub ranges: Vec<(char, char)>,
    pub is_negated: bool,
    pub ignores_case: bool,
}

impl Set {
    pub(super) fn contains(&self, character: char) -> bool {
        let within =
            |character: char| self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&character));
        let is_member = within(character)
            || (self.ignores_case && {
                let lower = fold(character);
                within(lower) || character.to_uppercase().next().is_some_and(within)
            });
        is_member != self.is_negated
    }
}

/// The characters of \d, \w and \s.
pub(super) fn class_ranges(letter: char) -> Vec<(char, char)> {
    match letter {
        'd' => vec![('0', '9')],
        's' => vec![
            ('\t', '\r'),
            (' ', ' '),
            ('\u{85}', '\u{85}'),
            ('\u{A0}', '\u{A0}'),
            ('\u{2000}', '\u{200A}'),
        ],
        _ => word_ranges(),
    }
}

/// Letters, digits and the underscore; beyond Latin every letter block counts as a whole.
fn word_ranges() -> Vec<(char, char)> {
    let mut ranges = vec![('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
    ranges.extend(alphabetic_ranges());
    ranges
}

fn alphabetic_ranges() -> impl Iterator<Item = (char, char)> {
    static RANGES: std::sync::OnceLock<Vec<(char, char)>> = std::sync::OnceLock::new();
    let ranges = RANGES.get_or_init(|| {
        let mut ranges: Vec<(char, char)> = Vec::new();
        for character in ('\u{AA}'..='\u{2FFFF}').filter(|character| character.is_alphanumeric()) {
            match ranges.last_mut() {
                Some((_, high)) if u32::from(*high) + 1 == u32::from(character) => *high = character,
                _ => ranges.push((character, character)),
            }
        }
        ranges
    });
    ranges.iter().copied()
}

/// The characters of a class in brackets, like `[:alpha:]`.
pub(super) fn posix_ranges(name: &str) -> Option<Vec<(char, char)>> {
    let letters = || {
        let mut ranges = vec![('A', 'Z'), ('a', 'z')];
        ranges.extend(alphabetic_ranges());
        ranges
    };
    Some(match name {
        "alpha" => letters(),
        "digit" => vec![('0', '9')],
        "alnum" => {
            let mut ranges = letters();
            ranges.push(('0', '9'));
            ranges
        }
        "upper" => vec![('A', 'Z'), ('À', 'Ö'), ('Ø', 'Þ')],
        "lower" => vec![('a', 'z'), ('ß', 'ö'), ('ø', 'ÿ')],
        "space" => class_ranges('s'),
        "blank" => vec![(' ', ' '), ('\t', '\t')],
        "punct" => vec![('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "xdigit" => vec![('0', '9'), ('A', 'F'), ('a', 'f')],
        "cntrl" => vec![('\0', '\u{1F}'), ('\u{7F}', '\u{9F}')],
        "print" => vec![(' ', '~'), ('\u{A0}', char::MAX)],
        "graph" => vec![('!', '~'), ('\u{A1}', char::MAX)],
        "word" => word_ranges(),
        _ => return None,
    })
}

/// Everything outside of the ranges.
pub(super) fn complement(ranges: &[(char, char)]) -> Vec<(char, char)> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut outside = Vec::new();
    let mut next = 0u32;
    for (low, high) in sorted {
        if u32::from(low) > next {
            push_between(next, u32::from(low) - 1, &mut outside);
        }
        next = next.max(u32::from(high) + 1);
    }
    push_between(next, u32::from(char::MAX), &mut outside);
    outside
}

/// Adds a range of code points, stepping over the surrogates, which are no characters.
fn push_between(low: u32, high: u32, ranges: &mut Vec<(char, char)>) {
    let low = char::from_u32(low).unwrap_or('\u{E000}');
    let high = char::from_u32(high).unwrap_or('\u{D7FF}');
    if low <= high {
        ranges.push((low, high));
    }
}
