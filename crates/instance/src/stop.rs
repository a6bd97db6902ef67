//! SHUTDOWN and RESTART: what a session asks of the program.
use std::sync::OnceLock;

/// How the program is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    Shutdown,
    /// By the exit code that a supervisor starts the program again for.
    Restart,
}

type Stop = Box<dyn Fn(StopKind) + Send + Sync>;

/// The way to end the program; supplied by it.
#[derive(Default)]
pub struct Stopper {
    stop: OnceLock<Stop>,
    is_supervised: OnceLock<bool>,
}

impl Stopper {
    /// Once, at start. `is_supervised`: somebody starts the program again when it asks for that.
    pub fn set(&self, stop: Stop, is_supervised: bool) {
        let _ = self.stop.set(stop);
        let _ = self.is_supervised.set(is_supervised);
    }

    pub fn can_restart(&self) -> bool {
        self.is_supervised.get().copied().unwrap_or(false)
    }

    /// Asks the program to end; it goes on for as long as that takes.
    pub fn stop(&self, kind: StopKind) {
        if let Some(stop) = self.stop.get() {
            stop(kind);
        }
    }
}
