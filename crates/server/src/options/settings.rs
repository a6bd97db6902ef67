//! Options from all places merged, checked and in the types that the program uses.
//!
//! Order: option file first, command line after it; the last one wins. Invariant: a `Settings` value is valid;
//! everything wrong was reported with its name and place. Called by `command_line`; read by `start`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::nearest::nearest;
use super::option_file;
use super::table::{Kind, OPTIONS, OptionSpec, Target};
use super::value::{normalise, parse_size};

/// An option as it was written somewhere.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub name: String,
    pub value: Option<String>,
    pub place: String,
}

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
    /// For the program's code and the buffer pool, where the system has them.
    pub uses_large_pages: bool,
    pub worker_count: usize,
    pub session_moves: SessionMoves,
    pub backlog: u32,
    pub listens_on_tcp: bool,
    pub initial_root_password_file: Option<PathBuf>,
    pub offers_tls: bool,
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub requires_secure_transport: bool,
    pub buffer_pool_bytes: u64,
    /// The pages that were in memory are read again.
    pub loads_hot_pages: bool,
    pub page_size_bytes: usize,
    pub packs_pages: bool,
    pub redo_capacity_bytes: u64,
    pub flush_log_at_commit: u8,
    /// For the session's registry: only what was given, plus what this program alone knows.
    pub variables: Vec<(String, String)>,
    /// Unknown options that were marked `loose-`.
    pub warnings: Vec<String>,
}

impl Settings {
    pub(super) fn from_given(command_line: Vec<Given>) -> Result<Self, String> {
        let mut all = Vec::new();
        for given in command_line.iter().filter(|given| canonical(&given.name) == "defaults-file") {
            let path = given.value.clone().unwrap_or_default();
            for option in option_file::read(path.as_ref())? {
                all.push(Given { name: option.name, value: option.value, place: option.place });
            }
        }
        all.extend(command_line);
        let mut values = BTreeMap::new();
        let mut warnings = Vec::new();
        for given in &all {
            match resolve(given)? {
                Some((spec, value)) => {
                    values.insert(spec.name, value);
                }
                None => warnings.push(format!("{}: unknown option '{}' ignored", given.place, given.name)),
            }
        }
        Ok(Self::from_values(&values, warnings))
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
            tls_certificate: path("ssl-cert"),
            tls_key: path("ssl-key"),
            requires_secure_transport: is_on("require-secure-transport"),
            buffer_pool_bytes: number("innodb-buffer-pool-size"),
            loads_hot_pages: is_on("innodb-buffer-pool-load-at-startup"),
            page_size_bytes: parse_size(&text("innodb-page-size")).expect("one of its choices") as usize,
            packs_pages: text("page-packing") == "auto",
            redo_capacity_bytes: number("innodb-redo-log-capacity"),
            flush_log_at_commit: number("innodb-flush-log-at-trx-commit") as u8,
            variables: variables.collect(),
            warnings,
        }
    }
}

/// One option has another name than its variable.
fn variable_name(spec: &OptionSpec) -> String {
    match spec.name {
        "default-time-zone" => "time_zone".to_owned(),
        name => name.replace('-', "_"),
    }
}

fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

fn default_of(name: &str) -> String {
    let spec = OPTIONS.iter().find(|spec| spec.name == name).expect("settings only read declared options");
    if spec.default.is_empty() {
        return String::new();
    }
    normalise(spec, spec.default).expect("a test checks every default")
}

/// Finds the declaration behind a name with its prefixes; `None` for an unknown option marked `loose-`.
fn resolve(given: &Given) -> Result<Option<(&'static OptionSpec, String)>, String> {
    let whole = canonical(&given.name);
    let (name, is_loose) = match whole.strip_prefix("loose-") {
        Some(name) => (name, true),
        None => (whole.as_str(), false),
    };
    if let Some(spec) = find(name) {
        let value = match &given.value {
            Some(value) => value.clone(),
            None if matches!(spec.kind, Kind::Boolean | Kind::Choice(_) | Kind::Only(_)) => "ON".to_owned(),
            None => return Err(format!("{}: option '--{name}' needs a value", given.place)),
        };
        return check(spec, &value, given).map(Some);
    }
    for (prefix, value) in [("skip-", "OFF"), ("disable-", "OFF"), ("enable-", "ON")] {
        let Some(spec) = name.strip_prefix(prefix).and_then(find) else { continue };
        if given.value.is_some() {
            return Err(format!("{}: option '--{name}' takes no value", given.place));
        }
        return check(spec, value, given).map(Some);
    }
    if is_loose {
        return Ok(None);
    }
    let hint = match nearest(name, OPTIONS.iter().map(|spec| spec.name)) {
        Some(known) => format!("did you mean '--{known}'?"),
        None => "--help lists the options".to_owned(),
    };
    Err(format!("{}: unknown option '--{name}'; {hint}", given.place))
}

fn find(name: &str) -> Option<&'static OptionSpec> {
    OPTIONS.iter().find(|spec| spec.name == name)
}

fn check(
    spec: &'static OptionSpec,
    value: &str,
    given: &Given,
) -> Result<(&'static OptionSpec, String), String> {
    match normalise(spec, value) {
        Ok(value) => Ok((spec, value)),
        Err(reason) => Err(format!("{}: option '--{}': {reason}", given.place, spec.name)),
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
        check(&["--log-bin=bin"], "only OFF is supported");
        check(&["--defaults-file=/nonexistent/my.cnf"], "/nonexistent/my.cnf");
        assert_eq!(parse(&["--loose-frobnicate=1"]).expect("ignored").warnings.len(), 1);
    }
}
