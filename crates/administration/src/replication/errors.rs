//! The errors and notes of the statements about replication, with MySQL's numbers and texts.
use datum::ErrorCode;

pub(super) const ER_BAD_REPLICA: ErrorCode = ErrorCode::new(
    1200,
    "HY000",
    "The server is not configured as replica; fix in config file or with CHANGE REPLICATION SOURCE TO",
);
pub(crate) const ER_REPLICA_CHANNEL_DOES_NOT_EXIST: ErrorCode =
    ErrorCode::new(3074, "HY000", "Replica channel '%s' does not exist.");
pub(super) const ER_REPLICA_IO_THREAD_MUST_STOP: ErrorCode = ErrorCode::new(
    3021,
    "HY000",
    "This operation cannot be performed with a running replica io thread; run STOP REPLICA IO_THREAD FOR CHANNEL '%s' first.",
);
pub(super) const ER_REPLICA_SQL_THREAD_MUST_STOP: ErrorCode = ErrorCode::new(
    3085,
    "HY000",
    "This operation cannot be performed with a running replica sql thread; run STOP REPLICA SQL_THREAD FOR CHANNEL '%s' first.",
);
pub(super) const ER_REPLICA_CONFIGURATION: ErrorCode = ErrorCode::new(
    1794,
    "HY000",
    "Replica is not configured or failed to initialize properly. You must at least set --server-id to enable either a \
     source or a replica. Additional error messages can be found in the MySQL error log.",
);
pub(super) const ER_INVALID_RPL_WILD_TABLE_FILTER_PATTERN: ErrorCode = ErrorCode::new(
    3067,
    "HY000",
    "Supplied filter list contains a value which is not in the required format 'db_pattern.table_pattern'",
);
pub(super) const ER_REPLICA_CHANNEL_OPERATION_NOT_ALLOWED: ErrorCode =
    ErrorCode::new(3139, "HY000", "%s cannot be performed on channel '%s'.");
pub(super) const ER_REPLICA_MUST_STOP: ErrorCode = ErrorCode::new(
    3081,
    "HY000",
    "This operation cannot be performed with running replication threads; run STOP REPLICA FOR CHANNEL '%s' first",
);
pub(super) const ER_REPLICA_IS_RUNNING: ErrorCode =
    ErrorCode::new(3083, "HY000", "Replication thread(s) for channel '%s' are already runnning.");
pub(super) const ER_REPLICA_WAS_NOT_RUNNING: ErrorCode =
    ErrorCode::new(3084, "HY000", "Replication thread(s) for channel '%s' are already stopped.");
pub(super) const ER_BAD_REPLICA_AUTO_POSITION: ErrorCode = ErrorCode::new(
    1776,
    "HY000",
    "Parameters SOURCE_LOG_FILE, SOURCE_LOG_POS, RELAY_LOG_FILE and RELAY_LOG_POS cannot be set when SOURCE_AUTO_POSITION is active.",
);
pub(super) const ER_AUTO_POSITION_REQUIRES_GTID_MODE_ON: ErrorCode =
    ErrorCode::new(1777, "HY000", "SOURCE_AUTO_POSITION = 1 requires @@GLOBAL.GTID_MODE = ON.");
pub(super) const ER_HEARTBEAT_OUT_OF_RANGE: ErrorCode = ErrorCode::new(
    1624,
    "HY000",
    "The requested value for the heartbeat period is either negative or exceeds the maximum allowed (4294967 seconds).",
);
pub(super) const ER_BAD_REPLICA_UNTIL_COND: ErrorCode =
    ErrorCode::new(1277, "HY000", "Incorrect parameter or combination of parameters for START REPLICA UNTIL");
pub(super) const ER_MISSING_SKIP_REPLICA: ErrorCode = ErrorCode::new(
    1278,
    "HY000",
    "It is recommended to use --skip-replica-start when doing step-by-step replication with START REPLICA UNTIL; otherwise, \
     you will get problems if you get an unexpected replica's mysqld restart",
);
pub(super) const ER_UNTIL_COND_IGNORED: ErrorCode =
    ErrorCode::new(1279, "HY000", "SQL thread is not to be started so UNTIL options are ignored");
pub(super) const ER_DELAY_OUT_OF_RANGE: ErrorCode =
    ErrorCode::new(1729, "HY000", "The requested value %s for the source delay exceeds the maximum %s");
pub(super) const ER_INSECURE_PLAIN_TEXT: ErrorCode =
    ErrorCode::new(1759, "HY000", "Sending passwords in plain text without SSL/TLS is extremely insecure.");
pub(super) const ER_INSECURE_CHANGE_SOURCE: ErrorCode = ErrorCode::new(
    1760,
    "HY000",
    "Storing MySQL user name or password information in the connection metadata repository is not secure and is \
     therefore not recommended. Please consider using the USER and PASSWORD connection options for START REPLICA; \
     see the 'START REPLICA Syntax' in the MySQL Manual for more information.",
);
