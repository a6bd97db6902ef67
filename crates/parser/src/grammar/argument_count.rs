//! Functions whose arguments MySQL's grammar counts: another number of them is a syntax error, not error 1582.
//!
//! Caller: `function_call`, for names without a database.

/// The fewest and most arguments of a function that has a rule of its own in MySQL's grammar.
pub fn counted(name: &str) -> Option<(usize, usize)> {
    COUNTED
        .iter()
        .find(|(known, ..)| known.eq_ignore_ascii_case(name))
        .map(|(_, least, most)| (*least, *most))
}

const COUNTED: &[(&str, usize, usize)] = &[
    ("ascii", 1, 1),
    ("charset", 1, 1),
    ("coalesce", 1, usize::MAX),
    ("collation", 1, 1),
    ("database", 0, 0),
    ("date", 1, 1),
    ("day", 1, 1),
    ("hour", 1, 1),
    ("if", 3, 3),
    ("insert", 4, 4),
    ("left", 2, 2),
    ("log", 1, 2),
    ("microsecond", 1, 1),
    ("minute", 1, 1),
    ("mod", 2, 2),
    ("month", 1, 1),
    ("quarter", 1, 1),
    ("repeat", 2, 2),
    ("replace", 3, 3),
    ("reverse", 1, 1),
    ("right", 2, 2),
    ("row_count", 0, 0),
    ("schema", 0, 0),
    ("second", 1, 1),
    ("time", 1, 1),
    ("timestamp", 1, 2),
    ("truncate", 2, 2),
    ("user", 0, 0),
    ("week", 1, 2),
    ("year", 1, 1),
];
