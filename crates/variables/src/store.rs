//! The values: one set for the server, and in each session what differs from it.
//!
//! Invariant: every stored value has passed `convert`. A session keeps the global values as they were when it
//! began, so a later SET GLOBAL does not reach it (as in MySQL), and pays memory only for what it changed.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::RwLock;

use super::definition::{Scope, Setting};
use super::registry::{self, VariableId};

type Values = Arc<Vec<Setting>>;

/// The values of SET GLOBAL.
pub struct GlobalVariables {
    /// Replaced as a whole by a change: sessions share the vector. A leaf lock.
    values: RwLock<Values>,
    /// What `read_only` and `super_read_only` say, for every change and commit to see.
    write_protection: AtomicU8,
}

/// Who may not change data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteProtection {
    None,
    /// All but administrators: `read_only`.
    Users,
    /// `super_read_only`.
    All,
}

const READ_ONLY: &str = "read_only";
const SUPER_READ_ONLY: &str = "super_read_only";

/// SET of these waits for what runs.
pub fn is_write_protection(id: VariableId) -> bool {
    matches!(id.definition().name, READ_ONLY | SUPER_READ_ONLY)
}

impl GlobalVariables {
    pub fn with_defaults() -> GlobalVariables {
        let values = registry::all().map(|id| id.definition().default_setting()).collect();
        GlobalVariables { values: RwLock::new(Arc::new(values)), write_protection: AtomicU8::new(0) }
    }

    pub fn get(&self, id: VariableId) -> Setting {
        self.values.read()[id.0 as usize].clone()
    }

    pub fn set(&self, id: VariableId, setting: Setting) {
        let is_on = setting.as_boolean();
        let mut values = self.values.write();
        let values = Arc::make_mut(&mut values);
        values[id.0 as usize] = setting;
        if !is_write_protection(id) {
            return;
        }
        let [some, all] = [READ_ONLY, SUPER_READ_ONLY].map(|name| VariableId::known(name).0 as usize);
        // `super_read_only` includes `read_only`, so the one goes on and the other off with it.
        if is_on && values[all].as_boolean() {
            values[some] = Setting::Boolean(true);
        }
        if !values[some].as_boolean() {
            values[all] = Setting::Boolean(false);
        }
        let level = u8::from(values[some].as_boolean()) + u8::from(values[all].as_boolean());
        self.write_protection.store(level, Ordering::SeqCst);
    }

    pub fn write_protection(&self) -> WriteProtection {
        match self.write_protection.load(Ordering::SeqCst) {
            0 => WriteProtection::None,
            1 => WriteProtection::Users,
            _ => WriteProtection::All,
        }
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
