//! TLS as the program offers it: what it is at the moment, and the way to read its files again.
//!
//! Invariant: the names of `status` are those of the files that new connections are served with. Filled by the program; called
//! by SHOW STATUS and ALTER INSTANCE RELOAD TLS.
use std::sync::OnceLock;

use parking_lot::RwLock;

/// Why the files cannot be used.
type Reload = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

#[derive(Default)]
pub struct TlsControl {
    reload: OnceLock<Reload>,
    /// A leaf lock.
    status: RwLock<Vec<(&'static str, String)>>,
}

impl TlsControl {
    /// Once, when the listeners are up: reads the files that the variables name, for new connections.
    pub fn set_reload(&self, reload: Reload) {
        let _ = self.reload.set(reload);
    }

    pub fn reload(&self) -> Result<(), String> {
        match self.reload.get() {
            Some(reload) => reload(),
            None => Err("TLS is off".to_owned()),
        }
    }

    pub fn set_status(&self, status: Vec<(&'static str, String)>) {
        *self.status.write() = status;
    }

    /// Nothing without TLS.
    pub fn status(&self) -> Vec<(&'static str, String)> {
        self.status.read().clone()
    }
}
