//! The text format of LOAD DATA: lines of fields, cut out of pieces that arrive one after the other.
//!
//! Invariant: a record is taken only when its end is there, or the file's; what is left of a piece begins the next one.
use parser::ast::LoadData;

/// How a file is written.
pub struct LineFormat {
    field_end: Vec<u8>,
    line_begin: Vec<u8>,
    line_end: Vec<u8>,
    quote: Option<u8>,
    escape: Option<u8>,
}

/// A field as bytes in the character set of the file; `None` is NULL.
pub type Field = Option<Vec<u8>>;

/// What the beginning of some bytes is.
#[derive(Debug, PartialEq, Eq)]
pub enum Cut<T> {
    /// With the number of its bytes.
    Whole(T, usize),
    /// Its end is not there yet.
    More,
    /// There is none any more.
    Nothing,
}

impl LineFormat {
    /// The format of a statement. `None` for rows of fixed width, which have no ends of fields.
    pub fn of(load: &LoadData<'_>) -> Option<LineFormat> {
        let text = |given: Option<&[u8]>, default: &[u8]| given.unwrap_or(default).to_vec();
        let format = LineFormat {
            field_end: text(load.fields.terminated_by, b"\t"),
            line_begin: text(load.lines.starting_by, b""),
            line_end: text(load.lines.terminated_by, b"\n"),
            quote: load.fields.enclosed_by.and_then(|quote| quote.first().copied()),
            escape: load.fields.escaped_by.unwrap_or(b"\\").first().copied(),
        };
        (!format.field_end.is_empty() && !format.line_end.is_empty()).then_some(format)
    }

    /// A line that is not looked at.
    pub fn skip_line(&self, input: &[u8], is_end: bool) -> Cut<()> {
        match find(input, &self.line_end) {
            Some(at) => Cut::Whole((), at + self.line_end.len()),
            None if !is_end => Cut::More,
            None if input.is_empty() => Cut::Nothing,
            None => Cut::Whole((), input.len()),
        }
    }

    /// The fields of the next line.
    pub fn record(&self, input: &[u8], is_end: bool) -> Cut<Vec<Field>> {
        let missing = || if is_end { Cut::Nothing } else { Cut::More };
        let Some(begin) = find(input, &self.line_begin) else { return missing() };
        let mut at = begin + self.line_begin.len();
        if at >= input.len() {
            return missing();
        }
        let mut fields = Vec::new();
        loop {
            match self.field(input, at, is_end) {
                None => return Cut::More,
                Some((field, after, is_last)) => {
                    fields.push(field);
                    at = after;
                    if is_last {
                        return Cut::Whole(fields, at);
                    }
                }
            }
        }
    }

    /// The field that begins at `at`, where the next one begins, and whether the line is over. `None`: more is needed.
    fn field(&self, input: &[u8], at: usize, is_end: bool) -> Option<(Field, usize, bool)> {
        let is_quoted = self.quote.is_some() && input.get(at).copied() == self.quote;
        let mut position = at + usize::from(is_quoted);
        let mut bytes = Vec::new();
        let mut is_null = false;
        loop {
            // Whether an end begins here is only known when as much is there.
            let needed = self.field_end.len().max(self.line_end.len()) + 1;
            if !is_end && input.len() < position + needed {
                let may_end = input[position..].starts_with(&self.line_end);
                if !may_end || is_quoted {
                    return None;
                }
            }
            let Some(&byte) = input.get(position) else {
                // An open quote at the file's end is text.
                return Some((self.value(bytes, is_null, is_quoted), position, true));
            };
            if Some(byte) == self.escape && Some(byte) != self.quote && position + 1 < input.len() {
                let next = input[position + 1];
                is_null = next == b'N' && bytes.is_empty() && !is_quoted;
                bytes.push(unescaped(next));
                position += 2;
                continue;
            }
            if is_quoted && Some(byte) == self.quote {
                let behind = &input[position + 1..];
                if behind.first().copied() == self.quote {
                    bytes.push(byte);
                    position += 2;
                    continue;
                }
                if let Some((length, is_last)) = self.end_at(behind) {
                    return Some((self.value(bytes, false, true), position + 1 + length, is_last));
                }
            } else if !is_quoted && let Some((length, is_last)) = self.end_at(&input[position..]) {
                return Some((self.value(bytes, is_null, false), position + length, is_last));
            }
            bytes.push(byte);
            is_null = false;
            position += 1;
        }
    }

    /// The end of a field or line that the bytes begin with: its length, and whether it is the line's.
    fn end_at(&self, bytes: &[u8]) -> Option<(usize, bool)> {
        if bytes.is_empty() {
            return Some((0, true));
        }
        if bytes.starts_with(&self.field_end) {
            return Some((self.field_end.len(), false));
        }
        bytes.starts_with(&self.line_end).then_some((self.line_end.len(), true))
    }

    /// The word NULL is NULL where quotes could tell it from text, or nothing else could be.
    fn value(&self, bytes: Vec<u8>, is_null: bool, is_quoted: bool) -> Field {
        let word_counts = self.quote.is_some() || self.escape.is_none();
        if is_null || word_counts && !is_quoted && bytes == b"NULL" { None } else { Some(bytes) }
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    if wanted.is_empty() {
        return Some(0);
    }
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(field_end: &str, quote: Option<u8>) -> LineFormat {
        LineFormat {
            field_end: field_end.into(),
            line_begin: Vec::new(),
            line_end: b"\n".to_vec(),
            quote,
            escape: Some(b'\\'),
        }
    }

    fn all(format: &LineFormat, text: &str, piece: usize) -> Vec<Vec<Option<String>>> {
        let (mut input, mut records) = (Vec::new(), Vec::new());
        let mut pieces = text.as_bytes().chunks(piece);
        let mut is_end = false;
        loop {
            match format.record(&input, is_end) {
                Cut::Whole(fields, length) => {
                    input.drain(..length);
                    let text = |field: Field| field.map(|bytes| String::from_utf8(bytes).expect("text"));
                    records.push(fields.into_iter().map(text).collect());
                }
                Cut::More => match pieces.next() {
                    Some(piece) => input.extend_from_slice(piece),
                    None => is_end = true,
                },
                Cut::Nothing => return records,
            }
        }
    }

    #[test]
    fn records_do_not_depend_on_the_pieces() {
        let cases = [
            ("\t", None, "1\tone\n2\t\\N\n3\ta\\tb\\\\\n4", "1,one|2,-|3,a\tb\\|4"),
            (";", Some(b'"'), "\"1\";\"o\"\"n;e\"\n2;NULL\n\"NULL\";x\"y\n", "1,o\"n;e|2,-|NULL,x\"y"),
            ("||", Some(b'\''), "a||'b||c'||\n||d|e\n", "a,b||c,|,d|e"),
        ];
        for (field_end, quote, text, expected) in cases {
            let format = format(field_end, quote);
            for piece in 1..text.len() + 1 {
                let records = all(&format, text, piece);
                let shown: Vec<String> = records
                    .iter()
                    .map(|record| {
                        let fields: Vec<&str> =
                            record.iter().map(|field| field.as_deref().unwrap_or("-")).collect();
                        fields.join(",")
                    })
                    .collect();
                assert_eq!(shown.join("|"), expected, "pieces of {piece}");
            }
        }
    }
}
