//! The words of a path.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    End,
    Identifier,
    /// A name before `(` that is a function's.
    Function,
    /// A name before `(` that is a kind of node.
    NodeType,
    /// A name before `::`.
    Axis,
    And,
    Or,
    Div,
    Mod,
    Digits,
    Text,
    Sign(u8),
    Wrong,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub token: Token,
    pub start: usize,
    pub end: usize,
}

const SIGNS: &[u8] = b"!$&()*+,-./:;<=>?@[]^|~%";

/// Functions that exist, and those of XPath that do not here.
fn is_function(name: &[u8]) -> bool {
    crate::xpath::names::function_named(name).is_some()
}

fn is_node_type(name: &[u8]) -> bool {
    [&b"comment"[..], b"text", b"processing-instruction", b"node"]
        .iter()
        .any(|node_type| node_type.eq_ignore_ascii_case(name))
}

/// The word behind `at`.
pub(super) fn scan(text: &[u8], at: usize) -> Word {
    let start = at + text[at..].iter().take_while(|byte| **byte == b' ').count();
    let rest = &text[start..];
    let word = |token, length: usize| Word { token, start, end: start + length };
    let Some(&first) = rest.first() else { return word(Token::End, 0) };
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0x80;
    if is_letter(first) || first == b'_' {
        let is_part =
            |byte: &u8| is_letter(*byte) || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.');
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        return word(name_token(&rest[..length], &rest[length..]), length);
    }
    if SIGNS.contains(&first) {
        return word(Token::Sign(first), 1);
    }
    if first.is_ascii_digit() {
        return word(Token::Digits, rest.iter().take_while(|byte| byte.is_ascii_digit()).count());
    }
    if matches!(first, b'"' | b'\'') {
        let length = rest[1..].iter().take_while(|byte| **byte != first).count();
        let is_closed = rest.len() > length + 1;
        return if is_closed { word(Token::Text, length + 2) } else { word(Token::Wrong, rest.len()) };
    }
    word(Token::Wrong, 1)
}

fn name_token(name: &[u8], behind: &[u8]) -> Token {
    if behind.first() == Some(&b'(') {
        return match () {
            () if is_function(name) => Token::Function,
            () if is_node_type(name) => Token::NodeType,
            () => Token::Identifier,
        };
    }
    if behind.starts_with(b"::") {
        return if crate::xpath::names::axis_named(name).is_some() { Token::Axis } else { Token::Identifier };
    }
    match name {
        b"and" => Token::And,
        b"or" => Token::Or,
        b"div" => Token::Div,
        b"mod" => Token::Mod,
        _ => Token::Identifier,
    }
}
