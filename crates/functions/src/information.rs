//! What a statement can ask about its session and about expressions: DATABASE, USER, VERSION, LAST_INSERT_ID,
//! CHARSET, UUID and their kin. SLEEP is the executor's, since it has to wait without blocking a worker.
use aws_lc_rs::rand;
use collation::CollationId;
use datum::{SqlError, TypeKind, Value, error_code};

use super::network::uuid_text;
use expression::BindContext;
use expression::Volatility::{Pure, Statement, StatementUnlessGiven, Volatile};
use expression::call::infer::{cast_integer, integer_type, system_text, unsigned_type};
use expression::{Arguments, Function, Volatility};
use expression::{Coercibility, Expr, ExprKind, ExprType};

type Infer = fn(&BindContext, &'static str, &mut [Expr]) -> Result<ExprType, SqlError>;
type Evaluate = fn(&Arguments<'_>) -> Result<Value, SqlError>;

const fn entry(
    name: &'static str,
    arguments: u8,
    volatility: Volatility,
    infer: Infer,
    evaluate: Evaluate,
) -> Function {
    Function { name, arguments_min: arguments, arguments_max: arguments, volatility, infer, evaluate }
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry("database", 0, Statement, infer_name, database),
    entry("schema", 0, Statement, infer_name, database),
    entry("user", 0, Statement, infer_account, user),
    entry("session_user", 0, Statement, infer_account, user),
    entry("system_user", 0, Statement, infer_account, user),
    entry("current_role", 0, Statement, infer_roles, current_role),
    entry("current_user", 0, Statement, infer_account, current_user),
    entry("version", 0, Statement, infer_name, version),
    entry("connection_id", 0, Statement, infer_unsigned, connection_id),
    entry("row_count", 0, Volatile, infer_signed, row_count),
    entry("found_rows", 0, Volatile, infer_signed, found_rows),
    Function {
        name: "last_insert_id",
        arguments_min: 0,
        arguments_max: 1,
        volatility: StatementUnlessGiven,
        infer: infer_last_insert_id,
        evaluate: last_insert_id,
    },
    entry("uuid", 0, Volatile, infer_uuid, uuid),
    entry("charset", 1, Pure, infer_name, charset),
    entry("collation", 1, Pure, infer_name, collation),
    entry("coercibility", 1, Pure, infer_signed, coercibility),
];

fn infer_name(
    _bind: &BindContext,
    _name: &'static str,
    _arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(system_text(64))
}

fn infer_account(
    _bind: &BindContext,
    _name: &'static str,
    _arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(system_text(288))
}

fn infer_roles(
    _bind: &BindContext,
    _name: &'static str,
    _arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(system_text(16 << 20))
}

fn infer_uuid(
    _bind: &BindContext,
    _name: &'static str,
    _arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(system_text(36))
}

fn infer_unsigned(
    _bind: &BindContext,
    _name: &'static str,
    _arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(unsigned_type())
}

fn infer_signed(
    _bind: &BindContext,
    _name: &'static str,
    _arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    Ok(integer_type())
}

fn infer_last_insert_id(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    arguments.first_mut().map_or(Ok(()), |argument| cast_integer(bind, argument))?;
    Ok(unsigned_type())
}

fn database(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let database = arguments.context.settings.database.as_deref();
    Ok(database.map_or(Value::Null, Value::bytes))
}

fn user(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::bytes(&*arguments.context.settings.user))
}

fn current_role(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::bytes(&*arguments.context.settings.current_role))
}

fn current_user(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::bytes(&*arguments.context.settings.current_user))
}

fn version(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::bytes(&*arguments.context.settings.version))
}

fn connection_id(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::UInt(arguments.context.settings.connection_id))
}

fn row_count(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::Int(arguments.context.session.row_count()))
}

fn found_rows(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::Int(arguments.context.session.found_rows() as i64))
}

/// With an argument it becomes what LAST_INSERT_ID() and the client see next.
fn last_insert_id(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if arguments.is_empty() {
        return Ok(Value::UInt(arguments.context.session.last_insert_id()));
    }
    let id = arguments.bits(0)?;
    arguments.context.session.set_last_insert_id(id.unwrap_or(0));
    Ok(id.map_or(Value::Null, Value::UInt))
}

/// A time-based id (version 1) with a random node, as MySQL gives on a machine whose address it does not show.
fn uuid(_arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    const UNIX_EPOCH_IN_UUID_TIME: u128 = 0x01B2_1DD2_1381_4000;
    let mut random = [0; 8];
    rand::fill(&mut random).map_err(|_| error_code::ER_INTERNAL_ERROR.with(&[&"no randomness"]))?;
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ticks = UNIX_EPOCH_IN_UUID_TIME + since_epoch.map_or(0, |passed| passed.as_nanos() / 100);
    let mut id = Vec::with_capacity(16);
    id.extend_from_slice(&(ticks as u32).to_be_bytes());
    id.extend_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    id.extend_from_slice(&((ticks >> 48) as u16 & 0x0FFF | 0x1000).to_be_bytes());
    id.extend_from_slice(&random);
    id[8] = id[8] & 0x3F | 0x80;
    id[10] |= 1; // The multicast bit marks a node that is not a network address (RFC 4122, 4.5).
    Ok(Value::bytes(uuid_text(&id)))
}

/// Documents that are computed are texts to CHARSET and COLLATION, those of columns bytes.
fn told_collation(arguments: &Arguments<'_>) -> CollationId {
    match arguments.exprs[0].ty.column.kind {
        TypeKind::Json if !matches!(arguments.exprs[0].kind, ExprKind::Column(_)) => CollationId::UTF8MB4_BIN,
        _ => arguments.collation(0),
    }
}

fn charset(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::bytes(told_collation(arguments).charset().name()))
}

fn collation(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(Value::bytes(told_collation(arguments).name()))
}

fn coercibility(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let ty = &arguments.exprs[0].ty;
    // Numbers and moments bind as such, also those of columns.
    let is_number = ty.column.kind.is_numeric() || ty.column.kind.is_temporal();
    Ok(Value::Int(match &ty.column.kind {
        TypeKind::Bit(_) => ty.coercibility,
        TypeKind::Json => Coercibility::Implicit,
        _ if is_number => Coercibility::Numeric,
        _ => ty.coercibility,
    } as i64))
}
