//! Optimizer hints: what stands between `/*+` and `*/`.
//!
//! A hint that cannot be read ends the reading, as in MySQL: the hints before it hold, and the statement gets a warning.
//! Nothing here knows tables; the binder resolves the names, the session obeys what concerns the whole statement.
mod scan;
mod words;

pub use words::{JoinOrderKind, KeySwitch, ScopeHint, SemijoinStrategy, SubqueryStrategy, TableSwitch};

use crate::limits::NEAR_LENGTH_MAX;
use scan::{Scanner, Token};
use words::Word;

/// A hint comment of one query block.
#[derive(Debug, Clone, Copy)]
pub struct HintText<'a> {
    /// The number of the query block, from 1.
    pub block: u32,
    /// From the first byte behind `/*+` to the end of the statement's text.
    pub text: &'a str,
    /// Bytes of it before `*/`.
    pub length: usize,
    /// The line that `text` begins in.
    pub line: u32,
}

/// A table as a hint names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintTable {
    pub name: String,
    /// `@block` behind the name.
    pub block: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    QueryBlockName(String),
    MaxExecutionTime(u64),
    SetVariable {
        name: String,
        value: HintValue,
    },
    ResourceGroup(String),
    /// BNL, MERGE and the like: for tables, or without any for the whole block.
    Table {
        switch: TableSwitch,
        on: bool,
        /// `@block` before the tables.
        block: Option<String>,
        tables: Vec<HintTable>,
    },
    /// MRR and the like: for indexes of a table, or without any for all of them.
    Key {
        switch: KeySwitch,
        on: bool,
        block: Option<String>,
        table: HintTable,
        keys: Vec<String>,
    },
    /// INDEX, JOIN_INDEX, GROUP_INDEX, ORDER_INDEX.
    Index {
        scope: ScopeHint,
        on: bool,
        block: Option<String>,
        table: HintTable,
        keys: Vec<String>,
    },
    JoinOrder {
        kind: JoinOrderKind,
        block: Option<String>,
        tables: Vec<HintTable>,
    },
    Semijoin {
        on: bool,
        block: Option<String>,
        strategies: Vec<SemijoinStrategy>,
    },
    Subquery {
        block: Option<String>,
        strategy: SubqueryStrategy,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum HintValue {
    Number(u64),
    Text(String),
    Word(String),
}

/// The hints of one comment, and what could not be read.
#[derive(Debug, Default)]
pub struct ReadHints {
    pub hints: Vec<Hint>,
    pub error: Option<HintError>,
}

/// For warning 1064.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintError {
    pub what: &'static str,
    pub near: String,
    pub line: u32,
}

/// What is wrong, and where.
type Wrong = (&'static str, usize);
const SYNTAX: &str = "Optimizer hint syntax error";

/// Reads one comment.
pub fn read_hints(text: &HintText<'_>, ansi_quotes: bool) -> ReadHints {
    let mut reader = Reader { scanner: Scanner::new(&text.text[..text.length], ansi_quotes) };
    let mut read = ReadHints::default();
    let error = loop {
        match reader.scanner.peek() {
            (Token::End, at) if read.hints.is_empty() => break Some((SYNTAX, at)),
            (Token::End, _) => break None,
            (Token::Comma, at) if read.hints.is_empty() => break Some((SYNTAX, at)),
            _ => {}
        }
        match reader.hint() {
            Ok(hint) => read.hints.push(hint),
            Err(wrong) => break Some(wrong),
        }
    };
    read.error = error.map(|(what, at)| {
        let all = &text.text[at..];
        // At its end only that is told.
        let shown = if at == text.length { all.get(..2).unwrap_or(all) } else { all };
        let near: String = shown.chars().take(NEAR_LENGTH_MAX).collect();
        let line = text.line + text.text[..at].bytes().filter(|byte| *byte == b'\n').count() as u32;
        HintError { what, near, line }
    });
    read
}

struct Reader<'t> {
    scanner: Scanner<'t>,
}

impl Reader<'_> {
    fn hint(&mut self) -> Result<Hint, Wrong> {
        let (token, at) = self.scanner.next();
        let word = match &token {
            Token::Name { text, quoted: false } => Word::named(text),
            _ => None,
        };
        let word = word.ok_or((SYNTAX, at))?;
        self.expect(&Token::Open)?;
        let hint = match word {
            Word::QueryBlockName => Hint::QueryBlockName(self.name()?),
            Word::MaxExecutionTime => self.max_execution_time()?,
            Word::SetVariable => self.set_variable()?,
            Word::ResourceGroup => Hint::ResourceGroup(self.name()?),
            Word::Table(switch, on) => self.table_hint(switch, on)?,
            Word::Key(switch, on) => {
                let (block, table, keys) = self.keys()?;
                Hint::Key { switch, on, block, table, keys }
            }
            Word::Index(scope, on) => {
                let (block, table, keys) = self.keys()?;
                Hint::Index { scope, on, block, table, keys }
            }
            Word::JoinOrder(JoinOrderKind::Fixed) => {
                Hint::JoinOrder { kind: JoinOrderKind::Fixed, block: self.block()?, tables: Vec::new() }
            }
            Word::JoinOrder(kind) => {
                let block = self.block()?;
                Hint::JoinOrder { kind, tables: self.tables(block.is_none())?, block }
            }
            Word::Semijoin(on) => {
                let block = self.block()?;
                let strategies = self.words(SemijoinStrategy::named)?;
                Hint::Semijoin { on, block, strategies }
            }
            Word::Subquery => {
                let block = self.block()?;
                let (_, at) = self.scanner.peek();
                let strategy = self.words(SubqueryStrategy::named)?;
                let [strategy] = strategy[..] else { return Err((SYNTAX, at)) };
                Hint::Subquery { block, strategy }
            }
        };
        self.expect(&Token::Close)?;
        Ok(hint)
    }

    fn expect(&mut self, wanted: &Token) -> Result<(), Wrong> {
        let (token, at) = self.scanner.next();
        if token == *wanted { Ok(()) } else { Err((SYNTAX, at)) }
    }

    fn name(&mut self) -> Result<String, Wrong> {
        match self.scanner.next() {
            (Token::Name { text, .. }, _) => Ok(text),
            (_, at) => Err((SYNTAX, at)),
        }
    }

    /// `@block`, if it is there.
    fn block(&mut self) -> Result<Option<String>, Wrong> {
        match self.scanner.peek() {
            (Token::Block(_), _) => match self.scanner.next() {
                (Token::Block(name), _) => Ok(Some(name)),
                (_, at) => Err((SYNTAX, at)),
            },
            _ => Ok(None),
        }
    }

    fn table(&mut self, may_name_block: bool) -> Result<HintTable, Wrong> {
        let name = self.name()?;
        let block = if may_name_block { self.block()? } else { None };
        Ok(HintTable { name, block })
    }

    fn tables(&mut self, may_name_block: bool) -> Result<Vec<HintTable>, Wrong> {
        let mut tables = Vec::new();
        if matches!(self.scanner.peek().0, Token::Close) {
            return Ok(tables);
        }
        loop {
            tables.push(self.table(may_name_block)?);
            if !matches!(self.scanner.peek().0, Token::Comma) {
                return Ok(tables);
            }
            self.scanner.next();
        }
    }

    fn table_hint(&mut self, switch: TableSwitch, on: bool) -> Result<Hint, Wrong> {
        let block = self.block()?;
        let tables = self.tables(block.is_none())?;
        Ok(Hint::Table { switch, on, block, tables })
    }

    fn keys(&mut self) -> Result<(Option<String>, HintTable, Vec<String>), Wrong> {
        let block = self.block()?;
        let table = self.table(block.is_none())?;
        let mut keys = Vec::new();
        if matches!(self.scanner.peek().0, Token::Close) {
            return Ok((block, table, keys));
        }
        loop {
            keys.push(self.name()?);
            if !matches!(self.scanner.peek().0, Token::Comma) {
                return Ok((block, table, keys));
            }
            self.scanner.next();
        }
    }

    fn words<T>(&mut self, named: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Wrong> {
        let mut words = Vec::new();
        if matches!(self.scanner.peek().0, Token::Close) {
            return Ok(words);
        }
        loop {
            let (token, at) = self.scanner.next();
            let word = match &token {
                Token::Name { text, quoted: false } => named(text),
                _ => None,
            };
            words.push(word.ok_or((SYNTAX, at))?);
            if !matches!(self.scanner.peek().0, Token::Comma) {
                return Ok(words);
            }
            self.scanner.next();
        }
    }

    fn max_execution_time(&mut self) -> Result<Hint, Wrong> {
        match self.scanner.next() {
            (Token::Number(number), _) if number <= u64::from(u32::MAX) => Ok(Hint::MaxExecutionTime(number)),
            (Token::Number(_), _) => Err(("Unsupported MAX_EXECUTION_TIME", self.scanner.peek().1)),
            (_, at) => Err((SYNTAX, at)),
        }
    }

    fn set_variable(&mut self) -> Result<Hint, Wrong> {
        let name = self.name()?;
        self.expect(&Token::Equal)?;
        let value = match self.scanner.next() {
            (Token::Number(number), _) => HintValue::Number(number),
            (Token::Text(text), at) if text.is_empty() => return Err((SYNTAX, at + 1)),
            (Token::Text(text), _) => HintValue::Text(text),
            (Token::Name { text, .. }, _) => HintValue::Word(text),
            (_, at) => return Err((SYNTAX, at)),
        };
        Ok(Hint::SetVariable { name, value })
    }
}

#[cfg(test)]
mod tests;
