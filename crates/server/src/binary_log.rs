//! Opens the binary log with the server, and completes one that was switched off or has another name now.
//!
//! Invariant: the log of the engine is kept from where the binary log ends; a server that starts without `log_bin`, or with another
//! name, completes what an earlier one has committed under the name that the note has.
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use binlog::{Checksum, DatabaseFilter, ServerUuid};
use engine::HoldPoint;
use env::Env;
use instance::Instance;
use source::{
    BinaryLog, BinaryLogConfig, LiveSettings, Position, SemiSyncSettings, base_on_disk, load_position,
};

use crate::options::Settings;
use crate::version::PROTOCOL_VERSION;

/// What the options say of it.
pub(crate) struct BinaryLogPlan {
    base: Option<String>,
    databases: DatabaseFilter,
}

fn now_s() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs() as u32)
}

fn failed(error: &source::SourceError) -> String {
    format!("the binary log cannot be opened: {error}")
}

impl BinaryLogPlan {
    pub(crate) fn of(settings: &Settings) -> BinaryLogPlan {
        BinaryLogPlan { base: settings.binary_log.clone(), databases: settings.logged_databases.clone() }
    }

    /// From where the engine's log is needed; known before the engine is opened.
    pub(crate) async fn needed_from(&self, env: &Env) -> Result<Option<u64>, String> {
        let position = load_position(env).await.map_err(|error| failed(&error))?;
        Ok(position.map(|position| position.log_from).filter(|lsn| *lsn > 0))
    }

    pub(crate) async fn open(self, env: Env, server: &Arc<Instance>) -> Result<(), String> {
        let found = load_position(&env).await.map_err(|error| failed(&error))?;
        let BinaryLogPlan { base: wanted, databases } = self;
        let written = match &found {
            Some(position) if position.base.is_empty() => {
                base_on_disk(&env, position.file).await.map_err(|error| failed(&error))?
            }
            Some(position) => Some(position.base.clone()),
            None => None,
        };
        let globals = server.globals.by_name("server_uuid");
        let server_uuid = ServerUuid::parse(globals.as_text()).ok_or("server_uuid is not a UUID")?;
        let databases = Arc::new(databases);
        let config = |base: &str| {
            let instance = Arc::downgrade(server);
            BinaryLogConfig {
                base: base.to_owned(),
                server_uuid,
                server_version: PROTOCOL_VERSION.to_owned(),
                checksum: Checksum::Crc32,
                databases: databases.clone(),
                now_s,
                live: Box::new(move || live_settings(&instance)),
            }
        };
        if let (Some(position), Some(written)) = (found, &written)
            && wanted.as_ref() != Some(written)
        {
            complete(&env, server, config(written), position).await?;
        }
        let Some(wanted) = wanted else { return Ok(()) };
        let log = BinaryLog::open(env, server.engine().clone(), config(&wanted)).await;
        let log = log.map_err(|error| failed(&error))?;
        log.semi_sync_changed();
        server.set_binary_log(log);
        Ok(())
    }
}

/// What an earlier start has left behind its files, under a name that is not used now. Nobody has to keep files that nobody reads.
async fn complete(
    env: &Env,
    server: &Arc<Instance>,
    config: BinaryLogConfig,
    position: Position,
) -> Result<(), String> {
    if position.log_from == 0 {
        return Ok(());
    }
    let base = config.base.clone();
    let completed = BinaryLog::complete(env.clone(), server.engine().clone(), config, position).await;
    if !completed.map_err(|error| failed(&error))? {
        crate::log::warning(&format!(
            "files of the binary log {base} are gone; a new one has what was not in them yet"
        ));
    }
    Ok(())
}

fn live_settings(instance: &std::sync::Weak<Instance>) -> LiveSettings {
    let instance = instance.upgrade();
    let globals = instance.as_ref().map(|instance| &instance.globals);
    let number = |name: &'static str, without: u64| {
        globals.map_or(without, |globals| globals.by_name(name).as_unsigned())
    };
    let is_set = |name: &'static str| globals.is_some_and(|globals| globals.by_name(name).as_boolean());
    let hides = globals
        .is_some_and(|globals| globals.by_name("rpl_semi_sync_source_wait_point").as_text() == "AFTER_SYNC");
    let semi_sync = SemiSyncSettings {
        is_enabled: is_set("rpl_semi_sync_source_enabled"),
        timeout_ms: number("rpl_semi_sync_source_timeout", 0),
        replicas: number("rpl_semi_sync_source_wait_for_replica_count", 1) as usize,
        waits_without: is_set("rpl_semi_sync_source_wait_no_replica"),
        point: if hides { HoldPoint::BeforeSeen } else { HoldPoint::BeforeAnswer },
    };
    LiveSettings {
        server_id: number("server_id", 1) as u32,
        file_bytes_max: number("max_binlog_size", 1 << 30),
        dependency_keys_max: number("binlog_transaction_dependency_history_size", 1),
        expire_seconds: number("binlog_expire_logs_seconds", 0),
        semi_sync,
    }
}
