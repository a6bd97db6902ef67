//! The text of `evenkeel COMMAND --help` for the commands that the program has itself; the companion's have their own.
//!
//! Invariant: each option that a command takes is named here. Called by `command_line`.

/// A command and its text.
const COMMANDS: [(&str, &str); 6] = [
    (
        "verify",
        "\
Usage: evenkeel verify DATADIR | BACKUP | ARCHIVE [--key-file FILE]

Checks everything in the data directory of a stopped server, in a backup (a directory, a file or s3://BUCKET/KEY) or in an
archive of the log, without writing there. It names what is damaged and says what to do.

  --key-file FILE   The key of an encrypted backup file.

Exit status: 0 all is sound, 1 something is damaged, 2 it could not look.

Example: evenkeel verify /backup/monday.ekb --key-file backup.key
",
    ),
    (
        "restore",
        "\
Usage: evenkeel restore --from BACKUP [--increment FILE].. --to DATADIR [options]

Makes a new data directory of a backup and of the log that was archived since.

  --from BACKUP       A directory or a file of evenkeel backup; - is standard input, s3://BUCKET/KEY an object of a store.
  --increment FILE    A file that continues the one before; once for each, in their order. One of all files may be -.
  --to DATADIR        The new directory, which must not exist.
  --archive ARCHIVE   The log-archive-dir of the server. Without it the backup's own end is the end.
  --until MOMENT      The last commit of before a time ('2026-03-02 14:02:59.5', of the system's time zone) or an LSN (a
                      number), gtid:ID for the end of a transaction, before-gtid:ID for just before it. Without it: all.
  --key-file FILE     The key of encrypted backup files.

Example: evenkeel restore --from full.ekb --increment mon.ekb --archive /archive/one --until '2026-03-02 14:02:59' --to /data/new
",
    ),
    (
        "restore-table",
        "\
Usage: evenkeel restore-table --dsn DSN --table DATABASE.TABLE --as DATABASE.TABLE --from BACKUP [options]

Makes a new table of a running server of one as it was. The backup is restored into a directory of its own, which is removed
at the end. The table comes without its foreign keys and triggers, and has its name only when it is whole.

  --dsn DSN           The running server, mysql://user:password@host:port.
  --table NAME        The table as it was called then.
  --as NAME           The new table.
  --work DIRECTORY    Where there is room for the whole backup; here, if it is not given.
  --from BACKUP, --increment FILE, --archive ARCHIVE, --until MOMENT, --key-file FILE
                      As for restore (evenkeel restore --help).

Example: evenkeel restore-table --dsn mysql://root@127.0.0.1:3306 --table shop.orders --as shop.orders_before \\
             --from /backup/monday --archive /archive/one --until '2026-03-02 14:02:59' --work /data/scratch
",
    ),
    (
        "prune",
        "\
Usage: evenkeel prune --backups DIRECTORY --keep NUMBER | --keep-days NUMBER [options]

Removes the backup files of a directory that nobody wants any more. The newest one stays, and whatever a kept one continues.

  --backups DIRECTORY   Where the backup files are.
  --keep NUMBER         So many of the newest stay.
  --keep-days NUMBER    Those of so many days stay; with --keep both do.
  --archive ARCHIVE     Notes there which log the kept backups need, which log-archive-expire-seconds then spares.
  --key-file FILE       The key of encrypted backup files.
  --dry-run             Says what would go, and removes nothing.

Example: evenkeel prune --backups /backup --keep 8 --keep-days 14 --archive /archive/one
",
    ),
    (
        "inspect",
        "\
Usage: evenkeel inspect DATADIR superblock | page NUMBER | log [LSN]

Shows one thing of a stopped server's data, damaged or not.

  superblock     The superblock slots and the checkpoint.
  page NUMBER    A page; verify and error messages give the number.
  log [LSN]      The log from an LSN, or from the checkpoint.

Example: evenkeel inspect /var/lib/evenkeel page 4711
",
    ),
    (
        "replicate",
        "\
Usage: evenkeel replicate --from mysql://USER:PASSWORD@HOST:PORT [options of serve]

Makes a server on an empty data directory the copy of MySQL 8.0 to 9.7 or of another Evenkeel, accounts included, and its
replica; then it serves like any start, with super_read_only=ON. Begun again it goes on, or begins an unfinished copy anew.

  --from DSN     The server to copy. Without a password in it: that of the variable EVENKEEL_SOURCE_PASSWORD.
                 ?ssl-mode=required or ?ssl-ca=FILE behind it encrypts the copy and what follows.

All options of serve may follow (evenkeel --help), such as --datadir, --port and --server-id.

Example: evenkeel replicate --from mysql://copier@10.0.0.5:3306 --datadir copy --port 3307
",
    ),
];

/// The text for these arguments, if they are a command that asks for it.
pub(super) fn command_help(arguments: &[String]) -> Option<&'static str> {
    let (command, rest) = arguments.split_first()?;
    let (_, text) = COMMANDS.iter().find(|(name, _)| name == command)?;
    // What follows an option may be any text.
    let asks = |word: &String| matches!(word.as_str(), "--help" | "-?");
    (rest.first().is_some_and(asks) || rest.last().is_some_and(asks)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> Option<&'static str> {
        command_help(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn each_command_has_a_text_of_its_own() {
        for (name, text) in COMMANDS {
            assert!(text.starts_with(&format!("Usage: evenkeel {name} ")), "{name}");
            assert!(text.contains("\nExample: evenkeel "), "{name}");
            assert!(text.lines().all(|line| line.len() <= 130), "{name}");
            assert_eq!(asked(&[name, "--help"]), Some(text));
            assert_eq!(asked(&[name, "-?"]), Some(text));
            assert_eq!(asked(&[name]), None);
        }
        assert!(asked(&["prune", "--backups", "x", "--help"]).is_some());
        assert_eq!(asked(&["serve", "--help"]), None);
        assert_eq!(asked(&["--help"]), None);
    }
}
