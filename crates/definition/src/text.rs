//! Text of a statement in the character set of a column.
use collation::Charset;

/// The UTF-8 text in another character set; `None` when a character is missing there.
pub fn encode(text: &str, charset: Charset) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    match charset {
        Charset::Binary => bytes.extend_from_slice(text.as_bytes()),
        _ => {
            for character in text.chars() {
                if !charset.encode(character, &mut bytes) {
                    return None;
                }
            }
        }
    }
    Some(bytes)
}
