//! Makes this server, which is new, a copy of another one and its replica: `evenkeel replicate`.
//!
//! Invariant: what is copied is one moment of the source, and the channel that is made begins at that moment, so nothing is missed
//! and nothing comes twice. Whatever is copied stays out of the own binary log. The program calls it before clients are let in.
//!
//! `origin` is the source, `schema`, `rows`, `programs` and `accounts` are what is copied, in that order; `progress` tells of it.
mod accounts;
mod insert_text;
mod names;
mod origin;
mod programs;
mod progress;
mod rows;
mod schema;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::{Dsn, TlsMode};
use instance::Instance;
use session::Session;

pub use self::insert_text::InsertText;
pub use self::names::{literal, quoted};
pub use self::origin::Facts;
use self::origin::{Moment, Origin};
use self::progress::Progress;

/// Which server is to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySource(Dsn);

impl CopySource {
    /// Reads `mysql://user:password@host:port`; `password` is for one that has none in it.
    pub fn parse(text: &str, password: Option<String>) -> Result<CopySource, String> {
        let mut dsn = Dsn::parse(text).map_err(|error| error.to_string().replacen("--dsn", "--from", 1))?;
        if dsn.socket.is_some() {
            return Err(
                "--from: a replica follows over TCP: give host and port instead of a socket".to_owned()
            );
        }
        if !dsn.database.is_empty() {
            return Err("--from: all databases are copied: leave the name of one out".to_owned());
        }
        if dsn.password.is_empty() {
            dsn.password = password.unwrap_or_default();
        }
        Ok(CopySource(dsn))
    }

    /// Asks the source whether it can be copied, before anything is done.
    pub async fn look(&self) -> Result<Facts, String> {
        let mut origin = Origin::connect(&self.0).await?;
        let facts = origin.look().await?;
        origin.connection.quit().await;
        Ok(facts)
    }

    /// Whether a channel of the server follows this source.
    pub fn is_followed_by(&self, instance: &Instance) -> bool {
        let is_it = |channel: &Arc<instance::replication::Channel>| {
            let settings = channel.settings.lock();
            settings.host == self.0.host && settings.port == u32::from(self.0.port)
        };
        instance.replication.channels().iter().any(is_it)
    }

    fn change_statement(&self, facts: &Facts, moment: &Moment) -> String {
        let dsn = &self.0;
        let flag = |set: bool| u8::from(set);
        let authority = dsn.authority.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let place = match facts.has_gtids {
            true => "SOURCE_AUTO_POSITION = 1".to_owned(),
            false => {
                let file = literal(&moment.file);
                format!(
                    "SOURCE_AUTO_POSITION = 0, SOURCE_LOG_FILE = {file}, SOURCE_LOG_POS = {}",
                    moment.position
                )
            }
        };
        format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = {}, SOURCE_PORT = {}, SOURCE_USER = {}, SOURCE_PASSWORD = {}, \
             SOURCE_SSL = {}, SOURCE_SSL_VERIFY_SERVER_CERT = {}, SOURCE_SSL_CA = {}, GET_SOURCE_PUBLIC_KEY = {}, {place}",
            literal(&dsn.host),
            dsn.port,
            literal(&dsn.user),
            literal(&dsn.password),
            flag(dsn.tls != TlsMode::Disabled),
            flag(dsn.tls == TlsMode::Verify),
            literal(&authority),
            flag(dsn.asks_for_key),
        )
    }
}

/// What goes on between the two servers.
struct Copy<'a> {
    origin: Origin,
    session: Session,
    progress: Progress<'a>,
    stop: &'a AtomicBool,
}

/// What is to be copied, and what is told of it.
pub struct CopyPlan<'a> {
    /// The server that is copied.
    pub source: &'a CopySource,
    /// What it has said.
    pub facts: &'a Facts,
    /// An earlier copy has left something.
    pub begins_anew: bool,
    /// Statements that end it, which set what stays set.
    pub last: &'a [String],
    /// Gets a line of progress now and then.
    pub teller: &'a dyn Fn(&str),
    /// Set by whoever wants it to end early.
    pub stop: &'a AtomicBool,
}

/// Copies; afterwards the server has a channel that waits to be started.
pub async fn copy(
    instance: Arc<Instance>,
    families: &'static dyn session::Families,
    plan: CopyPlan<'_>,
) -> Result<(), String> {
    let origin = Origin::connect(&plan.source.0).await?;
    let session = Session::of_server(instance, families);
    let progress = Progress::new(plan.teller);
    let mut copy = Copy { origin, session, progress, stop: plan.stop };
    let result = copy.run(&plan).await;
    let Copy { origin, session, .. } = copy;
    session.close().await;
    if result.is_ok() {
        origin.connection.quit().await;
    }
    result
}

impl Copy<'_> {
    async fn run(&mut self, plan: &CopyPlan<'_>) -> Result<(), String> {
        self.obey("SET sql_log_bin = 0").await?;
        self.obey_settings().await?;
        if plan.begins_anew {
            self.begin_anew().await?;
        }
        let (moment, holds_definitions) = self.origin.hold().await?;
        if !holds_definitions {
            self.progress.tell(
                "without the right BACKUP_ADMIN: a table that is altered at the source meanwhile ends it",
            );
        }
        let databases = self.databases().await?;
        let relations = self.relations(&databases).await?;
        let tables = relations.iter().filter(|relation| !relation.is_view);
        let bytes = tables.clone().map(|table| table.bytes).sum();
        self.progress.expect(tables.clone().count(), bytes);
        self.progress.tell(&format!(
            "{} databases with {} tables of {} ({})",
            databases.len(),
            tables.clone().count(),
            plan.source.0,
            plan.facts.version
        ));
        self.create_databases(&databases).await?;
        self.create_tables(&relations).await?;
        for table in tables {
            self.copy_rows(&table.database, &table.name, table.bytes).await?;
        }
        let grants = self.copy_accounts().await?;
        // Definers need their rights when views are made.
        let grants = self.grant(grants).await?;
        self.copy_routines(&databases).await?;
        self.create_views(&relations).await?;
        self.copy_triggers(&databases).await?;
        self.copy_events(&databases).await?;
        self.grant_rest(grants).await;
        self.attach(plan, &moment).await
    }

    /// Where the copy ends replication begins.
    async fn attach(&mut self, plan: &CopyPlan<'_>, moment: &Moment) -> Result<(), String> {
        if plan.facts.has_gtids {
            self.obey(&format!("SET GLOBAL gtid_purged = {}", literal(&moment.gtids))).await?;
        }
        let change = plan.source.change_statement(plan.facts, moment);
        self.obey(&change).await?;
        for sql in plan.last {
            self.obey(sql).await?;
        }
        self.progress.end(&format!("replication goes on at {}:{}", moment.file, moment.position));
        Ok(())
    }

    /// What rows and definitions are taken over under.
    async fn obey_settings(&mut self) -> Result<(), String> {
        self.obey("SET NAMES utf8mb4").await?;
        self.obey(
            "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone = '+00:00', foreign_key_checks = 0, \
             unique_checks = 0",
        )
        .await
    }

    fn check_stop(&self) -> Result<(), String> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err("the copy was stopped; the same command begins it anew".to_owned()),
            false => Ok(()),
        }
    }

    async fn obey(&mut self, sql: &str) -> Result<(), String> {
        let result = self.session.obey(sql.as_bytes()).await;
        result.map(|_| ()).map_err(|error| format!("error {}: {}", error.errno, error.message))
    }

    async fn obey_in(&mut self, table: &str, sql: &[u8]) -> Result<u16, String> {
        let result = self.session.obey(sql).await;
        result.map_err(|error| format!("table {table}: error {}: {}", error.errno, error.message))
    }

    async fn own(&mut self, sql: &str) -> Result<Vec<String>, String> {
        self.session.list(sql).await.map_err(|error| error.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_whole_server_over_tcp() {
        let source = CopySource::parse("mysql://u@db:3307", Some("p'w".to_owned())).unwrap();
        let facts = Facts { version: "9.7.0".to_owned(), server_id: 1, has_gtids: false };
        let moment = Moment { file: "b.000002".to_owned(), position: 77, gtids: String::new() };
        let change = source.change_statement(&facts, &moment);
        assert!(change.contains("SOURCE_PASSWORD = 'p\\'w'"), "{change}");
        assert!(change.contains("SOURCE_LOG_FILE = 'b.000002', SOURCE_LOG_POS = 77"), "{change}");
        for refused in ["mysql://u@h/d", "mysql://u@h?socket=/s", "pg://h"] {
            assert!(CopySource::parse(refused, None).unwrap_err().starts_with("--from"), "{refused}");
        }
    }
}
