//! Error codes of data definition that no other layer uses.
use datum::ErrorCode;

pub const ER_WARN_DEPRECATED_INTEGER_DISPLAY_WIDTH: ErrorCode = ErrorCode::new(
    1681,
    "HY000",
    "Integer display width is deprecated and will be removed in a future release.",
);
pub const ER_WARN_DEPRECATED_ZEROFILL: ErrorCode = ErrorCode::new(
    1681,
    "HY000",
    "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD function to \
     zero-pad numbers, or store the formatted numbers in a CHAR column.",
);
pub const ER_WARN_DEPRECATED_FLOAT_DIGITS: ErrorCode = ErrorCode::new(
    1681,
    "HY000",
    "Specifying number of digits for floating point data types is deprecated and will be removed in a future \
     release.",
);
pub const ER_INVALID_YEAR_COLUMN_LENGTH: ErrorCode =
    ErrorCode::new(1818, "HY000", "Invalid display width. Use YEAR instead.");
pub const ER_INVALID_FIELD_SIZE: ErrorCode = ErrorCode::new(3013, "42000", "Invalid size for column '%s'.");
pub const ER_TOO_BIG_ENUM: ErrorCode =
    ErrorCode::new(3505, "HY000", "Too many enumeration values for column %s.");
pub const ER_ILLEGAL_VALUE_FOR_TYPE: ErrorCode =
    ErrorCode::new(1367, "22007", "Illegal %s '%s' value found during parsing");
pub const ER_TOO_LONG_TABLE_COMMENT: ErrorCode =
    ErrorCode::new(1628, "HY000", "Comment for table '%s' is too long (max = %d)");
pub const ER_TOO_LONG_INDEX_COMMENT: ErrorCode =
    ErrorCode::new(1688, "HY000", "Comment for index '%s' is too long (max = %d)");
pub const ER_WARN_USING_OTHER_HANDLER: ErrorCode =
    ErrorCode::new(1266, "HY000", "Using storage engine %s for table '%s'");
pub const ER_TABLE_WITHOUT_PK: ErrorCode = ErrorCode::new(
    3750,
    "HY000",
    "Unable to create or change a table without a primary key, when the system variable \
     'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this \
     message. Note that tables without a primary key can cause performance problems in row-based replication, \
     so please consult your DBA before changing this setting.",
);
pub const ER_PK_INDEX_CANT_BE_INVISIBLE: ErrorCode =
    ErrorCode::new(3522, "HY000", "A primary key index cannot be invisible");
pub const ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN: ErrorCode =
    ErrorCode::new(4028, "HY000", "A table must have at least one visible column.");
pub const WARN_UNSUPPORTED_INDEX_TYPE: ErrorCode = ErrorCode::new(
    3502,
    "HY000",
    "This storage engine does not support the %s index algorithm, storage engine default was used instead.",
);
pub const ER_DB_DOES_NOT_EXIST: ErrorCode = ErrorCode::new(3503, "42Y07", "Database '%s' doesn't exist");
pub const ER_KEY_PART_0: ErrorCode = ErrorCode::new(1391, "HY000", "Key part '%s' length cannot be 0");
pub const ER_CHECK_CONSTRAINT_NOT_FOUND: ErrorCode =
    ErrorCode::new(3821, "HY000", "Check constraint '%s' is not found in the table.");
pub const ER_CONSTRAINT_NOT_FOUND: ErrorCode =
    ErrorCode::new(3940, "HY000", "Constraint '%s' does not exist.");
pub const ER_ILLEGAL_HA: ErrorCode =
    ErrorCode::new(1031, "HY000", "Table storage engine for '%s' doesn't have this option");
pub const ER_DROP_INDEX_FK: ErrorCode =
    ErrorCode::new(1553, "HY000", "Cannot drop index '%s': needed in a foreign key constraint");
pub const ER_FOREIGN_KEY_WITH_CREATE_SELECT: ErrorCode = ErrorCode::new(
    3978,
    "HY000",
    "Foreign key creation is not allowed with CREATE TABLE as SELECT and CREATE TABLE with START TRANSACTION \
     statement.",
);
pub const ER_WARN_FK_REFERS_TO_NON_STANDARD_KEY: ErrorCode = ErrorCode::new(
    6124,
    "HY000",
    "Foreign key '%s' refers to non-unique key or partial key. This is deprecated and will be removed in a future \
     release.",
);
pub const ER_WARN_RESTRICT_FK_DEPRECATED: ErrorCode = ErrorCode::new(
    1681,
    "HY000",
    "'restrict_fk_on_non_standard_key' is deprecated and will be removed in a future release.",
);
pub const ER_WARN_RESTRICT_FK_OFF: ErrorCode = ErrorCode::new(
    4166,
    "HY000",
    "'restrict_fk_on_non_standard_key' is deprecated and will be removed in a future release. Foreign key referring to \
     non-unique or partial keys is unsafe and may break replication.",
);
pub const ER_FK_NO_UNIQUE_INDEX_PARENT: ErrorCode = ErrorCode::new(
    6125,
    "HY000",
    "Failed to add the foreign key constraint. Missing unique key for constraint '%s' in the referenced table '%s'",
);
