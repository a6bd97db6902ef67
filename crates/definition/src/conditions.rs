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
pub const ER_WRONG_KEY_COLUMN: ErrorCode =
    ErrorCode::new(1167, "42000", "The used storage engine can't index column '%s'");
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
pub const ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN: ErrorCode =
    ErrorCode::new(3104, "HY000", "Cannot define foreign key with %s clause on a generated column.");
pub const ER_GENERATED_COLUMN_REF_AUTO_INC: ErrorCode =
    ErrorCode::new(3109, "HY000", "Generated column '%s' cannot refer to auto-increment column.");
pub const ER_FK_CANNOT_USE_VIRTUAL_COLUMN: ErrorCode =
    ErrorCode::new(3733, "HY000", "Foreign key '%s' uses virtual column '%s' which is not supported.");
pub const ER_FUNCTIONAL_INDEX_REF_AUTO_INCREMENT: ErrorCode =
    ErrorCode::new(3754, "HY000", "Functional index '%s' cannot refer to an auto-increment column.");
pub const ER_FUNCTIONAL_INDEX_PRIMARY_KEY: ErrorCode =
    ErrorCode::new(3756, "HY000", "The primary key cannot be a functional index");
pub const ER_FUNCTIONAL_INDEX_ON_LOB: ErrorCode = ErrorCode::new(
    3757,
    "HY000",
    "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider \
     using CAST.",
);
pub const ER_FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED: ErrorCode =
    ErrorCode::new(3758, "HY000", "Expression of functional index '%s' contains a disallowed function.");
pub const ER_FUNCTIONAL_INDEX_ON_FIELD: ErrorCode = ErrorCode::new(
    3762,
    "HY000",
    "Functional index on a column is not supported. Consider using a regular index instead.",
);
pub const ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED: ErrorCode =
    ErrorCode::new(3763, "HY000", "Expression of generated column '%s' contains a disallowed function: %s.");
pub const ER_GENERATED_COLUMN_ROW_VALUE: ErrorCode =
    ErrorCode::new(3764, "HY000", "Expression of generated column '%s' cannot refer to a row value.");
pub const ER_DEPENDENT_BY_DEFAULT_GENERATED_VALUE: ErrorCode = ErrorCode::new(
    3766,
    "HY000",
    "Column '%s' of table '%s' has a default value expression dependency and cannot be dropped or \
     renamed.",
);
pub const ER_DEFAULT_VAL_GENERATED_NON_PRIOR: ErrorCode = ErrorCode::new(
    3767,
    "HY000",
    "Default value expression of column '%s' cannot refer to a column defined after it if that column \
     is a generated column or has an expression as default value.",
);
pub const ER_DEFAULT_VAL_GENERATED_REF_AUTO_INC: ErrorCode = ErrorCode::new(
    3768,
    "HY000",
    "Default value expression of column '%s' cannot refer to an auto-increment column.",
);
pub const ER_DEFAULT_VAL_FUNCTION_IS_NOT_ALLOWED: ErrorCode =
    ErrorCode::new(3769, "HY000", "Default value expression of column '%s' contains a disallowed function.");
pub const ER_DEFAULT_VAL_NAMED_FUNCTION_IS_NOT_ALLOWED: ErrorCode = ErrorCode::new(
    3770,
    "HY000",
    "Default value expression of column '%s' contains a disallowed function: %s.",
);
pub const ER_DEFAULT_VAL_ROW_VALUE: ErrorCode =
    ErrorCode::new(3771, "HY000", "Default value expression of column '%s' cannot refer to a row value.");
pub const ER_DEFAULT_VAL_VARIABLES: ErrorCode = ErrorCode::new(
    3772,
    "HY000",
    "Default value expression of column '%s' cannot refer user or system variables.",
);
pub const ER_FUNCTIONAL_INDEX_ROW_VALUE: ErrorCode =
    ErrorCode::new(3800, "HY000", "Expression of functional index '%s' cannot refer to a row value.");
pub const ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT: ErrorCode =
    ErrorCode::new(3812, "HY000", "An expression of non-boolean type specified to a check constraint '%s'.");
pub const ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN: ErrorCode =
    ErrorCode::new(3813, "HY000", "Column check constraint '%s' references other column.");
pub const ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED: ErrorCode = ErrorCode::new(
    3814,
    "HY000",
    "An expression of a check constraint '%s' contains disallowed function: %s.",
);
pub const ER_CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED: ErrorCode =
    ErrorCode::new(3815, "HY000", "An expression of a check constraint '%s' contains disallowed function.");
pub const ER_CHECK_CONSTRAINT_VARIABLES: ErrorCode = ErrorCode::new(
    3816,
    "HY000",
    "An expression of a check constraint '%s' cannot refer to a user or system variable.",
);
pub const ER_CHECK_CONSTRAINT_ROW_VALUE: ErrorCode =
    ErrorCode::new(3817, "HY000", "Check constraint '%s' cannot refer to a row value.");
pub const ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN: ErrorCode =
    ErrorCode::new(3818, "HY000", "Check constraint '%s' cannot refer to an auto-increment column.");
pub const ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN: ErrorCode =
    ErrorCode::new(3820, "HY000", "Check constraint '%s' refers to non-existing column '%s'.");
pub const ER_CHECK_CONSTRAINT_DUP_NAME: ErrorCode =
    ErrorCode::new(3822, "HY000", "Duplicate check constraint name '%s'.");
pub const ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN: ErrorCode = ErrorCode::new(
    3823,
    "HY000",
    "Column '%s' cannot be used in a check constraint '%s': needed in a foreign key constraint '%s' \
     referential action.",
);
pub const ER_DEPENDENT_BY_FUNCTIONAL_INDEX: ErrorCode = ErrorCode::new(
    3837,
    "HY000",
    "Column '%s' has a functional index dependency and cannot be dropped or renamed.",
);
pub const ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME: ErrorCode = ErrorCode::new(
    3939,
    "HY000",
    "Table has multiple constraints with the name '%s'. Please use constraint specific 'DROP' clause.",
);
pub const ER_DEPENDENT_BY_CHECK_CONSTRAINT: ErrorCode = ErrorCode::new(
    3959,
    "HY000",
    "Check constraint '%s' uses column '%s', hence column cannot be dropped or renamed.",
);
pub const ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION: ErrorCode = ErrorCode::new(
    3753,
    "42000",
    "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.",
);
