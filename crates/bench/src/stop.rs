//! The wish to end: by time, by Ctrl-C, or because something failed.
//!
//! Invariant: the first reason stays. Shared by all threads of a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A flag that everybody looks at between two transactions.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Stop {
    /// Ends what is running; what was measured so far counts.
    pub fn now(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Ends what is running because of `reason`.
    pub fn because(&self, reason: String) {
        let mut failure = self.failure.lock().expect("nobody panics while holding the reason");
        failure.get_or_insert(reason);
        self.now();
    }

    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Why, if it was a failure.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().expect("nobody panics while holding the reason").clone()
    }

    /// Lets Ctrl-C and SIGTERM stop; a second Ctrl-C ends the program at once. Must be called within a runtime.
    pub fn listen(&self) {
        let stop = self.clone();
        tokio::spawn(async move {
            let mut term = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
                Ok(term) => term,
                Err(_) => return,
            };
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = term.recv() => {}
            }
            stop.now();
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
    }
}
