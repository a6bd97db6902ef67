//! CHANGE REPLICATION SOURCE TO, and START, STOP and RESET REPLICA.
//!
//! Invariant: what a channel is to do is stored before it does it; settings change only while nobody uses them. `options` reads the
//! options, `filter` changes filters, `until` is where an applier ends, `domains` sets the identifiers of MariaDB, `errors` has MySQL's errors.
mod domains;
mod errors;
mod filter;
mod options;
mod until;

use std::sync::Arc;

use auth::DynamicPrivilege;
use binlog::{GtidSet, MariaDbPosition};
use datum::{SqlError, error_code};
use instance::replication::{Applied, Channel, Part, SourceSettings, Until};
use parser::ast::{ChangeReplicationSource, ExprKind, ReplicaControl};

pub(crate) use self::errors::ER_REPLICA_CHANNEL_DOES_NOT_EXIST;
use self::errors::*;
use self::options::{Change, Given};
use crate::caller::Caller;
use session::Shield;
use session::syntax_error_at;
use session::{Done, Request};

/// Where the events of a file begin.
const FIRST_POSITION: u64 = 4;

impl Caller<'_> {
    fn require_replica_admin(&self) -> Result<(), SqlError> {
        self.require_super_or(&[DynamicPrivilege::ReplicationSlaveAdmin], "SUPER or REPLICATION_SLAVE_ADMIN")
    }

    /// The channels that a statement is about.
    fn channels(&self, name: Option<&str>) -> Result<Vec<Arc<Channel>>, SqlError> {
        let replication = &self.instance().replication;
        match name {
            None => Ok(replication.channels()),
            Some(name) => match replication.channel(name) {
                Some(channel) => Ok(vec![channel]),
                None if name.is_empty() => Ok(Vec::new()),
                None => Err(ER_REPLICA_CHANNEL_DOES_NOT_EXIST.with(&[&name])),
            },
        }
    }

    pub(super) async fn change_source(
        &mut self,
        change: &ChangeReplicationSource<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        self.require_replica_admin()?;
        let name = &change.channel.unwrap_or("").to_lowercase();
        let found = self.instance().replication.channel(name);
        let before = found.as_ref().map(|channel| channel.settings.lock().clone()).unwrap_or_default();
        let was_automatic = before.auto_position;
        let mut changed = Change::of(before);
        for (option, value) in change.options {
            let option = option.name.to_lowercase();
            if option == "ignore_server_ids"
                && let ExprKind::Row(members) = &value.kind
            {
                changed.settings.ignore_server_ids.clear();
                for member in *members {
                    let (value, _) = self.evaluate_one(member, request, shield).await?;
                    let id = Given { name: &option, value: &value }.number()?;
                    changed.settings.ignore_server_ids.push(id);
                }
                continue;
            }
            let (value, _) = self.evaluate_one(value, request, shield).await?;
            if !changed.set(&Given { name: &option, value: &value })? {
                return Err(syntax_error_at(option.as_bytes(), 0));
            }
        }
        if let Some(channel) = &found {
            if changed.names_connection && channel.is_running(Part::Receiver) {
                return Err(ER_REPLICA_IO_THREAD_MUST_STOP.with(&[&name]));
            }
            if changed.names_delay && channel.is_running(Part::Applier) {
                return Err(ER_REPLICA_SQL_THREAD_MUST_STOP.with(&[&name]));
            }
        }
        let names_place = changed.file.is_some() || changed.position.is_some();
        if changed.settings.auto_position && names_place {
            return Err(ER_BAD_REPLICA_AUTO_POSITION.plain());
        }
        let mode = self.instance().globals.by_name("gtid_mode");
        if changed.settings.auto_position && !was_automatic && mode.as_text() != "ON" {
            return Err(ER_AUTO_POSITION_REQUIRES_GTID_MODE_ON.plain());
        }
        if changed.names_account {
            self.shared().note(ER_INSECURE_PLAIN_TEXT.plain());
            self.shared().note(ER_INSECURE_CHANGE_SOURCE.plain());
        }
        self.store_source(name, found, changed, shield).await?;
        Ok(Done::ok())
    }

    async fn store_source(
        &self,
        name: &str,
        found: Option<Arc<Channel>>,
        changed: Change,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        let before = found.as_ref().map(|channel| (channel.settings.lock().clone(), channel.applied()));
        let mut applied = before.as_ref().map_or_else(Applied::default, |(_, applied)| applied.clone());
        let new = &changed.settings;
        let is_elsewhere =
            before.as_ref().is_some_and(|(old, _)| old.host != new.host || old.port != new.port);
        let is_placed = changed.file.is_some() || changed.position.is_some();
        if is_elsewhere && !is_placed {
            (applied.file, applied.position) = (String::new(), FIRST_POSITION);
        }
        if let Some(file) = changed.file {
            (applied.file, applied.position) = (file, FIRST_POSITION);
        }
        applied.position = changed.position.unwrap_or(applied.position).max(FIRST_POSITION);
        let mut change = self.instance().catalog().begin_change();
        change.put_channel(name, Some(&changed.settings.encode())).await?;
        let bytes = applied.encode();
        change.remove_applied(name).await?;
        catalog::put_applied(change.transaction(), name, None, &bytes).await?;
        self.commit_unlogged(change, shield).await?;
        let channel = found.unwrap_or_else(|| self.instance().replication.add(name));
        *channel.settings.lock() = changed.settings;
        channel.set_applied(applied, Some(bytes.len()));
        Ok(())
    }

    pub(super) async fn control_replica(
        &mut self,
        control: &ReplicaControl<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        self.require_replica_admin()?;
        let until = self.until(control.until, request, shield).await?;
        let words: Vec<String> = control
            .rest
            .split([' ', ',', '\t', '\n', '\r'])
            .filter(|word| !word.is_empty())
            .map(str::to_uppercase)
            .collect();
        if control.action == "RESET" {
            return self.reset_replica(control, &words, shield).await;
        }
        let mut parts = Vec::new();
        for word in &words {
            match word.as_str() {
                "IO_THREAD" => parts.push(Part::Receiver),
                "SQL_THREAD" => parts.push(Part::Applier),
                "USER" | "PASSWORD" | "DEFAULT_AUTH" | "PLUGIN_DIR" => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&format!("START REPLICA {word}")]));
                }
                _ if word.contains('=') => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"options of START REPLICA"]));
                }
                _ => return Err(syntax_error_at(control.rest.as_bytes(), 0)),
            }
        }
        if parts.is_empty() {
            parts.extend(Part::BOTH);
        }
        match control.action {
            "START" => self.start_replica(control.channel, &parts, &until),
            _ => self.stop_replica(control.channel, &parts).await,
        }
    }

    fn start_replica(&self, name: Option<&str>, parts: &[Part], until: &Until) -> Result<Done, SqlError> {
        let channels = self.channels(name)?;
        if channels.is_empty() || channels.iter().any(|channel| channel.settings.lock().host.is_empty()) {
            return Err(ER_BAD_REPLICA.plain());
        }
        for channel in channels {
            if parts.contains(&Part::Applier) && !channel.is_running(Part::Applier) {
                if matches!(until, Until::Position { .. }) && !self.skips_replica_start() {
                    self.shared().note(ER_MISSING_SKIP_REPLICA.plain());
                }
                *channel.until.lock() = until.clone();
            } else if *until != Until::Never {
                self.shared().note(ER_UNTIL_COND_IGNORED.plain());
            }
            let started = parts.iter().filter(|part| self.instance().replication.start(&channel, **part));
            if started.count() == 0 {
                self.shared().note(ER_REPLICA_IS_RUNNING.with(&[&channel.name]));
            }
        }
        Ok(Done::ok())
    }

    fn skips_replica_start(&self) -> bool {
        self.instance().global_variable("skip_replica_start") == "ON"
    }

    async fn stop_replica(&self, name: Option<&str>, parts: &[Part]) -> Result<Done, SqlError> {
        for channel in self.channels(name)? {
            let running: Vec<Part> = parts.iter().copied().filter(|part| channel.is_running(*part)).collect();
            if running.is_empty() {
                self.shared().note(ER_REPLICA_WAS_NOT_RUNNING.with(&[&channel.name]));
            }
            running.iter().for_each(|part| channel.stop(*part));
            for part in running {
                channel.wait_for_end(part).await;
            }
        }
        Ok(Done::ok())
    }

    /// RESET BINARY LOGS AND GTIDS: what channels have applied has no identifiers any more; their places in the files of the sources stay.
    pub(super) async fn forget_applied(&self, shield: &Shield) -> Result<(), SqlError> {
        let replication = &self.instance().replication;
        let channels = replication.channels();
        if let Some(running) = channels.iter().find(|channel| channel.is_running(Part::Applier)) {
            return Err(ER_REPLICA_MUST_STOP.with(&[&running.name]));
        }
        let mut change = self.instance().catalog().begin_change();
        for name in replication.detached_names() {
            change.remove_applied(&name).await?;
        }
        let mut forgotten = Vec::with_capacity(channels.len());
        for channel in channels {
            let applied = Applied {
                executed: GtidSet::new(),
                domains: MariaDbPosition::default(),
                ..channel.applied()
            };
            let bytes = applied.encode();
            change.remove_applied(&channel.name).await?;
            catalog::put_applied(change.transaction(), &channel.name, None, &bytes).await?;
            forgotten.push((channel, applied, bytes.len()));
        }
        self.commit_unlogged(change, shield).await?;
        replication.forget_detached();
        for (channel, applied, stored_bytes) in forgotten {
            channel.set_applied(applied, Some(stored_bytes));
        }
        Ok(())
    }

    async fn reset_replica(
        &self,
        control: &ReplicaControl<'_>,
        words: &[String],
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let is_all = match words {
            [] => false,
            [word] if word == "ALL" => true,
            _ => return Err(syntax_error_at(control.rest.as_bytes(), 0)),
        };
        let channels = self.channels(control.channel)?;
        if let Some(running) = channels.iter().find(|channel| channel.runs()) {
            return Err(ER_REPLICA_MUST_STOP.with(&[&running.name]));
        }
        for channel in channels {
            let mut change = self.instance().catalog().begin_change();
            // What was executed stays so: only the place in the source's files is forgotten.
            let applied = Applied {
                position: FIRST_POSITION,
                executed: channel.applied().executed,
                ..Applied::default()
            };
            let bytes = applied.encode();
            change.remove_applied(&channel.name).await?;
            if is_all {
                change.put_channel(&channel.name, None).await?;
            }
            catalog::put_applied(change.transaction(), &channel.name, None, &bytes).await?;
            self.commit_unlogged(change, shield).await?;
            channel.set_applied(applied, Some(bytes.len()));
            *channel.status.lock() = Default::default();
            *channel.until.lock() = Until::Never;
            if is_all {
                *channel.settings.lock() = SourceSettings::default();
                self.instance().replication.remove(&channel.name);
            }
        }
        Ok(Done::ok())
    }
}
