//! Stored rows and keys: damaged bytes are an error, never a panic, whatever type a column has.
#![no_main]

use collation::CollationId;
use datum::{ColumnType, RowReader, TypeKind, decode_key};
use libfuzzer_sys::fuzz_target;

fn types() -> Vec<ColumnType> {
    let kinds = [
        TypeKind::Tiny,
        TypeKind::Short,
        TypeKind::Int24,
        TypeKind::Long,
        TypeKind::LongLong,
        TypeKind::Decimal { precision: 65, scale: 30 },
        TypeKind::Float { digits: None },
        TypeKind::Double { digits: None },
        TypeKind::VarBinary,
        TypeKind::LongBlob,
        TypeKind::Date,
        TypeKind::Time { fsp: 6 },
        TypeKind::DateTime { fsp: 6 },
        TypeKind::Timestamp { fsp: 3 },
        TypeKind::Year,
        TypeKind::Bit(64),
        TypeKind::Json,
        TypeKind::Enum(vec![b"a".to_vec().into_boxed_slice()].into()),
        TypeKind::Set(vec![b"a".to_vec().into_boxed_slice()].into()),
    ];
    let mut types: Vec<ColumnType> = kinds.into_iter().map(ColumnType::new).collect();
    types.push(ColumnType::varchar(100, CollationId::UTF8MB4_0900_AI_CI));
    types.push(ColumnType::varchar(100, CollationId::UTF8MB4_0900_BIN));
    types
}

fuzz_target!(|bytes: &[u8]| {
    for column in types() {
        let _ = decode_key(bytes, &column, false);
        let _ = decode_key(bytes, &column, true);
        if let Ok(reader) = RowReader::new(bytes) {
            for index in 0..reader.column_count().min(64) {
                if let Ok(Some(value)) = reader.column(index, &column) {
                    let mut text = Vec::new();
                    value.write_text(&column, &mut text);
                }
            }
        }
    }
});
