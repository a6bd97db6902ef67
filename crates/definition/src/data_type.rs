//! A column's type as written into the type that is stored, with MySQL's limits and their errors.
use collation::{Charset, CollationId};
use datum::{ColumnType, Condition, SqlError, TypeKind, error_code};
use parser::ast::{DataType, Ident, TypeName};

use super::conditions;

/// What a column's type depends on beside its own words.
pub struct TypeContext<'a> {
    pub column: &'a str,
    /// Of columns that name no character set.
    pub table_collation: CollationId,
    /// Otherwise a VARCHAR that is too long becomes a TEXT.
    pub is_strict: bool,
    pub conditions: &'a mut Vec<Condition>,
}

const INTEGER_WIDTH_MAX: u64 = 255;
const DECIMAL_PRECISION_MAX: u64 = 65;
const DECIMAL_SCALE_MAX: u64 = 30;
const FRACTION_DIGITS_MAX: u64 = 6;
const CHAR_LENGTH_MAX: u64 = 255;
const VARCHAR_BYTES_MAX: u64 = 65_535;
const SET_MEMBERS_MAX: usize = 64;
const ENUM_MEMBERS_MAX: usize = 65_535;

pub fn column_type(data_type: &DataType<'_>, context: &mut TypeContext<'_>) -> Result<ColumnType, SqlError> {
    use TypeName as Name;
    let mut result = match data_type.name {
        Name::TinyInt => integer(TypeKind::Tiny, data_type, context)?,
        Name::SmallInt => integer(TypeKind::Short, data_type, context)?,
        Name::MediumInt => integer(TypeKind::Int24, data_type, context)?,
        Name::Int => integer(TypeKind::Long, data_type, context)?,
        Name::BigInt => integer(TypeKind::LongLong, data_type, context)?,
        Name::Serial => ColumnType::bigint_unsigned().not_null(),
        Name::Bool => ColumnType { length: 1, ..ColumnType::new(TypeKind::Tiny) },
        Name::Decimal => decimal(data_type, context.column)?,
        Name::Float | Name::Double => floating(data_type, context)?,
        Name::Bit => bit(data_type, context.column)?,
        Name::Char | Name::VarChar | Name::Binary | Name::VarBinary => string(data_type, context)?,
        Name::TinyText | Name::Text | Name::MediumText | Name::LongText => text(data_type, context)?,
        Name::TinyBlob | Name::Blob | Name::MediumBlob | Name::LongBlob => blob(data_type),
        Name::Date => ColumnType::new(TypeKind::Date),
        Name::Time => ColumnType::new(TypeKind::Time { fsp: fraction_digits(data_type, context.column)? }),
        Name::DateTime => {
            ColumnType::new(TypeKind::DateTime { fsp: fraction_digits(data_type, context.column)? })
        }
        Name::Timestamp => {
            ColumnType::new(TypeKind::Timestamp { fsp: fraction_digits(data_type, context.column)? })
        }
        Name::Year => match data_type.length {
            None | Some(4) => ColumnType::new(TypeKind::Year),
            Some(_) => return Err(conditions::ER_INVALID_YEAR_COLUMN_LENGTH.plain()),
        },
        Name::Enum | Name::Set => members(data_type, context)?,
        Name::Json => ColumnType::new(TypeKind::Json),
        Name::Vector
        | Name::Geometry
        | Name::Point
        | Name::LineString
        | Name::Polygon
        | Name::MultiPoint
        | Name::MultiLineString
        | Name::MultiPolygon
        | Name::GeometryCollection => {
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"columns of a spatial or vector type"]));
        }
    };
    if data_type.zerofill || data_type.unsigned {
        result.unsigned = true;
        result.zerofill = data_type.zerofill;
    }
    Ok(result)
}

fn integer(
    kind: TypeKind,
    data_type: &DataType<'_>,
    context: &mut TypeContext<'_>,
) -> Result<ColumnType, SqlError> {
    let width = data_type.length.unwrap_or(0);
    if width > INTEGER_WIDTH_MAX {
        return Err(error_code::ER_TOO_BIG_DISPLAYWIDTH.with(&[&context.column, &INTEGER_WIDTH_MAX]));
    }
    if data_type.zerofill {
        context.conditions.push(conditions::ER_WARN_DEPRECATED_ZEROFILL.plain().into_warning());
    }
    let is_boolean = kind == TypeKind::Tiny && width == 1;
    if data_type.length.is_some() && !is_boolean {
        context.conditions.push(conditions::ER_WARN_DEPRECATED_INTEGER_DISPLAY_WIDTH.plain().into_warning());
    }
    let default_width = match kind {
        TypeKind::Tiny => 3,
        TypeKind::Short => 5,
        TypeKind::Int24 => 8,
        TypeKind::Long => 10,
        _ => 20,
    };
    let length = match (data_type.length, data_type.zerofill) {
        (None | Some(0), true) => default_width,
        _ => width as u32,
    };
    Ok(ColumnType { length, ..ColumnType::new(kind) })
}

fn decimal(data_type: &DataType<'_>, column: &str) -> Result<ColumnType, SqlError> {
    let precision = data_type.length.unwrap_or(10);
    let scale = data_type.decimals.unwrap_or(0);
    // DECIMAL(0) means the default precision.
    let precision = if precision == 0 && scale == 0 { 10 } else { precision };
    if scale > DECIMAL_SCALE_MAX {
        return Err(error_code::ER_TOO_BIG_SCALE.with(&[&scale, &column, &DECIMAL_SCALE_MAX]));
    }
    if precision > DECIMAL_PRECISION_MAX {
        return Err(error_code::ER_TOO_BIG_PRECISION.with(&[&precision, &column, &DECIMAL_PRECISION_MAX]));
    }
    if scale > precision {
        return Err(error_code::ER_M_BIGGER_THAN_D.with(&[&column]));
    }
    Ok(ColumnType::decimal(precision as u8, scale as u8))
}

/// FLOAT, FLOAT(p), FLOAT(M,D) and the same of DOUBLE; `REAL` arrives as DOUBLE.
fn floating(data_type: &DataType<'_>, context: &mut TypeContext<'_>) -> Result<ColumnType, SqlError> {
    let column = context.column;
    let is_float = data_type.name == TypeName::Float;
    match (data_type.length, data_type.decimals) {
        (None, _) if is_float => Ok(ColumnType::new(TypeKind::Float { digits: None })),
        (None, _) => Ok(ColumnType::double()),
        (Some(precision), None) if is_float && precision <= 24 => {
            Ok(ColumnType::new(TypeKind::Float { digits: None }))
        }
        (Some(precision), None) if is_float && precision <= 53 => Ok(ColumnType::double()),
        (Some(_), None) => Err(error_code::ER_WRONG_FIELD_SPEC.with(&[&column])),
        (Some(length), Some(scale)) => {
            if scale > DECIMAL_SCALE_MAX {
                return Err(error_code::ER_TOO_BIG_SCALE.with(&[&scale, &column, &DECIMAL_SCALE_MAX]));
            }
            if length > 255 {
                return Err(error_code::ER_TOO_BIG_DISPLAYWIDTH.with(&[&column, &255]));
            }
            if scale > length {
                return Err(error_code::ER_M_BIGGER_THAN_D.with(&[&column]));
            }
            context.conditions.push(conditions::ER_WARN_DEPRECATED_FLOAT_DIGITS.plain().into_warning());
            let digits = Some((length as u8, scale as u8));
            let kind = if is_float { TypeKind::Float { digits } } else { TypeKind::Double { digits } };
            Ok(ColumnType::new(kind))
        }
    }
}

fn bit(data_type: &DataType<'_>, column: &str) -> Result<ColumnType, SqlError> {
    match data_type.length.unwrap_or(1) {
        0 => Err(conditions::ER_INVALID_FIELD_SIZE.with(&[&column])),
        bits @ 1..=64 => Ok(ColumnType::new(TypeKind::Bit(bits as u8))),
        _ => Err(error_code::ER_TOO_BIG_DISPLAYWIDTH.with(&[&column, &64])),
    }
}

fn fraction_digits(data_type: &DataType<'_>, column: &str) -> Result<u8, SqlError> {
    match data_type.length.unwrap_or(0) {
        digits @ 0..=FRACTION_DIGITS_MAX => Ok(digits as u8),
        digits => Err(error_code::ER_TOO_BIG_PRECISION.with(&[&digits, &column, &FRACTION_DIGITS_MAX])),
    }
}

fn string(data_type: &DataType<'_>, context: &mut TypeContext<'_>) -> Result<ColumnType, SqlError> {
    let is_fixed = matches!(data_type.name, TypeName::Char | TypeName::Binary);
    let collation = match data_type.name {
        TypeName::Binary | TypeName::VarBinary => CollationId::BINARY,
        _ => text_collation(data_type, context.table_collation)?,
    };
    let length = data_type.length.unwrap_or(1);
    let limit = match is_fixed {
        true => CHAR_LENGTH_MAX,
        false => VARCHAR_BYTES_MAX / u64::from(collation.charset().bytes_per_character_max()),
    };
    if length > limit && (is_fixed || context.is_strict) {
        return Err(error_code::ER_TOO_BIG_FIELDLENGTH.with(&[&context.column, &limit]));
    }
    if length > limit {
        return Ok(text_for(length, collation, context));
    }
    let kind = match (is_fixed, collation == CollationId::BINARY) {
        (true, true) => TypeKind::Binary,
        (false, true) => TypeKind::VarBinary,
        (true, false) => TypeKind::Char,
        (false, false) => TypeKind::VarChar,
    };
    Ok(ColumnType { length: length as u32, collation, ..ColumnType::new(kind) })
}

/// The TEXT or BLOB that a VARCHAR or VARBINARY of too many characters becomes, with a note.
fn text_for(length: u64, collation: CollationId, context: &mut TypeContext<'_>) -> ColumnType {
    let width = u64::from(collation.charset().bytes_per_character_max());
    let size = ObjectSize::holding(length.saturating_mul(width));
    let is_binary = collation == CollationId::BINARY;
    let names = if is_binary { ("VARBINARY", "BLOB") } else { ("VARCHAR", "TEXT") };
    let note = error_code::ER_AUTO_CONVERT.with(&[&context.column, &names.0, &names.1]);
    context.conditions.push(note.into_note());
    ColumnType { collation, ..ColumnType::new(if is_binary { size.blob() } else { size.text() }) }
}

fn text(data_type: &DataType<'_>, context: &mut TypeContext<'_>) -> Result<ColumnType, SqlError> {
    let collation = text_collation(data_type, context.table_collation)?;
    let width = u64::from(collation.charset().bytes_per_character_max());
    let size = match (data_type.name, data_type.length) {
        (TypeName::TinyText, _) => ObjectSize::Tiny,
        (TypeName::MediumText, _) => ObjectSize::Medium,
        (TypeName::LongText, _) => ObjectSize::Long,
        (_, None | Some(0)) => ObjectSize::Normal,
        (_, Some(length)) => ObjectSize::holding(length.saturating_mul(width)),
    };
    let kind = if collation == CollationId::BINARY { size.blob() } else { size.text() };
    Ok(ColumnType { collation, ..ColumnType::new(kind) })
}

fn blob(data_type: &DataType<'_>) -> ColumnType {
    let size = match (data_type.name, data_type.length) {
        (TypeName::TinyBlob, _) => ObjectSize::Tiny,
        (TypeName::MediumBlob, _) => ObjectSize::Medium,
        (TypeName::LongBlob, _) => ObjectSize::Long,
        (_, None | Some(0)) => ObjectSize::Normal,
        (_, Some(length)) => ObjectSize::holding(length),
    };
    ColumnType::new(size.blob())
}

/// The four sizes of TEXT and BLOB.
#[derive(Clone, Copy)]
enum ObjectSize {
    Tiny,
    Normal,
    Medium,
    Long,
}

impl ObjectSize {
    /// The smallest that holds so many bytes, as `TEXT(n)` and `BLOB(n)` ask for.
    fn holding(bytes: u64) -> ObjectSize {
        match bytes {
            0..0x100 => ObjectSize::Tiny,
            0x100..0x1_0000 => ObjectSize::Normal,
            0x1_0000..0x100_0000 => ObjectSize::Medium,
            _ => ObjectSize::Long,
        }
    }

    fn text(self) -> TypeKind {
        match self {
            ObjectSize::Tiny => TypeKind::TinyText,
            ObjectSize::Normal => TypeKind::Text,
            ObjectSize::Medium => TypeKind::MediumText,
            ObjectSize::Long => TypeKind::LongText,
        }
    }

    fn blob(self) -> TypeKind {
        match self {
            ObjectSize::Tiny => TypeKind::TinyBlob,
            ObjectSize::Normal => TypeKind::Blob,
            ObjectSize::Medium => TypeKind::MediumBlob,
            ObjectSize::Long => TypeKind::LongBlob,
        }
    }
}

fn members(data_type: &DataType<'_>, context: &mut TypeContext<'_>) -> Result<ColumnType, SqlError> {
    let is_set = data_type.name == TypeName::Set;
    let collation = text_collation(data_type, context.table_collation)?;
    let type_name = if is_set { "SET" } else { "ENUM" };
    let limit = if is_set { SET_MEMBERS_MAX } else { ENUM_MEMBERS_MAX };
    if data_type.members.len() > limit {
        return Err(match is_set {
            true => error_code::ER_TOO_BIG_SET.with(&[&context.column]),
            false => conditions::ER_TOO_BIG_ENUM.with(&[&context.column]),
        });
    }
    let mut encoded: Vec<Box<[u8]>> = Vec::with_capacity(data_type.members.len());
    for member in data_type.members {
        let member = member.trim_end_matches(' ');
        if is_set && member.contains(',') {
            return Err(conditions::ER_ILLEGAL_VALUE_FOR_TYPE.with(&[&"set", &member]));
        }
        let bytes = super::text::encode(member, collation.charset())
            .ok_or_else(|| conditions::ER_ILLEGAL_VALUE_FOR_TYPE.with(&[&type_name, &member]))?;
        if let Some(twin) = encoded.iter().position(|earlier| collation.equal(earlier, &bytes)) {
            let shown = data_type.members[twin].trim_end_matches(' ');
            return Err(error_code::ER_DUPLICATED_VALUE_IN_TYPE.with(&[&context.column, &shown, &type_name]));
        }
        encoded.push(bytes.into_boxed_slice());
    }
    let kind = if is_set { TypeKind::Set(encoded.into()) } else { TypeKind::Enum(encoded.into()) };
    Ok(ColumnType { collation, ..ColumnType::new(kind) })
}

/// The collation of a text column from CHARACTER SET, COLLATE, BINARY and the table's default.
fn text_collation(data_type: &DataType<'_>, table: CollationId) -> Result<CollationId, SqlError> {
    let chosen = choose_collation(data_type.charset, data_type.collation, table)?;
    let was_collated = data_type.collation.is_some();
    Ok(if data_type.binary && !was_collated { chosen.charset().binary_collation() } else { chosen })
}

/// CHARACTER SET and COLLATE of a column, table or database; what is not written comes from `default`.
pub fn choose_collation(
    charset: Option<Ident<'_>>,
    collation: Option<Ident<'_>>,
    default: CollationId,
) -> Result<CollationId, SqlError> {
    let charset = charset.map(|name| charset_named(name.name, default)).transpose()?;
    let collation = collation.map(|name| collation_named(name.name)).transpose()?;
    match (charset, collation) {
        (None, None) => Ok(default),
        (Some(charset), None) => Ok(charset.default_collation()),
        (None, Some(collation)) => Ok(collation),
        (Some(charset), Some(collation)) if collation.charset() == charset => Ok(collation),
        (Some(charset), Some(collation)) => {
            Err(error_code::ER_COLLATION_CHARSET_MISMATCH.with(&[&collation.name(), &charset.name()]))
        }
    }
}

fn charset_named(name: &str, default: CollationId) -> Result<Charset, SqlError> {
    if name.eq_ignore_ascii_case("default") {
        return Ok(default.charset());
    }
    Charset::by_name(name).ok_or_else(|| error_code::ER_UNKNOWN_CHARACTER_SET.with(&[&name]))
}

fn collation_named(name: &str) -> Result<CollationId, SqlError> {
    CollationId::by_name(name).ok_or_else(|| error_code::ER_UNKNOWN_COLLATION.with(&[&name]))
}
