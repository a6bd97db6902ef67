//! Definitions of system tables from a line of text: what SHOW COLUMNS of MySQL prints, in short.
//!
//! `SCHEMA_NAME varchar(64)?; COUNT_STAR bigint unsigned` has two columns, of which the first may be NULL. Invariant: every
//! text in this crate is understood; a test reads them all.
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, TypeKind};
use schema::{ColumnDef, TableDef, TableId};

/// Name and columns of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub name: &'static str,
    pub columns: &'static str,
}

impl Shape {
    pub fn definition(&self, database: &str) -> Arc<TableDef> {
        let collation = match database {
            "performance_schema" | "mysql" => CollationId::UTF8MB4_0900_AI_CI,
            _ => CollationId::UTF8MB3_GENERAL_CI,
        };
        let mut definition = TableDef::new(TableId(0), database, self.name);
        let columns = self.columns.split(';').map(str::trim).filter(|column| !column.is_empty());
        definition.columns = columns.map(|column| column_of(column, collation)).collect();
        definition.collation = collation;
        if database == "performance_schema" {
            definition.engine = "PERFORMANCE_SCHEMA".to_owned();
        }
        Arc::new(definition)
    }
}

fn column_of(text: &str, collation: CollationId) -> ColumnDef {
    let (name, type_text) = text.split_once(' ').expect("a column has a name and a type");
    let (type_text, nullable) = match type_text.strip_suffix('?') {
        Some(type_text) => (type_text, true),
        None => (type_text, false),
    };
    let column_type = type_of(type_text, collation).expect("a type that is known");
    ColumnDef::new(name, if nullable { column_type } else { column_type.not_null() })
}

pub(crate) fn type_of(text: &str, collation: CollationId) -> Option<ColumnType> {
    let unsigned = text.ends_with(" unsigned");
    let text = text.trim_end_matches(" unsigned");
    let (word, rest) = text.split_once('(').unwrap_or((text, ""));
    let arguments = rest.trim_end_matches(')');
    let length = || arguments.parse::<u32>().ok();
    let fsp = || if arguments.is_empty() { Some(0) } else { arguments.parse::<u8>().ok() };
    let digits = || {
        let (precision, scale) = arguments.split_once(',')?;
        Some((precision.parse::<u8>().ok()?, scale.parse::<u8>().ok()?))
    };
    let members = || -> Arc<[Box<[u8]>]> {
        arguments.split(',').map(|member| Box::from(member.trim_matches('\'').as_bytes())).collect()
    };
    let text_type = |kind| ColumnType { collation, ..ColumnType::new(kind) };
    let column_type = match word {
        "bigint" => ColumnType::new(TypeKind::LongLong),
        "int" => ColumnType::new(TypeKind::Long),
        "mediumint" => ColumnType::new(TypeKind::Int24),
        "smallint" => ColumnType::new(TypeKind::Short),
        "tinyint" => ColumnType::new(TypeKind::Tiny),
        "double" => ColumnType::new(TypeKind::Double { digits: None }),
        "float" => ColumnType::new(TypeKind::Float { digits: digits() }),
        "decimal" => {
            let (precision, scale) = digits()?;
            ColumnType::decimal(precision, scale)
        }
        "varchar" => ColumnType::varchar(length()?, collation),
        "char" => ColumnType { length: length()?, ..text_type(TypeKind::Char) },
        "varbinary" => ColumnType { length: length()?, ..ColumnType::new(TypeKind::VarBinary) },
        "text" => text_type(TypeKind::Text),
        "mediumtext" => text_type(TypeKind::MediumText),
        "longtext" => text_type(TypeKind::LongText),
        "blob" => ColumnType::new(TypeKind::Blob),
        "longblob" => ColumnType::new(TypeKind::LongBlob),
        "json" => ColumnType::new(TypeKind::Json),
        "date" => ColumnType::new(TypeKind::Date),
        "time" => ColumnType::new(TypeKind::Time { fsp: fsp()? }),
        "datetime" => ColumnType::new(TypeKind::DateTime { fsp: fsp()? }),
        "timestamp" => ColumnType::new(TypeKind::Timestamp { fsp: fsp()? }),
        "enum" => text_type(TypeKind::Enum(members())),
        "set" => text_type(TypeKind::Set(members())),
        _ => return None,
    };
    Some(ColumnType { unsigned, ..column_type })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_they_are_written() {
        let shape = Shape {
            name: "t",
            columns: "A varchar(64)?; B bigint unsigned; C enum('x','y'); D decimal(22,4)?",
        };
        let definition = shape.definition("performance_schema");
        let types: Vec<String> =
            definition.columns.iter().map(|column| schema::type_text(&column.column_type)).collect();
        assert_eq!(types, ["varchar(64)", "bigint unsigned", "enum('x','y')", "decimal(22,4)"]);
        let nullable: Vec<bool> = definition.columns.iter().map(|column| column.nullable()).collect();
        assert_eq!(nullable, [true, false, false, true]);
    }
}
