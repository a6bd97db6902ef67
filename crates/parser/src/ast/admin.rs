//! Administration: EXPLAIN, KILL, FLUSH, table maintenance, prepared statements by SQL, HANDLER, replication words.
use super::{Expr, Ident, Limit, ObjectName, Statement};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExplainFormat {
    /// None was written: `explain_format` decides.
    Unspecified,
    Traditional,
    Json,
    Tree,
}

#[derive(Debug, Clone, Copy)]
pub struct Explain<'a> {
    pub analyze: bool,
    pub format: ExplainFormat,
    /// `INTO @variable`
    pub into: Option<Ident<'a>>,
    /// `FOR DATABASE name`
    pub database: Option<Ident<'a>>,
    pub target: ExplainTarget<'a>,
}

#[derive(Debug, Clone, Copy)]
pub enum ExplainTarget<'a> {
    Statement(&'a Statement<'a>),
    Connection(Expr<'a>),
    /// `DESCRIBE table [column or pattern]`
    Table {
        table: ObjectName<'a>,
        column: Option<&'a str>,
    },
}

#[derive(Debug, Clone, Copy)]
pub struct Kill<'a> {
    /// KILL QUERY instead of KILL CONNECTION.
    pub query_only: bool,
    pub id: Expr<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct Flush<'a> {
    /// `NO_WRITE_TO_BINLOG` or `LOCAL`
    pub local: bool,
    pub targets: &'a [FlushTarget<'a>],
}

#[derive(Debug, Clone, Copy)]
pub enum FlushTarget<'a> {
    Tables { tables: &'a [ObjectName<'a>], read_lock: bool, for_export: bool },
    Privileges,
    Status,
    Logs,
    BinaryLogs,
    EngineLogs,
    ErrorLogs,
    GeneralLogs,
    SlowLogs,
    RelayLogs { channel: Option<&'a str> },
    Hosts,
    OptimizerCosts,
    UserResources,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MaintenanceKind {
    Analyze,
    Check,
    Checksum,
    Optimize,
    Repair,
}

#[derive(Debug, Clone, Copy)]
pub struct MaintainTable<'a> {
    pub kind: MaintenanceKind,
    pub local: bool,
    pub tables: &'a [AdminTable<'a>],
    /// The words after the tables in capitals: `QUICK`, `FAST`, `MEDIUM`, `EXTENDED`, `CHANGED`, `FOR UPGRADE`,
    /// `USE_FRM`.
    pub options: &'a [&'static str],
    pub histogram: Option<Histogram<'a>>,
}

pub type AdminTable<'a> = ObjectName<'a>;

/// ANALYZE TABLE .. UPDATE|DROP HISTOGRAM ON columns
#[derive(Debug, Clone, Copy)]
pub struct Histogram<'a> {
    pub drop: bool,
    pub columns: &'a [Ident<'a>],
    pub buckets: Option<u64>,
    /// `MANUAL UPDATE` is false, `AUTO UPDATE` true.
    pub auto_update: Option<bool>,
    pub using_data: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy)]
pub enum PreparedSource<'a> {
    Text(&'a [u8]),
    UserVariable(Ident<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct Handler<'a> {
    pub table: ObjectName<'a>,
    pub action: HandlerAction<'a>,
}

#[derive(Debug, Clone, Copy)]
pub enum HandlerAction<'a> {
    Open { alias: Option<Ident<'a>> },
    Close,
    Read(&'a HandlerRead<'a>),
}

#[derive(Debug, Clone, Copy)]
pub struct HandlerRead<'a> {
    pub index: Option<Ident<'a>>,
    /// `FIRST`, `NEXT`, `PREV`, `LAST`, or a comparison such as `>=` with `values`.
    pub direction: &'static str,
    pub values: &'a [Expr<'a>],
    pub filter: Option<&'a Expr<'a>>,
    pub limit: Option<Limit<'a>>,
}

/// CHANGE REPLICATION SOURCE TO: option names as written.
#[derive(Debug, Clone, Copy)]
pub struct ChangeReplicationSource<'a> {
    pub options: &'a [(Ident<'a>, Expr<'a>)],
    pub channel: Option<&'a str>,
}

/// CHANGE REPLICATION FILTER.
#[derive(Debug, Clone, Copy)]
pub struct ChangeReplicationFilter<'a> {
    /// Each with the name of its rule, as `REPLICATE_DO_DB`.
    pub rules: &'a [(&'static str, ReplicationFilterValues<'a>)],
    pub channel: Option<&'a str>,
}

/// What the rule of a replication filter names.
#[derive(Debug, Clone, Copy)]
pub enum ReplicationFilterValues<'a> {
    Databases(&'a [Ident<'a>]),
    Tables(&'a [ObjectName<'a>]),
    Patterns(&'a [&'a str]),
    /// Databases with their new names.
    Renames(&'a [(Ident<'a>, Ident<'a>)]),
}

/// PURGE BINARY LOGS.
#[derive(Debug, Clone, Copy)]
pub enum PurgeBinaryLogs<'a> {
    /// The files before this one.
    To(&'a [u8]),
    /// The files last written before this moment, in seconds since 1970.
    Before(Expr<'a>),
}

/// A name, with the value behind it if there is one.
pub type UntilOption<'a> = (Ident<'a>, Option<Expr<'a>>);

/// START, STOP and RESET REPLICA; `rest` is the text after the leading words.
#[derive(Debug, Clone, Copy)]
pub struct ReplicaControl<'a> {
    /// `START`, `STOP` or `RESET`.
    pub action: &'static str,
    pub rest: &'a str,
    /// The options of START REPLICA .. UNTIL.
    pub until: &'a [UntilOption<'a>],
    pub channel: Option<&'a str>,
}

#[derive(Debug, Clone, Copy)]
pub struct SignalStatement<'a> {
    pub resignal: bool,
    pub condition: Option<super::ConditionValue>,
    pub items: &'a [SignalItem<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct SignalItem<'a> {
    pub name: Ident<'a>,
    pub value: Expr<'a>,
}

#[derive(Debug, Clone, Copy)]
pub struct Diagnostics<'a> {
    pub stacked: bool,
    /// `None` reads the statement area.
    pub condition: Option<Expr<'a>>,
    pub items: &'a [DiagnosticsItem<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct DiagnosticsItem<'a> {
    /// A user variable or a stored program's variable.
    pub target: super::LoadColumn<'a>,
    pub name: Ident<'a>,
}

/// `RESTORE TABLE table [AS OF moment] [INTO new] [FROM 'backup']`, which is ours.
#[derive(Debug, Clone, Copy)]
pub struct RestoreTable<'a> {
    pub table: ObjectName<'a>,
    pub moment: RestoreMoment<'a>,
    /// Without INTO it gets its old name.
    pub new: Option<ObjectName<'a>>,
    /// A backup, or a directory of backups.
    pub from: Option<&'a str>,
}

/// As of when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreMoment<'a> {
    /// All that there is.
    End,
    /// A date and time.
    Time(&'a str),
    Lsn(u64),
    /// The commits up to this transaction, or those before it.
    Transaction {
        gtid: &'a str,
        is_wanted: bool,
    },
}
