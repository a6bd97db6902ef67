//! Text to a document: JSON as clients write it, with MySQL's (RapidJSON's) errors, and stored text with its marks.
use collation::valid_utf8_length;
use env::LONG_PIECE;

use super::write::base64_bytes;
use super::{JSON_DEPTH_MAX, Json, JsonMap, json_text, mark};
use crate::decimal::Decimal;
use crate::error::SqlError;
use crate::error_code::{ER_INVALID_JSON_TEXT_IN_PARAM, ER_JSON_DOCUMENT_TOO_DEEP};
use crate::temporal::{DateTime, Time};

/// Why a text is no JSON document, with the byte position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidJson {
    pub reason: &'static str,
    pub position: usize,
}

const TOO_DEEP: &str = "The JSON document exceeds the maximum depth.";

impl InvalidJson {
    fn new(reason: &'static str, position: usize) -> InvalidJson {
        InvalidJson { reason, position }
    }

    /// A nesting beyond the limit is an error of its own.
    pub fn is_too_deep(&self) -> bool {
        self.reason == TOO_DEEP
    }

    /// The error of a function whose argument the text is, counted from 1.
    pub fn in_function(&self, argument: usize, name: &str) -> SqlError {
        if self.is_too_deep() {
            return ER_JSON_DOCUMENT_TOO_DEEP.plain();
        }
        ER_INVALID_JSON_TEXT_IN_PARAM.with(&[&argument, &name, &self.reason, &self.position])
    }
}

/// Validates a text and gives its normal form.
pub fn normalize_json(text: &[u8]) -> Result<Box<str>, InvalidJson> {
    Ok(json_text(&parse_json(text)?).into_boxed_str())
}

/// Parses a text that a client has written.
pub fn parse_json(text: &[u8]) -> Result<Json, InvalidJson> {
    let valid = valid_utf8_length(text);
    if valid < text.len() {
        return Err(InvalidJson::new("Invalid encoding in string.", valid));
    }
    let mut reader = Reader { text, at: 0, counted: 0, depth: 0, is_stored: false };
    reader.spaces();
    if reader.at == text.len() {
        return Err(InvalidJson::new("The document is empty.", reader.at));
    }
    let document = reader.value()?;
    reader.spaces();
    if reader.at < text.len() {
        return Err(reader.error("The document root must not be followed by other values."));
    }
    Ok(document)
}

/// Reads a stored text. What is damaged reads as null.
pub fn read_json(text: &str) -> Json {
    let mut reader = Reader { text: text.as_bytes(), at: 0, counted: 0, depth: 0, is_stored: true };
    reader.value().unwrap_or_default()
}

/// What a byte of a document costs where its values are short.
const TICKS_PER_BYTE: usize = 16;

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    /// Up to here the text is counted as work.
    counted: usize,
    depth: usize,
    /// Marks are understood.
    is_stored: bool,
}

impl Reader<'_> {
    fn error(&self, reason: &'static str) -> InvalidJson {
        InvalidJson::new(reason, self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let is_here = self.peek() == Some(byte);
        self.at += usize::from(is_here);
        is_here
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json, InvalidJson> {
        if self.at - self.counted >= LONG_PIECE {
            env::tick_long((self.at - self.counted) * TICKS_PER_BYTE);
            self.counted = self.at;
        }
        match self.peek() {
            Some(b'n') => self.word(b"null", Json::Null),
            Some(b't') => self.word(b"true", Json::Bool(true)),
            Some(b'f') => self.word(b"false", Json::Bool(false)),
            Some(b'"') => self.string().map(Json::String),
            Some(b'[') => self.array(),
            Some(b'{') => self.object(),
            Some(kind @ 1..=mark::LAST) if self.is_stored => self.marked(kind),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Result<Json, InvalidJson> {
        for byte in word {
            if !self.accept(*byte) {
                return Err(self.error("Invalid value."));
            }
        }
        Ok(value)
    }

    fn deeper(&mut self) -> Result<(), InvalidJson> {
        self.at += 1;
        self.depth += 1;
        if self.depth > JSON_DEPTH_MAX { Err(self.error(TOO_DEEP)) } else { Ok(()) }
    }

    fn array(&mut self) -> Result<Json, InvalidJson> {
        self.deeper()?;
        let mut elements = Vec::new();
        self.spaces();
        if !self.accept(b']') {
            loop {
                elements.push(self.value()?);
                self.spaces();
                if self.accept(b']') {
                    break;
                }
                if !self.accept(b',') {
                    return Err(self.error("Missing a comma or ']' after an array element."));
                }
                self.spaces();
            }
        }
        self.depth -= 1;
        Ok(Json::Array(elements))
    }

    fn object(&mut self) -> Result<Json, InvalidJson> {
        self.deeper()?;
        let mut members = Vec::new();
        self.spaces();
        if !self.accept(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(self.error("Missing a name for object member."));
                }
                let key = self.string()?;
                self.spaces();
                if !self.accept(b':') {
                    return Err(self.error("Missing a colon after a name of object member."));
                }
                self.spaces();
                members.push((key, self.value()?));
                self.spaces();
                if self.accept(b'}') {
                    break;
                }
                if !self.accept(b',') {
                    return Err(self.error("Missing a comma or '}' after an object member."));
                }
                self.spaces();
            }
        }
        self.depth -= 1;
        Ok(Json::Object(members.into_iter().collect::<JsonMap>()))
    }

    fn string(&mut self) -> Result<String, InvalidJson> {
        self.at += 1;
        let mut string = Vec::new();
        loop {
            let rest = &self.text[self.at..self.text.len().min(self.at + LONG_PIECE)];
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
            string.extend_from_slice(&rest[..plain]);
            self.at += plain;
            if plain == LONG_PIECE {
                env::tick_long(LONG_PIECE * 2);
                self.counted = self.at;
                continue;
            }
            match self.peek() {
                Some(b'"') => break self.at += 1,
                Some(b'\\') => self.escape(&mut string)?,
                None | Some(0) => return Err(self.error("Missing a closing quotation mark in string.")),
                Some(_) => return Err(self.error("Invalid encoding in string.")),
            }
        }
        // The text is valid as a whole and was cut at ASCII characters only.
        String::from_utf8(string).map_err(|_| self.error("Invalid encoding in string."))
    }

    fn escape(&mut self, string: &mut Vec<u8>) -> Result<(), InvalidJson> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.at += 1;
                let character = self.unicode(start)?;
                string.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(InvalidJson::new("Invalid escape character in string.", start)),
        };
        self.at += 1;
        string.push(plain);
        Ok(())
    }

    fn unicode(&mut self, start: usize) -> Result<char, InvalidJson> {
        let surrogate = || InvalidJson::new("The surrogate pair in string is invalid.", start);
        let first = self.four_digits(start)?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first).ok_or_else(surrogate);
        }
        if first >= 0xDC00 || !self.accept(b'\\') || !self.accept(b'u') {
            return Err(surrogate());
        }
        let second = self.four_digits(start)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(surrogate());
        }
        char::from_u32(0x10000 + ((first - 0xD800) << 10 | (second - 0xDC00))).ok_or_else(surrogate)
    }

    fn four_digits(&mut self, start: usize) -> Result<u32, InvalidJson> {
        let mut number = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let digit =
                digit.ok_or(InvalidJson::new("Incorrect hex digit after \\u escape in string.", start))?;
            number = number << 4 | digit;
            self.at += 1;
        }
        Ok(number)
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > start
    }

    fn number(&mut self) -> Result<Json, InvalidJson> {
        let start = self.at;
        self.accept(b'-');
        if !self.accept(b'0') && !self.digits() {
            return Err(self.error("Invalid value."));
        }
        let mut is_integer = true;
        if self.accept(b'.') {
            is_integer = false;
            if !self.digits() {
                return Err(self.error("Miss fraction part in number."));
            }
        }
        if self.accept(b'e') || self.accept(b'E') {
            is_integer = false;
            if !self.accept(b'+') {
                self.accept(b'-');
            }
            if !self.digits() {
                return Err(self.error("Miss exponent in number."));
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        if is_integer {
            let whole = text.parse().map(Json::Int).or_else(|_| text.parse().map(Json::UInt));
            if let Ok(number) = whole {
                return Ok(number);
            }
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Json::Double(number)),
            _ => Err(InvalidJson::new("Number too big to be stored in double.", start)),
        }
    }

    /// A value of a kind that JSON has not.
    fn marked(&mut self, kind: u8) -> Result<Json, InvalidJson> {
        self.at += 1;
        let damaged = self.error("Invalid value.");
        if matches!(kind, mark::UNSIGNED | mark::DECIMAL) {
            let parsed = Decimal::parse_prefix(&self.text[self.at..]);
            self.at += parsed.consumed;
            return match kind {
                mark::UNSIGNED => parsed.value.to_u64().map(Json::UInt).ok_or(damaged),
                _ => Ok(Json::Decimal(parsed.value)),
            };
        }
        let text = self.string()?;
        let moment = || DateTime::parse(text.as_bytes(), true).map(|parsed| parsed.value);
        let value = match kind {
            mark::DATE => moment().map(|moment| Json::Date(moment.date())),
            mark::DATETIME => moment().map(Json::DateTime),
            mark::TIME => Time::parse(text.as_bytes()).map(|parsed| Json::Time(parsed.value)),
            _ => opaque_of(&text),
        };
        value.ok_or(damaged)
    }
}

/// What documents show of a value that JSON has no kind for: `base64:type15:YWJj`.
pub fn opaque_of(text: &str) -> Option<Json> {
    let (kind, encoded) = text.strip_prefix("base64:type")?.split_once(':')?;
    Some(Json::Opaque(kind.parse().ok()?, base64_bytes(encoded.as_bytes())?))
}
