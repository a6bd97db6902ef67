//! CHANGE REPLICATION SOURCE TO, and START, STOP and RESET REPLICA.
//!
//! Invariant: what a channel is to do is stored before it does it; settings change only while nobody uses them.
use std::sync::Arc;

use auth::DynamicPrivilege;
use datum::{ErrorCode, SqlError, Value, error_code};
use instance::replication::{Applied, Channel, Part, SourceSettings};
use parser::ast::{ChangeReplicationSource, ExprKind, ReplicaControl};

use super::guard::Shield;
use super::{Done, Request};
use crate::session::Session;

const ER_BAD_REPLICA: ErrorCode = ErrorCode::new(
    1200,
    "HY000",
    "The server is not configured as replica; fix in config file or with CHANGE REPLICATION SOURCE TO",
);
const ER_REPLICA_CHANNEL_DOES_NOT_EXIST: ErrorCode =
    ErrorCode::new(3074, "HY000", "Replica channel '%s' does not exist.");
const ER_REPLICA_IO_THREAD_MUST_STOP: ErrorCode = ErrorCode::new(
    3021,
    "HY000",
    "This operation cannot be performed with a running replica io thread; run STOP REPLICA IO_THREAD FOR CHANNEL '%s' first.",
);
const ER_REPLICA_SQL_THREAD_MUST_STOP: ErrorCode = ErrorCode::new(
    3085,
    "HY000",
    "This operation cannot be performed with a running replica sql thread; run STOP REPLICA SQL_THREAD FOR CHANNEL '%s' first",
);
const ER_REPLICA_MUST_STOP: ErrorCode = ErrorCode::new(
    3081,
    "HY000",
    "This operation cannot be performed with running replication threads; run STOP REPLICA FOR CHANNEL '%s' first",
);
const ER_REPLICA_IS_RUNNING: ErrorCode =
    ErrorCode::new(3083, "HY000", "Replication thread(s) for channel '%s' are already runnning.");
const ER_REPLICA_WAS_NOT_RUNNING: ErrorCode =
    ErrorCode::new(3084, "HY000", "Replication thread(s) for channel '%s' are already stopped.");
const ER_BAD_REPLICA_AUTO_POSITION: ErrorCode = ErrorCode::new(
    1776,
    "HY000",
    "Parameters SOURCE_LOG_FILE, SOURCE_LOG_POS, RELAY_LOG_FILE and RELAY_LOG_POS cannot be set when SOURCE_AUTO_POSITION is active.",
);
const ER_AUTO_POSITION_REQUIRES_GTID_MODE_ON: ErrorCode =
    ErrorCode::new(1777, "HY000", "SOURCE_AUTO_POSITION = 1 requires @@GLOBAL.GTID_MODE = ON.");
const ER_HEARTBEAT_OUT_OF_RANGE: ErrorCode = ErrorCode::new(
    1624,
    "HY000",
    "The requested value for the heartbeat period is either negative or exceeds the maximum allowed (4294967 seconds).",
);
const ER_INSECURE_PLAIN_TEXT: ErrorCode =
    ErrorCode::new(1759, "HY000", "Sending passwords in plain text without SSL/TLS is extremely insecure.");
const ER_INSECURE_CHANGE_SOURCE: ErrorCode = ErrorCode::new(
    1760,
    "HY000",
    "Storing MySQL user name or password information in the connection metadata repository is not secure and is \
     therefore not recommended. Please consider using the USER and PASSWORD connection options for START REPLICA; \
     see the 'START REPLICA Syntax' in the MySQL Manual for more information.",
);
const HEARTBEAT_SECONDS_MAX: f64 = 4_294_967.0;
/// Where the events of a file begin.
const FIRST_POSITION: u64 = 4;

/// What CHANGE REPLICATION SOURCE TO gives.
struct Change {
    settings: SourceSettings,
    file: Option<String>,
    position: Option<u64>,
    names_connection: bool,
    names_account: bool,
    names_delay: bool,
}

/// An option's value.
struct Given<'v> {
    name: &'v str,
    value: &'v Value,
}

impl Given<'_> {
    fn wrong(&self) -> SqlError {
        error_code::ER_WRONG_ARGUMENTS.with(&[&self.name.to_uppercase()])
    }

    fn text(&self) -> Result<String, SqlError> {
        match self.value {
            Value::Bytes(bytes) => String::from_utf8(bytes.clone()).map_err(|_| self.wrong()),
            Value::Null => Ok(String::new()),
            _ => Err(self.wrong()),
        }
    }

    fn number(&self) -> Result<u64, SqlError> {
        match self.value {
            Value::Int(number) => u64::try_from(*number).map_err(|_| self.wrong()),
            Value::UInt(number) => Ok(*number),
            _ => Err(self.wrong()),
        }
    }

    fn flag(&self) -> Result<bool, SqlError> {
        Ok(self.number()? != 0)
    }

    fn seconds(&self) -> Result<f64, SqlError> {
        match self.value {
            Value::Decimal(number) => Ok(number.to_f64()),
            Value::Double(number) => Ok(*number),
            _ => Ok(self.number()? as f64),
        }
    }
}

impl Change {
    fn of(settings: SourceSettings) -> Change {
        Change {
            settings,
            file: None,
            position: None,
            names_connection: false,
            names_account: false,
            names_delay: false,
        }
    }

    /// False for an option that there is not.
    fn set(&mut self, given: &Given<'_>) -> Result<bool, SqlError> {
        let settings = &mut self.settings;
        self.names_connection |= !given.name.ends_with("delay");
        match given.name {
            "source_host" => {
                settings.host = given.text()?;
                if settings.host.is_empty() {
                    return Err(given.wrong());
                }
            }
            "source_user" => {
                settings.user = given.text()?;
                self.names_account = true;
            }
            "source_password" => {
                settings.password = given.text()?;
                self.names_account = true;
            }
            "source_port" => settings.port = u16::try_from(given.number()?).map_err(|_| given.wrong())?,
            "source_bind" => settings.bind = given.text()?,
            "source_auto_position" => settings.auto_position = given.flag()?,
            "source_log_file" => self.file = Some(given.text()?),
            "source_log_pos" => self.position = Some(given.number()?.max(FIRST_POSITION)),
            "source_connect_retry" => settings.connect_retry = given.number()?,
            "source_retry_count" => settings.retry_count = given.number()?,
            "source_heartbeat_period" => {
                let seconds = given.seconds()?;
                if !(0.0..=HEARTBEAT_SECONDS_MAX).contains(&seconds) {
                    return Err(ER_HEARTBEAT_OUT_OF_RANGE.plain());
                }
                settings.heartbeat_ms = (seconds * 1000.0) as u64;
            }
            "source_delay" => {
                settings.delay = given.number()?;
                self.names_delay = true;
            }
            _ => return self.set_rarer(given),
        }
        Ok(true)
    }

    fn set_rarer(&mut self, given: &Given<'_>) -> Result<bool, SqlError> {
        let settings = &mut self.settings;
        match given.name {
            "source_ssl" => settings.ssl = given.flag()?,
            "source_ssl_ca" => settings.ssl_ca = given.text()?,
            "source_ssl_verify_server_cert" => settings.ssl_verify = given.flag()?,
            "source_tls_version" => settings.tls_version = given.text()?,
            "get_source_public_key" => settings.get_public_key = given.flag()?,
            "source_public_key_path" => settings.public_key_path = given.text()?,
            "require_row_format" => settings.require_row_format = given.flag()?,
            "source_ssl_capath"
            | "source_ssl_cert"
            | "source_ssl_key"
            | "source_ssl_cipher"
            | "source_ssl_crl"
            | "source_ssl_crlpath"
            | "source_tls_ciphersuites"
            | "network_namespace"
            | "relay_log_file"
            | "privilege_checks_user"
                if *given.value == Value::Null || given.text()?.is_empty() => {}
            "source_compression_algorithms" if given.text()?.eq_ignore_ascii_case("uncompressed") => {}
            "source_zstd_compression_level" => {}
            "source_connection_auto_failover" | "gtid_only" if !given.flag()? => {}
            "require_table_primary_key_check" if given.text()?.eq_ignore_ascii_case("stream") => {}
            "assign_gtids_to_anonymous_transactions" if given.text()?.eq_ignore_ascii_case("off") => {}
            "source_ssl_capath"
            | "source_ssl_cert"
            | "source_ssl_key"
            | "source_ssl_cipher"
            | "source_ssl_crl"
            | "source_ssl_crlpath"
            | "source_tls_ciphersuites"
            | "network_namespace"
            | "relay_log_file"
            | "relay_log_pos"
            | "privilege_checks_user"
            | "source_compression_algorithms"
            | "source_connection_auto_failover"
            | "gtid_only"
            | "require_table_primary_key_check"
            | "assign_gtids_to_anonymous_transactions" => {
                let what = given.name.to_uppercase();
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Session {
    fn require_replica_admin(&self) -> Result<(), SqlError> {
        self.require_super_or(&[DynamicPrivilege::ReplicationSlaveAdmin], "SUPER or REPLICATION_SLAVE_ADMIN")
    }

    /// The channels that a statement is about.
    fn channels(&self, name: Option<&str>) -> Result<Vec<Arc<Channel>>, SqlError> {
        let replication = &self.instance.replication;
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
        let name = change.channel.unwrap_or("");
        let found = self.instance.replication.channel(name);
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
                return Err(error_code::ER_PARSE_ERROR.with(&[&PARSE_HINT, &option, &1]));
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
        let mode = self.instance.globals.by_name("gtid_mode");
        if changed.settings.auto_position && !was_automatic && mode.as_text() != "ON" {
            return Err(ER_AUTO_POSITION_REQUIRES_GTID_MODE_ON.plain());
        }
        if changed.names_account {
            self.shared.note(ER_INSECURE_PLAIN_TEXT.plain());
            self.shared.note(ER_INSECURE_CHANGE_SOURCE.plain());
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
        let mut change = self.instance.catalog().begin_change();
        change.put_channel(name, Some(&changed.settings.encode())).await?;
        let bytes = applied.encode();
        change.remove_applied(name).await?;
        catalog::put_applied(change.transaction(), name, None, &bytes).await?;
        self.commit_unlogged(change, shield).await?;
        let channel = found.unwrap_or_else(|| self.instance.replication.add(name));
        *channel.settings.lock() = changed.settings;
        channel.set_applied(applied, Some(bytes.len()));
        Ok(())
    }

    pub(super) async fn control_replica(
        &mut self,
        control: &ReplicaControl<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        self.require_replica_admin()?;
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
                "UNTIL" | "USER" | "PASSWORD" | "DEFAULT_AUTH" | "PLUGIN_DIR" => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&format!("START REPLICA {word}")]));
                }
                _ if word.contains('=') => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"options of START REPLICA"]));
                }
                _ => return Err(error_code::ER_PARSE_ERROR.with(&[&PARSE_HINT, &control.rest, &1])),
            }
        }
        if parts.is_empty() {
            parts.extend(Part::BOTH);
        }
        match control.action {
            "START" => self.start_replica(control.channel, &parts),
            _ => self.stop_replica(control.channel, &parts).await,
        }
    }

    fn start_replica(&self, name: Option<&str>, parts: &[Part]) -> Result<Done, SqlError> {
        let channels = self.channels(name)?;
        if channels.is_empty() || channels.iter().any(|channel| channel.settings.lock().host.is_empty()) {
            return Err(ER_BAD_REPLICA.plain());
        }
        for channel in channels {
            let started = parts.iter().filter(|part| self.instance.replication.start(&channel, **part));
            if started.count() == 0 {
                self.shared.note(ER_REPLICA_IS_RUNNING.with(&[&channel.name]));
            }
        }
        Ok(Done::ok())
    }

    async fn stop_replica(&self, name: Option<&str>, parts: &[Part]) -> Result<Done, SqlError> {
        for channel in self.channels(name)? {
            let running: Vec<Part> = parts.iter().copied().filter(|part| channel.is_running(*part)).collect();
            if running.is_empty() {
                self.shared.note(ER_REPLICA_WAS_NOT_RUNNING.with(&[&channel.name]));
            }
            running.iter().for_each(|part| channel.stop(*part));
            for part in running {
                channel.wait_for_end(part).await;
            }
        }
        Ok(Done::ok())
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
            _ => return Err(error_code::ER_PARSE_ERROR.with(&[&PARSE_HINT, &control.rest, &1])),
        };
        let channels = self.channels(control.channel)?;
        if let Some(running) = channels.iter().find(|channel| channel.runs()) {
            return Err(ER_REPLICA_MUST_STOP.with(&[&running.name]));
        }
        for channel in channels {
            let mut change = self.instance.catalog().begin_change();
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
            if is_all {
                *channel.settings.lock() = SourceSettings::default();
                self.instance.replication.remove(&channel.name);
            }
        }
        Ok(Done::ok())
    }
}

const PARSE_HINT: &str = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                          version for the right syntax to use";
