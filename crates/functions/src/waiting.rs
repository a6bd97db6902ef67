//! SLEEP, BENCHMARK and the user-level locks: GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, IS_FREE_LOCK, IS_USED_LOCK.
use std::time::Duration;

use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};

use expression::BindContext;
use expression::SessionRequest;
use expression::Volatility::Volatile;
use expression::call::infer::{cast_double, cast_integer, cast_text, integer_type};
use expression::{Arguments, Function};
use expression::{Coercibility, Expr, ExprType};

type Infer = fn(&BindContext, &'static str, &mut [Expr]) -> Result<ExprType, SqlError>;
type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(name: &'static str, count: u8, infer: Infer, evaluate: Evaluate) -> Function {
    Function { name, arguments_min: count, arguments_max: count, volatility: Volatile, infer, evaluate }
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry("sleep", 1, infer_sleep, sleep),
    entry("benchmark", 2, infer_benchmark, benchmark),
    entry("get_lock", 2, infer_get_lock, get_lock),
    entry("release_lock", 1, infer_named, release_lock),
    entry("release_all_locks", 0, infer_release_all, release_all_locks),
    entry("roles_graphml", 0, infer_roles_graphml, roles_graphml),
    entry("is_free_lock", 1, infer_named, is_free_lock),
    entry("is_used_lock", 1, infer_owner, is_used_lock),
];

/// Longer sleeps than 30 years are not told apart.
const SLEEP_SECONDS_MAX: f64 = 1e9;
const LOCK_NAME_CHARACTERS_MAX: usize = 64;
/// Between two looks at KILL and two pauses for other sessions: about a millisecond of simple calls.
const ROUNDS_BETWEEN_PAUSES: u64 = 4096;
/// What a round costs at least.
const TICKS_PER_ROUND: usize = 16;

const ER_LOCK_NAME_TOO_LONG: datum::ErrorCode =
    datum::ErrorCode::new(4163, "42000", "User-level lock name '%s' should not exceed 64 characters.");

fn one_digit() -> ExprType {
    ExprType::new(ColumnType { length: 1, ..ColumnType::bigint() }, Coercibility::Numeric)
}

fn infer_sleep(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_double(bind, &mut arguments[0])?;
    Ok(ExprType { column: integer_type().column.not_null(), ..integer_type() })
}

fn infer_benchmark(
    bind: &BindContext,
    _: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_integer(bind, &mut arguments[0])?;
    Ok(one_digit())
}

fn infer_named(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(one_digit())
}

fn infer_get_lock(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    cast_integer(bind, &mut arguments[1])?;
    infer_named(bind, name, arguments)
}

fn infer_owner(bind: &BindContext, _: &'static str, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    cast_text(bind, &mut arguments[0])?;
    Ok(ExprType::new(ColumnType::bigint_unsigned(), Coercibility::Numeric))
}

fn infer_release_all(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::new(ColumnType::bigint_unsigned().not_null(), Coercibility::Numeric))
}

fn infer_roles_graphml(_: &BindContext, _: &'static str, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    let text =
        ColumnType { collation: CollationId::UTF8MB3_GENERAL_CI, ..ColumnType::new(TypeKind::LongText) };
    Ok(ExprType::new(text, Coercibility::SystemConstant))
}

/// Who may not see the roles of others gets a graph of nothing.
fn roles_graphml(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    const NOTHING: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><graphml />";
    match arguments.context.settings.sees_roles {
        true => asked(arguments, "roles_graphml", || Ok(SessionRequest::RoleGraph)),
        false => Ok(Value::bytes(NOTHING)),
    }
}

/// NULL and negative times are an error in strict mode, otherwise no time.
fn sleep(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let context = arguments.context;
    if let Some(answer) = context.told(arguments) {
        return Ok(answer);
    }
    match arguments.double(0)? {
        Some(seconds) if seconds >= 0.0 => {
            let time = Duration::from_secs_f64(seconds.min(SLEEP_SECONDS_MAX));
            context.ask(arguments, "sleep", SessionRequest::Sleep(time))
        }
        _ => {
            let error = error_code::ER_WRONG_ARGUMENTS.with(&[&"sleep."]);
            if context.settings.sql_mode.is_strict() {
                return Err(error);
            }
            context.warn(error);
            Ok(Value::Int(0))
        }
    }
}

fn benchmark(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let context = arguments.context;
    let Some(count) = arguments.integer(0)? else { return Ok(Value::Null) };
    let Ok(count) = u64::try_from(count) else {
        context.warn(error_code::ER_WRONG_VALUE_FOR_TYPE.with(&[&"count", &count, &"benchmark"]));
        return Ok(Value::Null);
    };
    let first = context.deferred.rounds();
    let pauses = context.deferred.is_asked() || !env::coroutine::is_running();
    let rounds = if pauses { ROUNDS_BETWEEN_PAUSES } else { u64::MAX };
    let last = count.min(first.saturating_add(rounds));
    for _ in first..last {
        env::tick(TICKS_PER_ROUND);
        arguments.value(1)?;
    }
    if last < count {
        return Err(context.deferred.pause_after(last));
    }
    Ok(Value::Int(0))
}

/// The name as locks compare it.
fn lock_name(arguments: &Arguments<'_>) -> Result<String, SqlError> {
    let wrong = |name: &str| error_code::ER_USER_LOCK_WRONG_NAME.with(&[&name]);
    let Some(name) = arguments.text(0)? else { return Err(wrong("NULL")) };
    let name = String::from_utf8_lossy(&name);
    if name.is_empty() {
        return Err(wrong(""));
    }
    if name.chars().count() > LOCK_NAME_CHARACTERS_MAX {
        return Err(ER_LOCK_NAME_TOO_LONG.with(&[&name]));
    }
    Ok(name.to_lowercase())
}

/// Gives the session's answer, or asks for it.
fn asked(
    arguments: &Arguments<'_>,
    function: &str,
    request: impl FnOnce() -> Result<SessionRequest, SqlError>,
) -> Result<Value, SqlError> {
    match arguments.context.told(arguments) {
        Some(answer) => Ok(answer),
        None => arguments.context.ask(arguments, function, request()?),
    }
}

/// A negative timeout is none.
fn get_lock(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    asked(arguments, "get_lock", || {
        let name = lock_name(arguments)?;
        let seconds = arguments.integer(1)?.unwrap_or(0);
        let timeout = u64::try_from(seconds).ok().map(Duration::from_secs);
        Ok(SessionRequest::GetLock { name, timeout })
    })
}

fn release_lock(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    asked(arguments, "release_lock", || lock_name(arguments).map(SessionRequest::ReleaseLock))
}

fn release_all_locks(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    asked(arguments, "release_all_locks", || Ok(SessionRequest::ReleaseAllLocks))
}

fn is_free_lock(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let owner = asked(arguments, "is_free_lock", || lock_name(arguments).map(SessionRequest::LockOwner))?;
    Ok(Value::boolean(owner.is_null()))
}

fn is_used_lock(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    asked(arguments, "is_used_lock", || lock_name(arguments).map(SessionRequest::LockOwner))
}
