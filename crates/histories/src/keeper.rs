//! Keeps a server running that is to be killed: starts the program, sends it SIGKILL, starts it again.
//!
//! Invariant: the program it started is gone when the keeper is.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use histories::Server;

const START_MAX: Duration = Duration::from_secs(120);
/// Between two kills the server runs for a time between these.
const RUN_MS_MIN: u64 = 200;
const RUN_MS_MAX: u64 = 5_000;

pub struct Keeper {
    program: Command,
    child: Child,
    server: Server,
    pub kills: u32,
}

impl Keeper {
    pub fn start(program: &Path, directory: &Path, server: &Server) -> Result<Keeper, String> {
        let mut command = Command::new(program);
        command.arg("serve").arg(format!("--datadir={}", directory.join("data").display()));
        command.arg(format!("--port={}", server.port));
        command.arg(format!("--socket={}", directory.join("sock").display()));
        command.arg(format!("--log-error={}", directory.join("log").display()));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
        let mut keeper = Keeper { program: command, child, server: server.clone(), kills: 0 };
        keeper.wait_until_ready()?;
        Ok(keeper)
    }

    /// Lets it run for some time, kills it and starts it again.
    pub fn disturb(&mut self) {
        // Chance of its own: how far the transactions have come when the kill arrives is chance anyway.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run_ms = RUN_MS_MIN + u64::from(now.subsec_nanos()) % (RUN_MS_MAX - RUN_MS_MIN);
        std::thread::sleep(Duration::from_millis(run_ms));
        self.end();
        self.kills += 1;
        let restarted = self.program.spawn().map_err(|error| error.to_string());
        let ready = restarted.and_then(|child| {
            self.child = child;
            self.wait_until_ready()
        });
        // The clients find out: none of them gets a connection.
        if let Err(error) = ready {
            eprintln!("the server does not come back: {error}");
        }
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + START_MAX;
        while !self.server.answers() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the server ended with {status}"));
            }
            if Instant::now() > deadline {
                return Err("the server does not answer".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn end(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}
