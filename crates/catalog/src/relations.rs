//! Which tables are parents and children of which, kept with the tables in memory.
//!
//! Invariant: after `link_changed` every table's relations name the live handles of its parents and children. Only
//! tables that changed and their neighbours are looked at, so one definition costs as much as it has neighbours.
use std::collections::BTreeSet;
use std::sync::Arc;

use schema::{ForeignKeyDef, TableDef};
use table::{ChildLink, ParentLink, Relations, TableHandle};

use crate::catalog::{Catalog, FullName, State};
use crate::name::canonical_database;

impl Catalog {
    /// Every foreign key that references the table of this name, which need not exist, with its child. Older children
    /// come first.
    pub fn children_of(&self, database: &str, name: &str) -> Vec<(Arc<TableHandle>, ForeignKeyDef)> {
        let name = (canonical_database(database).to_owned(), name.to_owned());
        self.state().children_of(&name)
    }
}

impl State {
    /// The table's foreign keys name their parents from now on.
    pub fn note_parents(&mut self, definition: &TableDef) {
        let child = name_of(definition);
        for key in &definition.foreign_keys {
            self.children.entry(parent_name(key)).or_default().insert(child.clone());
            self.changed.insert(parent_name(key));
        }
        self.changed.insert(child);
    }

    pub fn forget_parents(&mut self, definition: &TableDef) {
        let child = name_of(definition);
        for key in &definition.foreign_keys {
            let parent = parent_name(key);
            if let Some(children) = self.children.get_mut(&parent) {
                debug_assert!(!children.is_empty(), "a parent is listed with its children");
                children.remove(&child);
                if children.is_empty() {
                    self.children.remove(&parent);
                }
            }
            self.changed.insert(parent);
        }
        self.changed.insert(child);
    }

    /// Links all tables, when the dictionary has been read.
    pub fn link_all(&mut self) {
        let all = self.by_id.values().map(|live| name_of(live.handle.definition()));
        self.changed = all.collect();
        self.link_changed();
    }

    pub fn link_changed(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let mut affected: BTreeSet<FullName> = changed.clone();
        for name in &changed {
            affected.extend(self.children.get(name).into_iter().flatten().cloned());
            if let Some(table) = self.table(name) {
                affected.extend(table.definition().foreign_keys.iter().map(parent_name));
            }
        }
        for name in affected {
            let Some(table) = self.table(&name) else { continue };
            let relations = self.relations_of(&table, &name);
            if let Some(live) = self.by_id.get_mut(&table.definition().id) {
                live.relations = relations;
            }
        }
        debug_assert!(self.changed.is_empty(), "linking changes no table");
    }

    fn relations_of(&self, table: &Arc<TableHandle>, name: &FullName) -> Option<Arc<Relations>> {
        let keys = table.definition().foreign_keys.iter();
        let parents: Vec<ParentLink> =
            keys.map(|key| ParentLink::new(key, self.table(&parent_name(key)).as_ref())).collect();
        let children = self.children_of(name).into_iter();
        let children: Vec<ChildLink> =
            children.filter_map(|(child, key)| ChildLink::new(&key, &child, table)).collect();
        match parents.is_empty() && children.is_empty() {
            true => None,
            false => Some(Arc::new(Relations { parents, children })),
        }
    }

    fn children_of(&self, name: &FullName) -> Vec<(Arc<TableHandle>, ForeignKeyDef)> {
        let names = self.children.get(name).into_iter().flatten();
        let mut children: Vec<Arc<TableHandle>> = names.filter_map(|child| self.table(child)).collect();
        children.sort_by_key(|child| child.definition().id);
        let keys_of = |child: Arc<TableHandle>| {
            let keys: Vec<ForeignKeyDef> = child.definition().foreign_keys.clone();
            keys.into_iter().filter(|key| parent_name(key) == *name).map(move |key| (child.clone(), key))
        };
        children.into_iter().flat_map(keys_of).collect()
    }

    fn table(&self, name: &FullName) -> Option<Arc<TableHandle>> {
        self.databases.get(&name.0)?.tables.get(&name.1).cloned()
    }
}

fn name_of(definition: &TableDef) -> FullName {
    (definition.database.clone(), definition.name.clone())
}

fn parent_name(key: &ForeignKeyDef) -> FullName {
    (key.parent_database.clone(), key.parent_table.clone())
}
