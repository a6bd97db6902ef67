//! Error codes that only binding returns.
use datum::ErrorCode;

pub const ER_TOO_MANY_TABLES: ErrorCode =
    ErrorCode::new(1116, "HY000", "Too many tables; MySQL can only use %d tables in a join");
pub const ER_VIEW_WRONG_LIST: ErrorCode = ErrorCode::new(
    1353,
    "HY000",
    "In definition of view, derived table or common table expression, SELECT list and column names list have \
     different column counts",
);
pub use datum::error_code::{ER_VIEW_RECURSIVE, ER_VIEW_SELECT_VARIABLE};
pub const ER_DUPLICATE_TABLE_LOCK: ErrorCode =
    ErrorCode::new(3569, "HY000", "Table `%s` appears in multiple locking clauses.");
pub const ER_UNRESOLVED_TABLE_LOCK: ErrorCode =
    ErrorCode::new(3568, "HY000", "Unresolved table name `%s` in locking clause.");
pub const ER_MULTI_UPDATE_KEY_CONFLICT: ErrorCode = ErrorCode::new(
    1706,
    "HY000",
    "Primary key/partition key update is not allowed since the table is updated both as '%s' and '%s'.",
);
pub const ER_SP_UNDECLARED_VAR: ErrorCode = ErrorCode::new(1327, "42000", "Undeclared variable: %s");
pub const ER_WINDOW_OUTER_REFERENCE: ErrorCode = ErrorCode::new(
    6432,
    "HY000",
    "Outer reference %s in window's ORDER BY or PARTITION BY clause not allowed.",
);
pub const ER_DEFAULT_AS_VAL_GENERATED: ErrorCode =
    ErrorCode::new(3773, "HY000", "DEFAULT function cannot be used with default value expressions");
pub const ER_PARSE_OPTIMIZER_HINT: ErrorCode = ErrorCode::new(1064, "42000", "%s near '%s' at line %d");
pub const ER_WARN_CONFLICTING_HINT: ErrorCode =
    ErrorCode::new(3126, "HY000", "Hint %s is ignored as conflicting/duplicated");
pub const ER_WARN_UNKNOWN_QB_NAME: ErrorCode =
    ErrorCode::new(3127, "HY000", "Query block name `%s` is not found for %s hint");
pub const ER_WARN_UNRESOLVED_HINT_NAME: ErrorCode =
    ErrorCode::new(3128, "HY000", "Unresolved name %s for %s hint");
pub const ER_WARN_INVALID_HINT: ErrorCode =
    ErrorCode::new(3614, "HY000", "Invalid number of arguments for hint %s");
pub const ER_WRONG_USAGE_INDEX: ErrorCode =
    ErrorCode::new(1221, "HY000", "Incorrect usage of USE INDEX and FORCE INDEX");
