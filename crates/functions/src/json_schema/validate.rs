//! Validation of one document: the first requirement that it fails, with where in schema and document.
//!
//! Invariant: references are followed at most as deep as documents nest, so a schema that refers to itself ends.
use datum::{Decimal, JSON_DEPTH_MAX, Json, JsonMap, SqlError, compare_documents, error_code};

use pattern::{Flags, Regexp};

/// A requirement that is not met; both places are JSON pointers as URI fragments.
#[derive(Debug, PartialEq)]
pub(super) struct Failure {
    pub keyword: &'static str,
    pub schema: String,
    pub document: String,
}

pub(super) struct Schema<'s> {
    root: &'s Json,
}

/// A schema or value with its place.
#[derive(Clone)]
struct At<'a> {
    value: &'a Json,
    place: String,
}

impl<'a> At<'a> {
    fn member(&self, key: &str, value: &'a Json) -> At<'a> {
        At { value, place: format!("{}/{}", self.place, escaped(key)) }
    }
}

/// A key in a JSON pointer within a URI fragment.
fn escaped(key: &str) -> String {
    let mut text = String::new();
    for byte in key.replace('~', "~0").replace('/', "~1").bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

type Outcome = Result<Result<(), Failure>, SqlError>;

impl<'s> Schema<'s> {
    pub fn new(root: &'s Json) -> Schema<'s> {
        Schema { root }
    }

    pub fn validate(&self, document: &Json) -> Outcome {
        let start = |value| At { value, place: "#".to_owned() };
        self.check(&At { value: self.root, place: "#".to_owned() }, &start(document), 0)
    }

    fn check<'v>(&self, schema: &At<'s>, value: &At<'v>, depth: usize) -> Outcome {
        let Json::Object(rules) = schema.value else { return Ok(Ok(())) };
        if depth > JSON_DEPTH_MAX {
            return Err(error_code::ER_JSON_DOCUMENT_TOO_DEEP.plain());
        }
        if let Some(Json::String(reference)) = rules.get("$ref") {
            return match self.referred(reference)? {
                Some(target) => self.check(&target, value, depth + 1),
                None => Ok(Ok(())),
            };
        }
        let failure = |keyword| {
            Ok(Err(Failure { keyword, schema: schema.place.clone(), document: value.place.clone() }))
        };
        if let Some(types) = rules.get("type")
            && !has_type(types, value.value)
        {
            return failure("type");
        }
        let inner = match value.value {
            Json::Object(members) => self.object(rules, members, schema, value, depth)?,
            Json::Array(elements) => self.array(rules, elements, schema, value, depth)?,
            _ => Ok(()),
        };
        if inner.is_err() {
            return Ok(inner);
        }
        if let Some(keyword) = failed_scalar(rules, value.value) {
            return failure(keyword);
        }
        if let Some(Json::Array(allowed)) = rules.get("enum")
            && !allowed.iter().any(|one| compare_documents(one, value.value).is_eq())
        {
            return failure("enum");
        }
        match self.combinations(rules, schema, value, depth)? {
            Some(keyword) => failure(keyword),
            None => Ok(Ok(())),
        }
    }

    /// allOf, anyOf, oneOf and not: the one that fails.
    fn combinations(
        &self,
        rules: &'s JsonMap,
        schema: &At<'s>,
        value: &At<'_>,
        depth: usize,
    ) -> Result<Option<&'static str>, SqlError> {
        for (keyword, accepts) in [
            ("allOf", (|valid, all| valid == all) as fn(usize, usize) -> bool),
            ("anyOf", |valid, _| valid > 0),
            ("oneOf", |valid, _| valid == 1),
        ] {
            let Some(Json::Array(alternatives)) = rules.get(keyword) else { continue };
            let mut valid = 0;
            for (index, alternative) in alternatives.iter().enumerate() {
                let place = format!("{}/{keyword}/{index}", schema.place);
                let alternative = At { value: alternative, place };
                valid += usize::from(self.check(&alternative, value, depth + 1)?.is_ok());
            }
            if !accepts(valid, alternatives.len()) {
                return Ok(Some(keyword));
            }
        }
        if let Some(forbidden) = rules.get("not")
            && self.check(&schema.member("not", forbidden), value, depth + 1)?.is_ok()
        {
            return Ok(Some("not"));
        }
        Ok(None)
    }

    /// `#/definitions/a`; a reference elsewhere is not supported, one to nothing requires nothing.
    fn referred(&self, reference: &str) -> Result<Option<At<'s>>, SqlError> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"references in JSON Schema"]));
        };
        let mut target = At { value: self.root, place: "#".to_owned() };
        for step in pointer.split('/').skip(1) {
            let key = step.replace("~1", "/").replace("~0", "~");
            let next = match target.value {
                Json::Object(members) => members.get(&key),
                Json::Array(elements) => key.parse().ok().and_then(|index: usize| elements.get(index)),
                _ => None,
            };
            match next {
                Some(next) => target = target.member(&key, next),
                None => return Ok(None),
            }
        }
        Ok(Some(target))
    }

    fn object(
        &self,
        rules: &'s JsonMap,
        members: &JsonMap,
        schema: &At<'s>,
        value: &At<'_>,
        depth: usize,
    ) -> Outcome {
        let at = |keyword| Failure { keyword, schema: schema.place.clone(), document: value.place.clone() };
        for (key, member) in members.iter() {
            let place = value.member(key, member);
            let mut is_known = false;
            if let Some(Json::Object(properties)) = rules.get("properties")
                && let Some(rule) = properties.get(key)
            {
                is_known = true;
                let rule = At { value: rule, place: format!("{}/properties/{}", schema.place, escaped(key)) };
                if let Err(failure) = self.check(&rule, &place, depth + 1)? {
                    return Ok(Err(failure));
                }
            }
            if let Some(Json::Object(patterns)) = rules.get("patternProperties") {
                for (pattern, rule) in patterns.iter().filter(|(pattern, _)| matches(pattern, key)) {
                    is_known = true;
                    let place_of_rule = format!("{}/patternProperties/{}", schema.place, escaped(pattern));
                    let rule = At { value: rule, place: place_of_rule };
                    if let Err(failure) = self.check(&rule, &place, depth + 1)? {
                        return Ok(Err(failure));
                    }
                }
            }
            match rules.get("additionalProperties") {
                Some(Json::Bool(false)) if !is_known => return Ok(Err(at("additionalProperties"))),
                Some(rule @ Json::Object(_)) if !is_known => {
                    let rule = schema.member("additionalProperties", rule);
                    if let Err(failure) = self.check(&rule, &place, depth + 1)? {
                        return Ok(Err(failure));
                    }
                }
                _ => {}
            }
        }
        if let Some(Json::Array(required)) = rules.get("required")
            && required.iter().any(|key| matches!(key, Json::String(key) if members.get(key).is_none()))
        {
            return Ok(Err(at("required")));
        }
        if let Some(keyword) = outside(rules, ("minProperties", "maxProperties"), members.len()) {
            return Ok(Err(at(keyword)));
        }
        self.dependencies(rules, members, schema, value, depth)
    }

    fn dependencies(
        &self,
        rules: &'s JsonMap,
        members: &JsonMap,
        schema: &At<'s>,
        value: &At<'_>,
        depth: usize,
    ) -> Outcome {
        let Some(Json::Object(dependencies)) = rules.get("dependencies") else { return Ok(Ok(())) };
        for (_, rule) in dependencies.iter().filter(|(key, _)| members.get(key).is_some()) {
            let is_met = match rule {
                Json::Array(needed) => {
                    needed.iter().all(|key| matches!(key, Json::String(key) if members.get(key).is_some()))
                }
                rule => self.check(&schema.member("dependencies", rule), value, depth + 1)?.is_ok(),
            };
            if !is_met {
                let (schema, document) = (schema.place.clone(), value.place.clone());
                return Ok(Err(Failure { keyword: "dependencies", schema, document }));
            }
        }
        Ok(Ok(()))
    }

    fn array(
        &self,
        rules: &'s JsonMap,
        elements: &[Json],
        schema: &At<'s>,
        value: &At<'_>,
        depth: usize,
    ) -> Outcome {
        let at = |keyword| Failure { keyword, schema: schema.place.clone(), document: value.place.clone() };
        for (index, element) in elements.iter().enumerate() {
            let place = value.member(&index.to_string(), element);
            let rule = match rules.get("items") {
                Some(Json::Array(rules)) if index < rules.len() => {
                    Some(At { value: &rules[index], place: format!("{}/items/{index}", schema.place) })
                }
                Some(Json::Array(_)) => match rules.get("additionalItems") {
                    Some(Json::Bool(false)) => return Ok(Err(at("additionalItems"))),
                    rule => rule.map(|rule| schema.member("additionalItems", rule)),
                },
                rule => rule.map(|rule| schema.member("items", rule)),
            };
            if let Some(rule) = rule
                && let Err(failure) = self.check(&rule, &place, depth + 1)?
            {
                return Ok(Err(failure));
            }
        }
        if let Some(keyword) = outside(rules, ("minItems", "maxItems"), elements.len()) {
            return Ok(Err(at(keyword)));
        }
        let repeats = || {
            (1..elements.len()).any(|index| {
                elements[..index].iter().any(|other| compare_documents(other, &elements[index]).is_eq())
            })
        };
        if rules.get("uniqueItems") == Some(&Json::Bool(true)) && repeats() {
            return Ok(Err(at("uniqueItems")));
        }
        Ok(Ok(()))
    }
}

fn has_type(types: &Json, value: &Json) -> bool {
    match types {
        Json::Array(types) => types.iter().any(|one| has_type(one, value)),
        Json::String(name) => match name.as_str() {
            "null" => value.is_null(),
            "boolean" => matches!(value, Json::Bool(_)),
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => matches!(value, Json::String(_)),
            "integer" => matches!(value, Json::Int(_) | Json::UInt(_)),
            "number" => number(value).is_some(),
            _ => true,
        },
        _ => true,
    }
}

fn number(value: &Json) -> Option<f64> {
    match value {
        Json::Int(number) => Some(*number as f64),
        Json::UInt(number) => Some(*number as f64),
        Json::Double(number) => Some(*number),
        Json::Decimal(number) => Some(number.to_f64()),
        _ => None,
    }
}

/// The bound that a count is outside of.
fn outside(rules: &JsonMap, bounds: (&'static str, &'static str), count: usize) -> Option<&'static str> {
    let bound = |name| rules.get(name).and_then(number);
    match () {
        () if bound(bounds.0).is_some_and(|least| (count as f64) < least) => Some(bounds.0),
        () if bound(bounds.1).is_some_and(|most| count as f64 > most) => Some(bounds.1),
        () => None,
    }
}

/// The failed requirement on a number or a string.
fn failed_scalar(rules: &JsonMap, value: &Json) -> Option<&'static str> {
    if let Json::String(text) = value {
        if let Some(Json::String(pattern)) = rules.get("pattern")
            && !matches(pattern, text)
        {
            return Some("pattern");
        }
        return outside(rules, ("minLength", "maxLength"), text.chars().count());
    }
    number(value)?;
    let excludes = |name| rules.get(name) == Some(&Json::Bool(true));
    let order = |name| {
        let bound = rules.get(name).filter(|bound| number(bound).is_some())?;
        Some(compare_documents(value, bound))
    };
    if order("minimum").is_some_and(|order| order.is_lt() || (order.is_eq() && excludes("exclusiveMinimum")))
    {
        return Some("minimum");
    }
    if order("maximum").is_some_and(|order| order.is_gt() || (order.is_eq() && excludes("exclusiveMaximum")))
    {
        return Some("maximum");
    }
    let divisor = rules.get("multipleOf").and_then(number).filter(|divisor| *divisor > 0.0)?;
    (!is_multiple(number(value)?, divisor)).then_some("multipleOf")
}

/// By decimals where they hold both numbers: 0.3 is a multiple of 0.1.
fn is_multiple(value: f64, divisor: f64) -> bool {
    let exact = Decimal::from_f64(value).zip(Decimal::from_f64(divisor));
    match exact.and_then(|(value, divisor)| value.remainder(&divisor)) {
        Some(rest) => rest.is_zero(),
        None => (value / divisor).fract() == 0.0,
    }
}

/// Whether a pattern is found in a text; one that is no pattern is found everywhere.
fn matches(pattern: &str, text: &str) -> bool {
    let flags =
        Flags { ignores_case: false, is_multiline: false, dot_matches_newline: false, unix_lines: false };
    let Ok(pattern) = Regexp::new(pattern, flags) else { return true };
    pattern.find(&text.chars().collect::<Vec<_>>(), 0).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(schema: &str, document: &str) -> Option<(&'static str, String, String)> {
        let schema = datum::parse_json(schema.as_bytes()).unwrap();
        let document = datum::parse_json(document.as_bytes()).unwrap();
        let outcome = Schema::new(&schema).validate(&document).unwrap();
        outcome.err().map(|failure| (failure.keyword, failure.schema, failure.document))
    }

    #[test]
    fn the_first_failure_has_its_places() {
        let schema = r##"{"type":"object","properties":{"a b":{"$ref":"#/definitions/x"}},
            "definitions":{"x":{"type":"array","items":{"maximum":5}}},"required":["c"]}"##;
        let at =
            |keyword, schema: &str, document: &str| Some((keyword, schema.to_owned(), document.to_owned()));
        assert_eq!(failed(schema, r#"{"a b":[1,7]}"#), at("maximum", "#/definitions/x/items", "#/a%20b/1"));
        assert_eq!(failed(schema, r#"{"a b":[1]}"#), at("required", "#", "#"));
        assert_eq!(failed(schema, r#"{"a b":[1],"c":0}"#), None);
        assert_eq!(failed(schema, "[]"), at("type", "#", "#"));
    }

    #[test]
    fn each_requirement() {
        for (schema, good, bad) in [
            (r#"{"enum":[1,"a"]}"#, "1.0", "2"),
            (r#"{"multipleOf":0.1}"#, "0.3", "0.35"),
            (r#"{"minimum":1,"exclusiveMinimum":true}"#, "2", "1"),
            (r#"{"pattern":"^a+$"}"#, "\"aa\"", "\"ab\""),
            (r#"{"maxLength":2}"#, "\"é€\"", "\"abc\""),
            (r#"{"uniqueItems":true}"#, "[1,2]", "[1,1.0]"),
            (r#"{"items":[{}],"additionalItems":false}"#, "[1]", "[1,2]"),
            (
                r#"{"patternProperties":{"^x":{"type":"null"}},"additionalProperties":false}"#,
                r#"{"xa":null}"#,
                r#"{"y":1}"#,
            ),
            (r#"{"dependencies":{"a":["b"]}}"#, r#"{"a":1,"b":2}"#, r#"{"a":1}"#),
            (r#"{"oneOf":[{"minimum":1},{"maximum":5}]}"#, "0", "3"),
            (r#"{"not":{"type":"integer"}}"#, "1.5", "1"),
            (r#"{"allOf":[{"minimum":1},{"maximum":5}]}"#, "3", "7"),
        ] {
            assert_eq!(failed(schema, good), None, "{schema}");
            assert!(failed(schema, bad).is_some(), "{schema}");
        }
    }
}
