//! Indexes, foreign keys and checks, as CREATE TABLE, ALTER TABLE and CREATE INDEX write them.
use super::{Expr, Ident, ObjectName};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexKind {
    Primary,
    Unique,
    /// `INDEX` and `KEY`.
    Plain,
    FullText,
    Spatial,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexType {
    Btree,
    Hash,
    Rtree,
}

#[derive(Debug, Clone, Copy)]
pub struct IndexDefinition<'a> {
    pub kind: IndexKind,
    /// `CONSTRAINT symbol` before PRIMARY KEY or UNIQUE.
    pub constraint: Option<Ident<'a>>,
    pub name: Option<Ident<'a>>,
    pub parts: &'a [IndexPart<'a>],
    /// Including a USING that stands before the parts.
    pub options: &'a [IndexOption<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct IndexPart<'a> {
    pub target: IndexPartTarget<'a>,
    pub descending: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum IndexPartTarget<'a> {
    Column { name: Ident<'a>, prefix_length: Option<u64> },
    Expression(Expr<'a>),
}

#[derive(Debug, Clone, Copy)]
pub enum IndexOption<'a> {
    Using(IndexType),
    KeyBlockSize(u64),
    Comment(&'a str),
    WithParser(Ident<'a>),
    Visible(bool),
    EngineAttribute(&'a str),
    SecondaryEngineAttribute(&'a str),
}

#[derive(Debug, Clone, Copy)]
pub struct ForeignKey<'a> {
    pub constraint: Option<Ident<'a>>,
    pub index_name: Option<Ident<'a>>,
    pub columns: &'a [Ident<'a>],
    pub references: References<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct References<'a> {
    pub table: ObjectName<'a>,
    pub columns: &'a [Ident<'a>],
    pub match_kind: Option<MatchKind>,
    pub on_delete: Option<ReferentialAction>,
    pub on_update: Option<ReferentialAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchKind {
    Full,
    Partial,
    Simple,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferentialAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

#[derive(Debug, Clone, Copy)]
pub struct CheckConstraint<'a> {
    pub constraint: Option<Ident<'a>>,
    pub expr: Expr<'a>,
    pub enforced: bool,
}
