//! How far a change reaches through foreign keys: the tables whose metadata locks it needs beside its own.
//!
//! A child's change reads its parents; a parent's reads children that RESTRICT, and changes children that CASCADE or
//! SET NULL, which reaches on from there. Tables count, not columns, as in MySQL.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::{Catalog, LockMode, LockName};
use plan::{DuplicateRule, Plan, PlanKind, TableUsage};
use schema::{ReferentialAction, TableDef, TableId};
use table::{ParentLink, Relations, TableResolver};

pub struct Reach<'c> {
    catalog: &'c Catalog,
    locks: BTreeMap<LockName, LockMode>,
    related: BTreeMap<TableId, Option<Arc<Relations>>>,
    /// What has been followed already.
    seen: BTreeSet<(TableId, Change)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Insert,
    Update,
    Delete,
}

impl<'c> Reach<'c> {
    pub fn new(catalog: &'c Catalog) -> Reach<'c> {
        Reach { catalog, locks: BTreeMap::new(), related: BTreeMap::new(), seen: BTreeSet::new() }
    }

    pub fn follow(&mut self, plan: &Plan) {
        for used in &plan.tables {
            match used.usage {
                TableUsage::Insert => self.change(used.id, Change::Insert),
                TableUsage::Update => self.change(used.id, Change::Update),
                TableUsage::Delete => self.change(used.id, Change::Delete),
                TableUsage::Read | TableUsage::ReadLocking | TableUsage::ReadForUpdate => {}
            }
        }
        if let PlanKind::Insert(insert) = &plan.kind {
            match insert.duplicates {
                DuplicateRule::Fail => {}
                DuplicateRule::Replace => self.change(insert.table.id, Change::Delete),
                DuplicateRule::Update { .. } => self.change(insert.table.id, Change::Update),
            }
        }
    }

    /// Whatever may change in a table.
    pub fn follow_table(&mut self, table: TableId) {
        self.change(table, Change::Update);
        self.change(table, Change::Delete);
    }

    /// The tables whose rows foreign keys may give new values.
    pub fn updated(&self) -> impl Iterator<Item = TableId> + '_ {
        self.seen.iter().filter(|(_, change)| *change == Change::Update).map(|(table, _)| *table)
    }

    pub fn locks(&self) -> impl Iterator<Item = (LockName, LockMode)> + '_ {
        self.locks.iter().map(|(name, mode)| (name.clone(), *mode))
    }

    pub fn related(self) -> Vec<(TableId, Option<Arc<Relations>>)> {
        self.related.into_iter().collect()
    }

    fn change(&mut self, table: TableId, change: Change) {
        if !self.seen.insert((table, change)) {
            return;
        }
        let relations = self.catalog.relations(table);
        self.related.insert(table, relations.clone());
        let Some(relations) = relations else { return };
        if change != Change::Delete {
            relations.parents.iter().for_each(|parent| self.lock_parent(parent));
        }
        if change == Change::Insert {
            return;
        }
        for link in &relations.children {
            let action = if change == Change::Delete { link.key.on_delete } else { link.key.on_update };
            let child = link.child.definition();
            if !action.changes_children() {
                self.lock(name_of(child), LockMode::Shared);
                continue;
            }
            self.lock(name_of(child), LockMode::SharedWrite);
            let deletes = change == Change::Delete && action == ReferentialAction::Cascade;
            self.change(child.id, if deletes { Change::Delete } else { Change::Update });
        }
    }

    fn lock_parent(&mut self, link: &ParentLink) {
        let (database, table) = (link.key.parent_database.as_str(), link.key.parent_table.as_str());
        self.lock(LockName::Table(database.into(), table.into()), LockMode::Shared);
    }

    fn lock(&mut self, name: LockName, mode: LockMode) {
        let held = self.locks.entry(name).or_insert(mode);
        *held = (*held).max(mode);
    }
}

fn name_of(table: &TableDef) -> LockName {
    LockName::Table(table.database.as_str().into(), table.name.as_str().into())
}
