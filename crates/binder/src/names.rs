//! Notes what the names of a query mean while it is bound, for those who define a view by it or show it (`expanded`).
use crate::binder::Binder;
use crate::block::{Block, Source};
use crate::bound::SelectItem;
use crate::same_name::same_name;
use datum::SqlError;
use expression::Expr;
use parser::{NamedColumn, NamedTable};

/// A column of a source, by number.
type SourceColumnAt = (usize, usize);

impl Binder<'_> {
    /// Error 1351 where a view is defined: it would mean something else to everybody.
    pub fn refuse_in_view(&self) -> Result<(), SqlError> {
        match &self.names {
            Some(names) if names.is_view => Err(crate::error_codes::ER_VIEW_SELECT_VARIABLE.plain()),
            _ => Ok(()),
        }
    }

    pub fn note_reference(&mut self, depth: usize, source: usize, column: usize, reference: &str) {
        if let Some(names) = &mut self.names {
            names.resolved.note_column(reference, named(&self.blocks[depth], source, column));
        }
    }

    pub fn note_alias(&mut self, reference: &str) {
        if let Some(names) = &mut self.names {
            names.resolved.note_column(reference, NamedColumn::Item(reference.to_owned()));
        }
    }

    /// A name in ORDER BY that an item of the select list has.
    pub fn note_item_meant(
        &mut self,
        items: &[SelectItem],
        reference: &parser::ast::ColumnReference<'_>,
        meant: &Expr,
    ) {
        if self.names.is_none() {
            return;
        }
        let has_alias = |item: &SelectItem| item.is_alias && same_name(&item.name, reference.name);
        let depth = self.blocks.len() - 1;
        match self.blocks[depth].column_behind(meant) {
            Some((source, column)) if !items.iter().any(has_alias) => {
                self.note_reference(depth, source, column, reference.name);
            }
            _ => self.note_alias(reference.name),
        }
    }

    pub fn note_star(&mut self, start: u32, star: &[(usize, usize)]) {
        if let (Some(names), Some(block)) = (&mut self.names, self.blocks.last()) {
            let columns = star.iter().map(|&(source, column)| named(block, source, column)).collect();
            names.resolved.note_star(start, columns);
        }
    }

    pub fn note_table(&mut self, written: &str, database: &str, name: &str) {
        if let Some(names) = &mut self.names {
            let used = (database.to_owned(), name.to_owned());
            names.resolved.note_table(written, NamedTable { database: used.0.clone(), name: used.1.clone() });
            if !names.uses.contains(&used) {
                names.uses.push(used);
            }
        }
    }

    /// The columns that USING or NATURAL makes equal.
    pub fn note_merged(&mut self, join: &parser::ast::Join<'_>, pairs: &[(SourceColumnAt, SourceColumnAt)]) {
        if let (Some(names), Some(block)) = (&mut self.names, self.blocks.last()) {
            let name = |&(source, column): &(usize, usize)| named(block, source, column);
            let pairs = pairs.iter().map(|(left, right)| (name(left), name(right))).collect();
            names.resolved.note_join(join, pairs);
        }
    }
}

fn named(block: &Block, source: usize, column: usize) -> NamedColumn {
    let source: &Source = &block.sources[source];
    let has_database = !source.origin.is_renamed && !source.database.is_empty();
    NamedColumn::Column {
        database: has_database.then(|| source.database.clone()),
        table: source.alias.clone(),
        name: source.columns[column].name.clone(),
    }
}
