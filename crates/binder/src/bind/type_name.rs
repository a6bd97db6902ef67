//! The target types of CAST and CONVERT.
use crate::binder::not_supported;
use collation::{Charset, CollationId};
use datum::{ColumnType, SqlError, TypeKind, error_code};
use parser::ast::{CastTarget, CastType};

/// The most fractional digits of temporal types.
const FSP_MAX: u64 = 6;

pub fn cast_type(cast: &CastType<'_>, connection: CollationId) -> Result<ColumnType, SqlError> {
    if cast.array {
        let what = "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in \
                    general expressions";
        return Err(not_supported(what));
    }
    let fsp = || -> Result<u8, SqlError> {
        let digits = cast.length.unwrap_or(0);
        if digits > FSP_MAX {
            return Err(error_code::ER_TOO_BIG_PRECISION.with(&[&digits, &"CAST", &FSP_MAX]));
        }
        Ok(digits as u8)
    };
    Ok(match cast.target {
        CastTarget::Signed => ColumnType::bigint(),
        CastTarget::Unsigned => ColumnType::bigint_unsigned(),
        CastTarget::Char => {
            let collation = match cast.charset {
                Some(charset) => charset_named(charset.name)?.default_collation(),
                None => connection,
            };
            let collation = if cast.binary { collation.charset().binary_collation() } else { collation };
            text(cast.length, collation)?
        }
        CastTarget::NationalChar => text(cast.length, CollationId::UTF8MB3_GENERAL_CI)?,
        CastTarget::Binary => text(cast.length, CollationId::BINARY)?,
        CastTarget::Date => ColumnType::new(TypeKind::Date),
        CastTarget::Time => ColumnType::new(TypeKind::Time { fsp: fsp()? }),
        CastTarget::DateTime => ColumnType::new(TypeKind::DateTime { fsp: fsp()? }),
        CastTarget::Year => ColumnType::computed_year(),
        CastTarget::Decimal => decimal(cast)?,
        CastTarget::Float => match cast.length {
            None | Some(0..=24) => ColumnType::new(TypeKind::Float { digits: None }),
            Some(25..=53) => ColumnType::double(),
            Some(more) => return Err(error_code::ER_TOO_BIG_PRECISION.with(&[&more, &"CAST", &53])),
        },
        CastTarget::Double => ColumnType::double(),
        CastTarget::Json => ColumnType::new(TypeKind::Json),
        CastTarget::Geometry(_) => return Err(not_supported("spatial types")),
    })
}

fn decimal(cast: &CastType<'_>) -> Result<ColumnType, SqlError> {
    let (precision, scale) = (cast.length.unwrap_or(10), cast.decimals.unwrap_or(0));
    if precision > 65 {
        return Err(error_code::ER_TOO_BIG_PRECISION.with(&[&precision, &"CAST", &65]));
    }
    if scale > 30 {
        return Err(error_code::ER_TOO_BIG_SCALE.with(&[&scale, &"CAST", &30]));
    }
    if scale > precision {
        return Err(error_code::ER_M_BIGGER_THAN_D.with(&[&""]));
    }
    let precision = if precision == 0 { 10 } else { precision };
    Ok(ColumnType::decimal(precision as u8, scale as u8))
}

/// A string of unknown length is as long as its operand; length `u32::MAX` says so.
fn text(length: Option<u64>, collation: CollationId) -> Result<ColumnType, SqlError> {
    let length = match length.map(u32::try_from) {
        None => u32::MAX,
        Some(Ok(length)) => length.min(u32::MAX - 1),
        Some(Err(_)) => return Err(error_code::ER_TOO_BIG_DISPLAYWIDTH.with(&[&"cast as char", &u32::MAX])),
    };
    Ok(match collation {
        CollationId::BINARY => ColumnType::varbinary(length),
        _ => ColumnType::varchar(length, collation),
    })
}

/// The type of the elements of `CAST(.. AS type ARRAY)`: texts are compared as their bytes are.
pub fn array_element_type(cast: &CastType<'_>) -> Result<ColumnType, SqlError> {
    let element = CastType { array: false, ..*cast };
    let element = cast_type(&element, CollationId::UTF8MB4_0900_BIN)?;
    Ok(ColumnType { nullable: true, ..element })
}

pub fn charset_named(name: &str) -> Result<Charset, SqlError> {
    Charset::by_name(name).ok_or_else(|| error_code::ER_UNKNOWN_CHARACTER_SET.with(&[&name]))
}
