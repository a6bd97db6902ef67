//! Functions that measure, find and compare text: LENGTH, LOCATE, FIELD, STRCMP and their kin.
use collation::CollationId;
use datum::{CompareMode, SqlError, TypeKind, Value};

use expression::BindContext;
use expression::ComparisonOperator;
use expression::call::infer::{
    cast_double, cast_integer, integer_of_compared, integer_of_each_text, integer_ruled_by, integer_type,
    truth_of_texts,
};
use expression::call::is_constant;
use expression::{Arguments, Function, Volatility::Pure};
use expression::{Expr, ExprKind, ExprType};

/// What a place of a text costs where another text may stand.
const TICKS_PER_PLACE: usize = 16;

const fn measure(name: &'static str, evaluate: fn(&Arguments<'_>) -> Result<Value, SqlError>) -> Function {
    Function {
        name,
        arguments_min: 1,
        arguments_max: 1,
        volatility: Pure,
        infer: integer_of_each_text,
        evaluate,
    }
}

pub(super) static FUNCTIONS: &[Function] = &[
    measure("length", length),
    measure("octet_length", length),
    measure("bit_length", bit_length),
    measure("char_length", char_length),
    measure("character_length", char_length),
    measure("ascii", ascii),
    measure("ord", ord),
    Function {
        name: "locate",
        arguments_min: 2,
        arguments_max: 3,
        volatility: Pure,
        infer: infer_locate,
        evaluate: locate,
    },
    Function {
        name: "position",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_locate,
        evaluate: locate,
    },
    Function {
        name: "instr",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_locate,
        evaluate: instr,
    },
    Function {
        name: "field",
        arguments_min: 2,
        arguments_max: u8::MAX,
        volatility: Pure,
        infer: infer_field,
        evaluate: field,
    },
    Function {
        name: "find_in_set",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_find_in_set,
        evaluate: find_in_set,
    },
    Function {
        name: "strcmp",
        arguments_min: 2,
        arguments_max: 2,
        volatility: Pure,
        infer: infer_strcmp,
        evaluate: strcmp,
    },
];

fn count(number: usize) -> Value {
    Value::Int(i64::try_from(number).expect("no text is that long"))
}

fn length(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(arguments.text(0)?.map_or(Value::Null, |text| count(text.len())))
}

fn bit_length(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    Ok(arguments.text(0)?.map_or(Value::Null, |text| count(text.len() * 8)))
}

fn char_length(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let charset = arguments.charset(0);
    Ok(arguments.text(0)?.map_or(Value::Null, |text| count(charset.character_count(&text))))
}

fn ascii(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let first = arguments.text(0)?.map(|text| text.first().copied().unwrap_or(0));
    Ok(first.map_or(Value::Null, |byte| Value::Int(i64::from(byte))))
}

/// The bytes of the first character as one big-endian number.
fn ord(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let charset = arguments.charset(0);
    Ok(arguments.text(0)?.map_or(Value::Null, |text| {
        let character = charset.characters(&text).next().unwrap_or(&[]);
        Value::Int(character.iter().fold(0, |code, byte| code << 8 | i64::from(*byte)))
    }))
}

fn infer_locate(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    if let Some(start) = arguments.get_mut(2) {
        cast_integer(bind, start)?;
    }
    let haystack = usize::from(name != "instr");
    integer_ruled_by(bind, &mut arguments[..2], haystack)
}

/// The 0-based character position in `haystack` from character `start` on, where what follows begins with `needle` in the
/// collation: the needle may have other characters, more or fewer of them.
fn find(haystack: &[u8], needle: &[u8], collation: collation::CollationId, start: usize) -> Option<usize> {
    let charset = collation.charset();
    let mut position = start;
    let mut rest = haystack.get(charset.byte_offset(haystack, start)..)?;
    if start > charset.character_count(haystack) {
        return None;
    }
    if needle.is_empty() {
        return Some(position);
    }
    while !rest.is_empty() {
        env::tick(TICKS_PER_PLACE);
        if collation.begins_with(rest, needle) {
            return Some(position);
        }
        rest = &rest[charset.decode_first(rest).1..];
        position += 1;
    }
    None
}

fn locate(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(needle), Some(haystack)) = (arguments.text(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    let start = if arguments.len() == 3 {
        match arguments.integer(2)? {
            None => return Ok(Value::Null),
            Some(start) if start < 1 => return Ok(Value::Int(0)),
            Some(start) => usize::try_from(start - 1).unwrap_or(usize::MAX),
        }
    } else {
        0
    };
    let position = find(&haystack, &needle, arguments.collation(1), start);
    Ok(position.map_or(Value::Int(0), |position| count(position + 1)))
}

fn instr(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(haystack), Some(needle)) = (arguments.text(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    let position = find(&haystack, &needle, arguments.collation(0), 0);
    Ok(position.map_or(Value::Int(0), |position| count(position + 1)))
}

/// Texts are compared as texts, exact numbers as such, and anything else as doubles.
fn infer_field(
    bind: &BindContext,
    _name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let is_exact = |expr: &Expr| {
        let kind = &expr.ty.column.kind;
        kind.is_numeric() && !kind.is_floating()
    };
    let is_text = |expr: &Expr| !expr.ty.column.kind.is_numeric() && expr.ty.column.kind != TypeKind::Null;
    let is_null = |expr: &Expr| expr.ty.column.kind == TypeKind::Null;
    let ty = match () {
        () if arguments.iter().all(|expr| is_text(expr) || is_null(expr)) => {
            integer_ruled_by(bind, arguments, 0)?
        }
        () if arguments.iter().all(|expr| is_exact(expr) || is_null(expr)) => integer_type(),
        () => {
            arguments.iter_mut().try_for_each(|expr| cast_double(bind, expr))?;
            integer_type()
        }
    };
    Ok(ExprType { column: ty.column.not_null(), ..ty })
}

/// FIELD(NULL, ...) is 0, not NULL.
fn field(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let wanted = arguments.value(0)?;
    if wanted.is_null() {
        return Ok(Value::Int(0));
    }
    let collation = arguments.collation(0);
    for index in 1..arguments.len() {
        let candidate = arguments.value(index)?;
        let is_same = match (&*wanted, &*candidate) {
            (Value::Null, _) | (_, Value::Null) => false,
            (Value::Bytes(left), Value::Bytes(right)) => collation.compare(left, right).is_eq(),
            (Value::Double(left), Value::Double(right)) => left == right,
            // Integers are the same where their 64 bits are, whatever their signs.
            (Value::Int(number), Value::UInt(bits)) | (Value::UInt(bits), Value::Int(number)) => {
                number.cast_unsigned() == *bits
            }
            (left, right) => {
                let number = |value: &Value, place: usize| {
                    value.to_decimal(&arguments.exprs[place].ty.column, &mut datum::no_warning)
                };
                number(left, 0)
                    .zip(number(right, index))
                    .is_some_and(|(left, right)| left.compare(&right).is_eq())
            }
        };
        if is_same {
            return Ok(count(index));
        }
    }
    Ok(Value::Int(0))
}

/// A constant beside a column of a SET is sought among the members of the type, whose number is the result.
fn infer_find_in_set(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    let is_set = matches!(arguments[1].kind, ExprKind::Column(_))
        && matches!(arguments[1].ty.column.kind, TypeKind::Set(_));
    if !is_set || !is_constant(&arguments[0]) {
        return integer_of_compared(bind, name, arguments);
    }
    let set = arguments[1].clone();
    let ty = integer_of_compared(bind, name, arguments)?;
    arguments[1] = set;
    Ok(ty)
}

/// The number of a member that the value of a SET column has.
fn number_in_set(arguments: &Arguments<'_>, members: &[Box<[u8]>]) -> Result<Value, SqlError> {
    let Some(wanted) = arguments.text(0)? else { return Ok(Value::Null) };
    let Value::Set(bits) = *arguments.value(1)? else { return Ok(Value::Null) };
    let collation = arguments.exprs[1].ty.collation();
    let found = members.iter().position(|member| collation.compare(&wanted, member).is_eq());
    let held = found.filter(|place| bits >> place & 1 == 1);
    Ok(held.map_or(Value::Int(0), |place| count(place + 1)))
}

fn find_in_set(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    if let TypeKind::Set(members) = &arguments.exprs[1].ty.column.kind {
        return number_in_set(arguments, members);
    }
    let (Some(wanted), Some(list)) = (arguments.text(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    if list.is_empty() || wanted.contains(&b',') {
        return Ok(Value::Int(0));
    }
    let collation = arguments.collation(0);
    let mut members = list.split(|byte| *byte == b',');
    let found = members.position(|member| {
        env::tick(TICKS_PER_PLACE + member.len());
        collation.compare(&wanted, member).is_eq()
    });
    Ok(found.map_or(Value::Int(0), |index| count(index + 1)))
}

/// Texts are compared, but a constant beside a moment has to be one. MySQL takes what it answers for a condition.
fn infer_strcmp(
    bind: &BindContext,
    name: &'static str,
    arguments: &mut [Expr],
) -> Result<ExprType, SqlError> {
    if arguments.iter().any(|argument| argument.ty.column.kind.has_date()) {
        bind.compare(ComparisonOperator::Equal, arguments[0].clone(), arguments[1].clone())?;
    }
    let [left, right] = arguments else { unreachable!("it has two arguments") };
    let are_texts = matches!(
        CompareMode::of(&left.ty.column, &right.ty.column, CollationId::BINARY),
        CompareMode::Text(_) | CompareMode::Time | CompareMode::Json
    );
    for (column, constant) in [(0, 1), (1, 0)] {
        let column = arguments[column].clone();
        bind.become_of_column(&column, &mut arguments[constant])?;
        // The year 0 is the number 0 here.
        if matches!(arguments[constant].kind, ExprKind::Literal(Value::Year(0))) {
            arguments[constant] = Expr::int(0);
        }
    }
    let ty = truth_of_texts(bind, name, arguments)?;
    // What would not be compared as texts has no collation either.
    if !are_texts {
        for argument in arguments.iter_mut() {
            let mut ty = argument.ty.clone();
            ty.column.collation = CollationId::BINARY;
            let own = std::mem::replace(argument, Expr::null());
            *argument = Expr { kind: ExprKind::Relabel(Box::new(own)), ty };
        }
    }
    Ok(ty)
}

fn strcmp(arguments: &Arguments<'_>) -> Result<Value, SqlError> {
    let (Some(left), Some(right)) = (arguments.text(0)?, arguments.text(1)?) else {
        return Ok(Value::Null);
    };
    Ok(Value::Int(arguments.collation(0).compare(&left, &right) as i64))
}
