//! A document as a list of its nodes in their order, read as MySQL reads XML: without entities, schemas or namespaces.
//!
//! Invariant: node 0 is the document itself, and every other node's parent stands before it.

/// What a node is. Values of attributes and text between tags are texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tag,
    Attribute,
    Text,
}

/// A node; offsets are bytes of the document.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub level: usize,
    pub parent: usize,
    /// The name, or the text.
    pub start: usize,
    pub end: usize,
    /// Where the node's tag, or attribute with its value, ends.
    pub tag_end: usize,
}

pub(crate) struct Document<'t> {
    pub text: &'t [u8],
    pub nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    Identifier,
    String,
    Data,
    Comment,
    Sign(u8),
    Unknown,
}

impl Token {
    fn shown(self) -> String {
        match self {
            Token::End => "END-OF-INPUT".to_owned(),
            Token::Identifier => "IDENT".to_owned(),
            Token::String => "STRING".to_owned(),
            Token::Data => "CDATA".to_owned(),
            Token::Comment => "COMMENT".to_owned(),
            Token::Sign(sign) => format!("'{}'", char::from(sign)),
            Token::Unknown => "unknown token".to_owned(),
        }
    }
}

const DATA_START: &[u8] = b"<![CDATA[";
const DATA_END: &[u8] = b"]]>";
const COMMENT_START: &[u8] = b"<!--";
const COMMENT_END: &[u8] = b"-->";
/// Names in messages are cut to so many bytes.
const SHOWN_MAX: usize = 31;

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The nodes that have begun and not ended.
    open: Vec<usize>,
}

type Problem = String;

impl<'t> Document<'t> {
    /// The document, or what is wrong with it, as MySQL words it.
    pub fn read(text: &'t [u8]) -> Result<Document<'t>, String> {
        let root = Node { kind: Kind::Tag, level: 0, parent: 0, start: 0, end: 0, tag_end: 0 };
        let mut reader = Reader { text, at: 0, nodes: vec![root], open: vec![0] };
        match reader.read() {
            Ok(()) => Ok(Document { text, nodes: reader.nodes }),
            Err(problem) => {
                let before = &text[..reader.at.min(text.len())];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                let line_start = before.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
                let position = before.len() - line_start + 1;
                Err(format!("parse error at line {line} pos {position}: {problem}"))
            }
        }
    }

    pub fn bytes(&self, node: usize) -> &'t [u8] {
        &self.text[self.nodes[node].start..self.nodes[node].end]
    }

    /// The nodes inside of one, at any depth.
    pub fn inside(&self, node: usize) -> impl Iterator<Item = usize> {
        let level = self.nodes[node].level;
        (node + 1..self.nodes.len()).take_while(move |&inner| self.nodes[inner].level > level)
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' || byte >= 0x80
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'-' || byte == b'.'
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Problem> {
        while self.at < self.text.len() {
            env::tick(1);
            if self.text[self.at] == b'<' {
                self.read_markup()?;
                continue;
            }
            let start = self.at;
            let length = self.text[start..].iter().take_while(|byte| **byte != b'<').count();
            self.at += length;
            self.add(Kind::Text, start, self.at);
        }
        if self.open.len() > 1 { Err("unexpected END-OF-INPUT".to_owned()) } else { Ok(()) }
    }

    fn add(&mut self, kind: Kind, start: usize, end: usize) -> usize {
        let (level, parent) = (self.open.len(), self.open[self.open.len() - 1]);
        self.nodes.push(Node { kind, level, parent, start, end, tag_end: end });
        self.nodes.len() - 1
    }

    fn enter(&mut self, kind: Kind, start: usize, end: usize) {
        let node = self.add(kind, start, end);
        self.open.push(node);
    }

    /// Ends the innermost node. Of a closing tag's name only the length is looked at, as in MySQL.
    fn leave(&mut self, name: Option<(usize, usize)>) -> Result<(), Problem> {
        let innermost = self.open[self.open.len() - 1];
        let length = match innermost {
            0 => 0,
            node => self.nodes[node].end - self.nodes[node].start,
        };
        if let Some((start, end)) = name
            && end - start != length
        {
            let shown = self.shown(start, end);
            return Err(match innermost {
                0 => format!("'</{shown}>' unexpected (END-OF-INPUT wanted)"),
                node => {
                    let wanted = self.shown(self.nodes[node].start, self.nodes[node].end);
                    format!("'</{shown}>' unexpected ('</{wanted}>' wanted)")
                }
            });
        }
        if innermost != 0 {
            self.nodes[innermost].tag_end = self.at;
            self.open.pop();
        }
        Ok(())
    }

    fn shown(&self, start: usize, end: usize) -> String {
        String::from_utf8_lossy(&self.text[start..end.min(start + SHOWN_MAX)]).into_owned()
    }

    fn read_markup(&mut self) -> Result<(), Problem> {
        let (token, start, end) = self.scan();
        match token {
            Token::Comment => return Ok(()),
            Token::Data => {
                let (start, end) = (start + DATA_START.len(), end.saturating_sub(DATA_END.len()));
                self.add(Kind::Text, start, end.max(start));
                return Ok(());
            }
            _ => {}
        }
        let (mut token, mut start, mut end) = self.scan();
        if token == Token::Sign(b'/') {
            (token, start, end) = self.scan();
            if token != Token::Identifier {
                return Err(format!("{} unexpected (ident wanted)", token.shown()));
            }
            self.leave(Some((start, end)))?;
            let (token, ..) = self.scan();
            return wanted(token, b'>');
        }
        let (is_declaration, is_instruction) = (token == Token::Sign(b'!'), token == Token::Sign(b'?'));
        if is_declaration || is_instruction {
            (token, start, end) = self.scan();
        }
        if token != Token::Identifier {
            return Err(format!("{} unexpected (ident or '/' wanted)", token.shown()));
        }
        self.enter(Kind::Tag, start, end);
        let mut token = self.read_attributes(is_declaration)?;
        if token == Token::Sign(b'/') {
            self.leave(None)?;
            token = self.scan().0;
        }
        if is_instruction {
            wanted(token, b'?')?;
            self.leave(None)?;
            token = self.scan().0;
        }
        if is_declaration {
            self.leave(None)?;
        }
        wanted(token, b'>')
    }

    /// Gives the token behind the attributes.
    fn read_attributes(&mut self, is_declaration: bool) -> Result<Token, Problem> {
        loop {
            let (token, start, end) = self.scan();
            let is_one = token == Token::Identifier || (token == Token::String && is_declaration);
            if !is_one {
                return Ok(token);
            }
            let (next, ..) = self.scan();
            match next {
                Token::Sign(b'=') => {
                    let (value, value_start, value_end) = self.scan();
                    if !matches!(value, Token::Identifier | Token::String) {
                        return Err(format!("{} unexpected (ident or string wanted)", value.shown()));
                    }
                    self.enter(Kind::Attribute, start, end);
                    self.add(Kind::Text, value_start, value_end);
                    self.leave(None)?;
                }
                // What stands behind an attribute without a value is passed over.
                Token::Identifier => {
                    self.enter(Kind::Attribute, start, end);
                    self.leave(None)?;
                }
                Token::String if is_declaration => {}
                other => return Ok(other),
            }
        }
    }

    /// The next token and where it stands.
    fn scan(&mut self) -> (Token, usize, usize) {
        let spaces = self.text[self.at..].iter().take_while(|byte| is_space(**byte)).count();
        self.at += spaces;
        let start = self.at;
        let rest = &self.text[start..];
        let Some(&first) = rest.first() else { return (Token::End, start, start) };
        if rest.starts_with(COMMENT_START) {
            self.at = self.behind(start, COMMENT_END);
            return (Token::Comment, start, self.at);
        }
        if rest.starts_with(DATA_START) {
            self.at = self.behind(start + DATA_START.len(), DATA_END);
            return (Token::Data, start, self.at);
        }
        match first {
            b'?' | b'=' | b'/' | b'<' | b'>' | b'!' => {
                self.at += 1;
                (Token::Sign(first), start, self.at)
            }
            b'"' | b'\'' => {
                let length = rest[1..].iter().take_while(|byte| **byte != first).count();
                let end = start + 1 + length;
                self.at = (end + 1).min(self.text.len());
                (Token::String, start + 1, end)
            }
            first if is_name_start(first) => {
                self.at += rest.iter().take_while(|byte| is_name(**byte)).count();
                (Token::Identifier, start, self.at)
            }
            _ => (Token::Unknown, start, start),
        }
    }

    /// The place behind the end of what has begun, or the text's end.
    fn behind(&self, from: usize, end: &[u8]) -> usize {
        let found = self.text[from..].windows(end.len()).position(|window| window == end);
        found.map_or(self.text.len(), |at| from + at + end.len())
    }
}

fn wanted(token: Token, sign: u8) -> Result<(), Problem> {
    match token == Token::Sign(sign) {
        true => Ok(()),
        false => Err(format!("{} unexpected ('{}' wanted)", token.shown(), char::from(sign))),
    }
}
