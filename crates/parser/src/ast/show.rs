//! SHOW.
use super::{Expr, Ident, Limit, ObjectName, RoutineKind, User, VariableScope};

#[derive(Debug, Clone, Copy)]
pub enum ShowFilter<'a> {
    None,
    Like(&'a [u8]),
    Where(&'a Expr<'a>),
}

#[derive(Debug, Clone, Copy)]
pub enum Show<'a> {
    Databases(ShowFilter<'a>),
    Tables {
        extended: bool,
        full: bool,
        database: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    OpenTables {
        database: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    TableStatus {
        database: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    /// SHOW COLUMNS and SHOW FIELDS.
    Columns {
        extended: bool,
        full: bool,
        table: ObjectName<'a>,
        filter: ShowFilter<'a>,
    },
    /// SHOW INDEX, INDEXES and KEYS.
    Index {
        extended: bool,
        table: ObjectName<'a>,
        filter: ShowFilter<'a>,
    },
    CreateTable(ObjectName<'a>),
    CreateView(ObjectName<'a>),
    CreateDatabase {
        if_not_exists: bool,
        name: Ident<'a>,
    },
    CreateUser(User<'a>),
    /// SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT.
    CreateStored {
        kind: RoutineKind,
        name: ObjectName<'a>,
    },
    /// SHOW PROCEDURE CODE and SHOW FUNCTION CODE.
    RoutineCode {
        kind: RoutineKind,
        name: ObjectName<'a>,
    },
    RoutineStatus {
        kind: RoutineKind,
        filter: ShowFilter<'a>,
    },
    Triggers {
        full: bool,
        database: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    Events {
        database: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    Variables {
        scope: VariableScope,
        filter: ShowFilter<'a>,
    },
    Status {
        scope: VariableScope,
        filter: ShowFilter<'a>,
    },
    CharacterSet(ShowFilter<'a>),
    Collation(ShowFilter<'a>),
    ProcessList {
        full: bool,
    },
    Engines,
    /// `SHOW ENGINE name STATUS|MUTEX|LOGS`; `engine` is `None` for ALL; `what` is in capitals.
    Engine {
        engine: Option<Ident<'a>>,
        what: &'static str,
    },
    Warnings(Option<Limit<'a>>),
    Errors(Option<Limit<'a>>),
    CountWarnings,
    CountErrors,
    Grants {
        /// `None` is the current user.
        user: Option<User<'a>>,
        using: &'a [User<'a>],
    },
    Privileges,
    Plugins,
    Profiles,
    Profile {
        /// The types asked for, in capitals: `ALL`, `BLOCK IO`, `CPU`, ..
        types: &'a [&'static str],
        query: Option<u64>,
        limit: Option<Limit<'a>>,
    },
    BinaryLogs,
    /// SHOW BINARY LOG STATUS.
    BinaryLogStatus,
    /// SHOW BINLOG EVENTS and SHOW RELAYLOG EVENTS.
    LogEvents {
        relay: bool,
        log_name: Option<&'a [u8]>,
        position: Option<u64>,
        limit: Option<Limit<'a>>,
        channel: Option<&'a str>,
    },
    ReplicaStatus {
        channel: Option<&'a str>,
    },
    Replicas,
    ParseTree(&'a super::Statement<'a>),
}
