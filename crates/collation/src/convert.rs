//! Conversion of text between character sets.
use crate::charset::Charset;

/// A converted string and whether any character had to be replaced by `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    pub bytes: Vec<u8>,
    pub is_lossy: bool,
}

impl Charset {
    /// Converts to another set. Binary on either side relabels the bytes.
    pub fn convert_to(self, target: Charset, bytes: &[u8]) -> Converted {
        let same_bytes = self == target
            || self == Charset::Binary
            || target == Charset::Binary
            || (self == Charset::Utf8mb3 && target == Charset::Utf8mb4)
            || bytes.is_ascii();
        if same_bytes {
            return Converted { bytes: bytes.to_vec(), is_lossy: false };
        }
        let mut converted = Converted { bytes: Vec::with_capacity(bytes.len() * 2), is_lossy: false };
        for character in self.characters(bytes) {
            let fits = self.to_char(character).is_some_and(|c| target.encode(c, &mut converted.bytes));
            if !fits {
                converted.bytes.push(b'?');
                converted.is_lossy = true;
            }
        }
        converted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_converts_between_sets() {
        let check = |from: Charset, to: Charset, input: &[u8], output: &[u8], is_lossy| {
            assert_eq!(from.convert_to(to, input), Converted { bytes: output.to_vec(), is_lossy });
        };
        check(Charset::Latin1, Charset::Utf8mb4, b"\xe9\x80", "é€".as_bytes(), false);
        check(Charset::Utf8mb4, Charset::Latin1, "é€中".as_bytes(), b"\xe9\x80?", true);
        check(Charset::Utf8mb4, Charset::Utf8mb3, "é😀".as_bytes(), "é?".as_bytes(), true);
        check(Charset::Utf8mb4, Charset::Ascii, "aé".as_bytes(), b"a?", true);
        check(Charset::Binary, Charset::Utf8mb4, b"\xff", b"\xff", false);
    }
}
