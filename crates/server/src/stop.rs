//! What makes the program end or look at its logs anew: signals, SHUTDOWN and RESTART.
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use instance::{Instance, StopKind};
use tokio::sync::Notify;

/// MySQL's exit code by which a supervisor knows that the server wants to be started again.
pub(crate) const RESTART_EXIT_CODE: u8 = 16;
/// A supervisor puts its own process id here.
const SUPERVISOR_VARIABLE: &str = "MYSQLD_PARENT_PID";

const NOTHING: u8 = 0;
const SHUTDOWN: u8 = 1;
const RESTART: u8 = 2;

/// A request of a session that the program end.
#[derive(Clone, Default)]
pub(crate) struct StopRequests(Arc<(AtomicU8, Notify)>);

impl StopRequests {
    /// Sessions of the instance may ask from now on.
    pub(crate) fn listen_to(&self, instance: &Instance) {
        let requests = self.clone();
        let stop = move |kind| {
            let wish = if kind == StopKind::Restart { RESTART } else { SHUTDOWN };
            let (state, notify) = &*requests.0;
            // The first one counts.
            let _ = state.compare_exchange(NOTHING, wish, SeqCst, SeqCst);
            notify.notify_one();
        };
        instance.stopper.set(Box::new(stop), is_supervised());
    }

    /// Waits for one; says what it was.
    pub(crate) async fn wait(&self) -> &'static str {
        let (state, notify) = &*self.0;
        loop {
            match state.load(SeqCst) {
                NOTHING => notify.notified().await,
                RESTART => return "RESTART",
                _ => return "SHUTDOWN",
            }
        }
    }

    pub(crate) fn wants_restart(&self) -> bool {
        self.0.0.load(SeqCst) == RESTART
    }
}

fn is_supervised() -> bool {
    let parent = std::os::unix::process::parent_id();
    std::env::var(SUPERVISOR_VARIABLE).is_ok_and(|id| id.trim().parse() == Ok(parent))
}
