//! The text format of LOAD DATA: lines of fields, cut out of pieces that arrive one after the other.
//!
//! Invariant: a record is taken only when its end is there, or the file's; what is left of a piece begins the next one.
//! Reads byte by byte what MySQL reads, so that files that fit no format give the same rows and warnings.
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

/// A line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// At most as many as were asked for.
    pub fields: Vec<Field>,
    /// There is more behind the last field.
    pub is_truncated: bool,
}

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

/// More bytes are needed to go on.
pub struct NeedsMore;

/// A place in what has arrived.
pub struct Reader<'a> {
    input: &'a [u8],
    pub at: usize,
    /// Nothing comes behind `input`.
    is_end: bool,
}

impl<'a> Reader<'a> {
    pub fn new(input: &'a [u8], is_end: bool) -> Reader<'a> {
        Reader { input, at: 0, is_end }
    }

    /// `None` at the file's end.
    pub fn next(&mut self) -> Result<Option<u8>, NeedsMore> {
        match self.input.get(self.at) {
            Some(&byte) => {
                self.at += 1;
                Ok(Some(byte))
            }
            None if self.is_end => Ok(None),
            None => Err(NeedsMore),
        }
    }

    pub fn peek(&mut self) -> Result<Option<u8>, NeedsMore> {
        let at = self.at;
        let byte = self.next()?;
        self.at = at;
        Ok(byte)
    }

    /// Takes `text` if it comes next; an empty one never does.
    pub fn accept(&mut self, text: &[u8]) -> Result<bool, NeedsMore> {
        let rest = &self.input[self.at..];
        if text.is_empty() {
            return Ok(false);
        }
        if rest.starts_with(text) {
            self.at += text.len();
            return Ok(true);
        }
        if !self.is_end && rest.len() < text.len() && text.starts_with(rest) {
            return Err(NeedsMore);
        }
        Ok(false)
    }
}

/// How a field ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Field,
    Line,
    File,
}

impl LineFormat {
    /// The format of a statement; `escapes` is whether a backslash escapes where nothing is said.
    pub fn of(load: &LoadData<'_>, escapes: bool) -> LineFormat {
        let text = |given: Option<&[u8]>, default: &[u8]| given.unwrap_or(default).to_vec();
        let field_end = text(load.fields.terminated_by, b"\t");
        let line_end = text(load.lines.terminated_by, b"\n");
        LineFormat {
            // Where both are the same, a line has as many fields as are asked for.
            line_end: if line_end == field_end { Vec::new() } else { line_end },
            field_end,
            line_begin: text(load.lines.starting_by, b""),
            quote: load.fields.enclosed_by.and_then(|quote| quote.first().copied()),
            escape: match load.fields.escaped_by {
                Some(escape) => escape.first().copied(),
                None => escapes.then_some(b'\\'),
            },
        }
    }

    /// Fields have no ends but their widths.
    pub fn is_fixed(&self) -> bool {
        self.field_end.is_empty() && self.quote.is_none()
    }

    pub fn has_line_end(&self) -> bool {
        !self.line_end.is_empty()
    }

    /// A line that is not looked at.
    pub fn skip_line(&self, input: &[u8], is_end: bool) -> Cut<()> {
        if input.is_empty() && is_end {
            return Cut::Nothing;
        }
        let mut reader = Reader::new(input, is_end);
        match self.pass_line(&mut reader) {
            Ok(_) => Cut::Whole((), reader.at),
            Err(NeedsMore) => Cut::More,
        }
    }

    /// The next line with so many fields, or of so many bytes where fields are fixed.
    pub fn record(&self, input: &[u8], is_end: bool, wanted: usize) -> Cut<Record> {
        let mut reader = Reader::new(input, is_end);
        let record = match self.is_fixed() {
            true => self.read_fixed(&mut reader, wanted),
            false => self.read_record(&mut reader, wanted),
        };
        match record {
            Ok(Some(record)) => Cut::Whole(record, reader.at),
            Ok(None) => Cut::Nothing,
            Err(NeedsMore) => Cut::More,
        }
    }

    fn read_record(&self, reader: &mut Reader<'_>, wanted: usize) -> Result<Option<Record>, NeedsMore> {
        if !self.find_line(reader)? {
            return Ok(None);
        }
        let mut record = Record::default();
        let mut end = End::Field;
        while end == End::Field && record.fields.len() < wanted {
            if reader.peek()?.is_none() {
                end = End::File;
                break;
            }
            let (field, ended) = self.field(reader)?;
            record.fields.push(field);
            end = ended;
        }
        if record.fields.is_empty() {
            return Ok(None);
        }
        record.is_truncated = end == End::Field && self.pass_line(reader)?;
        Ok(Some(record))
    }

    /// The line as one field.
    fn read_fixed(&self, reader: &mut Reader<'_>, bytes: usize) -> Result<Option<Record>, NeedsMore> {
        if !self.find_line(reader)? {
            return Ok(None);
        }
        let (mut line, mut end, mut is_null) = (Vec::new(), End::Field, false);
        while line.len() < bytes {
            if reader.accept(&self.line_end)? {
                end = End::Line;
                break;
            }
            let Some(byte) = reader.next()? else {
                if line.is_empty() {
                    return Ok(None);
                }
                end = End::File;
                break;
            };
            if Some(byte) == self.escape {
                line.push(escaped(reader, byte, &mut is_null)?);
            } else {
                line.push(byte);
            }
        }
        let is_truncated = end == End::Field && self.pass_line(reader)?;
        Ok(Some(Record { fields: vec![Some(line)], is_truncated }))
    }

    /// Goes behind the mark that lines begin with, if there is one.
    fn find_line(&self, reader: &mut Reader<'_>) -> Result<bool, NeedsMore> {
        if self.line_begin.is_empty() {
            return Ok(reader.peek()?.is_some());
        }
        while !reader.accept(&self.line_begin)? {
            if reader.next()?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rest of a line; whether there was any. A last line without its end does not count.
    fn pass_line(&self, reader: &mut Reader<'_>) -> Result<bool, NeedsMore> {
        if self.line_end.is_empty() {
            return Ok(false);
        }
        let mut is_truncated = false;
        loop {
            if reader.accept(&self.line_end)? {
                return Ok(is_truncated);
            }
            let Some(byte) = reader.next()? else { return Ok(false) };
            if Some(byte) == self.escape {
                reader.next()?;
            }
            is_truncated = true;
        }
    }

    /// The field that begins here, and what ends it.
    fn field(&self, reader: &mut Reader<'_>) -> Result<(Field, End), NeedsMore> {
        let is_quoted = self.quote.is_some() && reader.peek()? == self.quote;
        if is_quoted {
            reader.next()?;
        }
        let (mut bytes, mut is_null) = (Vec::new(), false);
        loop {
            let escape = reader.peek()?.filter(|byte| Some(*byte) == self.escape);
            if let Some(escape) = escape {
                let at = reader.at;
                reader.next()?;
                let next = reader.peek()?;
                // A quote that escapes itself escapes nothing else.
                if self.escape != self.quote || next.is_none() || next == self.escape {
                    bytes.push(escaped(reader, escape, &mut is_null)?);
                    continue;
                }
                reader.at = at;
            }
            if !is_quoted {
                if reader.accept(&self.line_end)? {
                    return Ok((self.value(bytes, is_null, false), End::Line));
                }
                if reader.accept(&self.field_end)? {
                    return Ok((self.value(bytes, is_null, false), End::Field));
                }
            }
            let Some(byte) = reader.next()? else {
                // An open quote at the file's end is text.
                if is_quoted {
                    bytes.splice(0..0, self.quote);
                }
                return Ok((self.value(bytes, is_null, false), End::File));
            };
            if is_quoted && Some(byte) == self.quote {
                let following = reader.peek()?;
                if following == self.quote {
                    reader.next()?;
                } else if following.is_none() {
                    return Ok((self.value(bytes, is_null, true), End::File));
                } else if reader.accept(&self.line_end)? {
                    return Ok((self.value(bytes, is_null, true), End::Line));
                } else if reader.accept(&self.field_end)? {
                    return Ok((self.value(bytes, is_null, true), End::Field));
                }
            }
            bytes.push(byte);
        }
    }

    /// `\N` alone is NULL, and so is the word NULL where quotes could tell it from text.
    fn value(&self, bytes: Vec<u8>, is_null: bool, is_quoted: bool) -> Field {
        let is_word = self.quote.is_some() && !is_quoted && bytes == b"NULL";
        if is_word || is_null && bytes.len() == 1 { None } else { Some(bytes) }
    }
}

/// What the byte behind an escape stands for; the escape itself at the file's end.
fn escaped(reader: &mut Reader<'_>, escape: u8, is_null: &mut bool) -> Result<u8, NeedsMore> {
    Ok(match reader.next()? {
        None => escape,
        Some(b'0') => 0,
        Some(b'b') => 8,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'Z') => 26,
        Some(other) => {
            *is_null |= other == b'N';
            other
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::files::load_format::*;

    fn format(field_end: &str, quote: Option<u8>) -> LineFormat {
        LineFormat {
            field_end: field_end.into(),
            line_begin: Vec::new(),
            line_end: b"\n".to_vec(),
            quote,
            escape: Some(b'\\'),
        }
    }

    fn all(format: &LineFormat, text: &str, wanted: usize, piece: usize) -> Vec<String> {
        let (mut input, mut records) = (Vec::new(), Vec::new());
        let mut pieces = text.as_bytes().chunks(piece);
        let mut is_end = false;
        loop {
            match format.record(&input, is_end, wanted) {
                Cut::Whole(record, length) => {
                    input.drain(..length);
                    let text = |field: &Field| match field {
                        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                        None => "-".to_owned(),
                    };
                    let fields: Vec<String> = record.fields.iter().map(text).collect();
                    records.push(fields.join(",") + if record.is_truncated { "+" } else { "" });
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
            ("\t", None, 9, "1\tone\n2\t\\N\n3\ta\\tb\\\\\n4", "1,one|2,-|3,a\tb\\|4"),
            (";", Some(b'"'), 9, "\"1\";\"o\"\"n;e\"\n2;NULL\n\"NULL\";x\"y\n", "1,o\"n;e|2,-|NULL,x\"y"),
            ("||", Some(b'\''), 9, "a||'b||c'||\n||d|e\n", "a,b||c,|,d|e"),
            ("\t", None, 1, "1\n2\t\n3\tx\n4\tx", "1|2|3+|4"),
            (",", None, 9, "NULL,\\N,\\Nx\n\n", "NULL,-,Nx|"),
            (",", Some(b'"'), 9, "\"open,1\n2", "\"open,1\n2"),
            ("", None, 3, "abcd\nab\nabc\n\\0b", "abc+|ab|abc|\0b"),
        ];
        for (field_end, quote, wanted, text, expected) in cases {
            let format = format(field_end, quote);
            for piece in 1..text.len() + 1 {
                let records = all(&format, text, wanted, piece);
                assert_eq!(records.join("|"), expected, "pieces of {piece}");
            }
        }
    }

    #[test]
    fn lines_begin_behind_their_mark_and_need_no_end() {
        let marked = LineFormat { line_begin: b">>".to_vec(), ..format(",", None) };
        assert_eq!(all(&marked, "x>>1,2\n>3\n>>4\n", 2, 3), ["1,2", "4"]);
        let endless = LineFormat { line_end: Vec::new(), ..format(",", None) };
        assert_eq!(all(&endless, "1,2,3,4,5", 2, 2), ["1,2", "3,4", "5"]);
    }
}
