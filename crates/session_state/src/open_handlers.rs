//! The tables that a session has open by HANDLER, and where it has been in them.
//!
//! Invariant: an open table keeps no lock between statements; its place is a key, so rows that come and go do no harm.
//! Read and moved by `statements::handler`; changes of definitions close them in `session`.
use std::collections::BTreeMap;

use definition::TableName;

/// A place among the keys of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// On the entry with this key.
    Key(Vec<u8>),
    /// Between entries: those with keys below this one are before it.
    Gap(Vec<u8>),
    Begin,
    End,
}

/// The open tables of a session, by their names in lower case.
#[derive(Default)]
pub struct OpenHandlers {
    pub open: BTreeMap<String, OpenHandler>,
}

/// One open table.
pub struct OpenHandler {
    pub table: TableName,
    /// As written.
    pub alias: String,
    /// None before the first read.
    pub place: Option<Place>,
}

/// Where the last read ended.
pub struct Place {
    pub table_id: schema::TableId,
    /// `None` is the clustered order of reads that name no index.
    pub index: Option<usize>,
    pub at: At,
}

impl OpenHandlers {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// All begin anew.
    pub fn rewind(&mut self) {
        self.open.values_mut().for_each(|handler| handler.place = None);
    }

    /// Those of the tables are closed.
    pub fn close_if(&mut self, concerns: impl Fn(&TableName) -> bool) {
        self.open.retain(|_, handler| !concerns(&handler.table));
    }
}
