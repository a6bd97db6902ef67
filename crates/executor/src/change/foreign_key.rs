//! The foreign keys of a changed table during one statement: asked before each row is written.
//!
//! A table without foreign keys, and a session with `foreign_key_checks=0`, pay one test for each row.
use super::rules::CascadeRules;
use crate::context::ExecContext;
use datum::{SqlError, Value, error_code};
use engine::{LockMode, ReadMode, Savepoint};
use schema::{ForeignKeyDef, TableId};
use std::sync::Arc;
use table::{ForeignKeyWalk, Relations, TableHandle, engine_error};

pub struct ForeignKeys(Option<Arc<Relations>>);

impl ForeignKeys {
    pub fn of(table: &TableHandle, context: &ExecContext<'_>) -> ForeignKeys {
        match context.settings.foreign_key_checks {
            true => ForeignKeys(context.tables.relations(table.definition().id)),
            false => ForeignKeys(None),
        }
    }

    /// Rows of this statement may be changed or deleted by its own cascades.
    pub fn is_parent(&self) -> bool {
        self.0.as_ref().is_some_and(|relations| !relations.children.is_empty())
    }

    pub fn has_child(&self, table: TableId) -> bool {
        let mut children = self.0.iter().flat_map(|relations| &relations.children);
        children.any(|link| link.child.definition().id == table)
    }

    pub fn is_child(&self) -> bool {
        self.0.as_ref().is_some_and(|relations| !relations.parents.is_empty())
    }

    /// Asks for the parents of those keys that `is_asked` names.
    pub async fn before_insert(
        &self,
        table: &TableHandle,
        row: &[Value],
        is_asked: impl Fn(&ForeignKeyDef) -> bool,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let Some(relations) = self.0.as_deref().filter(|relations| !relations.parents.is_empty()) else {
            return Ok(());
        };
        let rules = CascadeRules { rules: context.cascade_rules, context: context.eval };
        let walk = ForeignKeyWalk::new(context.tables, &rules, context.settings.lock_wait);
        let parents = relations.parents.iter().filter(|link| is_asked(&link.key));
        walk.check_parents(context.host.transaction(), parents, table, None, row).await
    }

    pub async fn before_update(
        &self,
        table: &TableHandle,
        row_key: &[u8],
        old: &[Value],
        new: &[Value],
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let Some(relations) = self.0.as_deref() else { return Ok(()) };
        let rules = CascadeRules { rules: context.cascade_rules, context: context.eval };
        let mut walk = ForeignKeyWalk::new(context.tables, &rules, context.settings.lock_wait);
        walk.before_update(context.host.transaction(), relations, table, row_key, old, new).await?;
        walk.check_parents(context.host.transaction(), &relations.parents, table, Some(old), new).await
    }

    /// `replaced_by` is the row that REPLACE inserts next.
    pub async fn before_delete(
        &self,
        table: &TableHandle,
        row_key: &[u8],
        row: &[Value],
        replaced_by: Option<&[Value]>,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let Some(relations) = self.0.as_deref() else { return Ok(()) };
        let rules = CascadeRules { rules: context.cascade_rules, context: context.eval };
        let mut walk = ForeignKeyWalk::new(context.tables, &rules, context.settings.lock_wait);
        walk.before_delete(context.host.transaction(), relations, table, row_key, row, replaced_by).await
    }

    /// The row as it is now: a cascade of this statement may have changed it since it was read, or removed it.
    pub async fn present_row(
        &self,
        table: &TableHandle,
        row_key: &[u8],
        context: &mut ExecContext<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let mode = ReadMode::Locking(LockMode::Exclusive, context.settings.lock_wait);
        table.read_row_at(context.host.transaction(), row_key, mode).await
    }
}

/// With IGNORE a row that its keys or constraints forbid is left as it was, with a warning; every other error stays one.
pub async fn pardon(
    error: SqlError,
    ignore: bool,
    row_begin: Savepoint,
    table: &TableHandle,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let is_refusal = error.is(&error_code::ER_NO_REFERENCED_ROW_2)
        || error.is(&error_code::ER_ROW_IS_REFERENCED_2)
        || error.is(&error_code::ER_DUP_ENTRY)
        || error.is(&error_code::ER_CHECK_CONSTRAINT_VIOLATED)
        || error.is(&error_code::ER_VIEW_CHECK_FAILED);
    if !ignore || !is_refusal {
        return Err(error);
    }
    // What its cascades have done goes with it.
    let undone = context.host.transaction().rollback_to(row_begin).await;
    undone.map_err(|error| engine_error(&table.definition().name, error))?;
    context.eval.session.warn(error.into_warning());
    Ok(())
}
