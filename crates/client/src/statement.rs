//! A statement with places for values, which a connection may have prepared at its server.
//!
//! Invariant: whether it is prepared changes how values travel, not what is asked. Sent by `connection`.

use crate::value::{Value, put_literal};

/// Text with `?` for values. One belongs to one connection.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What stands between the places, so one more than there are places.
    parts: Vec<Vec<u8>>,
    text: String,
    pub(crate) id: Option<u32>,
    /// The types that the server was told last, so that they are not told again.
    pub(crate) bound: Vec<u8>,
}

impl Statement {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let mut parts = vec![Vec::new()];
        let mut quote = None;
        for byte in text.bytes() {
            match (quote, byte) {
                (None, b'?') => {
                    parts.push(Vec::new());
                    continue;
                }
                (None, b'\'' | b'"' | b'`') => quote = Some(byte),
                (Some(open), _) if open == byte => quote = None,
                _ => {}
            }
            parts.last_mut().expect("there is a first part").push(byte);
        }
        Self { parts, text, id: None, bound: Vec::new() }
    }

    /// Text that is sent as it is, question marks and all.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { parts: vec![text.clone().into_bytes()], text, id: None, bound: Vec::new() }
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many values it takes.
    #[must_use]
    pub fn places(&self) -> usize {
        self.parts.len() - 1
    }

    #[must_use]
    pub fn is_prepared(&self) -> bool {
        self.id.is_some()
    }

    /// Takes the statement to another connection, where it is not prepared.
    pub fn forget(&mut self) {
        self.id = None;
        self.bound.clear();
    }

    pub(crate) fn put_text(&self, values: &[Value<'_>], out: &mut Vec<u8>) {
        for (place, part) in self.parts.iter().enumerate() {
            out.extend_from_slice(part);
            if place < self.places() {
                put_literal(out, values.get(place).unwrap_or(&Value::Null));
            }
        }
    }

    /// The body of COM_STMT_EXECUTE behind its first byte.
    pub(crate) fn put_binary(&mut self, id: u32, values: &[Value<'_>], out: &mut Vec<u8>) {
        out.extend_from_slice(&id.to_le_bytes());
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if self.places() == 0 {
            return;
        }
        let nulls = out.len();
        out.resize(nulls + self.places().div_ceil(8), 0);
        let value = |place: usize| values.get(place).unwrap_or(&Value::Null);
        for place in (0..self.places()).filter(|&place| *value(place) == Value::Null) {
            out[nulls + place / 8] |= 1 << (place % 8);
        }
        let kinds = (0..self.places()).flat_map(|place| value(place).kind());
        if self.bound.is_empty() || !self.bound.iter().copied().eq(kinds.clone()) {
            self.bound = kinds.collect();
            out.push(1);
            out.extend_from_slice(&self.bound);
        } else {
            out.push(0);
        }
        for place in 0..self.places() {
            value(place).put_binary(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_mark_in_quotes_is_text() {
        let statement = Statement::new("SELECT '?', a FROM t WHERE b=? AND c=?");
        assert_eq!(statement.places(), 2);
        let mut out = Vec::new();
        statement.put_text(&[Value::Int(1), Value::Text("x")], &mut out);
        assert_eq!(out, b"SELECT '?', a FROM t WHERE b=1 AND c='x'");
    }

    #[test]
    fn types_are_told_once() {
        let mut statement = Statement::new("SELECT ?");
        let (mut first, mut second) = (Vec::new(), Vec::new());
        statement.put_binary(1, &[Value::Int(5)], &mut first);
        statement.put_binary(1, &[Value::Int(6)], &mut second);
        assert_eq!(first[9..13], [0, 1, 8, 0]);
        assert_eq!(second[9..12], [0, 0, 6]);
    }
}
