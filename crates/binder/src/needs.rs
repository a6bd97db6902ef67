//! What a statement needs to be allowed: noted where names are bound, and asked for at once, so that what is forbidden is
//! refused before anything is told about tables and columns.
//!
//! Invariant: every table and column that a plan reads or changes for the statement is among its needs. This is the only
//! place that decides which rights a use takes.

use crate::binder::Binder;
use crate::block::Source;
use datum::SqlError;
use parser::ast;
use plan::{ColumnNeed, Rights, TableNeed, TableUsage};

impl Binder<'_> {
    /// What a use of a table takes, columns apart.
    fn table_need(&self, usage: TableUsage, database: &str, table: &str) -> TableNeed {
        let every = match usage {
            TableUsage::Read | TableUsage::ReadLocking | TableUsage::ReadForUpdate => Rights::SELECT,
            TableUsage::Insert => Rights::INSERT | self.insert_also,
            // Which of the tables change is not known yet.
            TableUsage::Update if self.is_joined_change => Rights::NONE,
            TableUsage::Update => Rights::UPDATE,
            TableUsage::Delete if self.is_joined_change => Rights::SELECT,
            TableUsage::Delete => Rights::DELETE,
        };
        let either = match usage {
            TableUsage::Update if self.is_joined_change => Rights::SELECT | Rights::UPDATE,
            _ => Rights::NONE,
        };
        TableNeed {
            database: database.to_owned(),
            table: table.to_owned(),
            every,
            either,
            locks: usage == TableUsage::ReadForUpdate,
            columns: Vec::new(),
            user: self.view_user.clone(),
        }
    }

    /// Asks for a use of a table; the answer is the place of the need.
    pub fn need_table(&mut self, usage: TableUsage, database: &str, table: &str) -> Result<usize, SqlError> {
        let need = self.table_need(usage, database, table);
        self.catalog.permit(&need)?;
        self.needs.push(need);
        Ok(self.needs.len() - 1)
    }

    /// Asks for more rights on a whole table of the innermost block.
    pub fn need_more(&mut self, source: usize, rights: Rights) -> Result<(), SqlError> {
        let Some(place) = self.block().sources[source].need else { return Ok(()) };
        let need = &mut self.needs[place];
        let more = TableNeed { every: rights, either: Rights::NONE, locks: false, ..need.clone() };
        need.every |= rights;
        self.catalog.permit(&more)
    }

    /// Asks for rights on a column of a source of block `depth`.
    pub fn need_column(
        &mut self,
        depth: usize,
        source: usize,
        column: usize,
        rights: Rights,
        is_unnamed: bool,
    ) -> Result<(), SqlError> {
        let source = &self.blocks[depth].sources[source];
        let Some(place) = source.need else { return Ok(()) };
        let name = source.columns[column].name.clone();
        self.need_named(place, &name, rights, is_unnamed)
    }

    /// Asks for rights on a column of the table that the need is for.
    pub fn need_named(
        &mut self,
        place: usize,
        name: &str,
        rights: Rights,
        is_unnamed: bool,
    ) -> Result<(), SqlError> {
        if self.needs[place].has_column(name, rights) {
            return Ok(());
        }
        let column = ColumnNeed { name: name.to_owned(), rights, is_unnamed };
        self.catalog.permit_column(&self.needs[place], &column)?;
        self.needs[place].columns.push(column);
        Ok(())
    }

    /// A column that no table has: whoever may not read all of a table that it could be of learns no more than that.
    pub fn need_unknown_column(&self, reference: &ast::ColumnReference<'_>) -> Result<(), SqlError> {
        let database = reference.qualifier.and_then(|qualifier| qualifier.database).map(|name| name.name);
        let table = reference.qualifier.map(|qualifier| qualifier.name.name);
        let Some(block) = self.blocks.last() else { return Ok(()) };
        let named = |source: &&Source| source.is_named(database, table);
        for place in block.sources.iter().filter(named).filter_map(|source| source.need) {
            let column =
                ColumnNeed { name: reference.name.to_owned(), rights: Rights::SELECT, is_unnamed: false };
            self.catalog.permit_column(&self.needs[place], &column)?;
        }
        Ok(())
    }
}
