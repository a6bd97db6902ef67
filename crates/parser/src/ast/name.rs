//! Places in the text and names as written. Their `Debug` is short, so that a whole tree can be read.
use std::fmt::{Debug, Formatter, Result};

/// A half-open byte range of the statement's text (offsets into the text that `parse` was given).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The bytes of `text` that the span covers; empty when the span is from another text.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize).unwrap_or(&[])
    }
}

/// An identifier with its quotes removed; letter case is as written.
#[derive(Clone, Copy)]
pub struct Ident<'a> {
    pub name: &'a str,
    pub span: Span,
}

/// The name of a table, view, routine, trigger or event, with its database when one was written.
#[derive(Clone, Copy)]
pub struct ObjectName<'a> {
    pub database: Option<Ident<'a>>,
    pub name: Ident<'a>,
}

impl Debug for Span {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(formatter, "{}..{}", self.start, self.end)
    }
}

impl Debug for Ident<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(formatter, "`{}`", self.name)
    }
}

impl Debug for ObjectName<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        match self.database {
            Some(database) => write!(formatter, "{database:?}.{:?}", self.name),
            None => self.name.fmt(formatter),
        }
    }
}
