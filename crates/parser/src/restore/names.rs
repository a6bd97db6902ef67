//! What the names of a query mean, for those who write it as the query of a view.
//!
//! Whoever binds the query notes each name; a name is known by the place of its text, so the query must be the tree that
//! was bound. Names that nobody noted are written as they stand.
use crate::ast::Join;
use std::collections::HashMap;

/// A column, or an item of the select list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedColumn {
    Column {
        /// Of a table that has no alias.
        database: Option<String>,
        /// Empty for a column of the result.
        table: String,
        name: String,
    },
    /// An item by its alias.
    Item(String),
}

/// A table in FROM that is no table of WITH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTable {
    pub database: String,
    pub name: String,
}

#[derive(Debug, Clone, Default)]
pub struct ResolvedNames {
    columns: HashMap<usize, NamedColumn>,
    stars: HashMap<usize, Vec<NamedColumn>>,
    tables: HashMap<usize, NamedTable>,
    merged: HashMap<usize, Vec<(NamedColumn, NamedColumn)>>,
    items: HashMap<usize, String>,
}

fn place(text: &str) -> usize {
    text.as_ptr() as usize
}

fn place_of(join: &Join<'_>) -> usize {
    std::ptr::from_ref(join) as usize
}

impl ResolvedNames {
    /// The column that a reference with this name means.
    pub fn note_column(&mut self, reference: &str, column: NamedColumn) {
        self.columns.insert(place(reference), column);
    }

    /// What `*` or `table.*` stands for; it is known by where it starts in the text.
    pub fn note_star(&mut self, start: u32, columns: Vec<NamedColumn>) {
        self.stars.insert(start as usize, columns);
    }

    pub fn note_table(&mut self, name: &str, table: NamedTable) {
        self.tables.insert(place(name), table);
    }

    /// The pairs of columns that USING or NATURAL makes equal.
    pub fn note_join(&mut self, join: &Join<'_>, pairs: Vec<(NamedColumn, NamedColumn)>) {
        self.merged.insert(place_of(join), pairs);
    }

    /// Another name for a select item that has no alias.
    pub fn note_item(&mut self, name: &str, other: String) {
        self.items.insert(place(name), other);
    }

    /// How many columns a star stands for.
    pub fn star_width(&self, start: u32) -> usize {
        self.star(start).map_or(0, <[NamedColumn]>::len)
    }

    pub(super) fn column(&self, reference: &str) -> Option<&NamedColumn> {
        self.columns.get(&place(reference))
    }

    pub(super) fn star(&self, start: u32) -> Option<&[NamedColumn]> {
        self.stars.get(&(start as usize)).map(Vec::as_slice)
    }

    pub(super) fn table(&self, name: &str) -> Option<&NamedTable> {
        self.tables.get(&place(name))
    }

    pub(super) fn join(&self, join: &Join<'_>) -> Option<&[(NamedColumn, NamedColumn)]> {
        self.merged.get(&place_of(join)).map(Vec::as_slice)
    }

    pub(super) fn item(&self, name: &str) -> Option<&str> {
        self.items.get(&place(name)).map(String::as_str)
    }
}
