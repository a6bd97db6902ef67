//! Text of a statement in the character set of a column.
use collation::Charset;

/// The UTF-8 text in another character set; `None` when a character is missing there.
pub fn encode(text: &str, charset: Charset) -> Option<Vec<u8>> {
    match charset {
        Charset::Utf8mb4 | Charset::Binary => Some(text.as_bytes().to_vec()),
        Charset::Utf8mb3 if text.chars().all(|character| character <= '\u{FFFF}') => {
            Some(text.as_bytes().to_vec())
        }
        Charset::Ascii if text.is_ascii() => Some(text.as_bytes().to_vec()),
        Charset::Latin1 => charset.encode_utf8(text),
        _ => None,
    }
}
