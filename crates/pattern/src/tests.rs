//! Matches and errors as MySQL 9.7 gives them.
use super::*;

const PLAIN: Flags =
    Flags { ignores_case: true, is_multiline: false, dot_matches_newline: false, unix_lines: false };

fn found(pattern: &str, text: &str) -> Option<String> {
    let characters: Vec<char> = text.chars().collect();
    let groups = Regexp::new(pattern, PLAIN).unwrap().find(&characters, 0)?;
    let (start, end) = groups[0].expect("a match has a whole");
    Some(characters[start..end].iter().collect())
}

#[test]
fn matches() {
    for (pattern, text, expected) in [
        ("b", "abc", Some("b")),
        ("^a.c$", "abc", Some("abc")),
        ("^b", "abc", None),
        ("a+", "baaac", Some("aaa")),
        ("a+?", "baaac", Some("a")),
        ("a{2}", "baaac", Some("aa")),
        ("a{2,}", "baaac", Some("aaa")),
        ("a{1,2}", "baaac", Some("aa")),
        ("(a|ab)(c|bcd)", "abcd", Some("abcd")),
        ("x|abc|ab", "abcd", Some("abc")),
        ("[a-c]+", "xxabcabcx", Some("abcabc")),
        ("[^a-c]+", "abxyc", Some("xy")),
        ("[]a]+", "x]a]", Some("]a]")),
        ("[a-]+", "x-a", Some("-a")),
        ("[[:digit:]]+", "abc123", Some("123")),
        ("[[:alpha:]]+", "12été3", Some("été")),
        ("\\d+", "abc123", Some("123")),
        ("\\bfoo\\b", "a foo b", Some("foo")),
        ("\\bfoo\\b", "afoob", None),
        ("ABC", "abc", Some("abc")),
        ("É", "é", Some("é")),
        ("a\\.b", "a.b", Some("a.b")),
        ("a\\.b", "axb", None),
        ("(?:ab)+", "ababx", Some("abab")),
        ("(?-i:A)b", "ab", None),
        ("(?-i)A", "a", None),
        ("(?-i:a)B", "ab", Some("ab")),
        ("((?-i)A|b)C", "bc", Some("bc")),
        ("\\Qa.b\\E", "xa.b", Some("a.b")),
        ("a.c", "a\nc", None),
        ("c$", "abc\n", Some("c")),
        ("a*", "b", Some("")),
        ("\\x41", "a", Some("a")),
        ("(a*)*b", "aaab", Some("aaab")),
    ] {
        assert_eq!(found(pattern, text).as_deref(), expected, "{text} REGEXP {pattern}");
    }
}

#[test]
fn errors() {
    for (pattern, expected) in [
        ("(a", RegexpError::MismatchedParenthesis),
        ("a)", RegexpError::MismatchedParenthesis),
        ("[a", RegexpError::UnclosedBracket),
        ("a{2", RegexpError::BadInterval),
        ("a{2,1}", RegexpError::MaximumBelowMinimum),
        ("*a", RegexpError::Syntax { position: 1 }),
        ("a**", RegexpError::Syntax { position: 3 }),
        ("[z-a]", RegexpError::InvalidRange),
        ("[[:foo:]]", RegexpError::IllegalArgument),
        ("", RegexpError::IllegalArgument),
        ("\\", RegexpError::BadEscape),
        ("(a)\\1", RegexpError::Unimplemented),
        ("(?=a)", RegexpError::Unimplemented),
        ("((a{1000}){1000}){1000}", RegexpError::TooBig),
    ] {
        assert_eq!(Regexp::new(pattern, PLAIN).err(), Some(expected), "{pattern}");
    }
    assert!(Regexp::new(&"(".repeat(100_000), PLAIN).is_err());
}

#[test]
fn hard_patterns_stay_linear() {
    let text: Vec<char> = "a".repeat(2_000).chars().collect();
    assert!(Regexp::new("(a*)*b", PLAIN).unwrap().find(&text, 0).is_none());
    assert!(Regexp::new("(a|a|aa)+$", PLAIN).unwrap().find(&text, 0).is_some());
}

#[test]
fn lines_are_found_after_the_first() {
    let flags = Flags { is_multiline: true, ..PLAIN };
    let text: Vec<char> = "a\nb".chars().collect();
    assert_eq!(Regexp::new("^b$", flags).unwrap().find(&text, 0).unwrap()[0], Some((2, 3)));
}

#[test]
fn groups_have_positions() {
    let text: Vec<char> = "2024-05-06".chars().collect();
    let groups = Regexp::new("(\\d+)-(\\d+)", PLAIN).unwrap().find(&text, 0).unwrap();
    assert_eq!(groups, [Some((0, 7)), Some((0, 4)), Some((5, 7))]);
}
