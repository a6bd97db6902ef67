//! A value inside of a stored text, without its tree.
//!
//! A stored text has one form, so the text of each value in it is a document itself: a path is followed by skipping what
//! lies before, and only what it names is read. Invariant: a damaged text gives other values, never a panic. Called by the
//! JSON functions that look into documents, and by JSON_TABLE.
use env::LONG_PIECE;

use super::path::{Index, Walked};
use super::{Json, key_order, read_json};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredJson<'d> {
    text: &'d str,
}

impl<'d> StoredJson<'d> {
    pub fn new(text: &'d str) -> StoredJson<'d> {
        StoredJson { text }
    }

    pub fn text(self) -> &'d str {
        self.text
    }

    pub fn read(self) -> Json {
        read_json(self.text)
    }

    pub fn is_object(self) -> bool {
        self.text.starts_with('{')
    }

    pub fn is_null(self) -> bool {
        self.text == "null"
    }

    /// As `Json::type_name`.
    pub fn type_name(self) -> &'static str {
        match self.text.as_bytes().first() {
            Some(b'[') => "ARRAY",
            Some(b'{') => "OBJECT",
            _ => self.read().type_name(),
        }
    }

    /// Elements of an array, members of an object; 1 for a scalar.
    pub fn length(self) -> usize {
        if self.is_array() || self.is_object() { self.parts().count() } else { 1 }
    }

    /// The texts of an object's keys with their quotes, each a document.
    pub fn keys(self) -> impl Iterator<Item = StoredJson<'d>> {
        self.parts().map(|part| StoredJson { text: part.key })
    }

    /// As `Json::depth`.
    pub fn depth(self) -> usize {
        let (mut open, mut deepest) = (0usize, 1);
        let (bytes, mut counted) = (self.text.as_bytes(), Counted::default());
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            at = match byte {
                b'"' => end_of_string(bytes, at, &mut counted),
                _ => at + 1,
            };
            match byte {
                b'[' | b'{' => {
                    open += 1;
                    let is_empty = matches!(bytes.get(at), Some(b']' | b'}'));
                    deepest = deepest.max(if is_empty { open } else { open + 1 });
                }
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            counted.count_to(at);
        }
        deepest
    }

    fn parts(self) -> Parts<'d> {
        Parts { text: self.text, at: 1, has_keys: self.is_object(), counted: Counted::default() }
    }
}

/// The array of these values, as a stored text.
pub fn stored_array<'d>(values: impl IntoIterator<Item = StoredJson<'d>>) -> String {
    let mut text = "[".to_owned();
    for value in values {
        text.push_str(if text.len() > 1 { ", " } else { "" });
        text.push_str(value.text);
        env::tick_long(value.text.len());
    }
    text.push(']');
    text
}

impl<'d> Walked for StoredJson<'d> {
    fn is_array(self) -> bool {
        self.text.starts_with('[')
    }

    fn member(self, key: &str) -> Option<StoredJson<'d>> {
        if !self.is_object() {
            return None;
        }
        for part in self.parts() {
            let known = part.key.get(1..part.key.len().saturating_sub(1)).unwrap_or_default();
            let order = match known.contains('\\') {
                false => key_order(known, key),
                true => match read_json(part.key) {
                    Json::String(known) => key_order(&known, key),
                    _ => continue,
                },
            };
            // Members are sorted by their keys.
            match order {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some(part.value),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }

    fn members(self, found: &mut Vec<StoredJson<'d>>) {
        if self.is_object() {
            found.extend(self.parts().map(|part| part.value));
        }
    }

    fn element(self, index: Index) -> Option<StoredJson<'d>> {
        match index {
            Index::FromStart(index) => self.parts().nth(index).map(|part| part.value),
            Index::FromEnd(_) => {
                let index = index.within(self.parts().count())?;
                self.parts().nth(index).map(|part| part.value)
            }
        }
    }

    fn elements(self, found: &mut Vec<StoredJson<'d>>) {
        if self.is_array() {
            found.extend(self.parts().map(|part| part.value));
        }
    }

    fn range(self, from: Index, to: Index, found: &mut Vec<StoredJson<'d>>) {
        let range = Index::range(from, to, self.parts().count());
        found.extend(self.parts().skip(range.start).take(range.len()).map(|part| part.value));
    }

    fn address(self) -> usize {
        self.text.as_ptr() as usize
    }
}

struct Part<'d> {
    /// With its quotes; empty in an array.
    key: &'d str,
    value: StoredJson<'d>,
}

/// Walks the values of an array or object.
struct Parts<'d> {
    text: &'d str,
    /// Behind the bracket or the last separator.
    at: usize,
    has_keys: bool,
    counted: Counted,
}

impl<'d> Iterator for Parts<'d> {
    type Item = Part<'d>;

    fn next(&mut self) -> Option<Part<'d>> {
        let bytes = self.text.as_bytes();
        if matches!(bytes.get(self.at), None | Some(b']' | b'}')) {
            return None;
        }
        let mut key = "";
        let mut start = self.at;
        if self.has_keys {
            let end = end_of_string(bytes, start, &mut self.counted);
            key = self.text.get(start..end)?;
            start = end + ": ".len();
        }
        let end = end_of_value(bytes, start, &mut self.counted);
        let text = self.text.get(start..end)?;
        self.at = end + ", ".len();
        if bytes.get(end) != Some(&b',') {
            self.at = bytes.len();
        }
        Some(Part { key, value: StoredJson { text } })
    }
}

/// The place behind a value: of the comma or bracket that ends it, or the end of the text.
fn end_of_value(bytes: &[u8], start: usize, counted: &mut Counted) -> usize {
    let (mut at, mut open) = (start, 0usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at, counted),
            b'[' | b'{' => {
                open += 1;
                at += 1;
            }
            b']' | b'}' => {
                if open == 0 {
                    return at;
                }
                open -= 1;
                at += 1;
            }
            b',' if open == 0 => return at,
            _ => at += 1,
        }
        counted.count_to(at);
    }
    bytes.len()
}

/// The place behind the closing quote.
fn end_of_string(bytes: &[u8], start: usize, counted: &mut Counted) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
        counted.count_to(at);
    }
    bytes.len()
}

/// Up to which place a text is counted as work, however short its values are.
#[derive(Default)]
struct Counted(usize);

impl Counted {
    fn count_to(&mut self, at: usize) {
        let more = at.saturating_sub(self.0);
        if more >= LONG_PIECE {
            env::tick_long(more);
            self.0 = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::path::Path;
    use crate::json::{json_text, mark, parse_json};

    const DOCUMENTS: [&str; 9] = [
        r#"{"a":[1,2,{"b":3,"a":[]}],"b":{"b":4,"":{}},"x y":5,"q\"":"[,]{\"","é\n":"\u0001"}"#,
        r#"[[1,[2,[3]]],"a","b,c",{"k":[{"k":null}]},true,-1.5,1e300,18446744073709551615]"#,
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        r#""a""#,
        "null",
        r#"[[[[]]],[{"a":{}}]]"#,
    ];

    #[test]
    fn paths_find_the_same_as_in_the_tree() {
        for text in DOCUMENTS {
            let tree = parse_json(text.as_bytes()).unwrap();
            let stored = json_text(&tree);
            let document = StoredJson::new(&stored);
            assert_eq!(document.depth(), tree.depth(), "{text}");
            assert_eq!(document.type_name(), tree.type_name());
            assert_eq!(document.read(), tree);
            for path in [
                "$",
                "$.a",
                "$.b",
                "$.c",
                "$.*",
                "$[0]",
                "$[last]",
                "$[9]",
                "$[*]",
                "$[1 to 3]",
                "$[last-2 to last]",
                "$**.b",
                "$**.k",
                "$**[0]",
                "$.a[2].b",
                "$.a[last].a",
                "$.\"q\\\"\"",
                "$.\"é\\n\"",
                "$.\"\"",
                "$.b.\"\"",
                "$[3].k[0].k",
                "$[0][0][0]",
                "$.\"x y\"[0]",
                "$[*][*]",
                "$.*.*",
            ] {
                let path = Path::parse(path).unwrap();
                let expected: Vec<String> = path.select(&tree).into_iter().map(json_text).collect();
                let found: Vec<&str> = path.select(document).into_iter().map(StoredJson::text).collect();
                assert_eq!(found, expected, "{path:?} of {text}");
                let expected: Vec<String> = path.select_elements(&tree).into_iter().map(json_text).collect();
                let found: Vec<&str> =
                    path.select_elements(document).into_iter().map(StoredJson::text).collect();
                assert_eq!(found, expected, "{path:?} of {text}");
            }
        }
    }

    #[test]
    fn marks_belong_to_their_values() {
        let text = format!("[{}5, {}1.50, {}\"2020-01-01\"]", '\u{1}', '\u{2}', '\u{3}');
        let document = StoredJson::new(&text);
        let found = Path::parse("$[last]").unwrap().select(document);
        assert_eq!(found[0].read().type_name(), "DATE");
        assert_eq!(stored_array(document.parts().map(|part| part.value)), text);
        assert_eq!(mark::DATE, 3);
    }

    #[test]
    fn short_values_and_long_strings_are_counted_as_work() {
        let mut counted = Counted::default();
        end_of_string(format!("\"{}\"", "a".repeat(3 * LONG_PIECE)).as_bytes(), 0, &mut counted);
        assert!(counted.0 >= 2 * LONG_PIECE);
        let text = format!("[{}1]", "1, ".repeat(LONG_PIECE));
        let mut parts = StoredJson::new(&text).parts();
        assert_eq!(parts.by_ref().count(), LONG_PIECE + 1);
        assert!(parts.counted.0 >= 2 * LONG_PIECE);
    }

    #[test]
    fn damaged_texts_end() {
        for text in ["[", "{", "{\"a", "{\"a\"", "{\"a\":", "[1,", "[\"\\", "]", "", "{\"é", "[1,é"] {
            let document = StoredJson::new(text);
            for path in ["$[*]", "$.*", "$.a", "$[last]", "$[1]", "$[0 to 3]", "$**.a"] {
                let _ = Path::parse(path).unwrap().select(document);
            }
            let _ = (document.depth(), document.length());
        }
    }
}
