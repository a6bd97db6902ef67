//! Options from all places merged, checked and in the types that the program uses.
//!
//! Order: option file first, command line after it; the last one wins. Invariant: a `Settings` value is valid;
//! everything wrong was reported with its name and place. Called by `command_line`; read by `start`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use binlog::DatabaseFilter;
use instance::replication::FilterOption;

use super::option_file;
use super::resolve::{Meaning, canonical, resolve};
use super::table::{Kind, OPTIONS, OptionSpec, Target};
use super::value::{Normalised, normalise, parse_size};
use crate::options::given::Given;

/// When a session moves from one worker to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionMoves {
    Never,
    /// When its worker has no time left and another has.
    WhenWorthwhile,
    /// Before each command.
    Always,
}

/// Everything the program was told.
#[derive(Clone, Debug)]
pub struct Settings {
    pub datadir: PathBuf,
    pub port: u16,
    pub bind_address: String,
    pub socket: Option<PathBuf>,
    pub log_error: Option<PathBuf>,
    pub pid_file: Option<PathBuf>,
    /// 0: no metrics over HTTP.
    pub metrics_port: u16,
    pub metrics_bind_address: String,
    /// For the program's code and the buffer pool, where the system has them.
    pub uses_large_pages: bool,
    pub worker_count: usize,
    pub session_moves: SessionMoves,
    pub backlog: u32,
    pub listens_on_tcp: bool,
    pub initial_root_password_file: Option<PathBuf>,
    pub offers_tls: bool,
    pub requires_secure_transport: bool,
    pub buffer_pool_bytes: u64,
    /// What was said of it: 0 is nothing.
    pub session_memory_bytes_given: u64,
    /// Of all temporary files; 0 is no limit.
    pub temporary_space_bytes: u64,
    /// The pages that were in memory are read again.
    pub loads_hot_pages: bool,
    pub page_size_bytes: usize,
    pub packs_pages: bool,
    pub redo_capacity_bytes: u64,
    pub flush_log_at_commit: u8,
    /// What the files of the binary log are called, if there is one.
    pub binary_log: Option<String>,
    /// The databases whose changes it has.
    pub logged_databases: DatabaseFilter,
    pub replication_filters: Vec<FilterOption>,
    /// The server that a new data directory becomes a copy of.
    pub copies_from: Option<replica::CopySource>,
    /// Where the log is archived, if it is.
    pub archive_directory: Option<PathBuf>,
    /// 0 keeps all of the archive.
    pub archive_keep_seconds: u64,
    /// Where backups of this server lie.
    pub backup_directory: Option<PathBuf>,
    /// With which the encrypted ones are read.
    pub backup_key_file: Option<PathBuf>,
    /// For the session's registry: only what was given, plus what this program alone knows.
    pub variables: Vec<(String, String)>,
    /// Options that were renamed, limited, or have no effect, each with its place and the reason.
    pub warnings: Vec<String>,
}

/// The size of a log file where `innodb_log_file_size` is not given, and their number, as in MySQL 8.4.
const LOG_FILE_BYTES: u64 = 48 << 20;
const LOG_FILES: u64 = 2;

/// Of the machine's memory, how much the buffer pool may have.
const POOL_SHARE_PERCENT: u64 = 75;
/// `max_connections` where nothing is said.
const CONNECTIONS: u64 = 151;
/// Descriptors for the log, the data, listeners and what is opened now and then, and for the ring and the timers of each worker.
const OWN_FILES: u64 = 64;
const OWN_FILES_PER_WORKER: u64 = 8;
/// The least that statements may hold together where nothing is said of it.
const SESSION_MEMORY_BYTES_MIN: u64 = 128 << 20;

impl Settings {
    /// Everything that is wrong is reported at once.
    pub(super) fn from_given(command_line: Vec<Given>) -> Result<Self, String> {
        let all = with_option_files(command_line)?;
        let mut values = BTreeMap::new();
        let mut variables = BTreeMap::new();
        let mut repeated = Vec::new();
        let (mut log_file_bytes, mut log_files) = (None, None);
        let mut notes = Vec::new();
        let mut mistakes = Vec::new();
        for given in &all {
            match resolve(given, &mut notes) {
                Ok(Meaning::Option(spec, value)) if matches!(spec.kind, Kind::Repeated | Kind::Filter(_)) => {
                    repeated.push((spec, value));
                }
                Ok(Meaning::Option(spec, value)) => {
                    values.insert(spec.name, value);
                }
                Ok(Meaning::Variable(name, value)) => {
                    variables.insert(name, value);
                }
                Ok(Meaning::LogFileBytes(bytes)) => log_file_bytes = Some(bytes),
                Ok(Meaning::LogFiles(count)) => log_files = Some(count),
                Ok(Meaning::Nothing) => {}
                Err(mistake) => mistakes.push(mistake),
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes.join("\nevenkeel: "));
        }
        if log_file_bytes.is_some() || log_files.is_some() {
            let count = log_files.unwrap_or(LOG_FILES).max(1);
            let bytes =
                log_file_bytes.unwrap_or(LOG_FILE_BYTES).saturating_mul(count).clamp(8 << 20, 1 << 40);
            let capacity = values.entry("innodb-redo-log-capacity").or_insert_with(|| bytes.to_string());
            notes.push(format!(
                "innodb_log_file_size and innodb_log_files_in_group are innodb_redo_log_capacity now: {capacity} bytes"
            ));
        }
        let mut settings = Self::from_values(&values, notes);
        settings.variables.extend(variables.into_iter().map(|(name, value)| (name.to_owned(), value)));
        repeated.into_iter().for_each(|(spec, value)| settings.add(spec, value));
        let is_named =
            |name| settings.variables.iter().any(|(variable, path)| variable == name && !path.is_empty());
        if settings.offers_tls && is_named("ssl_cert") != is_named("ssl_key") {
            return Err("ssl-cert and ssl-key must be given together".to_owned());
        }
        Ok(settings)
    }

    /// One of several values of an option.
    fn add(&mut self, spec: &OptionSpec, value: String) {
        match spec.kind {
            Kind::Filter(kind) => self.replication_filters.extend(FilterOption::parse(kind, &value)),
            _ if spec.name == "binlog-do-db" => self.logged_databases.only.push(value),
            _ => self.logged_databases.ignored.push(value),
        }
    }

    /// What the statements of all sessions may hold in memory together. Without a word of the administrator as much as the buffer pool, within
    /// half of what the pool leaves of the machine's memory: whoever has sized the pool has said how large the server is.
    pub fn session_memory_bytes(&self, memory_bytes: u64) -> u64 {
        if self.session_memory_bytes_given > 0 {
            return self.session_memory_bytes_given;
        }
        let left = memory_bytes.saturating_sub(self.buffer_pool_bytes) / 2;
        let most = if memory_bytes == 0 { u64::MAX } else { left.max(SESSION_MEMORY_BYTES_MIN) };
        self.buffer_pool_bytes.clamp(SESSION_MEMORY_BYTES_MIN, most)
    }

    /// Without descriptors for all of `max_connections` clients would be turned away one by one: as in MySQL the number is lowered and said.
    pub fn fit_to_files(&mut self, files_max: u64, workers: usize) {
        let own = OWN_FILES + OWN_FILES_PER_WORKER * workers as u64;
        let most = files_max.saturating_sub(own).max(1);
        let name = "max_connections";
        let given = self.variables.iter().find(|(variable, _)| variable == name);
        let asked = given.map_or(CONNECTIONS, |(_, count)| count.parse().unwrap_or(CONNECTIONS));
        if asked <= most {
            return;
        }
        self.variables.retain(|(variable, _)| variable != name);
        self.variables.push((name.to_owned(), most.to_string()));
        self.warnings.push(format!(
            "Changed limits: max_connections: {most} (requested {asked}): this process may have {files_max} files open, sockets among them, \
             and keeps {own} for itself; raise the limit (ulimit -n, LimitNOFILE=) for more clients"
        ));
    }

    /// A pool beyond the address space that the process may have would end in an error of the system.
    pub fn check_address_space(&self, limit: Option<u64>) -> Result<(), String> {
        match limit {
            Some(limit) if self.buffer_pool_bytes > limit / 2 => Err(format!(
                "innodb_buffer_pool_size={} does not fit: this process may have {limit} bytes of address space (ulimit -v), and the \
                 pool may take half of them; make the pool smaller or lift the limit",
                self.buffer_pool_bytes
            )),
            _ => Ok(()),
        }
    }

    /// Up to where the pool can be made larger while the server runs: the machine's memory, or what the address space has room for.
    pub fn buffer_pool_bytes_max(&self, memory_bytes: u64, address_space: Option<u64>) -> u64 {
        let most = address_space.map_or(memory_bytes, |limit| memory_bytes.min(limit / 2));
        most.max(self.buffer_pool_bytes)
    }

    /// A buffer pool that the machine has no memory for would end in swapping or in the program's end.
    pub fn fit_to_machine(&mut self, memory_bytes: u64) {
        let most = memory_bytes / 100 * POOL_SHARE_PERCENT;
        if memory_bytes == 0 || self.buffer_pool_bytes <= most {
            return;
        }
        let asked = std::mem::replace(&mut self.buffer_pool_bytes, most);
        let name = "innodb_buffer_pool_size";
        self.variables.retain(|(variable, _)| variable != name);
        self.variables.push((name.to_owned(), most.to_string()));
        self.warnings.push(format!(
            "'{name}={asked}' is adjusted to {most}, {POOL_SHARE_PERCENT} % of the machine's {memory_bytes} bytes of memory"
        ));
    }

    fn from_values(values: &BTreeMap<&'static str, String>, warnings: Vec<String>) -> Self {
        let text = |name: &str| match values.get(name) {
            Some(value) => value.clone(),
            None => default_of(name),
        };
        let path = |name: &str| Some(text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
        let number = |name: &str| text(name).parse::<u64>().expect("checked against its declaration");
        let is_on = |name: &str| text(name) == "ON";
        let variables = OPTIONS.iter().filter(|spec| spec.target != Target::Program);
        let variables = variables.filter_map(|spec| {
            let value = values.get(spec.name)?;
            Some((variable_name(spec), value.clone()))
        });
        Self {
            datadir: PathBuf::from(text("datadir")),
            port: u16::try_from(number("port")).expect("its range is a port's"),
            bind_address: text("bind-address"),
            socket: path("socket"),
            log_error: path("log-error"),
            pid_file: path("pid-file"),
            metrics_port: u16::try_from(number("metrics-port")).expect("its range is a port's"),
            metrics_bind_address: text("metrics-bind-address"),
            uses_large_pages: is_on("large-pages"),
            worker_count: number("worker-threads") as usize,
            session_moves: match text("session-moves").as_str() {
                "off" => SessionMoves::Never,
                "always" => SessionMoves::Always,
                _ => SessionMoves::WhenWorthwhile,
            },
            backlog: u32::try_from(number("back-log")).expect("its range is small"),
            listens_on_tcp: !is_on("skip-networking"),
            initial_root_password_file: path("initial-root-password-file"),
            offers_tls: is_on("tls"),
            requires_secure_transport: is_on("require-secure-transport"),
            buffer_pool_bytes: number("innodb-buffer-pool-size"),
            session_memory_bytes_given: number("session-memory-size"),
            temporary_space_bytes: number("temporary-space-size"),
            loads_hot_pages: is_on("innodb-buffer-pool-load-at-startup"),
            page_size_bytes: parse_size(&text("innodb-page-size")).expect("one of its choices") as usize,
            packs_pages: text("page-packing") == "auto",
            redo_capacity_bytes: number("innodb-redo-log-capacity"),
            flush_log_at_commit: number("innodb-flush-log-at-trx-commit") as u8,
            binary_log: binary_log_base(&text("log-bin")),
            logged_databases: DatabaseFilter::default(),
            replication_filters: Vec::new(),
            copies_from: None,
            archive_directory: path("log-archive-dir"),
            archive_keep_seconds: number("log-archive-expire-seconds"),
            backup_directory: path("backup-dir"),
            backup_key_file: path("backup-key-file"),
            variables: variables.collect(),
            warnings,
        }
    }
}

/// Files stay in the data directory, so a path before the name is left out.
fn binary_log_base(value: &str) -> Option<String> {
    match value {
        "OFF" => None,
        "ON" | "" => Some("binlog".to_owned()),
        name => Some(name.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("binlog").to_owned()),
    }
}

/// One option has another name than its variable.
fn variable_name(spec: &OptionSpec) -> String {
    match spec.name {
        "default-time-zone" => "time_zone".to_owned(),
        name => name.replace('-', "_"),
    }
}

/// The options of the files that the command line names, then its own.
pub(super) fn with_option_files(command_line: Vec<Given>) -> Result<Vec<Given>, String> {
    let mut all = Vec::new();
    for given in &command_line {
        if matches!(canonical(&given.name).as_str(), "defaults-file" | "defaults-extra-file") {
            let path = given.value.clone().unwrap_or_default();
            for option in option_file::read(path.as_ref())? {
                all.push(Given { name: option.name, value: option.value, place: option.place });
            }
        }
    }
    all.extend(command_line);
    Ok(all)
}

fn default_of(name: &str) -> String {
    let spec = OPTIONS.iter().find(|spec| spec.name == name).expect("settings only read declared options");
    if spec.default.is_empty() {
        return String::new();
    }
    match normalise(spec, spec.default) {
        Ok(Normalised::Exact(value)) => value,
        other => unreachable!("a test checks every default: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{Command, SessionMoves, Settings, parse_command_line};

    fn parse(arguments: &[&str]) -> Result<Settings, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        match parse_command_line(&arguments)? {
            Command::Serve(settings) => Ok(*settings),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn nothing_means_the_defaults() {
        for arguments in [&[][..], &["serve"][..]] {
            let settings = parse(arguments).expect("valid");
            assert_eq!(settings.port, 3306);
            assert_eq!(settings.bind_address, "127.0.0.1");
            assert_eq!(settings.datadir.to_str(), Some("./evenkeel-data"));
            assert_eq!(settings.buffer_pool_bytes, 128 << 20);
            assert_eq!(settings.page_size_bytes, 8192);
            assert!(settings.variables.is_empty() && settings.offers_tls && settings.listens_on_tcp);
        }
    }

    #[test]
    fn a_certificate_stands_with_its_key() {
        let both = ["--ssl-cert=a.pem", "--ssl-key=b.pem"];
        assert!(parse(&both).is_ok());
        for one in both {
            assert!(parse(&[one]).unwrap_err().contains("given together"));
            assert!(parse(&["--validate-config", one]).unwrap_err().contains("given together"));
            assert!(parse(&[one, "--skip-tls"]).is_ok());
        }
    }

    #[test]
    fn all_spellings_are_one_option() {
        for arguments in [
            &["serve", "--max-connections=7"][..],
            &["--max_connections", "7"][..],
            &["--loose-max-connections=7"][..],
            &["--max-connections=9", "--MAX_CONNECTIONS=7"][..],
        ] {
            let settings = parse(arguments).expect("valid");
            assert_eq!(settings.variables, [("max_connections".to_owned(), "7".to_owned())], "{arguments:?}");
        }
        assert!(!parse(&["--skip-tls"]).expect("valid").offers_tls);
        assert!(!parse(&["--disable-tls"]).expect("valid").offers_tls);
        assert!(!parse(&["--skip-networking"]).expect("valid").listens_on_tcp);
        assert!(parse(&["--skip-log-bin", "--performance_schema=OFF"]).is_ok());
        assert_eq!(parse(&["-P", "1234"]).expect("valid").port, 1234);
        assert_eq!(parse(&["--innodb_page_size=16k"]).expect("valid").page_size_bytes, 16384);
        assert!(!parse(&["--page-packing=off"]).expect("valid").packs_pages);
        assert_eq!(parse(&[]).expect("valid").session_moves, SessionMoves::WhenWorthwhile);
        assert_eq!(parse(&["--session-moves=off"]).expect("valid").session_moves, SessionMoves::Never);
    }

    #[test]
    fn mistakes_are_named() {
        let check = |arguments: &[&str], expected: &str| {
            let error = parse(arguments).expect_err("refused");
            assert!(error.contains(expected), "{error}");
        };
        check(&["--max-conections=7"], "did you mean '--max-connections'?");
        check(&["--frobnicate"], "unknown option '--frobnicate'; --help");
        check(&["--port=x"], "option '--port': 'x' is not a number");
        check(&["--port"], "'--port' needs a value");
        check(&["--skip-tls=1"], "takes no value");
        check(&["start"], "unexpected argument 'start'");
        check(&["--frobnicate", "--port=x"], "'x' is not a number");
        check(&["--initialize"], "the first start creates the data directory");
        check(&["--lower_case_table_names=x"], "lower-case-table-names");
        check(&["--offline-mode"], "only OFF");
        check(&["--defaults-file=/nonexistent/my.cnf"], "/nonexistent/my.cnf");
        assert_eq!(parse(&["--loose-frobnicate=1"]).expect("ignored").warnings.len(), 1);
    }

    #[test]
    fn what_takes_no_effect_is_noted() {
        let check = |argument: &str, expected: &str| {
            let settings = parse(&[argument]).unwrap_or_else(|error| panic!("{argument}: {error}"));
            assert!(settings.warnings.iter().any(|note| note.contains(expected)), "{:?}", settings.warnings);
            settings
        };
        check("--query_cache_size=64M", "there is no query cache");
        check("--skip-innodb-adaptive-hash-index", "has no effect");
        check("--maximum-sort-buffer-size=1M", "no maximum");
        assert_eq!(parse(&["--log-bin=/var/log/bin"]).expect("valid").binary_log.as_deref(), Some("bin"));
        assert_eq!(parse(&["--log-bin"]).expect("valid").binary_log.as_deref(), Some("binlog"));
        assert_eq!(parse(&["--skip-log-bin"]).expect("valid").binary_log, None);
        check("--port=70000", "adjusted to 65535");
        assert_eq!(check("--table_cache=300", "is called 'table-open-cache' now").variables.len(), 1);
        let sized = check("--innodb_log_file_size=512M", "innodb_redo_log_capacity now");
        assert_eq!(sized.redo_capacity_bytes, 1 << 30);
        let mode = check("--sql-mode=ANSI_QUOTES,NO_AUTO_CREATE_USER", "does not exist any more");
        assert_eq!(mode.variables, [("sql_mode".to_owned(), "ANSI_QUOTES".to_owned())]);
        let long = parse(&["--long_query_time=0.5"]).expect("a variable");
        assert_eq!(long.variables.len(), 1);
    }

    #[test]
    fn sessions_have_as_much_as_the_pool_within_half_of_the_rest() {
        let check = |arguments: &[&str], machine: u64, expected: u64| {
            assert_eq!(parse(arguments).expect("valid").session_memory_bytes(machine), expected);
        };
        let pool = &["--innodb-buffer-pool-size=256M"][..];
        check(pool, 8 << 30, 256 << 20);
        check(pool, 600 << 20, 172 << 20);
        check(pool, 300 << 20, 128 << 20);
        check(pool, 0, 256 << 20);
        check(&["--innodb-buffer-pool-size=64M"], 8 << 30, 128 << 20);
        check(&["--session-memory-size=77M"], 8 << 30, 77 << 20);
        let limited = parse(&["--temporary-space-size=5G"]).expect("valid");
        assert_eq!(limited.temporary_space_bytes, 5 << 30);
    }

    #[test]
    fn limits_of_the_process_are_obeyed_and_told() {
        let mut settings = parse(&["--max-connections=2000"]).expect("valid");
        settings.fit_to_files(4096, 2);
        assert!(settings.warnings.is_empty());
        settings.fit_to_files(256, 2);
        assert_eq!(settings.variables, [("max_connections".to_owned(), "176".to_owned())]);
        assert!(settings.warnings[0].starts_with("Changed limits: max_connections: 176 (requested 2000)"));
        let settings = parse(&["--innodb-buffer-pool-size=64M"]).expect("valid");
        assert!(settings.check_address_space(None).is_ok());
        assert!(settings.check_address_space(Some(1 << 30)).is_ok());
        assert!(settings.check_address_space(Some(100 << 20)).expect_err("too little").contains("ulimit -v"));
        assert_eq!(settings.buffer_pool_bytes_max(8 << 30, Some(1 << 30)), 1 << 29);
        assert_eq!(settings.buffer_pool_bytes_max(8 << 30, None), 8 << 30);
    }

    #[test]
    fn a_pool_fits_into_the_machine() {
        let mut settings = parse(&["--innodb-buffer-pool-size=32G"]).expect("valid");
        settings.fit_to_machine(8 << 30);
        assert_eq!(settings.buffer_pool_bytes, (8u64 << 30) / 100 * 75);
        assert!(settings.warnings[0].contains("75 %"));
        let bytes = settings.buffer_pool_bytes.to_string();
        assert!(settings.variables.contains(&("innodb_buffer_pool_size".to_owned(), bytes)));
    }
}
