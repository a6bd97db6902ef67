//! `evenkeel backup`: has a server copy its data to a new directory of its host, and shows how far it is.
//!
//! Invariant: the copy is the server's own work (CLONE LOCAL DATA DIRECTORY); this command only asks, watches and says what
//! to do with it. It ends with 0 only when the copy is whole.

use std::time::{Duration, Instant};

use bench::Result;
use clap::Args;
use client::{Answer, Connection, Dsn};

use crate::output::say;

const LOOK: Duration = Duration::from_millis(500);

#[derive(Args)]
pub struct Backup {
    /// The server: mysql://user:password@host:port. The account needs BACKUP_ADMIN.
    #[arg(long, default_value = "mysql://root@127.0.0.1:3306")]
    dsn: String,
    /// The directory to make, as the server's host knows it. It must not exist.
    #[arg(long)]
    to: String,
    /// Say nothing until the end.
    #[arg(long)]
    quiet: bool,
}

impl Backup {
    pub fn run(&self) -> Result<bool> {
        let path = std::path::absolute(&self.to).map_err(|error| format!("{}: {error}", self.to))?;
        let path = path.to_str().ok_or("the directory's name is no UTF-8")?.to_owned();
        let dsn = Dsn::parse(&self.dsn).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start: {error}"))?;
        let begun = Instant::now();
        runtime.block_on(self.copy(&dsn, &path)).map_err(|error| error.to_string())?;
        say!("{path} holds a copy, made in {:.1} s", begun.elapsed().as_secs_f64());
        say!("check it:   evenkeel verify {path}");
        say!("start it:   evenkeel serve --datadir={path} --port=3307");
        Ok(true)
    }

    async fn copy(&self, dsn: &Dsn, path: &str) -> std::result::Result<(), client::Error> {
        let mut connection = Connection::connect(dsn).await?;
        let quoted = path.replace('\\', "\\\\").replace('\'', "''");
        let statement = format!("CLONE LOCAL DATA DIRECTORY = '{quoted}'");
        let mut answer = Answer::default();
        let copied = connection.query(&statement, &mut answer);
        match self.quiet {
            true => copied.await,
            false => {
                let watched = watch(dsn);
                tokio::select! {
                    copied = copied => copied,
                    never = watched => never,
                }
            }
        }
    }
}

/// Shows the progress until it is dropped. A server that does not tell is copied all the same.
async fn watch(dsn: &Dsn) -> std::result::Result<(), client::Error> {
    let Ok(mut connection) = Connection::connect(dsn).await else { return std::future::pending().await };
    let mut answer = Answer::keeping();
    loop {
        tokio::time::sleep(LOOK).await;
        let question = "SELECT STAGE, STATE, ESTIMATE, DATA FROM performance_schema.clone_progress";
        if connection.query(question, &mut answer).await.is_err() {
            return std::future::pending().await;
        }
        for row in 0..answer.rows() {
            let text = |column: usize| answer.cell(row, column).text();
            if text(0) == "PAGE COPY" && text(1) == "In Progress" {
                let (whole, done) = (answer.cell(row, 2).int().max(1), answer.cell(row, 3).int());
                eprint!("\r{:3} % of {} MB ", done.min(whole) * 100 / whole, whole >> 20);
            }
        }
    }
}
