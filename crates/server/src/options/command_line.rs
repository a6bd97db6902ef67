//! The command line: what to do, and the options given there.
//!
//! Called by `main`. Option files are read by `settings`, which needs `--defaults-file` from here first.

use std::path::PathBuf;

use engine::Inspected;
use replica::CopySource;

use crate::prune::PrunePlan;
use crate::restore::RestorePlan;
use crate::restore_table::RestoreTablePlan;

use super::command_help::command_help;
use super::settings::{Settings, with_option_files};
use super::table::{Kind, OPTIONS};
use crate::options::given::Given;

/// The password of the account at the source, for a `--from` without one.
const PASSWORD_VARIABLE: &str = "EVENKEEL_SOURCE_PASSWORD";

/// What the user asked for.
#[derive(Debug)]
pub enum Command {
    Serve(Box<Settings>),
    /// Checks a data directory, an archive or, perhaps with its key file, a backup file.
    Verify(PathBuf, Option<PathBuf>),
    /// Makes a data directory of a backup and archived log.
    Restore(RestorePlan),
    /// One table as it was, into a running server.
    RestoreTable(Box<RestoreTablePlan>),
    /// Removes old backup files.
    Prune(PrunePlan),
    /// Shows one thing of a data directory.
    Inspect(PathBuf, Inspected),
    Help,
    /// `COMMAND --help`: its text.
    HelpOf(&'static str),
    /// `--verbose --help`: the names of other servers as well, with what becomes of them.
    LongHelp,
    /// `--print-defaults`: the options that a start would have.
    PrintOptions(Vec<String>),
    /// `--validate-config`: the options are sound; these are the notes on them.
    Valid(Vec<String>),
    Version,
}

/// The arguments after the program's name.
pub fn parse_command_line(arguments: &[String]) -> Result<Command, String> {
    if let Some(text) = command_help(arguments) {
        return Ok(Command::HelpOf(text));
    }
    if let Some(("verify", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return verify_command(rest);
    }
    if let Some(("restore", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return RestorePlan::parse(rest).map(Command::Restore);
    }
    if let Some(("restore-table", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return RestoreTablePlan::parse(rest).map(|plan| Command::RestoreTable(Box::new(plan)));
    }
    if let Some(("prune", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return PrunePlan::parse(rest).map(Command::Prune);
    }
    if let Some(("inspect", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return inspect_command(rest);
    }
    if let Some(("replicate", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return replicate_command(rest);
    }
    let mut given = Vec::new();
    let mut rest = arguments.iter();
    let mut is_first = true;
    while let Some(argument) = rest.next() {
        let was_first = std::mem::replace(&mut is_first, false);
        match argument.as_str() {
            "serve" if was_first => continue,
            "help" if was_first => return Ok(Command::Help),
            "--help" | "-?" if arguments.iter().any(|word| matches!(word.as_str(), "--verbose" | "-v")) => {
                return Ok(Command::LongHelp);
            }
            "--help" | "-?" => return Ok(Command::Help),
            "--verbose" | "-v" | "--validate-config" | "--print-defaults" | "--no-defaults" => continue,
            "--version" | "-V" => return Ok(Command::Version),
            _ => {}
        }
        let Some(option) = argument.strip_prefix("--").or_else(|| short_name(argument)) else {
            return Err(format!("unexpected argument '{argument}'; --help lists the options"));
        };
        let (name, mut value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        if value.is_none() && takes_next_argument(name) {
            let next = rest.next().ok_or_else(|| format!("option '--{name}' needs a value"))?;
            value = Some(next.clone());
        }
        given.push(Given { name: name.to_owned(), value, place: "command line".to_owned() });
    }
    if arguments.iter().any(|word| word == "--print-defaults") {
        let shown = |given: &Given| match &given.value {
            Some(value) => format!("--{}={value}", given.name),
            None => format!("--{}", given.name),
        };
        return Ok(Command::PrintOptions(with_option_files(given)?.iter().map(shown).collect()));
    }
    let settings = Settings::from_given(given)?;
    Ok(match arguments.iter().any(|word| word == "--validate-config") {
        true => Command::Valid(settings.warnings),
        false => Command::Serve(Box::new(settings)),
    })
}

/// `serve` with the source that is copied first.
fn replicate_command(arguments: &[String]) -> Result<Command, String> {
    let mut from = None;
    let mut others = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix("--from") {
            Some("") => from = rest.next().cloned(),
            Some(value) if value.starts_with('=') => from = Some(value[1..].to_owned()),
            _ => others.push(argument.clone()),
        }
    }
    let mut command = parse_command_line(&others)?;
    if let Command::Serve(settings) = &mut command {
        let from =
            from.ok_or("replicate needs the server to copy: --from mysql://user:password@host:port")?;
        settings.copies_from = Some(CopySource::parse(&from, std::env::var(PASSWORD_VARIABLE).ok())?);
    }
    Ok(command)
}

fn verify_command(arguments: &[String]) -> Result<Command, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_name = |word: &str| word == "-" || !word.starts_with('-');
    let command = |place: &str, key: Option<&str>| Command::Verify(place.into(), key.map(PathBuf::from));
    match words[..] {
        [place] if is_name(place) => Ok(command(place, None)),
        [place, "--key-file", key] | ["--key-file", key, place] if is_name(place) => Ok(command(place, Some(key))),
        [one, other] if one.starts_with("--key-file=") || other.starts_with("--key-file=") => {
            let (key, place) = if one.starts_with("--key-file=") { (one, other) } else { (other, one) };
            Ok(command(place, key.strip_prefix("--key-file=")))
        }
        _ => Err("verify takes one argument, a data directory, a backup or a log archive, and --key-file for an encrypted backup".to_owned()),
    }
}

fn inspect_command(arguments: &[String]) -> Result<Command, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("'{text}' is not a number"));
    let (directory, what) = match words[..] {
        [directory, "superblock"] => (directory, Inspected::Superblock),
        [directory, "page", page] => (directory, Inspected::Page(number(page)?)),
        [directory, "log"] => (directory, Inspected::Log(None)),
        [directory, "log", lsn] => (directory, Inspected::Log(Some(number(lsn)?))),
        _ => {
            let forms = "superblock, page NUMBER, log or log LSN";
            return Err(format!("inspect takes the data directory and one of: {forms}"));
        }
    };
    Ok(Command::Inspect(PathBuf::from(directory), what))
}

/// The two short options that scripts really use.
fn short_name(argument: &str) -> Option<&'static str> {
    match argument {
        "-P" => Some("port"),
        "-u" => Some("user"),
        _ => None,
    }
}

/// `--port 3307` is as good as `--port=3307`; switches stand alone.
fn takes_next_argument(name: &str) -> bool {
    let name = name.replace('_', "-");
    OPTIONS.iter().any(|spec| {
        spec.name == name && !matches!(spec.kind, Kind::Boolean | Kind::Only(_) | Kind::NameOrOff)
    })
}
