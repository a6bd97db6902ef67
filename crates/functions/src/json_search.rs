//! JSON_SEARCH: the paths to the strings of a document that a LIKE pattern matches.
use collation::{CollationId, LikePattern};
use datum::json_path::{Index, Leg, Path};
use datum::{Json, SqlError, Value, error_code};

use expression::Volatility::Pure;
use expression::call::infer::infer_json;
use expression::call::json::json;
use expression::{Arguments, Function};

pub(super) static FUNCTIONS: &[Function] = &[Function {
    name: "json_search",
    arguments_min: 3,
    arguments_max: u8::MAX,
    volatility: Pure,
    infer: infer_json,
    evaluate: json_search,
}];

/// What it costs to look at a value.
const TICKS_PER_VALUE: usize = 64;

const NAME: &str = "json_search";

/// JSON_SEARCH(document, 'one' or 'all', pattern [, escape [, path ..]])
fn json_search(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(document) = arguments.document(NAME, 0)? else { return Ok(Value::Null) };
    let Some(mode) = arguments.utf8(1)? else { return Ok(Value::Null) };
    let stops_early = match mode.to_ascii_lowercase().as_str() {
        "one" => true,
        "all" => false,
        _ => return Err(error_code::ER_JSON_BAD_ONE_OR_ALL_ARG.with(&[&NAME])),
    };
    let Some(pattern) = arguments.utf8(2)? else { return Ok(Value::Null) };
    let mut paths = Vec::new();
    for index in 4..arguments.len() {
        let Some(path) = arguments.path(index)? else { return Ok(Value::Null) };
        paths.push(path);
    }
    let pattern = LikePattern::new(CollationId::UTF8MB4_BIN, pattern.as_bytes(), escape(arguments)?);
    let mut search = Search { pattern, stops_early, found: Vec::new() };
    if paths.is_empty() {
        search.below(&document, &mut "$".to_owned());
    }
    for path in &paths {
        if path.has_wildcard() {
            search.at(&document, &path.legs, &mut "$".to_owned());
        } else if let Some(value) = path.select(&document).first() {
            search.below(value, &mut path_text(path));
        }
    }
    match search.found.as_slice() {
        [] => Ok(Value::Null),
        [path] => json(&Json::String(path.clone())),
        paths => json(&Json::Array(paths.iter().cloned().map(Json::String).collect())),
    }
}

/// NULL and the empty text mean a backslash.
fn escape(arguments: &Arguments<'_>) -> Result<Option<u32>, SqlError> {
    let given = if arguments.len() > 3 { arguments.utf8(3)? } else { None };
    let given = given.unwrap_or_default();
    let mut characters = given.chars();
    match (characters.next(), characters.next()) {
        (None, _) => Ok(Some(u32::from('\\'))),
        (Some(character), None) => Ok(Some(u32::from(character))),
        _ => Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"ESCAPE"])),
    }
}

struct Search {
    pattern: LikePattern,
    stops_early: bool,
    /// Each path once, in the order of the document.
    found: Vec<String>,
}

impl Search {
    fn is_done(&self) -> bool {
        self.stops_early && !self.found.is_empty()
    }

    /// Looks at a value and everything below it.
    fn below(&mut self, value: &Json, path: &mut String) {
        if self.is_done() {
            return;
        }
        let length = path.len();
        env::tick(TICKS_PER_VALUE);
        match value {
            Json::String(text) if self.pattern.matches(text.as_bytes()) && !self.found.contains(path) => {
                self.found.push(path.clone());
            }
            Json::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    path.push_str(&format!("[{index}]"));
                    self.below(element, path);
                    path.truncate(length);
                }
            }
            Json::Object(members) => {
                for (key, member) in members.iter() {
                    path.push_str(&member_leg(key));
                    self.below(member, path);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Walks to the values that the legs name and looks below each.
    fn at(&mut self, value: &Json, legs: &[Leg], path: &mut String) {
        if self.is_done() {
            return;
        }
        let Some((leg, rest)) = legs.split_first() else { return self.below(value, path) };
        let length = path.len();
        if *leg == Leg::Descendants {
            self.at(value, rest, path);
        }
        match value {
            Json::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    let next = match leg {
                        Leg::Descendants => legs,
                        leg if names_element(leg, index, elements.len()) => rest,
                        _ => continue,
                    };
                    path.push_str(&format!("[{index}]"));
                    self.at(element, next, path);
                    path.truncate(length);
                }
            }
            Json::Object(members) => {
                for (key, member) in members.iter() {
                    let next = match leg {
                        Leg::Descendants => legs,
                        Leg::AnyMember => rest,
                        Leg::Member(name) if name == key => rest,
                        _ => continue,
                    };
                    path.push_str(&member_leg(key));
                    self.at(member, next, path);
                    path.truncate(length);
                }
            }
            _ => {}
        }
        // A value that is no array stands for an array of itself.
        if !value.is_array() && !matches!(leg, Leg::AnyElement | Leg::Range(..)) && names_element(leg, 0, 1) {
            self.at(value, rest, path);
        }
    }
}

/// A key stands without quotes when it is a name of ECMAScript.
fn member_leg(key: &str) -> String {
    let is_start = |character: char| character.is_alphabetic() || matches!(character, '_' | '$');
    let mut characters = key.chars();
    let is_name = characters.next().is_some_and(is_start)
        && characters.all(|character| is_start(character) || character.is_alphanumeric());
    if is_name {
        format!(".{key}")
    } else {
        format!(".{}", datum::json_shown_text(&Json::String(key.to_owned())))
    }
}

fn names_element(leg: &Leg, index: usize, length: usize) -> bool {
    match leg {
        Leg::AnyElement => true,
        Leg::Element(at) => at.within(length) == Some(index),
        Leg::Range(from, to) => Index::range(*from, *to, length).contains(&index),
        _ => false,
    }
}

/// A path without wildcards as it was written.
fn path_text(path: &Path) -> String {
    let mut text = "$".to_owned();
    for leg in &path.legs {
        match leg {
            Leg::Member(key) => text.push_str(&member_leg(key)),
            Leg::Element(Index::FromStart(index)) => text.push_str(&format!("[{index}]")),
            Leg::Element(Index::FromEnd(0)) => text.push_str("[last]"),
            Leg::Element(Index::FromEnd(index)) => text.push_str(&format!("[last-{index}]")),
            _ => {}
        }
    }
    text
}
