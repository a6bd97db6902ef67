//! A column type as MySQL prints it: `COLUMN_TYPE` of `information_schema`, SHOW COLUMNS, SHOW CREATE TABLE.
use crate::identifier::quote_text;
use datum::{ColumnType, TypeKind};
use std::fmt::Write;

/// The type in lower case without character set and nullability, e.g. `bigint unsigned` or `enum('a','b')`.
pub fn type_text(column_type: &ColumnType) -> String {
    let mut text = base_text(column_type);
    if column_type.unsigned {
        text.push_str(" unsigned");
    }
    if column_type.zerofill {
        text.push_str(" zerofill");
    }
    text
}

fn base_text(column_type: &ColumnType) -> String {
    use TypeKind::*;
    match &column_type.kind {
        Null => "null".to_owned(),
        Tiny => integer("tinyint", column_type),
        Short => integer("smallint", column_type),
        Int24 => integer("mediumint", column_type),
        Long => integer("int", column_type),
        LongLong => integer("bigint", column_type),
        Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        Float { digits } => with_digits("float", *digits),
        Double { digits } => with_digits("double", *digits),
        Char => format!("char({})", column_type.length),
        VarChar => format!("varchar({})", column_type.length),
        Binary => format!("binary({})", column_type.length),
        VarBinary => format!("varbinary({})", column_type.length),
        TinyText => "tinytext".to_owned(),
        Text => "text".to_owned(),
        MediumText => "mediumtext".to_owned(),
        LongText => "longtext".to_owned(),
        TinyBlob => "tinyblob".to_owned(),
        Blob => "blob".to_owned(),
        MediumBlob => "mediumblob".to_owned(),
        LongBlob => "longblob".to_owned(),
        Date => "date".to_owned(),
        Time { fsp } => with_fraction("time", *fsp),
        DateTime { fsp } => with_fraction("datetime", *fsp),
        Timestamp { fsp } => with_fraction("timestamp", *fsp),
        Year => "year".to_owned(),
        Enum(members) => with_members("enum", members),
        Set(members) => with_members("set", members),
        Bit(bits) => format!("bit({bits})"),
        Json => "json".to_owned(),
    }
}

/// MySQL 8 prints no display width, except `tinyint(1)` (drivers read it as boolean) and with ZEROFILL.
fn integer(name: &str, column_type: &ColumnType) -> String {
    let is_boolean = column_type.kind == TypeKind::Tiny && column_type.length == 1 && !column_type.unsigned;
    if is_boolean || (column_type.zerofill && column_type.length > 0) {
        format!("{name}({})", column_type.length)
    } else {
        name.to_owned()
    }
}

fn with_digits(name: &str, digits: Option<(u8, u8)>) -> String {
    match digits {
        Some((precision, scale)) => format!("{name}({precision},{scale})"),
        None => name.to_owned(),
    }
}

fn with_fraction(name: &str, fsp: u8) -> String {
    if fsp == 0 { name.to_owned() } else { format!("{name}({fsp})") }
}

fn with_members(name: &str, members: &datum::Members) -> String {
    let mut text = format!("{name}(");
    for (position, member) in members.iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        let member = String::from_utf8_lossy(member);
        write!(text, "{}", quote_text(&member)).expect("writing to a String cannot fail");
    }
    text.push(')');
    text
}
