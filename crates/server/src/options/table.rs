//! The declarations of all options.
//!
//! Invariant: names are written with `-`; defaults are valid for their kind (a test parses them all); an option
//! that is a system variable reaches the session's registry under its name with `_`.

use instance::replication::FilterKind;

/// What values an option takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Boolean,
    Integer {
        min: u64,
        max: u64,
    },
    /// A number of bytes; K, M, G, T may follow it.
    Size {
        min: u64,
        max: u64,
    },
    /// One of these words, in any case; a number chooses by position.
    Choice(&'static [&'static str]),
    /// The one state this server has; another value has no effect, and the log says so.
    Only(&'static str),
    /// OFF, ON, or a name, which is ON as well.
    NameOrOff,
    /// Given once for each of several values.
    Repeated,
    /// The same, for rules of replication filters.
    Filter(FilterKind),
    /// Numbers of errors.
    Errors,
}

/// Who an option is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Obeyed by this program only.
    Program,
    /// Obeyed by this program and shown as a system variable.
    ProgramAndVariable,
    /// Handed to the session's registry of system variables.
    Variable,
}

/// The part of `--help` that an option stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Basics,
    Connections,
    Security,
    Storage,
    Sessions,
    Compatibility,
}

impl Section {
    pub(crate) const ALL: &'static [Self] = &[
        Self::Basics,
        Self::Connections,
        Self::Security,
        Self::Storage,
        Self::Sessions,
        Self::Compatibility,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Basics => "Basics",
            Self::Connections => "Connections",
            Self::Security => "Security",
            Self::Storage => "Storage",
            Self::Sessions => "Defaults of new sessions",
            Self::Compatibility => "Accepted so that existing option files work",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionSpec {
    pub name: &'static str,
    pub kind: Kind,
    /// Empty when the server decides or when there is none.
    pub default: &'static str,
    pub target: Target,
    pub section: Section,
    pub help: &'static str,
}

const fn option(
    section: Section,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    target: Target,
    help: &'static str,
) -> OptionSpec {
    OptionSpec { name, kind, default, target, section, help }
}

use Kind::{Boolean, Choice, Errors, Filter, Integer, NameOrOff, Only, Repeated, Size, Text};
use Section::{Basics, Compatibility, Connections, Security, Sessions, Storage};
use Target::{Program, ProgramAndVariable, Variable};

const SECONDS_MAX: u64 = 31_536_000;
const ISOLATION_LEVELS: &[&str] = &["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];

pub(crate) const OPTIONS: &[OptionSpec] = &[
    option(
        Basics,
        "datadir",
        Text,
        "./evenkeel-data",
        ProgramAndVariable,
        "Directory of all data; created when absent.",
    ),
    option(
        Basics,
        "port",
        Integer { min: 0, max: 65_535 },
        "3306",
        ProgramAndVariable,
        "TCP port; 0 lets the system choose.",
    ),
    option(
        Basics,
        "bind-address",
        Text,
        "127.0.0.1",
        ProgramAndVariable,
        "Address to listen on; * or 0.0.0.0 is every IPv4 address, :: is every address.",
    ),
    option(
        Basics,
        "socket",
        Text,
        "",
        ProgramAndVariable,
        "Path of the socket file for clients of this machine; none by default.",
    ),
    option(
        Basics,
        "defaults-file",
        Text,
        "",
        Program,
        "Option file to read first: its groups [mysqld], [server] and [evenkeel].",
    ),
    option(
        Basics,
        "log-error",
        Text,
        "",
        ProgramAndVariable,
        "File for messages; standard error by default.",
    ),
    option(
        Basics,
        "metrics-port",
        Integer { min: 0, max: 65_535 },
        "0",
        Program,
        "TCP port of /metrics, the server's figures as OpenMetrics text over HTTP; 0 is off.",
    ),
    option(
        Basics,
        "metrics-bind-address",
        Text,
        "127.0.0.1",
        Program,
        "Address on which metrics-port is served; it asks for no password.",
    ),
    option(
        Basics,
        "pid-file",
        Text,
        "",
        ProgramAndVariable,
        "File to write the process id to; none by default.",
    ),
    option(
        Basics,
        "worker-threads",
        Integer { min: 0, max: 1024 },
        "0",
        Program,
        "Threads that serve connections; 0 is one for each processor.",
    ),
    option(
        Basics,
        "session-moves",
        Choice(&["auto", "off", "always"]),
        "auto",
        Program,
        "Whether sessions move from a thread that has no time left to one that has some; always is for tests.",
    ),
    option(
        Basics,
        "session-memory-size",
        Size { min: 0, max: u64::MAX },
        "0",
        Program,
        "What statements of all sessions may hold in memory together; 0 is as much as the buffer pool, within half of the rest.",
    ),
    option(
        Basics,
        "temporary-space-size",
        Size { min: 0, max: u64::MAX },
        "0",
        Program,
        "What temporary files of all statements may take in tmpdir together; 0 is what there is.",
    ),
    option(
        Basics,
        "large-pages",
        Boolean,
        "ON",
        ProgramAndVariable,
        "Use memory pages of 2 MB for the program's code and the buffer pool; without them perf can name the code.",
    ),
    option(
        Connections,
        "max-connections",
        Integer { min: 1, max: 100_000 },
        "151",
        ProgramAndVariable,
        "Clients at one time; one more is kept for an administrator.",
    ),
    option(
        Connections,
        "connect-timeout",
        Integer { min: 2, max: SECONDS_MAX },
        "10",
        ProgramAndVariable,
        "Seconds that a client has to log in.",
    ),
    option(
        Connections,
        "wait-timeout",
        Integer { min: 1, max: SECONDS_MAX },
        "28800",
        Variable,
        "Seconds after which an idle client is disconnected.",
    ),
    option(
        Connections,
        "interactive-timeout",
        Integer { min: 1, max: SECONDS_MAX },
        "28800",
        Variable,
        "The same for interactive clients.",
    ),
    option(
        Connections,
        "net-read-timeout",
        Integer { min: 1, max: SECONDS_MAX },
        "30",
        Variable,
        "Seconds to wait for the rest of a packet.",
    ),
    option(
        Connections,
        "net-write-timeout",
        Integer { min: 1, max: SECONDS_MAX },
        "60",
        Variable,
        "Seconds to wait for a client that does not read its results.",
    ),
    option(
        Connections,
        "max-allowed-packet",
        Size { min: 1024, max: 1 << 30 },
        "64M",
        Variable,
        "Largest packet that a client may send.",
    ),
    option(
        Connections,
        "back-log",
        Integer { min: 1, max: 65_535 },
        "1024",
        Program,
        "Connections that the system may hold before they are accepted.",
    ),
    option(
        Connections,
        "skip-networking",
        Boolean,
        "OFF",
        ProgramAndVariable,
        "Do not listen on TCP; clients come by the socket file.",
    ),
    option(
        Security,
        "initial-root-password-file",
        Text,
        "",
        Program,
        "File with the first password of 'root'@'localhost'; read only when the data directory is created. The environment variable EVENKEEL_ROOT_PASSWORD does the same.",
    ),
    option(
        Security,
        "tls",
        Boolean,
        "ON",
        Program,
        "Offer TLS; a certificate is made in the data directory unless ssl-cert and ssl-key name one.",
    ),
    option(
        Security,
        "ssl-cert",
        Text,
        "",
        Variable,
        "Certificate chain in PEM form; a path begins in the data directory, as of the options below.",
    ),
    option(Security, "ssl-key", Text, "", Variable, "Private key of the certificate in PEM form."),
    option(
        Security,
        "ssl-ca",
        Text,
        "",
        Variable,
        "Authorities in PEM form whose certificates clients may show; without any, accounts with REQUIRE X509, ISSUER or SUBJECT cannot log in.",
    ),
    option(
        Security,
        "ssl-capath",
        Text,
        "",
        Variable,
        "Directory of more authorities, in files named by the hash of their subject (c_rehash).",
    ),
    option(Security, "ssl-crl", Text, "", Variable, "Revoked certificates in PEM form."),
    option(
        Security,
        "ssl-crlpath",
        Text,
        "",
        Variable,
        "Directory of more lists of revoked certificates, named by hash.",
    ),
    option(
        Security,
        "require-secure-transport",
        Boolean,
        "OFF",
        ProgramAndVariable,
        "Refuse clients that use neither TLS nor the socket file.",
    ),
    option(
        Storage,
        "innodb-buffer-pool-size",
        Size { min: 5 << 20, max: 1 << 50 },
        "128M",
        ProgramAndVariable,
        "Memory for data pages.",
    ),
    option(
        Storage,
        "innodb-buffer-pool-chunk-size",
        Size { min: 1 << 20, max: 1 << 50 },
        "128M",
        Variable,
        "The buffer pool consists of whole chunks.",
    ),
    option(
        Storage,
        "innodb-buffer-pool-load-at-startup",
        Boolean,
        "ON",
        ProgramAndVariable,
        "Whether the pages that were in memory are read again after a start.",
    ),
    option(
        Storage,
        "innodb-max-dirty-pages-pct",
        Text,
        "90",
        Variable,
        "The most dirty pages, in percent of the buffer pool.",
    ),
    option(
        Storage,
        "innodb-page-size",
        Choice(&["4096", "8192", "16384", "4K", "8K", "16K"]),
        "8192",
        ProgramAndVariable,
        "Size of a data page; fixed when the data directory is created.",
    ),
    option(
        Storage,
        "page-packing",
        Choice(&["auto", "off"]),
        "auto",
        Program,
        "Whether pages are compressed in memory while the disk is slow to answer and processors have time.",
    ),
    option(
        Storage,
        "innodb-redo-log-capacity",
        Size { min: 8 << 20, max: 1 << 40 },
        "1G",
        ProgramAndVariable,
        "Disk space of the write-ahead log.",
    ),
    option(
        Storage,
        "innodb-flush-log-at-timeout",
        Integer { min: 0, max: 2700 },
        "1",
        ProgramAndVariable,
        "Seconds after which a commit that did not wait for the disk is on it.",
    ),
    option(
        Storage,
        "innodb-flush-log-at-trx-commit",
        Integer { min: 0, max: 2 },
        "1",
        ProgramAndVariable,
        "1: a commit is on disk before its answer; 2 and 0: within innodb-flush-log-at-timeout.",
    ),
    option(
        Storage,
        "ddl-lock-step",
        Integer { min: 1, max: 31_536_000_000 },
        "50",
        Variable,
        "Milliseconds for which a definition that waits for a table first keeps later statements waiting.",
    ),
    option(
        Storage,
        "innodb-lock-wait-timeout",
        Integer { min: 1, max: 1_073_741_824 },
        "50",
        Variable,
        "Seconds to wait for a row lock.",
    ),
    option(
        Sessions,
        "performance-schema",
        Boolean,
        "ON",
        Variable,
        "Whether statements are summed up in performance_schema.",
    ),
    option(
        Sessions,
        "local-infile",
        Boolean,
        "OFF",
        Variable,
        "Whether clients may send files with LOAD DATA LOCAL.",
    ),
    option(
        Sessions,
        "character-set-server",
        Text,
        "utf8mb4",
        Variable,
        "Character set of databases that name none.",
    ),
    option(
        Sessions,
        "collation-server",
        Text,
        "",
        Variable,
        "Collation of databases that name none; by default that of the character set.",
    ),
    option(Sessions, "default-time-zone", Text, "SYSTEM", Variable, "Time zone such as '+01:00'."),
    option(Sessions, "sql-mode", Text, "", Variable, "Modes separated by commas; by default MySQL's."),
    option(
        Sessions,
        "transaction-isolation",
        Choice(ISOLATION_LEVELS),
        "REPEATABLE-READ",
        Variable,
        "Isolation level of transactions that name none.",
    ),
    option(
        Sessions,
        "autocommit",
        Boolean,
        "ON",
        Variable,
        "Whether each statement is a transaction of its own.",
    ),
    option(
        Sessions,
        "lower-case-table-names",
        Integer { min: 0, max: 2 },
        "0",
        Variable,
        "0: table names differ by case.",
    ),
    option(
        Sessions,
        "max-execution-time",
        Integer { min: 0, max: 4_294_967_295 },
        "0",
        Variable,
        "Milliseconds that a SELECT may take; 0 is no limit.",
    ),
    option(
        Sessions,
        "max-prepared-stmt-count",
        Integer { min: 0, max: 4_194_304 },
        "16382",
        Variable,
        "Prepared statements of all clients together.",
    ),
    option(
        Sessions,
        "group-concat-max-len",
        Integer { min: 4, max: 1 << 50 },
        "1024",
        Variable,
        "Longest result of GROUP_CONCAT.",
    ),
    option(
        Sessions,
        "explicit-defaults-for-timestamp",
        Boolean,
        "ON",
        Variable,
        "Whether TIMESTAMP columns have no hidden defaults.",
    ),
    option(
        Compatibility,
        "default-storage-engine",
        Text,
        "InnoDB",
        Variable,
        "The engine of tables that name none.",
    ),
    option(
        Compatibility,
        "innodb-doublewrite",
        Choice(&["OFF", "ON"]),
        "ON",
        Variable,
        "Pages are always safe from torn writes.",
    ),
    option(
        Compatibility,
        "innodb-flush-method",
        Text,
        "O_DIRECT",
        Variable,
        "Data files bypass the page cache where the file system can.",
    ),
    option(
        Compatibility,
        "innodb-io-capacity",
        Integer { min: 100, max: 4_294_967_295 },
        "10000",
        Variable,
        "When given, the most pages that the background writes in a second.",
    ),
    option(
        Compatibility,
        "innodb-io-capacity-max",
        Integer { min: 100, max: 4_294_967_295 },
        "20000",
        Variable,
        "Only the upper limit of innodb-io-capacity: nothing hurries beyond it.",
    ),
    option(
        Compatibility,
        "innodb-flush-neighbors",
        Integer { min: 0, max: 2 },
        "0",
        Variable,
        "Neighbouring pages are not written along.",
    ),
    option(
        Compatibility,
        "innodb-file-per-table",
        Boolean,
        "ON",
        Variable,
        "Shown only; tables share the store.",
    ),
    option(
        Compatibility,
        "innodb-log-buffer-size",
        Size { min: 256 << 10, max: 4 << 30 },
        "64M",
        Variable,
        "Memory for the write-ahead log.",
    ),
    option(
        Compatibility,
        "innodb-buffer-pool-instances",
        Integer { min: 0, max: 64 },
        "1",
        Variable,
        "Shown only; the pool divides itself.",
    ),
    option(
        Compatibility,
        "thread-cache-size",
        Integer { min: 0, max: 16_384 },
        "9",
        Variable,
        "Shown only; connections need no threads.",
    ),
    option(
        Compatibility,
        "table-open-cache",
        Integer { min: 1, max: 524_288 },
        "4000",
        Variable,
        "Shown only.",
    ),
    option(
        Compatibility,
        "skip-name-resolve",
        Boolean,
        "ON",
        Variable,
        "Client addresses are never looked up.",
    ),
    option(
        Compatibility,
        "skip-external-locking",
        Boolean,
        "ON",
        Variable,
        "The data directory is always locked against other processes.",
    ),
    option(
        Storage,
        "log-bin",
        NameOrOff,
        "OFF",
        Program,
        "ON, or what the files are called: write a binary log for replicas.",
    ),
    option(
        Storage,
        "binlog-do-db",
        Repeated,
        "",
        Program,
        "A database whose changes the binary log has; without it those of all. May be given several times.",
    ),
    option(
        Storage,
        "binlog-ignore-db",
        Repeated,
        "",
        Program,
        "A database whose changes the binary log does not have. May be given several times.",
    ),
    option(
        Storage,
        "replicate-do-db",
        Filter(FilterKind::DoDatabase),
        "",
        Program,
        "[CHANNEL:]DATABASE: a replica applies changes of no other. This and the following filters may be given several times.",
    ),
    option(
        Storage,
        "replicate-ignore-db",
        Filter(FilterKind::IgnoreDatabase),
        "",
        Program,
        "[CHANNEL:]DATABASE: a replica does not apply its changes.",
    ),
    option(
        Storage,
        "replicate-do-table",
        Filter(FilterKind::DoTable),
        "",
        Program,
        "[CHANNEL:]DATABASE.TABLE: a replica applies changes of tables that a filter names only.",
    ),
    option(
        Storage,
        "replicate-ignore-table",
        Filter(FilterKind::IgnoreTable),
        "",
        Program,
        "[CHANNEL:]DATABASE.TABLE: a replica does not apply its changes.",
    ),
    option(
        Storage,
        "replicate-wild-do-table",
        Filter(FilterKind::WildDoTable),
        "",
        Program,
        "[CHANNEL:]DATABASE.TABLE with % and _: a replica applies changes of tables that a filter names only.",
    ),
    option(
        Storage,
        "replicate-wild-ignore-table",
        Filter(FilterKind::WildIgnoreTable),
        "",
        Program,
        "[CHANNEL:]DATABASE.TABLE with % and _: a replica does not apply their changes.",
    ),
    option(
        Storage,
        "replicate-rewrite-db",
        Filter(FilterKind::RewriteDatabase),
        "",
        Program,
        "[CHANNEL:]FROM->TO: a replica applies changes of the database FROM to the database TO.",
    ),
    option(
        Storage,
        "replica-skip-errors",
        Errors,
        "OFF",
        Variable,
        "Numbers of errors, ddl_exist_errors or all: changes of a source that end in one of them are passed over.",
    ),
    option(
        Storage,
        "log-archive-dir",
        Text,
        "",
        Program,
        "Folder to archive the log in as it is written, for restores as of any moment; none by default.",
    ),
    option(
        Storage,
        "log-archive-expire-seconds",
        Integer { min: 0, max: 4_294_967_295 },
        "0",
        Program,
        "Seconds after which archived log is removed; 0 keeps all.",
    ),
    option(
        Storage,
        "replica-read-ahead-size",
        Size { min: 0, max: 64 << 20 },
        "4M",
        Variable,
        "Bytes of received events whose pages a replica reads before it applies them; 0 reads none ahead.",
    ),
    option(
        Storage,
        "backup-dir",
        Text,
        "",
        Program,
        "Folder with backups of this server, files or directories, for RESTORE TABLE and the repair of damaged pages; none by default.",
    ),
    option(Storage, "backup-key-file", Text, "", Program, "The key file of encrypted backups in backup-dir."),
    option(Compatibility, "mysqlx", Only("OFF"), "OFF", Program, "There is no X protocol."),
    option(
        Compatibility,
        "symbolic-links",
        Only("OFF"),
        "OFF",
        Program,
        "Tables never leave the data directory.",
    ),
    option(
        Compatibility,
        "user",
        Text,
        "",
        Program,
        "Ignored: start the program as the user it shall run as.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::value::{Normalised, normalise};

    #[test]
    fn every_declaration_is_sound() {
        for (index, spec) in OPTIONS.iter().enumerate() {
            assert!(spec.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", spec.name);
            assert!(spec.help.ends_with('.'), "{}", spec.name);
            assert!(OPTIONS[..index].iter().all(|other| other.name != spec.name), "{} twice", spec.name);
            if !spec.default.is_empty() {
                let default = normalise(spec, spec.default);
                assert!(matches!(default, Ok(Normalised::Exact(_))), "default of {}", spec.name);
            }
        }
    }
}
