//! `evenkeel ping`: whether a server answers, for health checks and scripts that wait for a start.
//!
//! Invariant: a server that refuses the login is alive, as for `mysqladmin ping`, unless `--login` asks for one.

use std::time::{Duration, Instant};

use bench::Result;
use clap::Args;
use client::{Answer, Connection, Dsn, Error};

use crate::output::say;

/// Between two tries of `--wait`.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Args)]
pub struct Ping {
    /// The server: mysql://user:password@host:port.
    #[arg(long, default_value = "mysql://ping@127.0.0.1:3306")]
    dsn: String,
    /// Seconds that one answer may take.
    #[arg(long, default_value_t = 5)]
    timeout: u64,
    /// Seconds to go on trying while nothing answers.
    #[arg(long, default_value_t = 0)]
    wait: u64,
    /// Only a login that succeeds counts, and a statement that is answered.
    #[arg(long)]
    login: bool,
}

impl Ping {
    pub fn run(&self) -> Result<bool> {
        let dsn = Dsn::parse(&self.dsn).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let until = Instant::now() + Duration::from_secs(self.wait);
        loop {
            let limit = Duration::from_secs(self.timeout.max(1));
            let answer = runtime.block_on(async { tokio::time::timeout(limit, self.ask(&dsn)).await });
            let reason = match answer {
                Ok(Ok(())) => {
                    say!("the server is alive");
                    return Ok(true);
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer within {} s", self.timeout.max(1)),
            };
            if Instant::now() >= until {
                return Err(format!("{}:{} does not serve: {reason}", dsn.host, dsn.port));
            }
            std::thread::sleep(PAUSE);
        }
    }

    async fn ask(&self, dsn: &Dsn) -> std::result::Result<(), Error> {
        match Connection::connect(dsn).await {
            Ok(mut connection) => connection.query("SELECT 1", &mut Answer::default()).await,
            Err(Error::Server { .. }) if !self.login => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ping(dsn: &str) -> Ping {
        Ping { dsn: dsn.into(), timeout: 1, wait: 0, login: false }
    }

    #[test]
    fn nobody_there_is_a_failure_with_its_reason() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let silent = ping(&format!("mysql://u@127.0.0.1:{port}")).run();
        assert!(silent.expect_err("it says nothing").contains("no answer within 1 s"));
        drop(listener);
        assert!(ping(&format!("mysql://u@127.0.0.1:{port}")).run().is_err());
    }
}
