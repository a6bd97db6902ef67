//! How much a change of a table does to its rows and to those who use them, and whether that is what `ALGORITHM=` and `LOCK=`
//! ask for.
//!
//! Invariant: a change that is let through holds no stronger lock, and does no more, than its statement allows. The reasons are
//! MySQL's.
use collation::Charset;
use datum::{ColumnType, ErrorCode, SqlError, TypeKind, error_code};
use parser::ast::{AlgorithmOption, AlterSpecification, LockOption, SchemaChangeOption};

use super::alteration::{begins_to_count, computed_columns, newly_enforced};
use super::draft::ColumnSource;
use crate::altered_table::Alteration;
use crate::same_value::is_same_value;

/// What is done, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// The definition changes.
    Instant,
    /// New indexes, or a copy of the rows as they are.
    InPlace,
    /// Each row is made anew.
    Copy,
}

/// Who may use the table while the change goes on, from most to least. The end excludes everybody for a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concurrency {
    ReadersAndWriters,
    Readers,
    Nobody,
}

/// The least that a change needs, and what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    pub method: Method,
    pub concurrency: Concurrency,
}

const TYPE_CHANGE: &str = "Cannot change column type INPLACE";
const TYPE_CHANGE_INSTANT: &str = "Need to rebuild the table to change column type";
const DROPPED_KEY: &str = "Dropping a primary key is not allowed without also adding a new primary key";
const COUNTER_ADDED: &str = "Adding an auto-increment column requires a lock";
const EXPRESSION_KEY: &str = "ADD COLUMN col...VIRTUAL, ADD INDEX(col)";
const COPY_LOCKS: &str = "COPY algorithm requires a lock";

const ER_WRONG_INSTANT_LOCK: ErrorCode =
    ErrorCode::new(1221, "HY000", "Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE/SHARED/EXCLUSIVE");

/// Why rows have to be made anew: with MySQL's reason, if it gives one.
enum CopyCause {
    TypeChange,
    DroppedKey,
    Checked,
    Computed,
}

fn copy_cause(alteration: &Alteration) -> Option<CopyCause> {
    let Alteration { before, after, sources, .. } = alteration;
    let before = before.definition();
    let mut columns = after.columns.iter().zip(sources);
    let changes_type = columns.any(|(column, source)| match source {
        ColumnSource::Old(old) => {
            let old = &before.columns[*old];
            !is_same_value(&old.column_type, &column.column_type) || begins_to_count(column, old)
        }
        ColumnSource::New => false,
    });
    if changes_type {
        return Some(CopyCause::TypeChange);
    }
    if before.primary_key().is_some() && after.primary_key().is_none() {
        return Some(CopyCause::DroppedKey);
    }
    if newly_enforced(before, after).next().is_some() {
        return Some(CopyCause::Checked);
    }
    let mut computed = computed_columns(after, before, sources);
    (alteration.rebuild && computed.any(|column| !column.hidden)).then_some(CopyCause::Computed)
}

/// Whether types change only in their character sets, to ones in which the bytes mean the same: MySQL keeps the rows then. Here
/// they are made anew all the same, beside writers, so such a change may be asked for as one in place.
fn only_widens_charsets(alteration: &Alteration) -> bool {
    let Alteration { before, after, sources, .. } = alteration;
    let before = before.definition();
    let is_indexed =
        |at: usize| before.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == at));
    after.columns.iter().zip(sources).all(|(column, source)| {
        let ColumnSource::Old(old) = *source else { return true };
        let old_type = &before.columns[old].column_type;
        is_same_value(old_type, &column.column_type) && !begins_to_count(column, &before.columns[old])
            || !is_indexed(old) && widens_charset(old_type, &column.column_type)
    })
}

fn widens_charset(before: &ColumnType, after: &ColumnType) -> bool {
    let (old, new) = (before.collation.charset(), after.collation.charset());
    let wide = (old, new) == (Charset::Utf8mb3, Charset::Utf8mb4) || new == Charset::Binary && old != new;
    let same_kind = match (&before.kind, &after.kind) {
        (TypeKind::Enum(old), TypeKind::Enum(new)) | (TypeKind::Set(old), TypeKind::Set(new)) => {
            new.starts_with(old) && (old.len() <= 8) == (new.len() <= 8)
        }
        (TypeKind::Char, TypeKind::Char | TypeKind::Binary)
        | (TypeKind::VarChar, TypeKind::VarChar | TypeKind::VarBinary)
        | (TypeKind::TinyText, TypeKind::TinyText | TypeKind::TinyBlob)
        | (TypeKind::Text, TypeKind::Text | TypeKind::Blob)
        | (TypeKind::MediumText, TypeKind::MediumText | TypeKind::MediumBlob)
        | (TypeKind::LongText, TypeKind::LongText | TypeKind::LongBlob) => true,
        _ => false,
    };
    // A length that needs another byte changes the row.
    let bytes = |kind: &ColumnType, charset: Charset| kind.length * charset.bytes_per_character_max();
    let (from, to) = (bytes(before, old), bytes(after, new));
    wide && same_kind && from <= to && (from <= 255) == (to <= 255)
}

fn refuse(what: &str, reason: Option<&str>, other: &str) -> SqlError {
    match reason {
        Some(reason) => error_code::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON.with(&[&what, &reason, &other]),
        None => error_code::ER_ALTER_OPERATION_NOT_SUPPORTED.with(&[&what, &other]),
    }
}

/// Error 1221 for a lock that an instant change cannot be asked for, 1846 for a copy beside writers.
pub fn check_options(options: SchemaChangeOption) -> Result<(), SqlError> {
    let asks_lock = !matches!(options.lock, None | Some(LockOption::Default));
    match options.algorithm {
        Some(AlgorithmOption::Instant) if asks_lock => Err(ER_WRONG_INSTANT_LOCK.plain()),
        Some(AlgorithmOption::Copy) if options.lock == Some(LockOption::None) => {
            Err(refuse("LOCK=NONE", Some(COPY_LOCKS), "LOCK=SHARED"))
        }
        _ => Ok(()),
    }
}

/// WITH VALIDATION asks every row for its new values, which is a copy; without it rows are not asked. Error 1221 where there is
/// nothing to ask for.
pub fn heed_validation(
    validation: Option<bool>,
    specifications: &[AlterSpecification<'_>],
    options: SchemaChangeOption,
) -> Result<SchemaChangeOption, SqlError> {
    use AlterSpecification as Spec;
    let Some(asked) = validation else { return Ok(options) };
    let has_values = |specification: &Spec<'_>| {
        matches!(
            specification,
            Spec::AddColumn { .. }
                | Spec::AddElements(_)
                | Spec::ModifyColumn { .. }
                | Spec::ChangeColumn { .. }
                | Spec::RenameColumn { .. }
        )
    };
    if !specifications.iter().any(has_values) {
        return Err(error_code::ER_WRONG_USAGE.with(&[&"ALTER", &"WITH VALIDATION"]));
    }
    if !asked {
        return Ok(options);
    }
    match (options.algorithm, options.lock) {
        (Some(AlgorithmOption::Instant), _) => {
            Err(refuse("ALGORITHM=INSTANT", None, "ALGORITHM=COPY/INPLACE"))
        }
        (Some(AlgorithmOption::InPlace), _) => Err(refuse("ALGORITHM=INPLACE", None, "ALGORITHM=COPY")),
        (_, Some(LockOption::None)) => Err(refuse("LOCK=NONE", None, "LOCK=SHARED")),
        _ => Ok(SchemaChangeOption { algorithm: Some(AlgorithmOption::Copy), ..options }),
    }
}

/// How the change is made; errors 1845 and 1846 where that is not what was asked for. `builds`: it has new indexes.
pub fn choose_means(
    alteration: &Alteration,
    builds: bool,
    options: SchemaChangeOption,
) -> Result<Means, SqlError> {
    check_options(options)?;
    let cause = copy_cause(alteration);
    let widens = matches!(cause, Some(CopyCause::TypeChange)) && only_widens_charsets(alteration);
    let adds_key = cause.is_none() && adds_computed_key(alteration);
    let (inplace_reason, instant_reason) = match &cause {
        Some(CopyCause::TypeChange) => (Some(TYPE_CHANGE), Some(TYPE_CHANGE_INSTANT)),
        Some(CopyCause::DroppedKey) => (Some(DROPPED_KEY), Some(DROPPED_KEY)),
        _ if adds_key => (None, Some(EXPRESSION_KEY)),
        _ => (None, None),
    };
    let method = match (&cause, alteration.rebuild || builds) {
        (Some(_), _) => Method::Copy,
        (None, true) => Method::InPlace,
        (None, false) => Method::Instant,
    };
    match options.algorithm {
        Some(AlgorithmOption::Instant) if method > Method::Instant => {
            let other = match cause {
                Some(CopyCause::Checked) => "ALGORITHM=COPY",
                _ => "ALGORITHM=COPY/INPLACE",
            };
            return Err(refuse("ALGORITHM=INSTANT", instant_reason, other));
        }
        Some(AlgorithmOption::InPlace) if method == Method::Copy && !widens => {
            return Err(refuse("ALGORITHM=INPLACE", inplace_reason, "ALGORITHM=COPY"));
        }
        _ => {}
    }
    let copies = method == Method::Copy || alteration.copy_asked;
    let adds_counter = alteration.rebuild && adds_counter(alteration);
    if options.lock == Some(LockOption::None) && (copies && !widens || adds_counter || adds_key) {
        let reason = match cause {
            Some(CopyCause::Checked) => Some(COPY_LOCKS),
            _ if copies => inplace_reason,
            _ if adds_counter => Some(COUNTER_ADDED),
            _ => Some(EXPRESSION_KEY),
        };
        return Err(refuse("LOCK=NONE", reason, "LOCK=SHARED"));
    }
    // A copy lets writers go on unless it is told not to. Numbers are given in the order of the rows, on all servers alike.
    let least = match adds_counter {
        true => Concurrency::Readers,
        false => Concurrency::ReadersAndWriters,
    };
    let concurrency = match options.lock {
        Some(LockOption::Exclusive) => Concurrency::Nobody,
        Some(LockOption::Shared) => Concurrency::Readers,
        _ => least,
    };
    Ok(Means { method, concurrency })
}

fn adds_counter(alteration: &Alteration) -> bool {
    let mut columns = alteration.after.columns.iter().zip(&alteration.sources);
    let old = alteration.before.definition();
    columns.any(|(column, source)| match source {
        ColumnSource::New => column.auto_increment,
        ColumnSource::Old(before) => begins_to_count(column, &old.columns[*before]),
    })
}

/// Whether an index has a new virtual column, which may be the hidden one of an expression.
fn adds_computed_key(alteration: &Alteration) -> bool {
    let Alteration { after, sources, .. } = alteration;
    let mut parts = after.indexes.iter().flat_map(|index| &index.parts);
    parts.any(|part| sources[part.column] == ColumnSource::New && after.columns[part.column].is_virtual())
}
