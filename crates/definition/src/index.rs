//! One index of CREATE TABLE, ALTER TABLE or CREATE INDEX: its words, its name, its limits.
use catalog::check_index_name;
use datum::{ColumnType, SqlError, TypeKind, error_code};
use parser::ast::{IndexDefinition, IndexKind as WrittenKind, IndexOption, IndexPartTarget, IndexType};
use schema::IndexKind;

use super::comment::{COMMENT_LENGTH_MAX, fitting_comment};
use super::conditions;
use super::draft::{DefinitionContext, IndexDraft, PartDraft, TableDraft, same_name};
use super::index_part::{NAMELESS, part_expression};

const PARTS_MAX: usize = 16;
const KEY_BYTES_MAX: u64 = 3072;

pub fn draft_of_index(
    index: &IndexDefinition<'_>,
    context: &mut DefinitionContext<'_>,
) -> Result<IndexDraft, SqlError> {
    let unsupported = |what: &str| Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
    let kind = match index.kind {
        WrittenKind::Primary => IndexKind::Primary,
        WrittenKind::Unique => IndexKind::Unique,
        WrittenKind::Plain => IndexKind::Plain,
        WrittenKind::FullText => return unsupported("FULLTEXT indexes"),
        WrittenKind::Spatial => return unsupported("SPATIAL indexes"),
    };
    let name = match kind {
        IndexKind::Primary => "PRIMARY".to_owned(),
        _ => index.name.or(index.constraint).map(|name| name.name.to_owned()).unwrap_or_default(),
    };
    let mut parts = Vec::with_capacity(index.parts.len());
    for part in index.parts {
        let draft = PartDraft { descending: part.descending, ..PartDraft::default() };
        parts.push(match part.target {
            IndexPartTarget::Column { name, prefix_length } => {
                PartDraft { column: name.name.to_owned(), prefix_length, ..draft }
            }
            IndexPartTarget::Expression(expr) => {
                PartDraft { expression: Some(part_expression(&expr, kind, &name, context)?), ..draft }
            }
        });
    }
    if kind != IndexKind::Primary && !name.is_empty() {
        check_index_name(&name)?;
        if name.eq_ignore_ascii_case("PRIMARY") {
            return Err(error_code::ER_WRONG_NAME_FOR_INDEX.with(&[&name]));
        }
    }
    let mut draft = IndexDraft {
        existing: None,
        name,
        kind,
        parts,
        invisible: false,
        generated: false,
        comment: String::new(),
    };
    read_options(index, &mut draft, context)?;
    Ok(draft)
}

fn read_options(
    index: &IndexDefinition<'_>,
    draft: &mut IndexDraft,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    for option in index.options {
        match *option {
            IndexOption::Using(IndexType::Btree) | IndexOption::KeyBlockSize(_) => {}
            IndexOption::Using(IndexType::Hash) => {
                let note = conditions::WARN_UNSUPPORTED_INDEX_TYPE.with(&[&"HASH"]);
                context.conditions.push(note.into_note());
            }
            IndexOption::Using(IndexType::Rtree) => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"RTREE indexes"]));
            }
            IndexOption::Comment(text) => {
                let too_long =
                    || conditions::ER_TOO_LONG_INDEX_COMMENT.with(&[&draft.name, &COMMENT_LENGTH_MAX]);
                draft.comment = fitting_comment(text, COMMENT_LENGTH_MAX, too_long, context)?.to_owned();
            }
            IndexOption::Visible(visible) => {
                if !visible && draft.kind == IndexKind::Primary {
                    return Err(conditions::ER_PK_INDEX_CANT_BE_INVISIBLE.plain());
                }
                draft.invisible = !visible;
            }
            IndexOption::WithParser(_)
            | IndexOption::EngineAttribute(_)
            | IndexOption::SecondaryEngineAttribute(_) => {
                return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"this index option"]));
            }
        }
    }
    Ok(())
}

/// Gives nameless indexes the name of their first column, with a number where it is taken.
pub fn name_indexes(draft: &mut TableDraft) -> Result<(), SqlError> {
    for position in 0..draft.indexes.len() {
        if draft.indexes[position].kind == IndexKind::Primary {
            draft.indexes[position].name = "PRIMARY".to_owned();
        }
        let name = draft.indexes[position].name.clone();
        if !name.is_empty() {
            let twin = draft.indexes[..position].iter().any(|other| same_name(&other.name, &name));
            if twin {
                return Err(error_code::ER_DUP_KEYNAME.with(&[&name]));
            }
            continue;
        }
        let Some(part) = draft.indexes[position].parts.first() else { continue };
        let column = draft.column_position(&part.column);
        let base = match column {
            _ if part.expression.is_some() => NAMELESS.to_owned(),
            Some(at) => draft.columns[at].definition.name.clone(),
            None => part.column.clone(),
        };
        draft.indexes[position].name = free_name(draft, &base);
    }
    Ok(())
}

fn free_name(draft: &TableDraft, base: &str) -> String {
    let is_taken = |name: &str| name.eq_ignore_ascii_case("PRIMARY") || draft.index_position(name).is_some();
    if !is_taken(base) {
        return base.to_owned();
    }
    (2..)
        .map(|number| format!("{base}_{number}"))
        .find(|name| !is_taken(name))
        .expect("numbers do not run out before 64 indexes do")
}

/// The limits of one index. Without strict mode a part that is too long is cut to a prefix where the index need not tell
/// rows apart.
pub fn check_index(
    draft: &mut TableDraft,
    position: usize,
    context: &mut DefinitionContext<'_>,
) -> Result<(), SqlError> {
    let mut cuts = Vec::new();
    let index = &draft.indexes[position];
    if index.parts.len() > PARTS_MAX {
        return Err(error_code::ER_TOO_MANY_KEY_PARTS.with(&[&PARTS_MAX]));
    }
    let mut bytes = 0;
    for (at, part) in index.parts.iter().enumerate() {
        let column = draft
            .part_position(&part.column)
            .ok_or_else(|| error_code::ER_KEY_COLUMN_DOES_NOT_EXITS.with(&[&part.column]))?;
        if index.parts[..at].iter().any(|earlier| same_name(&earlier.column, &part.column)) {
            return Err(error_code::ER_DUP_FIELDNAME.with(&[&part.column]));
        }
        let definition = &draft.columns[column].definition;
        check_part(definition.key_type(), &definition.name, part)?;
        let part_bytes = key_bytes(definition.key_type(), part.prefix_length);
        let is_cut = part_bytes > KEY_BYTES_MAX
            && index.kind == IndexKind::Plain
            && !context.sql_mode.is_strict()
            && definition.column_type.kind.is_string();
        if is_cut {
            let width = definition.column_type.collation.charset().bytes_per_character_max();
            cuts.push((at, KEY_BYTES_MAX / u64::from(width)));
        }
        bytes += if is_cut { KEY_BYTES_MAX } else { part_bytes };
    }
    let error = error_code::ER_TOO_LONG_KEY.with(&[&KEY_BYTES_MAX]);
    if bytes > KEY_BYTES_MAX {
        return Err(error);
    }
    for (part, length) in cuts {
        draft.indexes[position].parts[part].prefix_length = Some(length);
        context.conditions.push(error.clone().into_warning());
    }
    Ok(())
}

fn check_part(column_type: &ColumnType, name: &str, part: &PartDraft) -> Result<(), SqlError> {
    use TypeKind::*;
    let wrong_prefix = || Err(error_code::ER_WRONG_SUB_KEY.plain());
    match (&column_type.kind, part.prefix_length) {
        (Char | VarChar | Binary | VarBinary, _) if column_type.length == 0 => {
            Err(conditions::ER_WRONG_KEY_COLUMN.with(&[&name]))
        }
        (Json, _) => Err(error_code::ER_JSON_USED_AS_KEY.with(&[&name])),
        (TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob, None) => {
            Err(error_code::ER_BLOB_KEY_WITHOUT_LENGTH.with(&[&name]))
        }
        (_, None) => Ok(()),
        (_, Some(0)) => Err(conditions::ER_KEY_PART_0.with(&[&name])),
        (Char | VarChar | Binary | VarBinary, Some(length)) if length > u64::from(column_type.length) => {
            wrong_prefix()
        }
        (Char | VarChar | Binary | VarBinary, Some(_)) => Ok(()),
        (TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob, Some(_)) => {
            Ok(())
        }
        (_, Some(_)) => wrong_prefix(),
    }
}

/// The bytes a column (or a prefix of it) counts for the limit of an index's length.
pub fn key_bytes(column_type: &ColumnType, prefix_length: Option<u64>) -> u64 {
    use TypeKind::*;
    let width = u64::from(column_type.collation.charset().bytes_per_character_max());
    if let Some(length) = prefix_length {
        return length.saturating_mul(width);
    }
    let fraction = |fsp: u8| u64::from(fsp).div_ceil(2);
    match &column_type.kind {
        Tiny | Year => 1,
        Short => 2,
        Int24 | Date => 3,
        Long | Float { .. } => 4,
        LongLong | Double { .. } => 8,
        Decimal { precision, scale } => {
            let digits = |count: u64| count / 9 * 4 + (count % 9).div_ceil(2);
            digits(u64::from(*precision - *scale)) + digits(u64::from(*scale))
        }
        Time { fsp } => 3 + fraction(*fsp),
        DateTime { fsp } => 5 + fraction(*fsp),
        Timestamp { fsp } => 4 + fraction(*fsp),
        Enum(members) => {
            if members.len() > 255 {
                2
            } else {
                1
            }
        }
        Set(members) => match members.len() {
            0..=32 => (members.len() as u64).div_ceil(8).max(1),
            _ => 8,
        },
        Bit(bits) => u64::from(*bits).div_ceil(8),
        Char | VarChar => u64::from(column_type.length) * width,
        Binary | VarBinary => u64::from(column_type.length),
        Null | Json | TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob => 0,
    }
}
