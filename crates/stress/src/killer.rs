//! Kills random connections and queries of a load.
//!
//! Sessions that reconnect enter their new number; a number that has gone meanwhile is error 1094, which is fine.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::session::{Session, Stop};

const NO_SUCH_THREAD: u16 = 1094;

/// The connections that may be killed.
pub struct Targets(Vec<AtomicU32>);

impl Targets {
    pub fn new(sessions: u32) -> Targets {
        Targets((0..sessions).map(|_| AtomicU32::new(0)).collect())
    }

    pub fn enter(&self, session: &Session) {
        self.0[session.number as usize].store(session.connection_id(), Relaxed);
    }
}

/// Kills until told to stop; answers how many queries and connections.
pub fn kill(
    session: &mut Session,
    targets: &Targets,
    per_second: u32,
    stopped: &AtomicBool,
) -> Result<(u64, u64), Stop> {
    let pause = Duration::from_secs(1) / per_second;
    let (mut queries, mut connections) = (0, 0);
    while !stopped.load(Relaxed) {
        std::thread::sleep(pause);
        let target = &targets.0[session.random.below(targets.0.len() as u32) as usize];
        let (what, count) =
            if session.random.one_in(2) { ("QUERY", &mut queries) } else { ("CONNECTION", &mut connections) };
        match session.execute(format!("KILL {what} {}", target.load(Relaxed))) {
            Ok(_) => *count += 1,
            Err(Stop::Refused(NO_SUCH_THREAD, _)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok((queries, connections))
}
