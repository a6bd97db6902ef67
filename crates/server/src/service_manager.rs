//! What a service manager such as systemd is told: that the server is ready, that it stops, and that its workers still answer.
//!
//! The protocol is sd_notify(3): datagrams of `NAME=value` to the socket that the environment names. Invariant: without that
//! variable nothing is sent and nothing is asked of the workers. A watchdog is fed only when every worker has answered since
//! the last time, so one that hangs gets the server restarted. Called by `start`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::worker::WorkerPool;

const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";
const WATCHDOG_VARIABLE: &str = "WATCHDOG_USEC";

pub(crate) struct ServiceManager {
    to: Option<(UnixDatagram, SocketAddr)>,
    /// How often the watchdog wants to hear from us: half of what it allows.
    watchdog_interval: Option<Duration>,
    last_fed: Instant,
    pulse: Pulse,
}

impl ServiceManager {
    /// The one that has started this process, if any.
    pub(crate) fn of_environment() -> ServiceManager {
        ServiceManager::new(
            std::env::var(SOCKET_VARIABLE).ok().as_deref(),
            std::env::var(WATCHDOG_VARIABLE).ok().as_deref(),
        )
    }

    fn new(socket: Option<&str>, watchdog_microseconds: Option<&str>) -> ServiceManager {
        let to = socket.and_then(|name| {
            let address = match name.strip_prefix('@') {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(name),
            };
            Some((UnixDatagram::unbound().ok()?, address.ok()?))
        });
        let watchdog: Option<u64> = watchdog_microseconds.and_then(|text| text.parse().ok());
        let watchdog_interval =
            watchdog.filter(|&allowed| allowed > 0 && to.is_some()).map(|us| Duration::from_micros(us / 2));
        ServiceManager { to, watchdog_interval, last_fed: Instant::now(), pulse: Pulse::default() }
    }

    pub(crate) fn ready(&self) {
        self.tell("READY=1\nSTATUS=serving clients");
    }

    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=shutting down");
    }

    /// For a loop that comes by about once in a second: feeds the watchdog when it is due and all workers are alive.
    pub(crate) fn keep_alive(&mut self, pool: &WorkerPool) {
        let Some(interval) = self.watchdog_interval else { return };
        if self.last_fed.elapsed() < interval.saturating_sub(MARGIN) {
            return;
        }
        if self.pulse.all_have_answered() {
            self.tell("WATCHDOG=1");
            self.last_fed = Instant::now();
            self.pulse = Pulse::ask(pool);
        }
    }

    fn tell(&self, state: &str) {
        if let Some((socket, address)) = &self.to {
            // A manager that does not listen any more is no reason to stop serving.
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}

/// The loop that feeds the watchdog may come a second late.
const MARGIN: Duration = Duration::from_secs(1);

/// A question to all workers.
#[derive(Default)]
struct Pulse {
    unanswered: Arc<AtomicUsize>,
}

impl Pulse {
    fn ask(pool: &WorkerPool) -> Pulse {
        let unanswered = Arc::new(AtomicUsize::new(pool.count()));
        for worker in pool.all() {
            let unanswered = unanswered.clone();
            worker.run(move || {
                unanswered.fetch_sub(1, Ordering::Relaxed);
            });
        }
        Pulse { unanswered }
    }

    fn all_have_answered(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(socket: &UnixDatagram) -> Option<String> {
        let mut bytes = [0; 200];
        let length = socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    fn listener(name: &str) -> UnixDatagram {
        let name = format!("evenkeel-{name}-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("the name is short");
        let socket = UnixDatagram::bind_addr(&address).expect("nobody else has the name");
        socket.set_nonblocking(true).expect("sockets can be so");
        socket
    }

    #[test]
    fn a_manager_hears_of_the_start_and_of_the_end() {
        let socket = listener("ready");
        let manager =
            ServiceManager::new(Some(&format!("@evenkeel-ready-{}", std::process::id())), Some("30000000"));
        manager.ready();
        assert_eq!(heard(&socket).as_deref(), Some("READY=1\nSTATUS=serving clients"));
        manager.stopping();
        assert_eq!(heard(&socket).as_deref(), Some("STOPPING=1\nSTATUS=shutting down"));
        assert_eq!(heard(&socket), None);
    }

    #[test]
    fn a_watchdog_is_fed_only_while_all_workers_answer() {
        let socket = listener("watchdog");
        let name = format!("@evenkeel-watchdog-{}", std::process::id());
        let mut manager = ServiceManager::new(Some(&name), Some("2"));
        let (pool, threads) =
            WorkerPool::start(2, crate::options::SessionMoves::Never).expect("threads can start");
        manager.keep_alive(&pool);
        assert_eq!(heard(&socket).as_deref(), Some("WATCHDOG=1"));
        while !manager.pulse.all_have_answered() {
            std::thread::yield_now();
        }
        let (hold, held) = std::sync::mpsc::channel::<()>();
        pool.first().run(move || {
            let _ = held.recv();
        });
        manager.keep_alive(&pool);
        assert_eq!(heard(&socket).as_deref(), Some("WATCHDOG=1"), "both had answered the question before");
        manager.keep_alive(&pool);
        assert_eq!(heard(&socket), None, "one of them hangs");
        drop(hold);
        while !manager.pulse.all_have_answered() {
            std::thread::yield_now();
        }
        manager.keep_alive(&pool);
        assert_eq!(heard(&socket).as_deref(), Some("WATCHDOG=1"));
        pool.stop(threads);
    }

    #[test]
    fn without_a_manager_nobody_is_asked() {
        let mut manager = ServiceManager::new(None, Some("2"));
        let (pool, threads) =
            WorkerPool::start(1, crate::options::SessionMoves::Never).expect("threads can start");
        manager.ready();
        manager.keep_alive(&pool);
        assert!(manager.pulse.all_have_answered() && manager.watchdog_interval.is_none());
        pool.stop(threads);
    }
}
