//! The shapes of words, numbers and quoted strings, shared by the lexer and the digest.
//!
//! Sharing is what makes both find the same literals at the same places.
//! Every function takes a position inside the text and returns the position after what it recognised.

const SPACE: u8 = 1;
const DIGIT: u8 = 2;
/// May begin an unquoted identifier. Bytes above 0x7F are parts of characters beyond ASCII.
const LETTER: u8 = 4;
const HEX: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let character = byte as u8;
        let mut class = 0;
        if matches!(character, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C) {
            class |= SPACE;
        }
        if character.is_ascii_digit() {
            class |= DIGIT;
        }
        if character.is_ascii_alphabetic() || character == b'_' || character == b'$' || character >= 0x80 {
            class |= LETTER;
        }
        if character.is_ascii_hexdigit() {
            class |= HEX;
        }
        classes[byte] = class;
        byte += 1;
    }
    classes
};

pub fn is_space(byte: u8) -> bool {
    CLASSES[byte as usize] & SPACE != 0
}

pub fn is_letter(byte: u8) -> bool {
    CLASSES[byte as usize] & LETTER != 0
}

pub fn is_word_byte(byte: u8) -> bool {
    CLASSES[byte as usize] & (LETTER | DIGIT) != 0
}

pub fn word_end(text: &[u8], position: usize) -> usize {
    class_end(text, position, LETTER | DIGIT)
}

fn class_end(text: &[u8], position: usize, class: u8) -> usize {
    let rest = &text[position..];
    position + rest.iter().position(|&byte| CLASSES[byte as usize] & class == 0).unwrap_or(rest.len())
}

/// Where one of two bytes stands next, looking at eight bytes at a time: strings are most of a bulk INSERT.
fn find_either(text: &[u8], start: usize, first: u8, second: u8) -> Option<usize> {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let (first_lanes, second_lanes) = (LOW_BITS * u64::from(first), LOW_BITS * u64::from(second));
    // A lane of the result has its high bit set when the lane is zero. Lanes above a zero one may be set wrongly, so
    // only the lowest is read.
    let zero_lanes = |lanes: u64| lanes.wrapping_sub(LOW_BITS) & !lanes & HIGH_BITS;
    let (chunks, tail) = text.get(start..)?.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        let lanes = u64::from_le_bytes(*chunk);
        let found = zero_lanes(lanes ^ first_lanes) | zero_lanes(lanes ^ second_lanes);
        if found != 0 {
            return Some(start + index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let tail_start = text.len() - tail.len();
    tail.iter().position(|&byte| byte == first || byte == second).map(|offset| tail_start + offset)
}

/// Where the quoted string that begins at `start` ends, and whether its content needs to be unescaped.
/// `None` when it is not closed. `backslash` tells whether a backslash escapes.
pub fn quoted_end(text: &[u8], start: usize, backslash: bool) -> Option<(usize, bool)> {
    let quote = text[start];
    let escape = if backslash { b'\\' } else { quote };
    let mut position = start + 1;
    let mut escaped = false;
    loop {
        position = find_either(text, position, quote, escape)?;
        if text[position] == quote && text.get(position + 1) != Some(&quote) {
            return Some((position + 1, escaped));
        }
        // A doubled quote, or a backslash with what it escapes.
        escaped = true;
        position += 2;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberShape {
    Integer,
    Decimal,
    Float,
    /// `0x..`
    Hex,
    /// `0b..`
    Bit,
    /// Not a number: an identifier that begins with a digit.
    Word,
}

/// Reads what begins with a digit, or with a point that a digit follows.
pub fn number_end(text: &[u8], start: usize) -> (NumberShape, usize) {
    if text[start] == b'0'
        && let Some(found) = prefixed_number_end(text, start)
    {
        return found;
    }
    let whole_end = class_end(text, start, DIGIT);
    match text.get(whole_end) {
        Some(b'.') => {
            let fraction_end = class_end(text, whole_end + 1, DIGIT);
            match exponent_end(text, fraction_end) {
                Some(end) => (NumberShape::Float, end),
                None => (NumberShape::Decimal, fraction_end),
            }
        }
        Some(b'e' | b'E') => match exponent_end(text, whole_end) {
            Some(end) => (NumberShape::Float, end),
            None => (NumberShape::Word, word_end(text, whole_end)),
        },
        Some(&byte) if is_letter(byte) => (NumberShape::Word, word_end(text, whole_end)),
        _ => (NumberShape::Integer, whole_end),
    }
}

/// `0x41` and `0b01`, in lower case only as MySQL has it. A word byte after the digits makes it an identifier.
fn prefixed_number_end(text: &[u8], start: usize) -> Option<(NumberShape, usize)> {
    let (shape, end) = match text.get(start + 1)? {
        b'x' => (NumberShape::Hex, class_end(text, start + 2, HEX)),
        b'b' => {
            let mut end = start + 2;
            while matches!(text.get(end), Some(b'0' | b'1')) {
                end += 1;
            }
            (NumberShape::Bit, end)
        }
        _ => return None,
    };
    if end == start + 2 || text.get(end).is_some_and(|&byte| is_word_byte(byte)) {
        return Some((NumberShape::Word, word_end(text, start)));
    }
    Some((shape, end))
}

/// Reads `e5`, `e+5`, `e-5`; digits are required.
fn exponent_end(text: &[u8], position: usize) -> Option<usize> {
    if !matches!(text.get(position)?, b'e' | b'E') {
        return None;
    }
    let sign = matches!(text.get(position + 1), Some(b'+' | b'-')) as usize;
    let digits = position + 1 + sign;
    let end = class_end(text, digits, DIGIT);
    (end > digits).then_some(end)
}

/// Where a comment to the end of the line ends (after the line break).
pub fn line_comment_end(text: &[u8], mut position: usize) -> usize {
    while let Some(&byte) = text.get(position) {
        position += 1;
        if byte == b'\n' {
            break;
        }
    }
    position
}

/// Whether `--` at `position` begins a comment: white space, a control character or the end must follow.
pub fn is_dash_comment(text: &[u8], position: usize) -> bool {
    text.get(position + 1) == Some(&b'-') && text.get(position + 2).is_none_or(|&byte| byte <= b' ')
}

/// Where the block comment that begins at `start` ends; `None` when it is not closed.
pub fn block_comment_end(text: &[u8], start: usize) -> Option<usize> {
    let mut position = start + 2;
    loop {
        match text.get(position)? {
            b'*' if text.get(position + 1) == Some(&b'/') => return Some(position + 2),
            _ => position += 1,
        }
    }
}

/// Whether whole digits fit 64 bits, and if so their value.
pub fn integer_value(digits: &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for &digit in digits {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some(value)
}
