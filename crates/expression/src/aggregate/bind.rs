//! Types of aggregates: what the arguments are cast to and what the result is.
use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};

use super::{AggregateCall, AggregateFunction};
use crate::build::{BindContext, Wanted, bytes_max, digits_of_bytes, is_bit_string};
use crate::call::infer::{cast_decimal, cast_double, cast_integer, cast_text, text_column};
use crate::collations::Purpose;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};

impl AggregateCall {
    /// Binds an aggregate: infers its type and inserts conversions into the arguments.
    pub fn new(
        bind: &BindContext,
        function: AggregateFunction,
        mut arguments: Vec<Expr>,
        distinct: bool,
    ) -> Result<AggregateCall, SqlError> {
        check_count(function, &arguments, distinct)?;
        let wanted = match function {
            AggregateFunction::Sum | AggregateFunction::Avg => Wanted::Double,
            AggregateFunction::StddevPop
            | AggregateFunction::StddevSamp
            | AggregateFunction::VarPop
            | AggregateFunction::VarSamp => Wanted::ToldDecimal,
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => Wanted::Bits,
            _ => Wanted::Text,
        };
        if wanted == Wanted::Bits {
            bind.short_bits_marker(&mut arguments[0], BIT_STRING_BYTES_MAX as u32);
        }
        arguments.iter_mut().try_for_each(|argument| bind.expect(argument, wanted))?;
        if matches!(wanted, Wanted::Text | Wanted::Bits) {
            arguments.iter().for_each(|argument| bind.refuse_numbers_of_markers(argument));
        }
        let ty = match function {
            AggregateFunction::Count | AggregateFunction::AddedCounts => {
                number(ColumnType::bigint().not_null())
            }
            AggregateFunction::Sum => sum_type(bind, &mut arguments[0], distinct, (22, 0))?,
            AggregateFunction::Avg => {
                sum_type(bind, &mut arguments[0], distinct, (4, bind.division_precision_increment))?
            }
            AggregateFunction::Min | AggregateFunction::Max => {
                check_comparable(bind, function, &arguments[0])?;
                same_type(bind, &mut arguments[0])?
            }
            AggregateFunction::GroupConcat => concat_type(bind, &mut arguments)?,
            AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                ExprType::new(ColumnType::new(TypeKind::Json), Coercibility::Implicit)
            }
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
                bits_type(bind, &mut arguments[0])?
            }
            AggregateFunction::StddevPop
            | AggregateFunction::StddevSamp
            | AggregateFunction::VarPop
            | AggregateFunction::VarSamp => {
                cast_double(bind, &mut arguments[0])?;
                number(ColumnType::double())
            }
        };
        Ok(AggregateCall {
            function,
            arguments,
            distinct,
            order_by: Vec::new(),
            separator: b",".to_vec(),
            ty,
        })
    }
}

fn check_count(function: AggregateFunction, arguments: &[Expr], distinct: bool) -> Result<(), SqlError> {
    let valid = match function {
        AggregateFunction::Count if distinct => !arguments.is_empty(),
        AggregateFunction::Count => arguments.len() <= 1,
        AggregateFunction::GroupConcat => !arguments.is_empty(),
        AggregateFunction::JsonObject => arguments.len() == 2,
        _ => arguments.len() == 1,
    };
    if valid { Ok(()) } else { Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain()) }
}

fn number(column: ColumnType) -> ExprType {
    ExprType::new(column, Coercibility::Numeric)
}

/// The characters that a DOUBLE takes.
const DOUBLE_WIDTH: u8 = 23;

/// Longer binary strings are not taken by the bit aggregates.
const BIT_STRING_BYTES_MAX: u64 = 511;

/// Binary strings keep their length, everything else becomes 64 bits.
fn bits_type(bind: &BindContext, argument: &mut Expr) -> Result<ExprType, SqlError> {
    // What a function gives of NULL alone is a binary string without bytes; NULL itself is a number.
    let is_nothing =
        argument.ty.column.kind == TypeKind::Null && !matches!(argument.kind, ExprKind::Literal(_));
    if argument.ty.column.is_text() && is_choice_of_markers(bind, argument) {
        // Where bits are wanted texts are binary strings.
        let length = bytes_max(&argument.ty.column).min(BIT_STRING_BYTES_MAX);
        let choice = std::mem::replace(argument, Expr::null());
        *argument = bind.convert(choice, text_column(length, CollationId::BINARY))?;
    }
    if !is_bit_string(&argument.ty.column) && !is_nothing {
        bind.cast_bits(argument)?;
        return Ok(number(ColumnType::bigint_unsigned().not_null()));
    }
    let length = bytes_max(&argument.ty.column).min(cut_length(bind, argument));
    if length > BIT_STRING_BYTES_MAX {
        return Err(error_code::ER_INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE.plain());
    }
    let column = ColumnType { unsigned: true, ..text_column(length, CollationId::BINARY) };
    Ok(ExprType::new(column.not_null(), Coercibility::Implicit))
}

/// The bytes that LEFT, RIGHT or SUBSTRING with constants leave at most.
fn cut_length(bind: &BindContext, argument: &Expr) -> u64 {
    let ExprKind::Call(function, arguments) = &argument.kind else { return u64::MAX };
    let number = |place: usize| match arguments.get(place).and_then(|argument| bind.decisive(argument)) {
        Some(datum::Value::Int(number)) => u64::try_from(number).ok(),
        _ => None,
    };
    match function.name {
        "left" | "right" => number(1).unwrap_or(u64::MAX),
        "substring" | "substr" | "mid" => {
            let begun = number(1).filter(|begin| *begin > 0).map(|begin| {
                arguments.first().map_or(0, |text| bytes_max(&text.ty.column)).saturating_sub(begin - 1)
            });
            begun.unwrap_or(u64::MAX).min(number(2).unwrap_or(u64::MAX))
        }
        _ => u64::MAX,
    }
}

/// The most decimal digits of an integer type, which SUM's precision starts from.
fn integer_digits(column: &ColumnType) -> Option<u8> {
    Some(match column.kind {
        TypeKind::Tiny => 3,
        TypeKind::Short => 5,
        TypeKind::Int24 => 8,
        TypeKind::Long => 10,
        TypeKind::LongLong if column.unsigned => 20,
        TypeKind::LongLong => 19,
        TypeKind::Year => 4,
        _ => return None,
    })
}

/// The digits of a whole number that is no integer column's, as that of a date or one that is written.
fn whole_digits(argument: &Expr) -> Option<u8> {
    let column = &argument.ty.column;
    match (&argument.kind, &column.kind) {
        (ExprKind::Literal(Value::Int(number)), _) => {
            Some(number.unsigned_abs().checked_ilog10().unwrap_or(0) as u8 + 1)
        }
        (_, TypeKind::Date) => Some(8),
        (_, TypeKind::Year) => Some(4),
        (_, TypeKind::Bit(bits)) => Some(*bits),
        _ if column.is_hex_literal() && !column.is_bit_literal() => Some(digits_of_bytes(column.length)),
        _ => None,
    }
}

/// Whether the argument is what NULLIF gives of a number in hexadecimal.
fn is_nullified_number(argument: &Expr) -> bool {
    match &argument.kind {
        ExprKind::Case { whens, otherwise: Some(otherwise), .. } => {
            otherwise.ty.column.is_hex_literal()
                && whens.iter().all(|(_, result)| {
                    // A NULL that is written has no type.
                    matches!(result.kind, ExprKind::Literal(Value::Null))
                        && result.ty.column.kind == TypeKind::VarBinary
                })
        }
        _ => false,
    }
}

/// Whether nothing but markers is chosen from, which are DOUBLEs to a sum as a marker alone is.
fn is_choice_of_markers(bind: &BindContext, argument: &Expr) -> bool {
    match &argument.kind {
        ExprKind::Case { whens, otherwise, .. } => {
            let mut results = whens.iter().map(|(_, result)| result).chain(otherwise.as_deref());
            results.all(|result| bind.marker(result).is_some())
        }
        ExprKind::Call(function, arguments) => {
            matches!(function.name, "coalesce" | "ifnull")
                && arguments.iter().all(|argument| bind.marker(argument).is_some())
        }
        _ => false,
    }
}

/// Exact numbers give DECIMAL with `wider` more digits, `finer` of them (and the same number again for SUM's
/// integer part) after the point; everything else is summed as DOUBLE.
fn sum_type(
    bind: &BindContext,
    argument: &mut Expr,
    distinct: bool,
    (wider, finer): (u8, u8),
) -> Result<ExprType, SqlError> {
    if is_choice_of_markers(bind, argument) && argument.ty.column.kind.is_integer() {
        cast_double(bind, argument)?;
    }
    let written = whole_digits(argument);
    match argument.ty.column.kind {
        TypeKind::VarBinary if argument.ty.column.is_hex_literal() || is_nullified_number(argument) => {
            cast_integer(bind, argument)?
        }
        TypeKind::Year | TypeKind::Bit(_) | TypeKind::Date => cast_integer(bind, argument)?,
        TypeKind::Time { fsp } => cast_decimal(bind, argument, 7 + fsp, fsp)?,
        TypeKind::DateTime { fsp } | TypeKind::Timestamp { fsp } => {
            cast_decimal(bind, argument, 14 + fsp, fsp)?;
        }
        _ => {}
    }
    let exact = match argument.ty.column.kind {
        TypeKind::Decimal { precision, scale } => Some((precision, scale)),
        _ if written.is_some() => written.map(|digits| (digits, 0)),
        _ => integer_digits(&argument.ty.column).map(|digits| (digits, 0)),
    };
    Ok(match exact {
        Some((precision, scale)) => {
            let scale = (scale + finer).min(datum::SCALE_MAX);
            number(ColumnType::decimal((precision + wider).min(datum::PRECISION_MAX), scale))
        }
        None => {
            // Digits after the point that are fixed stay so.
            let scale = argument.ty.column.fixed_scale().map(|scale| scale.saturating_add(finer));
            let is_text = argument.ty.column.kind.is_string();
            cast_double(bind, argument)?;
            // Different numbers are those that a table would keep of the texts: see `evaluate::cast`.
            if distinct && is_text {
                argument.ty.coercibility = Coercibility::Ignorable;
            }
            let digits = scale.filter(|scale| *scale <= datum::SCALE_MAX).map(|scale| (DOUBLE_WIDTH, scale));
            number(ColumnType::new(TypeKind::Double { digits }))
        }
    })
}

/// Error 1267 for texts that have no collation to be compared in.
fn check_comparable(
    bind: &BindContext,
    function: AggregateFunction,
    argument: &Expr,
) -> Result<(), SqlError> {
    if argument.ty.coercibility != Coercibility::NoCollation {
        return Ok(());
    }
    let name = if function == AggregateFunction::Min { "min" } else { "max" };
    let mut pair = [argument.clone(), argument.clone()];
    bind.aggregate_collations(name, &mut pair, Purpose::Comparison).map(|_| ())
}

/// MIN and MAX of ENUM and SET compare the members' text.
fn same_type(bind: &BindContext, argument: &mut Expr) -> Result<ExprType, SqlError> {
    if matches!(argument.ty.column.kind, TypeKind::Enum(_) | TypeKind::Set(_)) {
        cast_text(bind, argument)?;
    }
    let is_member = matches!(&argument.kind, ExprKind::Cast(own) if own.ty.column.kind.has_members());
    let column = match argument.ty.column.kind {
        TypeKind::Year => ColumnType::chosen_year(),
        TypeKind::VarChar if is_member => {
            ColumnType { kind: TypeKind::Char, nullable: true, ..argument.ty.column.clone() }
        }
        _ => ColumnType { nullable: true, ..argument.ty.column.clone().as_bytes() },
    };
    Ok(ExprType::new(column, argument.ty.coercibility))
}

/// The characters that a default `group_concat_max_len` allows for, in any character set.
const CONCAT_LENGTH: u32 = 65_536;

/// The result can be as long as `group_concat_max_len`, which a statement does not know when it is bound.
fn concat_type(bind: &BindContext, arguments: &mut [Expr]) -> Result<ExprType, SqlError> {
    for argument in arguments.iter_mut() {
        cast_text(bind, argument)?;
    }
    let (collation, coercibility) = bind.aggregate_collations("group_concat", arguments, Purpose::Result)?;
    let kind = if collation == CollationId::BINARY { TypeKind::LongBlob } else { TypeKind::LongText };
    let column = ColumnType { collation, length: CONCAT_LENGTH, ..ColumnType::new(kind) };
    Ok(ExprType::new(column, coercibility))
}
