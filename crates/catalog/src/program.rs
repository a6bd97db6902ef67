//! The stored programs that exist.
//!
//! Invariant: a program that is changed has another number, so what was made of the old one is not taken for the new; the
//! triggers of a table are in the order in which they fire.
use std::sync::Arc;

use datum::{SqlError, error_code};
use schema::{ProgramKind, TriggerDef, TriggerSet};

use crate::catalog::{Catalog, State};
use crate::live_program::LiveProgram;
use crate::name::canonical_database;

/// The name as it is looked up: names of programs ignore letter case, but for triggers, whose names are like tables'.
pub(crate) fn folded(kind: ProgramKind, name: &str) -> String {
    match kind {
        ProgramKind::Trigger => name.to_owned(),
        _ => name.to_lowercase(),
    }
}

impl Catalog {
    pub fn program(&self, kind: ProgramKind, database: &str, name: &str) -> Option<Arc<LiveProgram>> {
        let state = self.state();
        state.databases.get(canonical_database(database))?.programs.get(&(kind, folded(kind, name))).cloned()
    }

    /// The program with this number, if it is still there.
    pub fn program_by_id(&self, id: u64) -> Option<Arc<LiveProgram>> {
        self.state().programs_by_id.get(&id).cloned()
    }

    /// The programs of a database by kind and name.
    pub fn programs(&self, database: &str) -> Vec<Arc<LiveProgram>> {
        let state = self.state();
        let database = state.databases.get(canonical_database(database));
        database.map(|database| database.programs.values().cloned().collect()).unwrap_or_default()
    }

    /// All programs of the kind.
    pub fn all_programs(&self, kind: ProgramKind) -> Vec<Arc<LiveProgram>> {
        let state = self.state();
        let programs = state.databases.values().flat_map(|database| database.programs.values());
        programs.filter(|program| program.definition.kind == kind).cloned().collect()
    }

    /// The triggers of a table in the order in which they fire, those of other sorts between them.
    pub fn triggers(&self, database: &str, table: &str) -> Vec<Arc<LiveProgram>> {
        let state = self.state();
        if state.triggers.is_empty() {
            return Vec::new();
        }
        let key = (canonical_database(database).to_owned(), table.to_owned());
        state.triggers.get(&key).cloned().unwrap_or_default()
    }

    /// Which sorts of triggers a table has.
    pub fn trigger_set(&self, database: &str, table: &str) -> TriggerSet {
        let mut set = TriggerSet::default();
        for program in self.triggers(database, table) {
            if let Some(trigger) = &program.definition.trigger {
                set.add(trigger.is_before, trigger.event);
            }
        }
        set
    }
}

impl State {
    pub fn put_program(&mut self, program: Arc<LiveProgram>) -> Result<(), SqlError> {
        let definition = &program.definition;
        let key = (definition.kind, folded(definition.kind, &definition.name));
        let database = self.databases.get_mut(&definition.database).ok_or_else(|| {
            let what = format!("the data dictionary has a program of no database, {}", definition.database);
            error_code::ER_INTERNAL_ERROR.with(&[&what])
        })?;
        let before = database.programs.insert(key, program.clone());
        if let Some(before) = before {
            self.forget_program(&before);
        }
        let before = self.programs_by_id.insert(program.id, program.clone());
        debug_assert!(before.is_none(), "a number is one program's");
        if let Some(trigger) = &definition.trigger {
            let list = self.triggers.entry((definition.database.clone(), trigger.table.clone())).or_default();
            list.push(program.clone());
            list.sort_by_key(|program| program.definition.trigger.as_ref().map(sort_of));
        }
        Ok(())
    }

    pub fn remove_program(&mut self, program: &LiveProgram) {
        let definition = &program.definition;
        if let Some(database) = self.databases.get_mut(&definition.database) {
            database.programs.remove(&(definition.kind, folded(definition.kind, &definition.name)));
        }
        self.forget_program(program);
    }

    fn forget_program(&mut self, program: &LiveProgram) {
        let was_there = self.programs_by_id.remove(&program.id).is_some();
        debug_assert!(was_there, "a program goes once");
        let Some(trigger) = &program.definition.trigger else { return };
        let key = (program.definition.database.clone(), trigger.table.clone());
        if let Some(list) = self.triggers.get_mut(&key) {
            list.retain(|other| other.id != program.id);
            if list.is_empty() {
                self.triggers.remove(&key);
            }
        }
    }
}

fn sort_of(trigger: &TriggerDef) -> (schema::TriggerEvent, bool, u32) {
    (trigger.event, !trigger.is_before, trigger.order)
}
