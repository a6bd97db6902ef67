//! `evenkeel backup`: has a server copy its data to a new directory of its host, or send a backup that becomes a file here or an object
//! of a store, and shows how far it is.
//!
//! Invariant: the copy is the server's own work (CLONE LOCAL DATA DIRECTORY, BACKUP INSTANCE); this command asks, watches, packs what
//! comes (`backup_file`) and says what to do with it. It ends with 0 only when the copy is whole.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bench::Result;
use clap::Args;
use client::{Answer, Connection, Dsn};
use objects::Location;

use crate::backup_file::{FilePlan, Target, Written};
use crate::output::say;

const LOOK: Duration = Duration::from_millis(500);

#[derive(Args)]
pub struct Backup {
    /// The server: mysql://user:password@host:port. The account needs BACKUP_ADMIN.
    #[arg(long, default_value = "mysql://root@127.0.0.1:3306")]
    dsn: String,
    /// The directory to make, as the server's host knows it, which must not exist; or - for a backup file on standard output; or
    /// s3://BUCKET/KEY for a backup file in a store, which the variables AWS_* of the environment name.
    #[arg(long, required_unless_present = "to_file")]
    to: Option<String>,
    /// Or the backup file to make here; it may be compressed, encrypted and an increment.
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    to_file: Option<PathBuf>,
    /// Only what has changed since this backup file or s3:// object, full or increment, was begun.
    #[arg(long, value_name = "FILE")]
    incremental_from: Option<PathBuf>,
    /// Compress as zstd does, at a level from 1 to 19.
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "3", require_equals = true,
          value_parser = clap::value_parser!(i32).range(1..=19))]
    compress: Option<i32>,
    /// Encrypt with the key in this file: 32 bytes or more. Without it nobody can read the backup.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Read so many bytes of pages in a second at most: 50M.
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    max_rate: Option<u64>,
    /// Say nothing until the end.
    #[arg(long)]
    quiet: bool,
}

impl Backup {
    pub fn run(&self) -> Result<bool> {
        let target = match (&self.to, &self.to_file) {
            (Some(to), _) if to == "-" => Target::Output,
            (Some(to), _) if Location::is_one(to) => Target::Object(Location::parse(to)?.named()),
            (_, Some(file)) => Target::File(file.clone()),
            (Some(to), None) => return self.copy_directory(to),
            (None, None) => return Err("say where the backup goes: --to or --to-file".into()),
        };
        let dsn = Dsn::parse(&self.dsn).map_err(|error| error.to_string())?;
        let begun = Instant::now();
        let is_output = matches!(target, Target::Output);
        let name = match &target {
            Target::Output => "-".to_owned(),
            Target::File(path) => path.display().to_string(),
            Target::Object(at) => at.to_string(),
        };
        let plan = FilePlan {
            target,
            base: self.incremental_from.clone(),
            level: self.compress,
            key_file: self.key_file.clone(),
            bytes_per_second: self.max_rate.unwrap_or(0),
            is_quiet: self.quiet,
        };
        let written = runtime()?.block_on(plan.run(&dsn))?;
        let text = self.describe(&name, &written, begun.elapsed());
        match is_output {
            true => eprintln!("{text}"),
            false => say!("{text}"),
        }
        Ok(true)
    }

    fn describe(&self, name: &str, written: &Written, took: Duration) -> String {
        let Written { head, to_lsn, bytes, pages } = written;
        let kind = if head.base == 0 { "a full backup" } else { "an increment" };
        let megabytes = bytes.div_ceil(1 << 20);
        let mut text = format!(
            "{name} is {kind} up to LSN {to_lsn}: {pages} pages, {megabytes} MB, made in {:.1} s",
            took.as_secs_f64()
        );
        if head.base != 0 && !head.is_partial {
            text.push_str(
                "\nit has all pages: what had changed since its base is not known any more (the base is of before a restore or a change of \
                 data directory, or the list was lost)",
            );
        }
        let key =
            self.key_file.as_ref().map_or(String::new(), |key| format!(" --key-file {}", key.display()));
        text.push_str(&format!("\ncheck it:     evenkeel verify {name}{key}"));
        let restore = match head.base {
            0 => format!("--from {name}"),
            _ => format!("--from FULL --increment .. --increment {name}"),
        };
        text.push_str(&format!("\nrestore it:   evenkeel restore {restore}{key} --to DATADIR"));
        text
    }

    fn copy_directory(&self, to: &str) -> Result<bool> {
        if self.incremental_from.is_some()
            || self.compress.is_some()
            || self.key_file.is_some()
            || self.max_rate.is_some()
        {
            return Err(
                "--incremental-from, --compress, --key-file and --max-rate are for backup files: --to-file FILE, --to s3://BUCKET/KEY or --to -".into(),
            );
        }
        let path = std::path::absolute(to).map_err(|error| format!("{to}: {error}"))?;
        let path = path.to_str().ok_or("the directory's name is no UTF-8")?.to_owned();
        let dsn = Dsn::parse(&self.dsn).map_err(|error| error.to_string())?;
        let runtime = runtime()?;
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

fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| format!("cannot start: {error}"))
}

/// A number of bytes that may end in K, M, G or T.
fn parse_size(text: &str) -> Result<u64> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, unit)) if unit.is_ascii_alphabetic() => {
            let shift = match unit.to_ascii_uppercase() {
                'K' => 10,
                'M' => 20,
                'G' => 30,
                'T' => 40,
                _ => return Err(format!("'{text}' is no number of bytes")),
            };
            (&text[..at], shift)
        }
        _ => (text, 0),
    };
    let number: Option<u64> = digits.parse().ok().and_then(|number: u64| number.checked_mul(1 << shift));
    number.filter(|number| *number > 0).ok_or_else(|| format!("'{text}' is no number of bytes"))
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
