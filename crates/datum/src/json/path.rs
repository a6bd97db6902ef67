//! JSON paths: `$.key[3].*`, `$**.key`, `$[last]`, `$[1 to 3]`.
//!
//! A path is parsed once per call and walks trees by reference, stored texts without a tree or, for the changing functions,
//! trees by mutable reference. Callers: the JSON functions.
use super::Json;
use crate::error::SqlError;
use crate::error_code;
use std::collections::HashSet;

#[derive(Clone, Debug, PartialEq)]
pub enum Leg {
    Member(String),
    AnyMember,
    Element(Index),
    AnyElement,
    Range(Index, Index),
    /// `**`: everything below, however deep.
    Descendants,
}

/// A position in an array, counted from its start or its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Index {
    FromStart(usize),
    /// 0 is the last element.
    FromEnd(usize),
}

impl Index {
    /// Whether it is in front of the first element of an array of a length.
    pub fn is_before(self, length: usize) -> bool {
        matches!(self, Index::FromEnd(index) if index >= length)
    }

    pub fn within(self, length: usize) -> Option<usize> {
        match self {
            Index::FromStart(index) => (index < length).then_some(index),
            Index::FromEnd(index) => length.checked_sub(index + 1),
        }
    }
}

impl Index {
    /// The elements of `[from to to]` in an array of a length.
    pub fn range(from: Index, to: Index, length: usize) -> std::ops::Range<usize> {
        let start = match from {
            Index::FromStart(index) => index,
            Index::FromEnd(index) => length.saturating_sub(index + 1),
        };
        let end = match to {
            Index::FromStart(index) => (index + 1).min(length),
            Index::FromEnd(index) => length.saturating_sub(index),
        };
        start..end.max(start)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub legs: Vec<Leg>,
}

impl Path {
    pub fn parse(text: &str) -> Result<Path, SqlError> {
        let characters: Vec<char> = text.chars().collect();
        let mut parser = Parser { characters: &characters, at: 0 };
        parser.path().map_err(|()| error_code::ER_INVALID_JSON_PATH.with(&[&(parser.at.max(1))]))
    }

    /// Whether the path may name several values.
    pub fn has_wildcard(&self) -> bool {
        self.legs
            .iter()
            .any(|leg| matches!(leg, Leg::AnyMember | Leg::AnyElement | Leg::Descendants | Leg::Range(..)))
    }

    /// Every value the path names, in document order.
    pub fn select<T: Walked>(&self, document: T) -> Vec<T> {
        self.selected(document, true)
    }

    /// The same where a value that is no array is none of itself.
    pub fn select_elements<T: Walked>(&self, document: T) -> Vec<T> {
        self.selected(document, false)
    }

    fn selected<T: Walked>(&self, document: T, wraps: bool) -> Vec<T> {
        let mut legs = self.legs.iter();
        let mut single = document;
        // A path without wildcards is followed to one value.
        let first = loop {
            let Some(leg) = legs.next() else { return vec![single] };
            single = match (leg, wraps || single.is_array()) {
                (Leg::Member(key), _) => match single.member(key) {
                    Some(member) => member,
                    None => return Vec::new(),
                },
                (Leg::Element(index), true) => match element(single, *index) {
                    Some(element) => element,
                    None => return Vec::new(),
                },
                _ => break leg,
            };
        };
        let mut current = vec![single];
        // Behind `**` the same value can be met on several ways; it counts once, and there are no more than the document has.
        let mut may_repeat = false;
        for leg in std::iter::once(first).chain(legs) {
            let mut next = Vec::new();
            for value in current {
                let is_element = matches!(leg, Leg::Element(_) | Leg::Range(..));
                if wraps || !is_element || value.is_array() {
                    step(leg, value, &mut next);
                }
            }
            may_repeat |= matches!(leg, Leg::Descendants);
            if may_repeat {
                let mut seen = HashSet::new();
                env::tick(next.len());
                next.retain(|value| seen.insert(value.address()));
            }
            current = next;
        }
        current
    }

    /// The value a path without wildcards names, for changing it.
    pub fn select_mut<'d>(legs: &[Leg], document: &'d mut Json) -> Option<&'d mut Json> {
        let mut current = document;
        for leg in legs {
            current = match (leg, current) {
                (Leg::Member(key), Json::Object(members)) => members.get_mut(key)?,
                (Leg::Element(index), Json::Array(elements)) => {
                    let index = index.within(elements.len())?;
                    &mut elements[index]
                }
                // A value that is no array stands for an array of itself.
                (Leg::Element(index), other) if !other.is_array() && index.within(1) == Some(0) => other,
                _ => return None,
            };
        }
        Some(current)
    }
}

/// What a path walks: a value of a document.
pub trait Walked: Copy {
    fn is_array(self) -> bool;
    /// Of an object; none of anything else.
    fn member(self, key: &str) -> Option<Self>;
    /// Adds all of an object's.
    fn members(self, found: &mut Vec<Self>);
    /// Of an array.
    fn element(self, index: Index) -> Option<Self>;
    /// Adds all of an array's.
    fn elements(self, found: &mut Vec<Self>);
    /// Adds those of an array from one to another.
    fn range(self, from: Index, to: Index, found: &mut Vec<Self>);
    /// Tells values of one document apart.
    fn address(self) -> usize;
}

impl Walked for &Json {
    fn is_array(self) -> bool {
        Json::is_array(self)
    }

    fn member(self, key: &str) -> Option<Self> {
        if let Json::Object(members) = self { members.get(key) } else { None }
    }

    fn members(self, found: &mut Vec<Self>) {
        if let Json::Object(members) = self {
            found.extend(members.values());
        }
    }

    fn element(self, index: Index) -> Option<Self> {
        let Json::Array(elements) = self else { return None };
        index.within(elements.len()).map(|index| &elements[index])
    }

    fn elements(self, found: &mut Vec<Self>) {
        if let Json::Array(elements) = self {
            found.extend(elements);
        }
    }

    fn range(self, from: Index, to: Index, found: &mut Vec<Self>) {
        if let Json::Array(elements) = self {
            let range = Index::range(from, to, elements.len());
            found.extend(elements.get(range).unwrap_or_default());
        }
    }

    fn address(self) -> usize {
        std::ptr::from_ref::<Json>(self) as usize
    }
}

fn step<T: Walked>(leg: &Leg, value: T, next: &mut Vec<T>) {
    match leg {
        Leg::Member(key) => next.extend(value.member(key)),
        Leg::AnyMember => value.members(next),
        Leg::Element(index) => next.extend(element(value, *index)),
        Leg::AnyElement => value.elements(next),
        Leg::Range(from, to) if value.is_array() => value.range(*from, *to, next),
        Leg::Range(from, _) if from.within(1) == Some(0) => next.push(value),
        Leg::Range(..) => {}
        Leg::Descendants => descend(value, next),
    }
}

/// A value that is no array stands for an array of itself.
fn element<T: Walked>(value: T, index: Index) -> Option<T> {
    match value.is_array() {
        true => value.element(index),
        false => (index.within(1) == Some(0)).then_some(value),
    }
}

/// The value itself and everything below it; documents nest no deeper than the parser allows.
fn descend<T: Walked>(value: T, next: &mut Vec<T>) {
    env::tick(8);
    next.push(value);
    let mut below = Vec::new();
    value.elements(&mut below);
    value.members(&mut below);
    below.into_iter().for_each(|value| descend(value, next));
}

struct Parser<'a> {
    characters: &'a [char],
    at: usize,
}

impl Parser<'_> {
    fn skip_spaces(&mut self) {
        while self.characters.get(self.at).is_some_and(|character| character.is_whitespace()) {
            self.at += 1;
        }
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        let is_here = self.characters.get(self.at) == Some(&wanted);
        self.at += usize::from(is_here);
        is_here
    }

    fn path(&mut self) -> Result<Path, ()> {
        if !self.accept('$') {
            return Err(());
        }
        let mut legs = Vec::new();
        loop {
            self.skip_spaces();
            if self.at == self.characters.len() {
                // A path may not end in "everything below".
                return if legs.last() == Some(&Leg::Descendants) { Err(()) } else { Ok(Path { legs }) };
            }
            if self.accept('.') {
                legs.push(self.member()?);
            } else if self.accept('[') {
                legs.push(self.element()?);
            } else if self.accept('*') && self.characters.get(self.at) == Some(&'*') {
                self.at += 1;
                legs.push(Leg::Descendants);
            } else {
                return Err(());
            }
        }
    }

    fn member(&mut self) -> Result<Leg, ()> {
        if self.accept('*') {
            return Ok(Leg::AnyMember);
        }
        self.skip_spaces();
        let start = self.at;
        if self.characters.get(start) == Some(&'"') {
            self.at += 1;
            while *self.characters.get(self.at).ok_or(())? != '"' {
                self.at += if self.characters[self.at] == '\\' { 2 } else { 1 };
            }
            self.at += 1;
            let quoted: String = self.characters.get(start..self.at).ok_or(())?.iter().collect();
            return match super::parse_json(quoted.as_bytes()) {
                Ok(Json::String(key)) => Ok(Leg::Member(key)),
                _ => Err(()),
            };
        }
        let is_key = |character: &char| character.is_alphanumeric() || matches!(character, '_' | '$');
        while self.characters.get(self.at).is_some_and(is_key) {
            self.at += 1;
        }
        let key: String = self.characters[start..self.at].iter().collect();
        let starts_well = key.chars().next().is_some_and(|first| !first.is_ascii_digit());
        if starts_well { Ok(Leg::Member(key)) } else { Err(()) }
    }

    fn element(&mut self) -> Result<Leg, ()> {
        if self.accept('*') {
            return if self.accept(']') { Ok(Leg::AnyElement) } else { Err(()) };
        }
        let from = self.index()?;
        if self.accept(']') {
            return Ok(Leg::Element(from));
        }
        if !self.word("to") {
            return Err(());
        }
        let to = self.index()?;
        if self.accept(']') { Ok(Leg::Range(from, to)) } else { Err(()) }
    }

    fn index(&mut self) -> Result<Index, ()> {
        if self.word("last") {
            let distance = if self.accept('-') { self.number()? } else { 0 };
            return Ok(Index::FromEnd(distance));
        }
        self.number().map(Index::FromStart)
    }

    fn word(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let length = word.chars().count();
        let is_here = self
            .characters
            .get(self.at..self.at + length)
            .is_some_and(|found| found.iter().copied().eq(word.chars()));
        self.at += if is_here { length } else { 0 };
        is_here
    }

    fn number(&mut self) -> Result<usize, ()> {
        self.skip_spaces();
        let start = self.at;
        let mut number = 0usize;
        while let Some(digit) = self.characters.get(self.at).and_then(|character| character.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit as usize);
            self.at += 1;
        }
        if self.at == start || number > u32::MAX as usize { Err(()) } else { Ok(number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(document: &str, path: &str) -> Vec<String> {
        let document = super::super::parse_json(document.as_bytes()).unwrap();
        Path::parse(path).unwrap().select(&document).into_iter().map(super::super::json_text).collect()
    }

    #[test]
    fn paths_select_values() {
        let document = r#"{"a":[1,2,{"b":3}],"b":{"b":4},"x y":5}"#;
        for (path, expected) in [
            ("$.a[0]", vec!["1"]),
            ("$.a[last]", vec![r#"{"b": 3}"#]),
            ("$.a[last-1]", vec!["2"]),
            ("$.a[*].b", vec!["3"]),
            ("$.a[1 to 2]", vec!["2", r#"{"b": 3}"#]),
            ("$**.b", vec![r#"{"b": 4}"#, "3", "4"]),
            ("$.\"x y\"", vec!["5"]),
            ("$.b.*", vec!["4"]),
            ("$.b[0].b", vec!["4"]),
            ("$.nothing", vec![]),
        ] {
            assert_eq!(selected(document, path), expected, "{path}");
        }
    }

    #[test]
    fn wrong_paths() {
        for path in ["", "a", "$.", "$[", "$[a]", "$**", "$.a b", "$.1a"] {
            assert_eq!(Path::parse(path).unwrap_err().errno, 3143, "{path}");
        }
    }
}
