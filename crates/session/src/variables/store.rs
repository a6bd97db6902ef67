//! The values: one set for the server, and in each session what differs from it.
//!
//! Invariant: every stored value has passed `convert`. A session keeps the global values as they were when it
//! began, so a later SET GLOBAL does not reach it (as in MySQL), and pays memory only for what it changed.
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::definition::{Scope, Setting};
use super::registry::{self, VariableId};

type Values = Arc<Vec<Setting>>;

/// The values of SET GLOBAL.
pub struct GlobalVariables {
    /// Replaced as a whole by a change: sessions share the vector. A leaf lock.
    values: RwLock<Values>,
}

impl GlobalVariables {
    pub fn with_defaults() -> GlobalVariables {
        let values = registry::all().map(|id| id.definition().default_setting()).collect();
        GlobalVariables { values: RwLock::new(Arc::new(values)) }
    }

    pub fn get(&self, id: VariableId) -> Setting {
        self.values.read()[id.0 as usize].clone()
    }

    pub fn set(&self, id: VariableId, setting: Setting) {
        let mut values = self.values.write();
        Arc::make_mut(&mut values)[id.0 as usize] = setting;
    }

    pub fn by_name(&self, name: &'static str) -> Setting {
        self.get(VariableId::known(name))
    }

    fn snapshot(&self) -> Values {
        self.values.read().clone()
    }
}

/// One session's values.
#[derive(Clone)]
pub struct SessionVariables {
    base: Values,
    changed: BTreeMap<VariableId, Setting>,
}

impl SessionVariables {
    pub fn new(globals: &GlobalVariables) -> SessionVariables {
        SessionVariables { base: globals.snapshot(), changed: BTreeMap::new() }
    }

    pub fn get(&self, id: VariableId) -> &Setting {
        debug_assert!(id.definition().scope != Scope::Global, "a global variable has no session value");
        self.changed.get(&id).unwrap_or(&self.base[id.0 as usize])
    }

    pub fn set(&mut self, id: VariableId, setting: Setting) {
        if self.base[id.0 as usize] == setting {
            self.changed.remove(&id);
        } else {
            self.changed.insert(id, setting);
        }
    }

    pub fn by_name(&self, name: &'static str) -> &Setting {
        self.get(VariableId::known(name))
    }

    pub fn set_by_name(&mut self, name: &'static str, setting: Setting) {
        self.set(VariableId::known(name), setting);
    }
}
