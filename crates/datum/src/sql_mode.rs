//! The sql_mode bits that change how values and expressions behave.
//!
//! The bit positions are MySQL's, so the number can be stored and shown as MySQL does.

/// A set of sql_mode flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SqlMode(pub u64);

macro_rules! modes {
    ($($constant:ident = $bit:literal, $name:literal;)*) => {
        impl SqlMode {
            $(pub const $constant: SqlMode = SqlMode(1 << $bit);)*

            /// Every single flag with its name, in the order MySQL prints them.
            pub const NAMED: &[(SqlMode, &'static str)] = &[$((SqlMode::$constant, $name)),*];
        }
    };
}

modes! {
    REAL_AS_FLOAT = 0, "REAL_AS_FLOAT";
    PIPES_AS_CONCAT = 1, "PIPES_AS_CONCAT";
    ANSI_QUOTES = 2, "ANSI_QUOTES";
    IGNORE_SPACE = 3, "IGNORE_SPACE";
    ONLY_FULL_GROUP_BY = 5, "ONLY_FULL_GROUP_BY";
    NO_UNSIGNED_SUBTRACTION = 6, "NO_UNSIGNED_SUBTRACTION";
    NO_DIR_IN_CREATE = 7, "NO_DIR_IN_CREATE";
    ANSI = 18, "ANSI";
    NO_AUTO_VALUE_ON_ZERO = 19, "NO_AUTO_VALUE_ON_ZERO";
    NO_BACKSLASH_ESCAPES = 20, "NO_BACKSLASH_ESCAPES";
    STRICT_TRANS_TABLES = 21, "STRICT_TRANS_TABLES";
    STRICT_ALL_TABLES = 22, "STRICT_ALL_TABLES";
    NO_ZERO_IN_DATE = 23, "NO_ZERO_IN_DATE";
    NO_ZERO_DATE = 24, "NO_ZERO_DATE";
    ALLOW_INVALID_DATES = 25, "ALLOW_INVALID_DATES";
    ERROR_FOR_DIVISION_BY_ZERO = 26, "ERROR_FOR_DIVISION_BY_ZERO";
    TRADITIONAL = 27, "TRADITIONAL";
    HIGH_NOT_PRECEDENCE = 29, "HIGH_NOT_PRECEDENCE";
    NO_ENGINE_SUBSTITUTION = 30, "NO_ENGINE_SUBSTITUTION";
    PAD_CHAR_TO_FULL_LENGTH = 31, "PAD_CHAR_TO_FULL_LENGTH";
    TIME_TRUNCATE_FRACTIONAL = 32, "TIME_TRUNCATE_FRACTIONAL";
}

impl SqlMode {
    /// The server's default.
    pub const DEFAULT: SqlMode = SqlMode(
        SqlMode::ONLY_FULL_GROUP_BY.0
            | SqlMode::STRICT_TRANS_TABLES.0
            | SqlMode::NO_ZERO_IN_DATE.0
            | SqlMode::NO_ZERO_DATE.0
            | SqlMode::ERROR_FOR_DIVISION_BY_ZERO.0
            | SqlMode::NO_ENGINE_SUBSTITUTION.0,
    );

    /// What `ANSI` switches on together with itself.
    pub const ANSI_EXPANDED: SqlMode = SqlMode(
        SqlMode::ANSI.0
            | SqlMode::REAL_AS_FLOAT.0
            | SqlMode::PIPES_AS_CONCAT.0
            | SqlMode::ANSI_QUOTES.0
            | SqlMode::IGNORE_SPACE.0
            | SqlMode::ONLY_FULL_GROUP_BY.0,
    );

    /// What `TRADITIONAL` switches on together with itself.
    pub const TRADITIONAL_EXPANDED: SqlMode = SqlMode(
        SqlMode::TRADITIONAL.0
            | SqlMode::STRICT_TRANS_TABLES.0
            | SqlMode::STRICT_ALL_TABLES.0
            | SqlMode::NO_ZERO_IN_DATE.0
            | SqlMode::NO_ZERO_DATE.0
            | SqlMode::ERROR_FOR_DIVISION_BY_ZERO.0
            | SqlMode::NO_ENGINE_SUBSTITUTION.0,
    );

    #[inline]
    pub fn contains(self, flags: SqlMode) -> bool {
        self.0 & flags.0 == flags.0
    }

    #[must_use]
    pub fn with(self, flags: SqlMode) -> SqlMode {
        SqlMode(self.0 | flags.0)
    }

    #[must_use]
    pub fn without(self, flags: SqlMode) -> SqlMode {
        SqlMode(self.0 & !flags.0)
    }

    #[inline]
    pub fn is_strict(self) -> bool {
        self.0 & (SqlMode::STRICT_TRANS_TABLES.0 | SqlMode::STRICT_ALL_TABLES.0) != 0
    }

    /// Parses the comma-separated list that SET accepts; the unknown word is the error.
    pub fn parse(text: &str) -> Result<SqlMode, &str> {
        let mut mode = SqlMode::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (flag, _) =
                SqlMode::NAMED.iter().find(|(_, name)| name.eq_ignore_ascii_case(word)).ok_or(word)?;
            mode = mode.with(match *flag {
                SqlMode::ANSI => SqlMode::ANSI_EXPANDED,
                SqlMode::TRADITIONAL => SqlMode::TRADITIONAL_EXPANDED,
                flag => flag,
            });
        }
        Ok(mode)
    }

    /// The text `@@sql_mode` shows.
    pub fn to_text(self) -> String {
        let names: Vec<&str> =
            SqlMode::NAMED.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect();
        names.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let text = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                    ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
        assert_eq!(SqlMode::DEFAULT.to_text(), text);
        assert_eq!(SqlMode::parse(text), Ok(SqlMode::DEFAULT));
        assert_eq!(SqlMode::parse("ansi").map(SqlMode::to_text), Ok(SqlMode::ANSI_EXPANDED.to_text()));
        assert_eq!(SqlMode::parse("ansi,nonsense"), Err("nonsense"));
    }
}
