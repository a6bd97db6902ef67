//! A backup that comes from the server as rows, into a file, an object of a store or standard output: compressed and encrypted here.
//!
//! Invariant: a file has its name only when it is whole and durable; until then it lies beside it as `.part`, which is removed when something
//! goes wrong; an object exists only when it is whole. Key and plain pages never meet on the server or on the way of the file. Called by `backup_command`.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use archive::{BackupKey, BackupReader, BackupWriter};
use bench::Result;
use client::{Connection, Dsn, fields};
use engine::{BackupHead, BackupRecord};
use objects::{Download, Location, Settings, Upload};

const MEGABYTE: u64 = 1 << 20;
const LOOK: Duration = Duration::from_millis(500);

/// Where it goes.
pub enum Target {
    Output,
    File(PathBuf),
    Object(Location),
}

/// How it is made.
pub struct FilePlan {
    pub target: Target,
    pub base: Option<PathBuf>,
    pub level: Option<i32>,
    pub key_file: Option<PathBuf>,
    pub bytes_per_second: u64,
    pub is_quiet: bool,
}

/// What was written.
pub struct Written {
    pub head: BackupHead,
    pub to_lsn: u64,
    pub bytes: u64,
    pub pages: u64,
}

/// The key in a file.
pub fn read_key(path: Option<&Path>) -> Result<Option<BackupKey>> {
    let Some(path) = path else { return Ok(None) };
    let content =
        fs::read(path).map_err(|error| format!("cannot read the key file {}: {error}", path.display()))?;
    match BackupKey::new(&content) {
        Some(key) => Ok(Some(key)),
        None => Err(format!("the key file {} is too short: it needs 32 bytes or more", path.display())),
    }
}

impl FilePlan {
    /// Has the server make it.
    pub async fn run(&self, dsn: &Dsn) -> Result<Written> {
        let key = read_key(self.key_file.as_deref())?;
        let statement = self.statement(key.as_ref())?;
        match &self.target {
            Target::Output => {
                let mut writer = BackupWriter::begin(io::stdout(), self.level, key.as_ref()).map_err(text)?;
                let written = self.receive(dsn, &statement, &mut writer).await?;
                writer.finish().map_err(text)?;
                Ok(written)
            }
            Target::Object(at) => {
                let upload = Upload::begin(&Settings::of_environment()?, at)?;
                let mut writer = BackupWriter::begin(upload, self.level, key.as_ref()).map_err(text)?;
                let written = self.receive(dsn, &statement, &mut writer).await?;
                writer.finish().map_err(text)?.finish()?;
                Ok(written)
            }
            Target::File(path) => {
                let part = path.with_added_extension("part");
                let written = self.write_file(dsn, &statement, key.as_ref(), path, &part).await;
                if written.is_err() {
                    // It is of no use to anybody.
                    let _ = fs::remove_file(&part);
                }
                written
            }
        }
    }

    fn statement(&self, key: Option<&BackupKey>) -> Result<String> {
        let mut statement = String::from("BACKUP INSTANCE");
        if let Some(base) = &self.base {
            let name = base.display().to_string();
            if Location::is_one(&name) {
                let reader = BackupReader::open(Download::named(&name)?, &name, key).map_err(text)?;
                return Ok(self.limited(format!("{statement} FROM '{}'", reader.head().token())));
            }
            if base.is_dir() {
                return Err(format!(
                    "{name} is a data directory: increments continue a backup in a file (--to-file)"
                ));
            }
            let file = File::open(base).map_err(|error| format!("cannot read {name}: {error}"))?;
            let reader = BackupReader::open(BufReader::new(file), &name, key).map_err(text)?;
            statement.push_str(&format!(" FROM '{}'", reader.head().token()));
        }
        Ok(self.limited(statement))
    }

    fn limited(&self, statement: String) -> String {
        match self.bytes_per_second {
            0 => statement,
            limit => format!("{statement} LIMIT {limit}"),
        }
    }

    async fn write_file(
        &self,
        dsn: &Dsn,
        statement: &str,
        key: Option<&BackupKey>,
        path: &Path,
        part: &Path,
    ) -> Result<Written> {
        let failed = |error: io::Error| format!("cannot write {}: {error}", part.display());
        if path.exists() {
            return Err(format!("{} is there already: name a new file", path.display()));
        }
        let file = BufWriter::with_capacity(MEGABYTE as usize, File::create(part).map_err(failed)?);
        let mut writer = BackupWriter::begin(file, self.level, key).map_err(failed)?;
        let written = self.receive(dsn, statement, &mut writer).await?;
        let file =
            writer.finish().map_err(failed)?.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        fs::rename(part, path).map_err(failed)?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = File::open(directory.unwrap_or(Path::new("."))).map_err(failed)?;
        directory.sync_all().map_err(failed)?;
        Ok(written)
    }

    async fn receive<W: Write>(
        &self,
        dsn: &Dsn,
        statement: &str,
        writer: &mut BackupWriter<W>,
    ) -> Result<Written> {
        let mut connection = Connection::connect(dsn).await.map_err(text)?;
        connection.begin_rows(statement).await.map_err(text)?;
        let mut row = Vec::new();
        let (mut head, mut to_lsn, mut pages) = (None, None, 0);
        let mut show = Show::new(self.is_quiet);
        while connection.next_row(&mut row).await.map_err(text)? {
            let part = fields(&row).next().transpose().map_err(text)?.flatten();
            let part = part.ok_or("the server sent a row that is no part of a backup")?;
            // A part that was damaged on the way is noticed here, not at a restore.
            let record =
                BackupRecord::decode(part).ok_or("the server sent a part that is none of a backup")?;
            writer
                .add(part, matches!(record, BackupRecord::End(_)))
                .map_err(|error| format!("cannot write: {error}"))?;
            match record {
                BackupRecord::Head(found) => head = Some(found),
                BackupRecord::Pages { ids, .. } => pages += ids.len() as u64,
                BackupRecord::Log(_) => {}
                BackupRecord::End(end) => to_lsn = Some(end.to_lsn),
            }
            if let Some(head) = &head {
                show.at(pages, head, writer.written());
            }
        }
        show.end();
        match (head, to_lsn) {
            (Some(head), Some(to_lsn)) => Ok(Written { head, to_lsn, bytes: writer.written(), pages }),
            _ => Err("the server ended the backup too early".into()),
        }
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The progress, in a line that is written over and over.
struct Show {
    is_on: bool,
    begun: Instant,
    last: Instant,
}

impl Show {
    fn new(is_quiet: bool) -> Show {
        let is_on = !is_quiet && io::stderr().is_terminal();
        Show { is_on, begun: Instant::now(), last: Instant::now() }
    }

    fn at(&mut self, pages: u64, head: &BackupHead, written: u64) {
        if !self.is_on || self.last.elapsed() < LOOK {
            return;
        }
        self.last = Instant::now();
        let all = head.pages_total.max(pages).max(1);
        let seconds = self.begun.elapsed().as_secs_f64();
        let left = match pages * 50 > all {
            true => format!(", {:.0} s left", seconds / pages as f64 * (all - pages) as f64),
            false => String::new(),
        };
        let (done, size) = (pages * 100 / all, all * head.page_size_bytes / MEGABYTE);
        let line = format!("{done:3} % of {size} MB, {} MB written{left}", written / MEGABYTE);
        // Progress that cannot be shown is no reason to stop.
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }

    fn end(&self) {
        if self.is_on {
            eprintln!();
        }
    }
}
