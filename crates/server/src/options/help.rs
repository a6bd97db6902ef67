//! The text of `--help`, made from the declarations.

use super::known;
use super::mapped;
use super::table::{Kind, OPTIONS, OptionSpec, Section};

const INTRODUCTION: &str = "\
evenkeel: a transactional database server that speaks the MySQL protocol.

Usage: evenkeel [serve] [options]
       evenkeel replicate --from mysql://USER:PASSWORD@HOST:PORT [options]
       evenkeel verify DATADIR | BACKUP | ARCHIVE [--key-file FILE]
       evenkeel restore --from BACKUP [--increment BACKUP].. --to DATADIR [--archive ARCHIVE]
                        [--until 'TIME' | LSN | [before-]gtid:ID] [--key-file FILE]
       evenkeel restore-table --dsn DSN --table DATABASE.TABLE --as DATABASE.TABLE --from BACKUP [--work DIRECTORY] ..
       evenkeel prune --backups DIRECTORY --keep NUMBER | --keep-days NUMBER [--archive ARCHIVE] [--key-file FILE]
                      [--dry-run]
       evenkeel inspect DATADIR superblock | page NUMBER | log [LSN]
       evenkeel bench | record | report | compare | top | watch | doctor | device | ping | backup
       (each has --help)

Start a server with its data in ./evenkeel-data and connect to it:
  evenkeel
  mysql -h 127.0.0.1 -P 3306 -u root

Options are written as mysqld's: --name=value or --name value; '-' and '_' are the same; sizes may end in
K, M, G or T; skip-name turns a switch off; loose-name is no error when unknown. Options of mysqld 5.0 to 9.7, Percona
Server and MariaDB that have no effect here are accepted and named in the log. Options may also stand in an
option file (--defaults-file) under [mysqld], [server] or [evenkeel]. What comes last wins.
";

const ENDING: &str = "
  --help, -?      This text; with --verbose also the options of other servers, and what becomes of them here.
  --validate-config  Checks the options, says what would have no effect, and does not start.
  --print-defaults   The options of the option files and the command line.
  --version, -V   The version.

replicate makes a server on an empty data directory the copy of MySQL 8.0 to 9.7 or of another Evenkeel, accounts included, and
its replica; then it serves like any start, with super_read_only=ON. Begun again it goes on, or begins an unfinished
copy anew. EVENKEEL_SOURCE_PASSWORD has the password where --from has none.

verify checks everything in the data directory of a stopped server (superblocks, log, every page, every tree, the
dictionary, rows against indexes) without writing there, names the tables that are damaged and says what to do. Its
exit status is 0 if all is sound, 1 if something is damaged, 2 if it could not look.

restore makes a new data directory of a backup (evenkeel backup; a backup file may be followed by its increments, in
their order, and one file may be - for standard input) and of the log that a server with log-archive-dir has archived
since: all of it, or up to the last commit before a time (of the system's time zone) or an LSN.

restore-table makes a new table of a running server of one as it was: it restores the backup as restore does (with the same
arguments) into a directory of its own below --work (here, if that is not given), which it removes at the end, and
inserts the rows. The table comes without its foreign keys and triggers, and has its name only when it is whole.

prune removes the backup files of a directory but the newest ones, or those of some days, and whatever these continue.
With an archive it also tells the server that writes there which log the kept ones need, which
log-archive-expire-seconds then spares.

inspect shows one thing of a stopped server's data, damaged or not: the superblock slots and the checkpoint, a page
(verify and error messages give the number), or the log from an LSN or the checkpoint.

bench, record, report, compare, top, watch, doctor, device and ping work on any server that speaks the MySQL protocol.

Signals: SIGTERM and SIGINT stop the server cleanly. A second server on the same data directory is refused.
";

const INDENT: &str = "      ";
const WIDTH: usize = 100;

pub fn help_text() -> String {
    let mut text = INTRODUCTION.to_owned();
    for &section in Section::ALL {
        text.push_str(&format!("\n{}:\n", section.title()));
        for spec in OPTIONS.iter().filter(|spec| spec.section == section) {
            text.push_str(&describe(spec));
        }
    }
    text.push_str(ENDING);
    text
}

/// `--verbose --help`: the names of mysqld, Percona Server and MariaDB too, by what becomes of them.
pub fn long_help_text() -> String {
    let mut text = help_text();
    text.push_str("\nOptions of mysqld, Percona Server and MariaDB that have another name here:\n");
    let renamed =
        mapped::names().filter_map(|old| Some(format!("{old} -> {}", mapped::renamed(old, None)?.0)));
    push_lines(&mut text, renamed);
    text.push_str("  innodb-log-file-size, innodb-log-files-in-group -> innodb-redo-log-capacity\n");
    text.push_str("\nOptions that set the system variable of their name (SHOW VARIABLES has the values):\n");
    let is_variable = |name: &str| variables::VariableId::by_name(&name.replace('-', "_")).is_some();
    push_lines(&mut text, known::all().map(|known| known.name.to_owned()).filter(|name| is_variable(name)));
    let mut reason = "";
    let mut names = Vec::new();
    let others = known::all().filter(|known| !is_variable(known.name));
    for known in others {
        if known.reason != reason {
            push_lines(&mut text, names.drain(..));
            reason = known.reason;
            let outcome = if known.is_refused { "Refused" } else { "Without effect" };
            text.push_str(&format!("\n{outcome}: {reason}:\n"));
        }
        names.push(known.name.to_owned());
    }
    push_lines(&mut text, names.drain(..));
    text
}

fn push_lines(text: &mut String, names: impl Iterator<Item = String>) {
    names.for_each(|name| text.push_str(&format!("  {name}\n")));
}

fn describe(spec: &OptionSpec) -> String {
    let value = match spec.kind {
        Kind::Text | Kind::Repeated | Kind::Filter(_) => "TEXT".to_owned(),
        Kind::Errors => "ERRORS".to_owned(),
        Kind::Boolean => "ON|OFF".to_owned(),
        Kind::Integer { .. } => "NUMBER".to_owned(),
        Kind::Size { .. } => "SIZE".to_owned(),
        Kind::Choice(words) => words.join("|"),
        Kind::NameOrOff => "OFF|ON|NAME".to_owned(),
        Kind::Only(word) => word.to_owned(),
    };
    let default =
        if spec.default.is_empty() { String::new() } else { format!("  (default {})", spec.default) };
    let mut text = format!("  --{}={value}{default}\n", spec.name);
    let mut line = INDENT.to_owned();
    for word in spec.help.split(' ') {
        if line.len() + word.len() >= WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = INDENT.to_owned();
        }
        line.push_str(word);
        line.push(' ');
    }
    text.push_str(line.trim_end());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/options.txt is this text, so that the outcome of each name can be read without the program.
    #[test]
    fn the_committed_table_of_options_is_current() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.txt");
        if std::env::var_os("EVENKEEL_WRITE_OPTIONS").is_some() {
            std::fs::write(&path, long_help_text()).expect("writable");
        }
        let committed = std::fs::read_to_string(path).expect("docs/options.txt exists");
        assert!(
            committed == long_help_text(),
            "write it anew with EVENKEEL_WRITE_OPTIONS=1 cargo test -p server --lib"
        );
    }

    #[test]
    fn help_teaches_every_option() {
        let text = help_text();
        for spec in OPTIONS {
            assert!(text.contains(&format!("--{}=", spec.name)), "{}", spec.name);
        }
        assert!(text.lines().all(|line| line.len() <= 130));
    }
}
