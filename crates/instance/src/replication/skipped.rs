//! `replica_skip_errors`: the errors of a source's changes that do not stop an applier.
use std::collections::BTreeSet;
use std::fmt;

/// What `ddl_exist_errors` stands for: objects that are there already, or are gone already.
const DDL_EXIST_ERRORS: [u16; 10] = [1007, 1008, 1050, 1051, 1054, 1060, 1061, 1068, 1091, 1146];

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkippedErrors {
    Listed(BTreeSet<u16>),
    All,
}

impl SkippedErrors {
    /// `OFF`, `all`, or numbers and `ddl_exist_errors` with commas between them; `None` for anything else.
    pub fn parse(text: &str) -> Option<SkippedErrors> {
        let mut numbers = BTreeSet::new();
        if text.eq_ignore_ascii_case("OFF") {
            return Some(SkippedErrors::Listed(numbers));
        }
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if word.eq_ignore_ascii_case("all") {
                return Some(SkippedErrors::All);
            }
            if word.eq_ignore_ascii_case("ddl_exist_errors") {
                numbers.extend(DDL_EXIST_ERRORS);
                continue;
            }
            numbers.insert(word.parse().ok()?);
        }
        Some(SkippedErrors::Listed(numbers))
    }

    pub fn has(&self, number: u16) -> bool {
        match self {
            SkippedErrors::Listed(numbers) => numbers.contains(&number),
            SkippedErrors::All => true,
        }
    }
}

/// As the variable shows it.
impl fmt::Display for SkippedErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkippedErrors::All => out.write_str("ALL"),
            SkippedErrors::Listed(numbers) if numbers.is_empty() => out.write_str("OFF"),
            SkippedErrors::Listed(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
                out.write_str(&numbers.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_shown() {
        for (text, shown) in [
            ("OFF", "OFF"),
            ("", "OFF"),
            ("all", "ALL"),
            ("1062, 1032", "1032,1062"),
            ("ddl_exist_errors,1032", "1007,1008,1032,1050,1051,1054,1060,1061,1068,1091,1146"),
        ] {
            assert_eq!(SkippedErrors::parse(text).unwrap().to_string(), shown, "{text}");
        }
        assert_eq!(SkippedErrors::parse("x"), None);
        assert!(SkippedErrors::parse("1032").unwrap().has(1032) && SkippedErrors::All.has(1));
    }
}
