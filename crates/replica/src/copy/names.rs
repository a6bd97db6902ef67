//! Names and texts as parts of statements.

/// A name in backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A literal of a text.
pub fn literal(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    put_text(text.as_bytes(), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// A literal of a text in utf8mb4, for sessions whose backslashes escape.
pub(super) fn put_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        if matches!(byte, b'\'' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'\'');
}

/// A literal of bytes.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"x'");
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_inside_do_not_end_a_name_or_a_text() {
        assert_eq!(quoted("a`b"), "`a``b`");
        assert_eq!(literal("it's \\ é"), "'it\\'s \\\\ é'");
        let mut out = Vec::new();
        put_bytes(&[0, 0xaf], &mut out);
        assert_eq!(out, b"x'00AF'");
    }
}
