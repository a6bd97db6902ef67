//! One index of a table.

/// Identifies an index inside its table for ever, also when others are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPart {
    /// Position in `TableDef::columns`.
    pub column: usize,
    /// `column(n)`: only the first n characters (bytes for binary strings) are indexed.
    pub prefix_length: Option<u32>,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDef {
    pub id: IndexId,
    pub name: String,
    pub kind: IndexKind,
    pub parts: Vec<IndexPart>,
    /// The engine's tree that holds it; the clustering index shares the table's own tree.
    pub tree: u64,
    pub invisible: bool,
    /// Made for a foreign key: it goes when another index does its work.
    pub generated: bool,
    pub comment: String,
}

impl IndexPart {
    pub fn column(column: usize) -> IndexPart {
        IndexPart { column, prefix_length: None, descending: false }
    }
}

impl IndexDef {
    pub fn is_unique(&self) -> bool {
        self.kind != IndexKind::Plain
    }

    /// Its first parts are these columns, whole and in this order.
    pub fn is_led_by(&self, columns: &[usize]) -> bool {
        let mut parts = self.parts.iter();
        columns.iter().all(|column| {
            parts.next().is_some_and(|part| part.column == *column && part.prefix_length.is_none())
        })
    }

    /// At most one row has the same values in these columns, and the index has no others.
    pub fn is_key_of(&self, columns: &[usize]) -> bool {
        self.is_unique() && self.parts.len() == columns.len() && self.is_led_by(columns)
    }

    pub fn has_prefix_parts(&self) -> bool {
        self.parts.iter().any(|part| part.prefix_length.is_some())
    }
}
