//! What happens when an assertion fails: the storage layers stop the process, everything above only its client.
//!
//! Invariant: after a broken invariant in the storage crates nothing more is written. The process aborts and the
//! next start recovers from the log; going on with half-changed pages could make damage permanent. A panic
//! elsewhere unwinds one connection's task, whose transaction then rolls back. Called once by `start`.

use std::panic::PanicHookInfo;

/// Source folders whose panics end the process. `track_caller` makes a failed index or `expect` count as theirs.
const STORAGE_CRATES: [&str; 6] = ["env", "wal", "pagestore", "buffer", "btree", "engine"];

pub(crate) fn install() {
    std::panic::set_hook(Box::new(report));
}

fn report(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = panic.location().map_or_else(String::new, |location| format!(" at {location}"));
    let trace = std::backtrace::Backtrace::force_capture();
    crate::log::error(&format!("panic{place}: {text}"));
    eprintln!("{trace}");
    if panic.location().is_some_and(|location| is_storage(location.file())) {
        crate::log::error("the storage layer cannot go on: aborting, the next start will recover");
        std::process::abort();
    }
}

fn is_storage(file: &str) -> bool {
    STORAGE_CRATES.iter().any(|name| file.contains(&format!("crates/{name}/src/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_told_from_the_rest() {
        assert!(is_storage("crates/btree/src/node/split.rs"));
        assert!(is_storage("/somewhere/crates/engine/src/commit.rs"));
        assert!(!is_storage("crates/session/src/session.rs"));
        assert!(!is_storage("/registry/src/tokio-1.54.1/src/runtime/task.rs"));
    }
}
