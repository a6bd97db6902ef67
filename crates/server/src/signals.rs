//! Waiting for the operating system's wish that the program end.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// With the signal's name.
    End(&'static str),
    /// The files of the logs are opened by their names again.
    NewLogs,
}

/// SIGTERM and SIGINT; SIGHUP, which only asks for new log files.
#[derive(Debug)]
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl StopSignals {
    /// From here on the signals no longer kill the process.
    pub(crate) fn install() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot wait for signals: {error}");
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            hang_up: signal(SignalKind::hangup()).map_err(failed)?,
        })
    }

    /// What the signal that came asks for.
    pub(crate) async fn wait(&mut self) -> Wish {
        tokio::select! {
            _ = self.terminate.recv() => Wish::End("SIGTERM"),
            _ = self.interrupt.recv() => Wish::End("SIGINT"),
            _ = self.hang_up.recv() => Wish::NewLogs,
        }
    }
}
