//! LOAD XML: rows are elements, whose attributes, child elements and `<field name='..'>` elements are their fields.
//!
//! Invariant: a row is taken only when its closing tag is there; fields of enclosing elements stay for the rows inside of
//! them, those of an earlier row go. It reads what MySQL reads, which is no full XML: no entities but the five, and CDATA in the text of
//! elements alone.
use crate::files::load_format::{Cut, NeedsMore, Reader};

/// A value with the name and depth of its element or attribute.
#[derive(Clone, Debug)]
struct Tag {
    level: i32,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// What has been read of a file.
#[derive(Clone, Debug)]
pub struct XmlRows {
    /// The element that is a row.
    row_name: Vec<u8>,
    level: i32,
    /// The newest last.
    tags: Vec<Tag>,
}

/// What of a tag is being read.
#[derive(Default)]
struct Parts {
    tag: Vec<u8>,
    attribute: Vec<u8>,
    quote: Option<u8>,
    is_in_tag: bool,
}

impl XmlRows {
    /// `identified_by` is the element's tag, `<row>` where nothing is said.
    pub fn new(identified_by: Option<&[u8]>) -> XmlRows {
        let tag = identified_by.unwrap_or(b"<row>");
        let row_name = tag.get(1..tag.len().saturating_sub(1)).unwrap_or_default().to_vec();
        XmlRows { row_name, level: 0, tags: Vec::new() }
    }

    /// Reads up to the end of the next row, whose values `value` then has.
    pub fn row(&mut self, input: &[u8], is_end: bool) -> Cut<()> {
        let mut reader = Reader::new(input, is_end);
        let mut attempt = self.clone();
        match attempt.read(&mut reader) {
            Ok(is_row) => {
                *self = attempt;
                if is_row { Cut::Whole((), reader.at) } else { Cut::Nothing }
            }
            Err(NeedsMore) => Cut::More,
        }
    }

    pub fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.tags.iter().rev().find(|tag| tag.name == name).map(|tag| &*tag.value)
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<bool, NeedsMore> {
        let mut parts = Parts::default();
        let mut byte = spaced(reader)?;
        while let Some(current) = byte {
            byte = match current {
                b'<' => match self.open_tag(reader, &mut parts)? {
                    Some(next) => Some(next),
                    None => return Ok(false),
                },
                b' ' => attribute_name(reader, &mut parts)?,
                b'>' => self.content(reader, &mut parts)?,
                b'/' => {
                    if self.close_tag(reader, &mut parts)? {
                        return Ok(true);
                    }
                    spaced(reader)?
                }
                b'=' => self.attribute_value(reader, &mut parts)?,
                _ => spaced(reader)?,
            };
        }
        Ok(false)
    }

    /// Behind `<`: a comment or the name of an element.
    fn open_tag(&mut self, reader: &mut Reader<'_>, parts: &mut Parts) -> Result<Option<u8>, NeedsMore> {
        let mut byte = spaced(reader)?;
        if byte == Some(b'!') {
            let (second, third) = (reader.next()?, reader.next()?);
            if second == Some(b'-') && third == Some(b'-') {
                return comment(reader);
            }
        }
        parts.tag.clear();
        while let Some(letter) = byte.filter(|letter| !b"> /".contains(letter)) {
            if Some(letter) != parts.quote {
                parts.tag.push(letter);
            }
            byte = spaced(reader)?;
        }
        if matches!(byte, Some(b' ' | b'>')) {
            self.level += 1;
            self.forget_from(self.level + 1);
        }
        parts.is_in_tag = byte == Some(b' ');
        Ok(byte)
    }

    /// Behind `>`: the text of an element.
    fn content(&mut self, reader: &mut Reader<'_>, parts: &mut Parts) -> Result<Option<u8>, NeedsMore> {
        parts.is_in_tag = false;
        while reader.peek()?.is_some_and(is_space) {
            reader.next()?;
        }
        let (mut value, mut next) = text_before(reader, b'<')?;
        while next.is_some() && reader.accept(b"![CDATA[")? {
            if !characters(reader, &mut value)? {
                return Ok(None);
            }
            let (more, mark) = text_before(reader, b'<')?;
            value.extend(more);
            next = mark;
        }
        if next.is_some() {
            self.keep(self.level, &parts.tag, value);
            parts.tag.clear();
            parts.attribute.clear();
        }
        Ok(next)
    }

    /// Behind `/`: whether a row ends here.
    fn close_tag(&mut self, reader: &mut Reader<'_>, parts: &mut Parts) -> Result<bool, NeedsMore> {
        let mut byte = spaced(reader)?;
        // `<tag/>` has not gone deeper, `<row a="b" />` has.
        if byte != Some(b'>') || parts.is_in_tag {
            self.level -= 1;
            parts.is_in_tag = false;
        }
        if byte != Some(b'>') {
            parts.tag.clear();
        }
        while let Some(letter) = byte.filter(|letter| *letter != b'>') {
            parts.tag.push(letter);
            byte = spaced(reader)?;
        }
        Ok(parts.tag == self.row_name)
    }

    /// Behind `=`.
    fn attribute_value(
        &mut self,
        reader: &mut Reader<'_>,
        parts: &mut Parts,
    ) -> Result<Option<u8>, NeedsMore> {
        if parts.tag == b"field" && parts.attribute == b"name" {
            // The name of the field is this value: it is read like a tag's.
            parts.quote = spaced(reader)?;
            parts.tag.clear();
            parts.attribute.clear();
            self.level -= 1;
            return Ok(Some(b'<'));
        }
        let quote = match reader.peek()? {
            None => return Ok(None),
            Some(quote @ (b'"' | b'\'')) => {
                reader.next()?;
                quote
            }
            Some(_) => b' ',
        };
        parts.quote = Some(quote);
        let (value, next) = text_before(reader, quote)?;
        self.keep(self.level + 1, &parts.attribute, value);
        parts.attribute.clear();
        if next == Some(b' ') { Ok(next) } else { spaced(reader) }
    }

    fn keep(&mut self, level: i32, name: &[u8], value: Vec<u8>) {
        if !name.is_empty() && !value.is_empty() {
            self.tags.push(Tag { level, name: name.to_vec(), value });
        }
    }

    fn forget_from(&mut self, level: i32) {
        self.tags.retain(|tag| tag.level < level);
    }
}

/// Behind a blank: the name of an attribute, if a tag is open.
fn attribute_name(reader: &mut Reader<'_>, parts: &mut Parts) -> Result<Option<u8>, NeedsMore> {
    let mut byte = Some(b' ');
    while byte == Some(b' ') {
        byte = spaced(reader)?;
    }
    if !parts.is_in_tag {
        return Ok(byte);
    }
    while let Some(letter) = byte.filter(|letter| !b"=/>".contains(letter)) {
        parts.attribute.push(letter);
        byte = spaced(reader)?;
    }
    Ok(byte)
}

fn comment(reader: &mut Reader<'_>) -> Result<Option<u8>, NeedsMore> {
    let mut dashes = 0;
    loop {
        match reader.next()? {
            None => return Ok(None),
            Some(b'>') if dashes >= 2 => return Ok(Some(b'>')),
            Some(b'-') => dashes += 1,
            Some(_) => dashes = 0,
        }
    }
}

/// Behind `<![CDATA[`: adds what is there up to `]]>`, as it is; false where the file ends first.
fn characters(reader: &mut Reader<'_>, text: &mut Vec<u8>) -> Result<bool, NeedsMore> {
    loop {
        if reader.accept(b"]]>")? {
            return Ok(true);
        }
        match reader.next()? {
            Some(byte) => text.push(byte),
            None => return Ok(false),
        }
    }
}

/// Text with its entities resolved, and the mark behind it, which is taken.
fn text_before(reader: &mut Reader<'_>, mark: u8) -> Result<(Vec<u8>, Option<u8>), NeedsMore> {
    let mut text = Vec::new();
    loop {
        let byte = reader.next()?;
        match byte {
            Some(b'&') => {
                let mut name = Vec::new();
                loop {
                    match spaced(reader)? {
                        None => return Ok((text, None)),
                        Some(b';') => break,
                        Some(letter) => name.push(letter),
                    }
                }
                match entity(&name) {
                    Some(letter) => text.push(letter),
                    None => text.extend([b"&", &*name, b";"].concat()),
                }
            }
            Some(byte) if byte != mark => text.push(byte),
            end => return Ok((text, end.map(|byte| if is_space(byte) { b' ' } else { byte }))),
        }
    }
}

fn entity(name: &[u8]) -> Option<u8> {
    match name {
        b"gt" => Some(b'>'),
        b"lt" => Some(b'<'),
        b"amp" => Some(b'&'),
        b"quot" => Some(b'"'),
        b"apos" => Some(b'\''),
        _ => None,
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The next byte, any white space being a blank.
fn spaced(reader: &mut Reader<'_>) -> Result<Option<u8>, NeedsMore> {
    Ok(reader.next()?.map(|byte| if is_space(byte) { b' ' } else { byte }))
}

#[cfg(test)]
mod tests {
    use crate::files::load_xml::*;

    fn rows(text: &str, names: &[&str], piece: usize) -> Vec<String> {
        let mut xml = XmlRows::new(None);
        let (mut input, mut found) = (Vec::new(), Vec::new());
        let mut pieces = text.as_bytes().chunks(piece);
        let mut is_end = false;
        loop {
            match xml.row(&input, is_end) {
                Cut::Whole((), length) => {
                    input.drain(..length);
                    let text = |name: &&str| match xml.value(name.as_bytes()) {
                        Some(value) => String::from_utf8_lossy(value).into_owned(),
                        None => "-".to_owned(),
                    };
                    let values: Vec<String> = names.iter().map(text).collect();
                    found.push(values.join(","));
                }
                Cut::More => match pieces.next() {
                    Some(piece) => input.extend_from_slice(piece),
                    None => is_end = true,
                },
                Cut::Nothing => return found,
            }
        }
    }

    #[test]
    fn fields_are_attributes_elements_or_named_fields() {
        let text = "<?xml version=\"1.0\"?>\n<list shop=\"x\">\n<!-- a > b -->\n<row a=\"1\" b='2'/>\n\
                    <row><a>3</a><b>&lt;4&gt; &no;</b></row>\n\
                    <row>\n <field name=\"a\">5</field>\n <field name='b' />\n</row></list>";
        for piece in 1..text.len() {
            let found = rows(text, &["a", "b"], piece);
            assert_eq!(found, ["1,2", "3,<4> &no;", "5,-"], "pieces of {piece}");
        }
    }

    #[test]
    fn marked_characters_are_text() {
        let text = "<list><row><a>x<![CDATA[7<&amp;]]]>y<![CDATA[]]></a><b>1</b></row>\
                    <row><b><![CDATA[2]]></b></row><row><a><![CDATA[3</a></row></list>";
        for piece in 1..text.len() {
            assert_eq!(rows(text, &["a", "b"], piece), ["x7<&amp;]y,1", "-,2"], "pieces of {piece}");
        }
    }
}
