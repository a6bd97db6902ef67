//! The instance: engine, catalog, accounts, global variables, process list, counters.
//!
//! Created once by the program after the engine is open; every session holds an `Arc` of it.
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use auth::{Account, AccountName, AccountStore};
use binlog::GtidSet;
use catalog::{Catalog, LockMode};
use datum::{SqlError, error_code};
use env::TemporarySpace;
use env::sync::Places;
use executor::ServerMemory;
use parser::DigestSeed;
use source::BinaryLog;
use telemetry::Telemetry;

use crate::backups::Backups;
use crate::connection_id::ConnectionId;
use crate::counters::Counters;
use crate::event_queue::EventQueue;
use crate::gauges::Gauges;
use crate::host_files::HostFiles;
use crate::kill::KillKind;
use crate::logs::ServerLogs;
use crate::plan_cache::PlanCache;
use crate::process_list::ProcessList;
use crate::program_cache::ProgramCache;
use crate::replication::Replication;
use crate::stop::Stopper;
use crate::system_tables::MakeSystemTables;
use crate::tls::TlsControl;
use crate::user_locks::UserLocks;
use crate::virtual_tables::VirtualTables;
use crate::xa_registry::XaRegistry;
use crate::xid::Xid;
use variables::{Effect, GlobalVariables, VariableId, parse_text};

pub type SleepFuture = Pin<Box<dyn Future<Output = ()>>>;

/// The way to wait for time to pass; the program supplies its runtime's timer, so that this crate knows none. The clock is a
/// timer's too, so that a test can set it.
pub trait Timer: Send + Sync {
    fn sleep(&self, duration: Duration) -> SleepFuture;

    /// Microseconds since 1970-01-01 UTC by the host's clock, which can be put forward and back.
    fn now_us(&self) -> i64 {
        i64::try_from(crate::unix_now_us()).unwrap_or(i64::MAX)
    }
}

/// What a message for the administrator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Always written.
    System,
    Error,
    Warning,
    Note,
}

/// Makes a text about the instance.
pub type EngineStatus = Box<dyn Fn(&Instance) -> String + Send + Sync>;

/// What the program says of itself when it opens an instance.
pub struct InstanceConfig {
    /// `version`, for example `9.7.0-evenkeel`.
    pub version: String,
    pub version_comment: String,
    /// System variables set on the command line or in an option file, by name with `_`; checked at open.
    /// The program also passes what it alone knows: port, socket, datadir, hostname, pid_file, have_ssl.
    pub variables: Vec<(String, String)>,
    /// The password of `root@localhost` in a new store; empty for none.
    pub initial_root_password: String,
    /// Random for each start: keys the statement digests, so that nobody can prepare colliding texts.
    pub digest_seed: (u64, u64),
    pub timer: Arc<dyn Timer>,
    /// What the statements of all sessions may hold in memory together.
    pub session_memory_bytes: u64,
    /// What shows the instance to its clients.
    pub system_tables: MakeSystemTables,
}

pub struct Instance {
    catalog: Arc<Catalog>,
    accounts: Arc<AccountStore>,
    /// Grows with every change of an account, so that sessions see new privileges.
    accounts_version: AtomicU64,
    config: InstanceConfig,
    pub globals: GlobalVariables,
    /// What all sessions hold in memory.
    pub memory: Arc<ServerMemory>,
    pub plan_cache: PlanCache,
    pub programs: ProgramCache,
    pub events: EventQueue,
    /// One for each statement that is kept prepared, by COM_STMT_PREPARE or by SQL.
    pub prepared_places: Places,
    /// Of sessions that have ended.
    pub ended_counters: Counters,
    pub gauges: Gauges,
    /// What statements did.
    pub telemetry: Telemetry,
    pub logs: ServerLogs,
    /// Ends the program.
    pub stopper: Stopper,
    pub tls: TlsControl,
    engine_status: EngineStatus,
    /// Only with `log_bin`.
    binary_log: OnceLock<Arc<BinaryLog>>,
    /// Where rows go that memory has no room for.
    temporary: OnceLock<Arc<TemporarySpace>>,
    open_metrics: EngineStatus,
    /// The copies of the database that sessions have asked for.
    pub backups: Backups,
    /// Files that statements name.
    pub files: HostFiles,
    /// Where messages for the administrator go; nowhere until the program says it.
    log: OnceLock<fn(LogLevel, &str)>,
    pub virtual_tables: VirtualTables,
    pub user_locks: UserLocks,
    pub xa: Arc<XaRegistry>,
    /// The sources of this server.
    pub replication: Replication,
    /// What SET PERSIST has stored, by name.
    persisted: parking_lot::Mutex<BTreeMap<String, String>>,
    processes: ProcessList,
    next_connection_id: AtomicU32,
    started: Instant,
    started_unix_us: i64,
}

/// The accounts of the store, or of a new store: root alone.
async fn stored_accounts(catalog: &Arc<Catalog>, root_password: &str) -> Result<AccountStore, SqlError> {
    match &catalog.stored_settings().accounts {
        Some(bytes) => AccountStore::decode(bytes)
            .map_err(|_| error_code::ER_INTERNAL_ERROR.with(&[&"the stored accounts are damaged"])),
        None => {
            let accounts = AccountStore::with_root(root_password);
            store_accounts(catalog, &accounts).await?;
            Ok(accounts)
        }
    }
}

impl Instance {
    /// Loads the data dictionary (creating it in a new store) and applies the configured variables.
    pub async fn open(
        engine: Arc<engine::Engine>,
        config: InstanceConfig,
    ) -> Result<Arc<Instance>, SqlError> {
        let catalog = Catalog::open(engine).await?;
        let globals = GlobalVariables::with_defaults();
        apply_stored_variables(&globals, &catalog.stored_settings().variables);
        apply_variables(&globals, &config)?;
        globals.set(VariableId::known("gtid_executed"), globals.by_name(GTID_PURGED));
        let accounts = stored_accounts(&catalog, &config.initial_root_password).await?;
        let memory = Arc::new(ServerMemory::new(config.session_memory_bytes));
        memory.limit_tracked(globals.by_name("global_connection_memory_limit").as_unsigned());
        let persisted = catalog.stored_settings().variables.iter();
        let persisted = persisted.filter(|(name, _)| name != GTID_PURGED).cloned().collect();
        let stored = catalog.stored_settings();
        let replication = Replication::load(&stored.channels, &stored.applied).ok_or_else(|| {
            error_code::ER_INTERNAL_ERROR.with(&[&"what is stored of replication is damaged"])
        })?;
        let mut deadlocks = None;
        let instance = Arc::new_cyclic(|instance| {
            let system = (config.system_tables)(&catalog, instance);
            deadlocks = Some(system.deadlocks);
            Instance {
                virtual_tables: VirtualTables::new(system.tables),
                engine_status: system.engine_status,
                open_metrics: system.open_metrics,
                catalog,
                accounts: Arc::new(accounts),
                accounts_version: AtomicU64::new(1),
                config,
                globals,
                memory,
                plan_cache: PlanCache::default(),
                programs: ProgramCache::default(),
                events: EventQueue::default(),
                prepared_places: Places::default(),
                ended_counters: Counters::default(),
                gauges: Gauges::default(),
                binary_log: OnceLock::new(),
                temporary: OnceLock::new(),
                telemetry: Telemetry::default(),
                logs: ServerLogs::default(),
                stopper: Stopper::default(),
                tls: TlsControl::default(),
                backups: Backups::default(),
                files: HostFiles::default(),
                log: OnceLock::new(),
                user_locks: UserLocks::default(),
                xa: Arc::default(),
                replication,
                persisted: parking_lot::Mutex::new(persisted),
                processes: ProcessList::default(),
                next_connection_id: AtomicU32::new(1),
                started: Instant::now(),
                started_unix_us: crate::unix_now_us() as i64,
            }
        });
        if let Some(observer) = deadlocks {
            instance.engine().observe_deadlocks(observer);
        }
        let is_observed = instance.globals.by_name("performance_schema").as_boolean();
        instance.telemetry.consumers.global_instrumentation.store(is_observed, Ordering::Relaxed);
        let stored = instance.catalog.stored_settings();
        let names = stored.variables.iter().chain(&instance.config.variables).map(|(name, _)| name.as_str());
        instance.obey_given(names);
        instance.adopt_prepared().await?;
        Ok(instance)
    }

    /// Lists the prepared transactions that the start has found, and locks their tables against changes of definition.
    async fn adopt_prepared(&self) -> Result<(), SqlError> {
        for mut transaction in self.engine().take_recovered() {
            let damaged =
                || error_code::ER_INTERNAL_ERROR.with(&[&"the name of a prepared transaction is damaged"]);
            let xid = Xid::decode(transaction.xid()).ok_or_else(damaged)?;
            let owner = self.xa.lock_owner(transaction.id());
            for name in self.catalog.tables_of(&transaction.trees()) {
                // Nobody else is there yet, and prepared transactions do not exclude each other.
                let guard = self.catalog.locks().acquire(owner, name, LockMode::SharedWrite).await;
                transaction.keep_until_ended(guard.map_err(|_| error_code::ER_LOCK_DEADLOCK.plain())?);
            }
            if !self.xa.add_recovered(xid, transaction) {
                return Err(damaged());
            }
        }
        Ok(())
    }

    /// How many prepared transactions wait for XA COMMIT or XA ROLLBACK.
    pub fn prepared_count(&self) -> usize {
        self.xa.prepared().len()
    }

    /// Says where messages for the administrator go, one line each; once, the later calls do nothing.
    pub fn set_log(&self, log: fn(LogLevel, &str)) {
        let _ = self.log.set(log);
    }

    /// Says where temporary files are; once, before the first statement. Without it they are with the data.
    pub fn set_temporary(&self, space: Arc<TemporarySpace>) {
        let _ = self.temporary.set(space);
    }

    /// Says that there is a binary log; once, before the first session.
    pub fn set_binary_log(&self, log: Arc<BinaryLog>) {
        let _ = self.binary_log.set(log);
    }

    /// The binary log, if there is one.
    pub fn binary_log(&self) -> Option<&Arc<BinaryLog>> {
        self.binary_log.get()
    }

    /// The identifiers of the transactions that are executed here, as far as the binary log has come, and of those among them whose
    /// events are gone.
    pub fn identifiers(&self) -> (GtidSet, GtidSet) {
        let mut executed = self.replication.executed();
        let purged = match self.binary_log() {
            Some(log) => {
                executed.add_all(&log.executed());
                log.purged()
            }
            None => GtidSet::parse(self.globals.by_name(GTID_PURGED).as_text()).unwrap_or_default(),
        };
        executed.add_all(&purged);
        (executed, purged)
    }

    pub fn temporary(&self) -> &Arc<TemporarySpace> {
        self.temporary.get_or_init(|| self.engine().temporary_space())
    }

    pub fn log(&self, message: &str) {
        self.log_at(LogLevel::System, message);
    }

    pub fn log_at(&self, level: LogLevel, message: &str) {
        if let Some(log) = self.log.get() {
            message.lines().for_each(|line| log(level, line));
        }
    }

    /// `max_connections` as it is now.
    pub fn connection_count_max(&self) -> u64 {
        self.globals.by_name("max_connections").as_unsigned()
    }

    /// `connect_timeout` as it is now.
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_secs(self.globals.by_name("connect_timeout").as_unsigned())
    }

    /// What happens to connections outside of any session.
    pub fn gauges(&self) -> &Gauges {
        &self.gauges
    }

    /// The text of SHOW ENGINE INNODB STATUS.
    pub fn engine_status(&self) -> String {
        (self.engine_status)(self)
    }

    /// The server's figures in the OpenMetrics text format.
    pub fn open_metrics(&self) -> String {
        (self.open_metrics)(self)
    }

    /// What all sessions together have done.
    pub fn total_counters(&self) -> Counters {
        self.processes.total(&self.ended_counters)
    }

    /// The number of the next connection, for the handshake; taken before the client is authenticated.
    pub fn next_connection_id(&self) -> ConnectionId {
        ConnectionId(self.next_connection_id.fetch_add(1, Ordering::Relaxed))
    }

    pub fn version(&self) -> &str {
        &self.config.version
    }

    pub fn engine(&self) -> &Arc<engine::Engine> {
        self.catalog.engine()
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The accounts, for authentication. Changed by SQL only.
    pub fn accounts(&self) -> &Arc<AccountStore> {
        &self.accounts
    }

    /// `partial_revokes`: what holds everywhere can be kept from some databases.
    pub fn partial_revokes(&self) -> bool {
        self.globals.by_name("partial_revokes").as_boolean()
    }

    /// `mandatory_roles`: what everybody is granted. Names without an account are left out when they are used.
    pub fn mandatory_roles(&self) -> Vec<AccountName> {
        let text = self.globals.by_name("mandatory_roles");
        crate::account_list::account_names(text.as_text()).unwrap_or_default()
    }

    /// The roles granted to an account, sorted by name.
    pub fn roles_of(&self, account: &Account) -> Vec<AccountName> {
        let mut roles: Vec<AccountName> = account.grants.roles.keys().cloned().collect();
        let exists = |role: &AccountName| *role != account.name && self.accounts.get(role).is_some();
        roles.extend(self.mandatory_roles().into_iter().filter(exists));
        roles.sort();
        roles.dedup();
        roles
    }

    /// The roles that are active when an account has logged in.
    pub fn roles_at_login(&self, account: &Account) -> Vec<AccountName> {
        let granted = self.roles_of(account);
        if self.globals.by_name("activate_all_roles_on_login").as_boolean() {
            return granted;
        }
        account.default_roles.iter().filter(|role| granted.contains(role)).cloned().collect()
    }

    /// Sessions look at their accounts again.
    pub fn accounts_changed(&self) {
        self.accounts_version.fetch_add(1, Ordering::Release);
    }

    pub fn accounts_version(&self) -> u64 {
        self.accounts_version.load(Ordering::Acquire)
    }

    /// Makes changed accounts durable; on an error the caller takes its change back.
    pub async fn persist_accounts(&self) -> Result<(), SqlError> {
        store_accounts(&self.catalog, &self.accounts).await?;
        self.accounts_changed();
        Ok(())
    }

    pub fn processes(&self) -> &ProcessList {
        &self.processes
    }

    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Nanoseconds from the start to a moment, the clock of all events.
    pub fn event_clock_ns(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.started).as_nanos() as u64
    }

    /// The moment as microseconds since 1970, by the clock of events.
    pub fn unix_us_of(&self, event_clock_ns: u64) -> i64 {
        self.started_unix_us + (event_clock_ns / 1000) as i64
    }

    pub fn timer(&self) -> &dyn Timer {
        &*self.config.timer
    }

    pub fn digest_seed(&self) -> DigestSeed {
        DigestSeed(self.config.digest_seed.0, self.config.digest_seed.1)
    }

    /// The present value of a global variable of this program's registry.
    pub fn global_variable(&self, name: &'static str) -> String {
        self.globals.by_name(name).display()
    }

    /// What SET PERSIST has stored, by name.
    pub fn persisted(&self) -> BTreeMap<String, String> {
        self.persisted.lock().clone()
    }

    /// SET PERSIST has stored a value, or RESET PERSIST has removed it.
    pub fn set_persisted(&self, name: &str, value: Option<String>) {
        let mut persisted = self.persisted.lock();
        match value {
            Some(value) => persisted.insert(name.to_owned(), value),
            None => persisted.remove(name),
        };
    }

    /// Whether a variable was given this value at start.
    pub fn is_given(&self, name: &str, value: &str) -> bool {
        self.config.variables.iter().any(|(given, text)| given == name && text == value)
    }

    /// KILL without the privilege check, for the server's own use (shutdown, idle connections).
    pub fn kill(&self, id: ConnectionId, kind: KillKind) -> Result<(), SqlError> {
        let entry =
            self.processes.find(id).ok_or_else(|| error_code::ER_NO_SUCH_THREAD.with(&[&u64::from(id.0)]))?;
        entry.kill.kill(kind);
        Ok(())
    }
}

/// Stored like what SET PERSIST stores, though nobody said PERSIST.
const GTID_PURGED: &str = "gtid_purged";

async fn store_accounts(catalog: &Arc<Catalog>, accounts: &AccountStore) -> Result<(), SqlError> {
    let mut change = catalog.begin_change();
    change.put_accounts(&accounts.encode()).await?;
    change.commit().await
}

/// What SET PERSIST stored; a variable this version does not know any more is left out.
fn apply_stored_variables(globals: &GlobalVariables, stored: &[(String, String)]) {
    for (name, text) in stored {
        if let Some(id) = VariableId::by_name(name)
            && let Ok(converted) = parse_text(id.definition(), text)
        {
            globals.set(id, converted.setting);
        }
    }
}

fn apply_variables(globals: &GlobalVariables, config: &InstanceConfig) -> Result<(), SqlError> {
    let known = [("version", &config.version), ("version_comment", &config.version_comment)];
    let known = known.into_iter().map(|(name, text)| (name, text.as_str()));
    let given = config.variables.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    for (name, text) in known.chain(given) {
        let id =
            VariableId::by_name(name).ok_or_else(|| error_code::ER_UNKNOWN_SYSTEM_VARIABLE.with(&[&name]))?;
        let definition = id.definition();
        let converted = parse_text(definition, text)?;
        if definition.effect == Effect::Fixed && converted.setting != definition.default_setting() {
            return Err(error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&name, &text]));
        }
        globals.set(id, converted.setting);
    }
    Ok(())
}
