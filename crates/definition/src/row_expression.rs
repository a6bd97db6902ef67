//! The expressions of a definition: defaults, generated columns, CHECK constraints, index parts.
//!
//! A draft keeps them as text, as MySQL prints them. What an expression may not hold is refused when it is written
//! (`text_of`); which columns it may read is known when the whole table is (`columns_read`).
use datum::{ErrorCode, SqlError, error_code};
use parser::ast::{CastTarget, CastType, Expr, ExprKind, QueryBody, SelectItem, StatementKind};
use parser::{ParseOptions, RestoreOptions, SqlMode};

use super::conditions::*;
use super::draft::DefinitionContext;

/// What an expression is for: the limits differ, and so do the errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Check,
    Generated,
    Default,
    IndexPart,
}

/// No definition may call these: they change or ask the session, or wait.
const FORBIDDEN_ALWAYS: &[&str] = &[
    "benchmark",
    "found_rows",
    "get_lock",
    "icu_version",
    "is_free_lock",
    "is_used_lock",
    "last_insert_id",
    "load_file",
    "master_pos_wait",
    "release_all_locks",
    "release_lock",
    "row_count",
    "sleep",
    "source_pos_wait",
    "updatexml",
    "version",
];

/// Only defaults may call these: the answer differs from call to call.
const FORBIDDEN_BUT_IN_DEFAULTS: &[&str] = &[
    "connection_id",
    "curdate",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "curtime",
    "database",
    "localtime",
    "localtimestamp",
    "now",
    "rand",
    "roles_graphml",
    "schema",
    "session_user",
    "system_user",
    "unix_timestamp",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "uuid_short",
];

/// Generated columns may not call these either. MySQL lets CHECK constraints do so.
const FORBIDDEN_IN_COLUMNS: &[&str] = &["random_bytes", "statement_digest", "sysdate"];

/// How errors call a function, where that is not its name.
const SHOWN_NAMES: &[(&str, &str)] = &[
    ("current_date", "curdate"),
    ("current_time", "curtime"),
    ("current_timestamp", "now"),
    ("localtime", "now"),
    ("localtimestamp", "now"),
    ("schema", "database"),
    ("session_user", "user"),
    ("system_user", "user"),
    ("version", "version()"),
];

/// What error 1235 says of an array anywhere else.
const ARRAY_OUTSIDE_OF_INDEX: &str = "Use of CAST( .. AS .. ARRAY) outside of functional index in \
     CREATE(non-SELECT)/ALTER TABLE or in general expressions";

/// A longer text would be a BLOB.
const ARRAY_TEXT_LENGTH_MAX: u64 = 512;

impl Purpose {
    fn forbids(self, name: &str) -> bool {
        FORBIDDEN_ALWAYS.contains(&name)
            || self != Purpose::Default && FORBIDDEN_BUT_IN_DEFAULTS.contains(&name)
            || matches!(self, Purpose::Generated | Purpose::IndexPart) && FORBIDDEN_IN_COLUMNS.contains(&name)
    }

    /// Error for a function: with its name where MySQL tells it.
    fn forbidden_function(self, owner: &str, function: Option<&str>) -> SqlError {
        let (named, plain): (&ErrorCode, &ErrorCode) = match self {
            Purpose::Check => (
                &ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED,
                &ER_CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED,
            ),
            Purpose::Generated => (
                &ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED,
                &error_code::ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED,
            ),
            Purpose::Default => {
                (&ER_DEFAULT_VAL_NAMED_FUNCTION_IS_NOT_ALLOWED, &ER_DEFAULT_VAL_FUNCTION_IS_NOT_ALLOWED)
            }
            Purpose::IndexPart => {
                return ER_FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED.with(&[&owner]);
            }
        };
        match function {
            Some(function) => named.with(&[&owner, &function]),
            None => plain.with(&[&owner]),
        }
    }

    fn variable(self, owner: &str) -> SqlError {
        match self {
            Purpose::Check => ER_CHECK_CONSTRAINT_VARIABLES.with(&[&owner]),
            _ => ER_DEFAULT_VAL_VARIABLES.with(&[&owner]),
        }
    }

    fn row_value(self, owner: &str) -> SqlError {
        match self {
            Purpose::Check => ER_CHECK_CONSTRAINT_ROW_VALUE.with(&[&owner]),
            Purpose::Generated => ER_GENERATED_COLUMN_ROW_VALUE.with(&[&owner]),
            Purpose::Default => ER_DEFAULT_VAL_ROW_VALUE.with(&[&owner]),
            Purpose::IndexPart => ER_FUNCTIONAL_INDEX_ROW_VALUE.with(&[&owner]),
        }
    }

    /// The error for a name that is no column's.
    pub fn unknown_column(self, owner: &str, column: &str) -> SqlError {
        let clause = match self {
            Purpose::Check => {
                return ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN.with(&[&owner, &column]);
            }
            Purpose::Generated => "generated column function",
            Purpose::Default => "default value expression",
            Purpose::IndexPart => "functional index",
        };
        error_code::ER_BAD_FIELD_ERROR.with(&[&column, &clause])
    }
}

/// The text to keep of an expression that belongs to `owner`, a column or constraint.
pub fn text_of(
    expr: &Expr<'_>,
    purpose: Purpose,
    owner: &str,
    context: &DefinitionContext<'_>,
) -> Result<String, SqlError> {
    if purpose == Purpose::Check && !parser::is_condition(expr) {
        return Err(ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT.with(&[&owner]));
    }
    if matches!(expr.kind, ExprKind::Row(_)) {
        return Err(purpose.row_value(owner));
    }
    match &expr.kind {
        ExprKind::Cast { operand, target } if target.array && purpose == Purpose::IndexPart => {
            check_array_cast(target)?;
            examine(operand, purpose, owner, context)?;
        }
        _ => examine(expr, purpose, owner, context)?,
    }
    let options =
        RestoreOptions { string_charset: Some(context.connection_charset), resolved: true, view: None };
    Ok(parser::restore(expr, options).to_string())
}

/// Error 1235 for types that no multi-valued index has.
fn check_array_cast(target: &CastType<'_>) -> Result<(), SqlError> {
    let refused = match target.target {
        CastTarget::Char | CastTarget::NationalChar | CastTarget::Binary => match target.length {
            _ if target.charset.is_some() || target.target == CastTarget::NationalChar => {
                "specifying charset for multi-valued index"
            }
            Some(length) if length <= ARRAY_TEXT_LENGTH_MAX => return Ok(()),
            _ => "CAST-ing data to array of char/binary BLOBs",
        },
        CastTarget::Json => "CAST-ing data to array of JSON",
        CastTarget::Double => "CAST-ing data to array of DOUBLE",
        CastTarget::Float => "CAST-ing data to array of FLOAT",
        CastTarget::Year => "CAST-ing data to array of YEAR",
        CastTarget::Geometry(_) => "CAST-ing data to array of GEOMETRY",
        CastTarget::Signed
        | CastTarget::Unsigned
        | CastTarget::Decimal
        | CastTarget::Date
        | CastTarget::Time
        | CastTarget::DateTime => return Ok(()),
    };
    Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&refused]))
}

fn examine(
    expr: &Expr<'_>,
    purpose: Purpose,
    owner: &str,
    context: &DefinitionContext<'_>,
) -> Result<(), SqlError> {
    match &expr.kind {
        ExprKind::UserVariable(_) | ExprKind::SystemVariable(_) | ExprKind::AssignVariable { .. } => {
            return Err(purpose.variable(owner));
        }
        ExprKind::Subquery(_)
        | ExprKind::Exists(_)
        | ExprKind::InSubquery { .. }
        | ExprKind::Quantified(_) => {
            return Err(purpose.forbidden_function(owner, None));
        }
        ExprKind::Cast { target, .. } if target.array => {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&ARRAY_OUTSIDE_OF_INDEX]));
        }
        ExprKind::ValuesOf(_) => return Err(purpose.forbidden_function(owner, Some("values"))),
        ExprKind::Aggregate(_) => return Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain()),
        ExprKind::Window(_) => {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"window functions"]));
        }
        ExprKind::Function(call) => {
            let name = call.name.name.name;
            if let Some(database) = call.name.database {
                let full = format!("`{}`.`{name}`", database.name);
                return Err(purpose.forbidden_function(owner, Some(&full)));
            }
            let lower = name.to_ascii_lowercase();
            if purpose.forbids(&lower) {
                let shown = SHOWN_NAMES.iter().find(|(other, _)| *other == lower);
                let shown = shown.map_or(lower.as_str(), |(_, shown)| shown);
                return Err(purpose.forbidden_function(owner, Some(shown)));
            }
            if !(context.knows_function)(&lower) {
                return Err(purpose.forbidden_function(owner, Some(&format!("`{name}`"))));
            }
        }
        _ => {}
    }
    let mut examined = Ok(());
    expr.for_each_operand(&mut |operand| {
        if examined.is_ok() {
            examined = examine(operand, purpose, owner, context);
        }
    });
    examined
}

/// The names of the columns that a kept expression reads, in their order, each once.
pub fn columns_read(text: &str) -> Vec<String> {
    let mut columns = Vec::new();
    with_expression(text, &mut |expr| collect_columns(expr, &mut columns));
    columns
}

/// The functions that a kept expression calls, in small letters.
pub fn functions_called(text: &str) -> Vec<String> {
    let mut functions = Vec::new();
    with_expression(text, &mut |expr| collect_functions(expr, &mut functions));
    functions
}

fn with_expression(text: &str, see: &mut dyn FnMut(&Expr<'_>)) {
    let arena = bumpalo::Bump::new();
    let statement = format!("SELECT {text}");
    let options = ParseOptions { mode: SqlMode::default(), parameters: false };
    if let Ok(parsed) = parser::parse(statement.as_bytes(), options, &arena)
        && let StatementKind::Query(query) = parsed.statement.kind
        && let QueryBody::Select(select) = query.body
        && let [SelectItem::Expression { expr, .. }] = select.items
    {
        see(expr);
    }
}

fn collect_functions(expr: &Expr<'_>, functions: &mut Vec<String>) {
    if let ExprKind::Function(call) = &expr.kind {
        functions.push(call.name.name.name.to_ascii_lowercase());
    }
    expr.for_each_operand(&mut |operand| collect_functions(operand, functions));
}

fn collect_columns(expr: &Expr<'_>, columns: &mut Vec<String>) {
    if let ExprKind::Column(column) | ExprKind::DefaultOf(column) = expr.kind
        && !columns.iter().any(|known| super::draft::same_name(known, column.name))
    {
        columns.push(column.name.to_owned());
    }
    expr.for_each_operand(&mut |operand| collect_columns(operand, columns));
}
