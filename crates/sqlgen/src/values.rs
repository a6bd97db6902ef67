//! What cells of answers stand for, however a server has written them: numbers in bytes, digits and texts.
//!
//! Invariant: nothing here knows of statements. Caller: `argued`, which asks whether two servers' rows are the same values.

/// Whether both lists have the same rows by what `read` makes of each cell.
fn are_same(wanted: &[&str], given: &[&str], read: impl Fn(&str) -> String) -> bool {
    let rows = |rows: &[&str]| {
        let mut rows: Vec<Vec<String>> = rows.iter().map(|row| row.split('|').map(&read).collect()).collect();
        rows.sort();
        rows
    };
    rows(wanted) == rows(given)
}

/// Whether the rows are the same where bytes are the number of their bits.
pub fn are_same_bits(wanted: &[&str], given: &[&str]) -> bool {
    are_same(wanted, given, |cell| {
        let plain = plain(cell);
        let number = plain.parse::<f64>().ok().or_else(|| bits(plain));
        number.map_or_else(|| plain.to_owned(), |number| number.to_string())
    })
}

/// Whether the rows are the same where case and accents count for nothing.
pub fn are_same_letters(wanted: &[&str], given: &[&str]) -> bool {
    are_same(wanted, given, |cell| plain(cell).to_lowercase().trim_end().replace('é', "e"))
}

/// Whether the rows are the same where numbers are written with other digits of 0 behind the point, or with an exponent.
pub fn are_same_digits(wanted: &[&str], given: &[&str]) -> bool {
    are_same(wanted, given, |cell| {
        let plain = plain(cell);
        match plain.parse::<f64>() {
            Ok(number) if plain.contains('e') => number.to_string(),
            Ok(_) if plain.contains('.') => plain.trim_end_matches('0').trim_end_matches('.').to_owned(),
            _ => plain.to_owned(),
        }
    })
}

/// The value of a cell of the binary protocol.
fn plain(cell: &str) -> &str {
    let inside = cell.strip_suffix(')').and_then(|cell| cell.split_once('('));
    match inside {
        Some(("Int" | "UInt" | "Float" | "Double", inside)) => inside,
        _ => cell,
    }
}

/// The number that escaped bytes of a BIT are.
fn bits(cell: &str) -> Option<f64> {
    let mut number = 0_u64;
    let mut rest = cell;
    while !rest.is_empty() {
        let (byte, length) = match rest.strip_prefix('\\') {
            Some(escaped) if escaped.starts_with('0') => (0, 2),
            Some(escaped) => {
                let (code, _) = escaped.strip_prefix("u{")?.split_once('}')?;
                (u32::from_str_radix(code, 16).ok()?, code.len() + 4)
            }
            None => {
                let character = rest.chars().next()?;
                (u32::from(character), character.len_utf8())
            }
        };
        number = number.checked_mul(256)?.checked_add(u64::from(byte))?;
        rest = &rest[length..];
    }
    (!cell.is_empty()).then_some(number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_number_of_their_bits() {
        assert!(are_same_bits(&["1|\\u{1}U", "2|\\0\\0"], &["1|341.0", "2|0.0"]));
        assert!(are_same_bits(&["Int(4)|0000"], &["Int(4)|0.0"]));
        assert!(!are_same_bits(&["1|\\u{1}U"], &["1|340"]));
        assert!(are_same_digits(
            &["1|0.00", "2|1199038364791120900000"],
            &["1|0", "2|1.1990383647911209e21"]
        ));
        assert!(!are_same_digits(&["1|0.666666666"], &["1|0.666666667"]));
        assert!(are_same_letters(&["0|a"], &["0|A"]));
        assert!(!are_same_letters(&["0|a"], &["0|b"]));
    }
}
