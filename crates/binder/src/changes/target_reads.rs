//! A statement may not read the table that it changes in a subquery, whether it names the table or a view of it.
//!
//! Subqueries that are kept before anything changes may: they are not noted. Called where names become tables, and for
//! each target of a change.
use crate::binder::Binder;
use crate::changes::insert_target::Target;
use crate::scopes::{SubqueryRead, ViewReference};
use datum::{SqlError, error_code};
use schema::{TableDef, TableId, ViewDef};
use std::sync::Arc;

impl Binder<'_> {
    pub fn note_subquery_read(&mut self, table: TableId, alias: &str) {
        let reference = match self.view_path.is_empty() {
            true => None,
            false => self.view_references.len().checked_sub(1),
        };
        self.subquery_reads.push(SubqueryRead { table, alias: alias.to_owned(), reference });
    }

    pub fn reads_in_subquery(&self, table: TableId) -> bool {
        self.subquery_reads.iter().any(|read| read.table == table)
    }

    /// Whether a table that a subquery reads is also read outside of subqueries.
    pub fn subqueries_read_again(&self) -> bool {
        let in_subqueries = |table| self.subquery_reads.iter().filter(|read| read.table == table).count();
        let in_all = |table| self.tables.iter().filter(|used| used.id == table).count();
        self.subquery_reads.iter().any(|read| in_all(read.table) > in_subqueries(read.table))
    }

    /// A view is about to be bound; those below another one belong to that.
    pub fn note_view_reference(&mut self, view: &Arc<ViewDef>, alias: &str) {
        if self.view_path.is_empty() {
            self.view_references.push(ViewReference { view: view.clone(), alias: alias.to_owned() });
        }
    }

    /// Error 1093, or 1288, 1443 and 1471 where views are between. `through` is the reference to the view that shows the
    /// target.
    pub fn check_not_read(
        &self,
        target: &TableDef,
        alias: &str,
        through: Option<usize>,
        verb: &str,
    ) -> Result<(), SqlError> {
        let read = self.subquery_reads.iter().find(|read| read.table == target.id);
        read.map_or(Ok(()), |read| self.read_error(read, target, alias, through, verb))
    }

    /// The same for the values of INSERT, which may read the target under another alias.
    pub fn check_not_read_as(&self, target: &Target) -> Result<(), SqlError> {
        let is_it = |read: &&SubqueryRead| read.table == target.table.id && read.alias == target.alias;
        let read = self.subquery_reads.iter().find(is_it);
        read.map_or(Ok(()), |read| {
            self.read_error(read, &target.table, target.name(), target.reference(), "INSERT")
        })
    }

    fn read_error(
        &self,
        read: &SubqueryRead,
        target: &TableDef,
        alias: &str,
        through: Option<usize>,
        verb: &str,
    ) -> Result<(), SqlError> {
        let reference = |number: Option<usize>| number.and_then(|number| self.view_references.get(number));
        let prevented =
            |view: &str, shown: &str| Err(error_code::ER_VIEW_PREVENT_UPDATE.with(&[&view, &verb, &shown]));
        // References are counted when their views have been bound.
        let above = reference(through.and_then(|number| number.checked_sub(1)));
        match (above, reference(read.reference)) {
            (None, None) => Err(error_code::ER_UPDATE_TABLE_USED.with(&[&target.name])),
            (None, Some(below)) => prevented(&below.alias, alias),
            (Some(above), None) => prevented(&above.alias, &above.alias),
            (Some(above), Some(below)) if std::ptr::eq(above, below) => {
                let code = match verb {
                    "INSERT" => error_code::ER_NON_INSERTABLE_TABLE,
                    _ => error_code::ER_NON_UPDATABLE_TABLE,
                };
                Err(code.with(&[&above.alias, &verb]))
            }
            (Some(above), Some(below)) if Arc::ptr_eq(&above.view, &below.view) => {
                Err(error_code::ER_UPDATE_TABLE_USED.with(&[&above.alias]))
            }
            (Some(above), Some(below)) => prevented(&below.alias, &above.alias),
        }
    }
}
