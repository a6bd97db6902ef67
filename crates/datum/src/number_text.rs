//! Text of FLOAT and DOUBLE as MySQL prints them.
//!
//! DOUBLE shows the shortest digits that read back to it, FLOAT six significant digits. Numbers are written out
//! when their decimal exponent is -15..15 or when digits after the point would be lost, otherwise as 1.5e20.

const EXPONENT_MIN: i32 = -15;
const EXPONENT_MAX: i32 = 14;

/// `digits` is the (M,D) of the column type, which fixes the digits after the point.
pub fn write_double(number: f64, digits: Option<(u8, u8)>, text: &mut Vec<u8>) {
    match digits {
        Some((_, scale)) => write_fixed(number, scale, text),
        None => write_scientific(&halves_to_even(format!("{number:e}"), number), text),
    }
}

/// Where two texts of the fewest digits are as near to the number, MySQL takes the one that ends in an even digit.
fn halves_to_even(mut scientific: String, number: f64) -> String {
    const DIGITS_MIN: usize = 15;
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let end = mantissa.len();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let Ok(exponent) = exponent.parse::<i64>() else { return scientific };
    // A number that is halfway between has one digit more after the point, and so many binary ones.
    let bits = number.to_bits();
    let power = (bits >> 52 & 0x7FF) as i64 - 1075;
    let zeros = i64::from((bits & ((1 << 52) - 1) | 1 << 52).trailing_zeros());
    let binary_places = -(power + zeros);
    let places = digits as i64 - 1 - exponent;
    if digits < DIGITS_MIN || binary_places != places + 1 || places < 0 {
        return scientific;
    }
    let last = scientific.as_bytes()[end - 1];
    if last % 2 == 1 {
        let even = char::from(last - 1).to_string();
        let is_same = |text: &str| text.parse::<f64>() == Ok(number);
        let mut other = scientific.clone();
        other.replace_range(end - 1..end, &even);
        if is_same(&other) {
            scientific = other;
        }
    }
    scientific
}

/// The characters that a DOUBLE may take where it becomes a text.
const TEXT_WIDTH: usize = 22;

/// As `write_double`, for a text that the number becomes: what is longer than 22 characters is written with an exponent,
/// with as many digits as fit. Results that are sent as numbers are not cut.
pub fn write_double_as_text(number: f64, digits: Option<(u8, u8)>, text: &mut Vec<u8>) {
    let start = text.len();
    write_double(number, digits, text);
    if digits.is_some() || text.len() - start <= TEXT_WIDTH {
        return;
    }
    text.truncate(start);
    let mut scientific = halves_to_even(format!("{number:e}"), number);
    if scientific.len() > TEXT_WIDTH {
        let cut = scientific.len() - TEXT_WIDTH;
        let digits = scientific.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
        scientific = format!("{number:.places$e}", places = digits.saturating_sub(1 + cut));
    }
    // Zeros at the end of what is left are no digits.
    if let Some((mantissa, exponent)) = scientific.split_once('e')
        && mantissa.contains('.')
    {
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        scientific = format!("{mantissa}e{exponent}");
    }
    text.extend_from_slice(scientific.as_bytes());
}

pub fn write_float(number: f32, digits: Option<(u8, u8)>, text: &mut Vec<u8>) {
    match digits {
        Some((_, scale)) => write_fixed(f64::from(number), scale, text),
        None => write_scientific(&format!("{:.5e}", f64::from(number)), text),
    }
}

/// Digits that the number has no more are zeros, not those of its binary fraction.
fn write_fixed(number: f64, scale: u8, text: &mut Vec<u8>) {
    /// So many digits are the same either way.
    const DIGITS: i32 = 15;
    let scale = usize::from(scale);
    if number.abs() >= 10f64.powi(DIGITS - scale as i32) {
        let shortest = number.to_string();
        let places = shortest.split_once('.').map_or(0, |(_, places)| places.len());
        if places <= scale {
            text.extend_from_slice(shortest.as_bytes());
            if places == 0 && scale > 0 {
                text.push(b'.');
            }
            text.extend(std::iter::repeat_n(b'0', scale - places));
            return;
        }
    }
    text.extend_from_slice(format!("{number:.scale$}").as_bytes());
}

/// Rewrites Rust's `d.ddde[-]x`; infinities and NaN do not occur in SQL values.
fn write_scientific(scientific: &str, text: &mut Vec<u8>) {
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        text.extend_from_slice(scientific.as_bytes());
        return;
    };
    let exponent: i32 = exponent.parse().expect("the exponent of a formatted number is an integer");
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let all_digits: String = mantissa.chars().filter(|character| *character != '.').collect();
    let digits = match all_digits.trim_end_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    text.extend_from_slice(sign.as_bytes());
    let count = digits.len() as i32;
    let is_plain = exponent >= EXPONENT_MIN && (exponent <= EXPONENT_MAX || count > exponent + 1);
    if !is_plain {
        text.extend_from_slice(&digits.as_bytes()[..1]);
        if digits.len() > 1 {
            text.push(b'.');
            text.extend_from_slice(&digits.as_bytes()[1..]);
        }
        text.push(b'e');
        text.extend_from_slice(exponent.to_string().as_bytes());
    } else if exponent < 0 {
        text.extend_from_slice(b"0.");
        text.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        text.extend_from_slice(digits.as_bytes());
    } else if count <= exponent + 1 {
        text.extend_from_slice(digits.as_bytes());
        text.extend(std::iter::repeat_n(b'0', (exponent + 1 - count) as usize));
    } else {
        let (integer, fraction) = digits.split_at(exponent as usize + 1);
        text.extend_from_slice(integer.as_bytes());
        text.push(b'.');
        text.extend_from_slice(fraction.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_digits_end_in_zeros() {
        for (number, scale, expected) in [
            (0.1, 20, "0.10000000000000000000"),
            (123_456_789.123_456_79, 12, "123456789.123456790000"),
            (1e9 + 0.1, 20, "1000000000.10000000000000000000"),
            (f64::from(0.1f32), 10, "0.1000000015"),
            (1e20, 2, "100000000000000000000.00"),
            (2.5, 0, "2"),
        ] {
            let mut text = Vec::new();
            write_double(number, Some((30, scale)), &mut text);
            assert_eq!(String::from_utf8(text).expect("digits"), expected);
        }
    }

    #[test]
    fn doubles_as_mysql_prints_them() {
        for (number, expected) in [
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (9_007_199_254_740_992.0 / 10.0, "900719925474099.2"),
            (123_456_789_012_345.0, "123456789012345"),
            (1_234_567_890_123_456.0, "1.234567890123456e15"),
            (1_234_567_890_123_456.8, "1234567890123456.8"),
            (1_000_000_000_000_000.5, "1000000000000000.5"),
            (1e-5, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.234_567_890_123_456e-10, "0.0000000001234567890123456"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (0.0, "0"),
            (-0.0, "-0"),
            (f64::MAX, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (1.0 / 3.0, "0.3333333333333333"),
        ] {
            let mut text = Vec::new();
            write_double(number, None, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
    }

    #[test]
    fn texts_of_doubles_have_22_characters() {
        for (number, expected) in [
            (2020.0 / 2_147_483_647.0, "9.40635800799651e-7"),
            (1e-10 / 3.0, "3.3333333333333335e-11"),
            (-1e-10 / 3.0, "-3.333333333333333e-11"),
            (1e20 / 3.0, "3.333333333333333e19"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e-15, "0.000000000000001"),
        ] {
            let mut text = Vec::new();
            write_double_as_text(number, None, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
    }

    #[test]
    fn floats_have_six_digits() {
        for (number, expected) in [
            (1.234_567_f32, "1.23457"),
            (16_777_216.0, "16777200"),
            (1e10, "10000000000"),
            (0.1, "0.1"),
            (1e20, "1e20"),
            (3.402_823_4e38, "3.40282e38"),
            (1_234_565.0, "1234560"),
            (999_999.5, "1000000"),
            (0.000_123_456_79, "0.000123457"),
        ] {
            let mut text = Vec::new();
            write_float(number, None, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
        let mut text = Vec::new();
        write_float(1.2, Some((10, 3)), &mut text);
        assert_eq!(text, b"1.200");
    }
}
