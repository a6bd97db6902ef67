//! What a client can ask of the server that no table holds: CURRENT_ROLE, UUID_SHORT, ICU_VERSION, the
//! strength of passwords; and NAME_CONST, which gives a constant a name.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use datum::{SqlError, Value, error_code};

use expression::BindContext;
use expression::Volatility::{Pure, Statement, Volatile};
use expression::call::infer::{cast_double, cast_text, integer_type, made_text, system_text, unsigned_type};
use expression::{Arguments, Function};
use expression::{Expr, ExprKind, ExprType};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("uuid_short", (0, 0), Volatile, |_, _, _| Ok(unsigned_type()), uuid_short),
    Function::new("icu_version", (0, 0), Statement, |_, _, _| Ok(system_text(4)), icu_version),
    Function::new("name_const", (2, 2), Pure, infer_name_const, |arguments| {
        Ok(arguments.value(1)?.into_owned())
    }),
    Function::new("validate_password_strength", (1, 1), Pure, infer_texts, validate_password_strength),
    Function::new(
        "ps_current_thread_id",
        (0, 0),
        Statement,
        |_, _, _| Ok(unsigned_type()),
        |arguments| Ok(Value::UInt(arguments.context.settings.connection_id)),
    ),
    Function::new("ps_thread_id", (1, 1), Statement, infer_thread_id, ps_thread_id),
    Function::new("statement_digest", (1, 1), Statement, infer_digest, statement_digest),
    Function::new("statement_digest_text", (1, 1), Statement, infer_digest_text, statement_digest_text),
    Function::new("format_pico_time", (1, 1), Pure, infer_pico_time, format_pico_time),
];

fn infer_texts(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(integer_type())
}

fn infer_pico_time(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_double(bind, &mut arguments[0])?;
    Ok(system_text(11))
}

/// Both arguments are literals, the second perhaps with a sign or a collation.
fn infer_name_const(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    fn is_constant(expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Parameter(_) => true,
            ExprKind::Negate(inner) | ExprKind::Relabel(inner) => is_constant(inner),
            _ => false,
        }
    }
    // TRUE, a moment and a parameter of the client's are no literals here.
    let value = &arguments[1];
    let is_marker = matches!(value.kind, ExprKind::Parameter(_)) && bind.markers.is_of_statement();
    let is_plain = !value.ty.is_truth && !value.ty.column.kind.is_temporal() && !is_marker;
    if !is_constant(&arguments[0]) || !is_constant(value) || !is_plain {
        return Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"NAME_CONST"]));
    }
    if matches!(bind.decisive(&arguments[0]), Some(Value::Null)) {
        return Err(error_code::ER_RESERVED_SYNTAX.with(&[&"NAME_CONST"]));
    }
    Ok(arguments[1].ty.clone())
}

/// The version of the library whose rules for regular expressions these are.
fn icu_version(_: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::bytes("78.3"))
}

/// `server_id` in the highest byte, then the second of the server's start, then a counter of 24 bits.
fn uuid_short(_: &Arguments<'_>) -> Result<Value, SqlError> {
    const SERVER_ID: u64 = 1;
    const SECONDS: u64 = 0xFFFF_FFFF;
    static START: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let start = START.get_or_init(|| {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        (SERVER_ID << 56) + (since_epoch.map_or(0, |passed| passed.as_secs() & SECONDS) << 24)
    });
    Ok(Value::UInt(start.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed))))
}

/// 0: no component that judges passwords is installed.
fn validate_password_strength(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(arguments.text(0)?.map_or(Value::Null, |_| Value::Int(0)))
}

/// A time of the performance schema, in the unit that suits it.
fn format_pico_time(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(arguments.double(0)?.map_or(Value::Null, |picoseconds| Value::bytes(pico_time_text(picoseconds))))
}

/// What FORMAT_PICO_TIME() gives.
pub fn pico_time_text(picoseconds: f64) -> String {
    const UNITS: [(f64, &str); 7] = [
        (86_400e12, "d"),
        (3_600e12, "h"),
        (60e12, "min"),
        (1e12, "s"),
        (1e9, "ms"),
        (1e6, "us"),
        (1e3, "ns"),
    ];
    let Some((divisor, unit)) = UNITS.iter().find(|(divisor, _)| picoseconds.abs() >= *divisor) else {
        return format!("{:>3} ps", picoseconds as i64);
    };
    let scaled = picoseconds / divisor;
    if scaled.abs() >= 100_000.0 {
        let text = format!("{scaled:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{digits}e+{exponent:0>2} {unit}")
    } else {
        format!("{scaled:.2} {unit}")
    }
}

fn infer_thread_id(_: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    expression::call::infer::cast_integer(&BindContext::default(), &mut arguments[0])?;
    Ok(unsigned_type())
}

/// A connection is its own thread, if there is such a connection.
fn ps_thread_id(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let id = match *arguments.value(0)? {
        Value::Int(id) => u64::try_from(id).ok(),
        Value::UInt(id) => Some(id),
        _ => None,
    };
    let exists = |id: &u64| arguments.context.session.has_connection(*id);
    Ok(id.filter(exists).map_or(Value::Null, Value::UInt))
}

fn infer_digest(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(made_text(bind, 64))
}

fn infer_digest_text(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    expression::call::infer::text_result(bind, name, arguments, u64::from(u32::MAX))
}

/// The normalised text of a statement; error 3676 for a text that is none.
fn normal_of(arguments: &Arguments<'_>) -> Result<Option<String>, SqlError> {
    let Some(text) = arguments.text(0)? else { return Ok(None) };
    let settings = &arguments.context.settings;
    let mode = &settings.sql_mode;
    let mode = parser::SqlMode {
        ansi_quotes: mode.contains(datum::SqlMode::ANSI_QUOTES),
        pipes_as_concat: mode.contains(datum::SqlMode::PIPES_AS_CONCAT),
        no_backslash_escapes: mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES),
        high_not_precedence: mode.contains(datum::SqlMode::HIGH_NOT_PRECEDENCE),
        ignore_space: mode.contains(datum::SqlMode::IGNORE_SPACE),
        real_as_float: mode.contains(datum::SqlMode::REAL_AS_FLOAT),
    };
    let arena = bumpalo::Bump::new();
    let options = parser::ParseOptions { mode, parameters: false };
    if let Err(error) = parser::parse(&text, options, &arena) {
        return Err(ER_UNDEFINED_PARSE_FOR_DIGEST.with(&[&error.message()]));
    }
    Ok(parser::normal_text(&text, mode, DIGEST_LENGTH_MAX))
}

/// `max_digest_length`.
const DIGEST_LENGTH_MAX: usize = 1024;
const ER_UNDEFINED_PARSE_FOR_DIGEST: datum::ErrorCode =
    datum::ErrorCode::new(3676, "HY000", "Could not parse argument to digest function: \"%s\".");

fn statement_digest_text(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(normal_of(arguments)?.map_or(Value::Null, Value::bytes))
}

fn statement_digest(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let Some(normal) = normal_of(arguments)? else { return Ok(Value::Null) };
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, normal.as_bytes());
    let digits = hash.as_ref().iter().map(|byte| format!("{byte:02x}"));
    Ok(Value::bytes(digits.collect::<String>()))
}
