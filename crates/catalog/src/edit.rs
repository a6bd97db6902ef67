//! The edits of the copy in memory that a change of definitions has gathered, and what it means to carry them out.
//!
//! Invariant: they are carried out in their order, behind the commit; each finds what the ones before have left. Called by
//! `change`.

use crate::catalog::{Catalog, State};
use crate::live_program::LiveProgram;
use engine::TreeId;
use schema::{DatabaseDef, TableDef, ViewDef};
use std::sync::Arc;
use table::TableHandle;

/// One edit.
pub(crate) enum Edit {
    PutDatabase(DatabaseDef),
    RemoveDatabase(String),
    PutTable(Arc<TableHandle>),
    RemoveTable(Arc<TableDef>),
    PutView(Arc<ViewDef>),
    RemoveView(Arc<ViewDef>),
    PutProgram(Arc<LiveProgram>),
    RemoveProgram(Arc<LiveProgram>),
}

/// A session reads its temporary tables also from a snapshot that it took before it made them.
pub(crate) fn show_temporary_tables(catalog: &Catalog, edits: &[Edit]) {
    for edit in edits {
        if let Edit::PutTable(handle) = edit
            && handle.definition().temporary
        {
            let definition = handle.definition();
            let trees = definition.indexes.iter().map(|index| index.tree).chain([definition.tree]);
            trees.for_each(|tree| catalog.engine().show_to_all(TreeId(tree)));
        }
    }
}

/// Whether an edit fits what is there: nothing goes that is not there, and nothing comes in the place of something else.
fn is_expected(state: &State, edit: &Edit) -> bool {
    let database = |name: &str| state.databases.get(name);
    match edit {
        Edit::PutDatabase(_) => true,
        Edit::RemoveDatabase(name) => database(name).is_none_or(|database| {
            database.tables.is_empty() && database.views.is_empty() && database.programs.is_empty()
        }),
        Edit::PutTable(handle) => {
            let definition = handle.definition();
            let present = database(&definition.database).filter(|_| !definition.temporary);
            let before = present.and_then(|present| present.tables.get(&definition.name));
            before.is_none_or(|before| before.definition().id == definition.id)
        }
        // A start removes the temporary tables of the life before, which it has not put into memory.
        Edit::RemoveTable(definition) => definition.temporary || state.by_id.contains_key(&definition.id),
        Edit::PutView(view) => state.databases.contains_key(&view.database),
        Edit::RemoveView(view) => {
            database(&view.database).is_some_and(|database| database.views.contains_key(&view.name))
        }
        Edit::PutProgram(program) => state.databases.contains_key(&program.definition.database),
        Edit::RemoveProgram(program) => state.programs_by_id.contains_key(&program.id),
    }
}

pub(crate) fn apply(state: &mut State, edit: Edit) {
    debug_assert!(is_expected(state, &edit), "each edit finds what the edits before have left");
    match edit {
        Edit::PutDatabase(definition) => state.put_database(definition),
        Edit::RemoveDatabase(name) => {
            state.databases.remove(&name);
        }
        Edit::PutTable(handle) => {
            state.put_table(handle).expect("the database's metadata lock keeps it from being dropped");
        }
        Edit::RemoveTable(definition) => state.remove_table(&definition),
        Edit::PutView(view) => {
            state.put_view(view).expect("the database's metadata lock keeps it from being dropped");
        }
        Edit::RemoveView(view) => state.remove_view(&view),
        Edit::PutProgram(program) => {
            state.put_program(program).expect("the database's metadata lock keeps it from being dropped");
        }
        Edit::RemoveProgram(program) => state.remove_program(&program),
    }
}
