//! One column of CREATE or ALTER TABLE.
use catalog::check_column_name;
use datum::{SqlError, TypeKind, error_code};
use parser::ast::{ColumnAttribute, ColumnDefinition, Expr, ExprKind, TypeName};
use schema::{ColumnDef, ColumnDefault, Generation};

use super::comment::{COMMENT_LENGTH_MAX, fitting_comment};
use super::data_type::{TypeContext, column_type};
use super::draft::{ColumnDraft, ColumnSource, DefinitionContext};
use super::row_expression::{Purpose, text_of};

/// What the attributes of a column said, before they are put together.
#[derive(Default)]
struct Attributes<'a> {
    nullable: Option<bool>,
    default: Option<(Expr<'a>, bool)>,
    on_update: Option<Expr<'a>>,
    auto_increment: bool,
    primary: bool,
    unique: bool,
    comment: &'a str,
    invisible: bool,
    generated: Option<(Expr<'a>, bool)>,
}

pub fn draft_of_column(
    column: &ColumnDefinition<'_>,
    table_collation: collation::CollationId,
    context: &mut DefinitionContext<'_>,
) -> Result<ColumnDraft, SqlError> {
    let name = column.name.name;
    check_column_name(name)?;
    let is_strict = context.sql_mode.is_strict();
    let conditions = &mut context.conditions;
    let mut type_context = TypeContext { column: name, table_collation, is_strict, conditions };
    let column_type = column_type(&column.data_type, &mut type_context)?;
    let mut attributes = read_attributes(column, context)?;
    if column.data_type.name == TypeName::Serial {
        attributes.auto_increment = true;
        attributes.unique = true;
        attributes.nullable = Some(false);
    }
    let mut definition = ColumnDef::new(name, column_type);
    // A key makes its column NOT NULL unless the statement says NULL, which `finish` then refuses.
    let is_not_null = attributes.primary || attributes.auto_increment;
    definition.column_type.nullable = attributes.nullable.unwrap_or(!is_not_null);
    let names_collation = column.data_type.charset.is_some() || column.data_type.collation.is_some();
    definition.explicit_collation = names_collation && definition.column_type.is_text();
    definition.invisible = attributes.invisible;
    definition.comment = attributes.comment.to_owned();
    definition.auto_increment = attributes.auto_increment;
    if attributes.auto_increment {
        definition.column_type.nullable = false;
        check_auto_increment_type(&definition)?;
    }
    let is_null_written =
        matches!(&attributes.default, Some((expr, _)) if matches!(expr.kind, ExprKind::Null));
    if let Some((expr, stored)) = attributes.generated {
        attributes.check_generated(stored)?;
        let expression = text_of(&expr, Purpose::Generated, name, context)?;
        definition.generated = Some(Generation { expression, stored });
        definition.default = ColumnDefault::None;
    } else {
        definition.default = default_of(&definition, attributes.default, context)?;
    }
    if let Some(expr) = attributes.on_update {
        definition.on_update_current_timestamp = is_clock_of(&expr, &definition);
        if !definition.on_update_current_timestamp {
            return Err(error_code::ER_INVALID_ON_UPDATE.with(&[&name]));
        }
    }
    Ok(ColumnDraft {
        definition,
        written_nullable: attributes.nullable.or(is_null_written.then_some(true)),
        primary: attributes.primary,
        unique: attributes.unique,
        source: ColumnSource::New,
    })
}

impl Attributes<'_> {
    /// What a generated column cannot be.
    fn check_generated(&self, stored: bool) -> Result<(), SqlError> {
        let wrong = |what: &str| Err(error_code::ER_WRONG_USAGE.with(&[&what, &"generated column"]));
        if self.default.is_some() {
            return wrong("DEFAULT");
        }
        if self.on_update.is_some() {
            return wrong("ON UPDATE");
        }
        if self.auto_increment {
            return wrong("AUTO_INCREMENT");
        }
        if self.primary && !stored {
            return Err(error_code::ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN
                .with(&[&"Defining a virtual generated column as primary key"]));
        }
        Ok(())
    }
}

fn read_attributes<'a>(
    column: &ColumnDefinition<'a>,
    context: &mut DefinitionContext<'_>,
) -> Result<Attributes<'a>, SqlError> {
    let unsupported = |what: &str| Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
    let mut attributes = Attributes::default();
    for attribute in column.attributes {
        match *attribute {
            ColumnAttribute::Null => attributes.nullable = Some(true),
            ColumnAttribute::NotNull => attributes.nullable = Some(false),
            ColumnAttribute::Default { expr, parenthesized } => {
                attributes.default = Some((expr, parenthesized))
            }
            ColumnAttribute::OnUpdate(expr) => attributes.on_update = Some(expr),
            ColumnAttribute::AutoIncrement => attributes.auto_increment = true,
            ColumnAttribute::SerialDefaultValue => {
                attributes.auto_increment = true;
                attributes.unique = true;
                attributes.nullable = Some(false);
            }
            ColumnAttribute::PrimaryKey => attributes.primary = true,
            ColumnAttribute::Unique => attributes.unique = true,
            ColumnAttribute::Comment(text) => {
                let too_long =
                    || error_code::ER_TOO_LONG_FIELD_COMMENT.with(&[&column.name.name, &COMMENT_LENGTH_MAX]);
                attributes.comment = fitting_comment(text, COMMENT_LENGTH_MAX, too_long, context)?;
            }
            ColumnAttribute::Visible(visible) => attributes.invisible = !visible,
            // The type has taken the collation; the rest are hints of a storage that is not ours.
            ColumnAttribute::Collate(_)
            | ColumnAttribute::ColumnFormat(_)
            | ColumnAttribute::Storage(_)
            | ColumnAttribute::NotSecondary => {}
            ColumnAttribute::Generated { expr, stored } => attributes.generated = Some((expr, stored)),
            // The table's: `add_column`.
            ColumnAttribute::References(_) | ColumnAttribute::Check(_) => {}
            ColumnAttribute::Srid(_) => return unsupported("SRID"),
            ColumnAttribute::EngineAttribute(_) | ColumnAttribute::SecondaryEngineAttribute(_) => {
                return unsupported("ENGINE_ATTRIBUTE");
            }
        }
    }
    Ok(attributes)
}

fn check_auto_increment_type(definition: &ColumnDef) -> Result<(), SqlError> {
    use TypeKind::{Int24, Long, LongLong, Short, Tiny};
    match definition.column_type.kind {
        Tiny | Short | Int24 | Long | LongLong => Ok(()),
        _ => Err(error_code::ER_WRONG_FIELD_SPEC.with(&[&definition.name])),
    }
}

/// The default from a DEFAULT clause, or the one that the lack of it means.
pub fn default_of(
    definition: &ColumnDef,
    written: Option<(Expr<'_>, bool)>,
    context: &mut DefinitionContext<'_>,
) -> Result<ColumnDefault, SqlError> {
    let invalid = || Err(error_code::ER_INVALID_DEFAULT.with(&[&definition.name]));
    let Some((expr, parenthesized)) = written else {
        return Ok(if definition.nullable() { ColumnDefault::Null } else { ColumnDefault::None });
    };
    if definition.auto_increment {
        return if matches!(expr.kind, ExprKind::Null) { Ok(ColumnDefault::None) } else { invalid() };
    }
    if parenthesized {
        let text = text_of(&expr, Purpose::Default, &definition.name, context)?;
        return Ok(ColumnDefault::Expression { text });
    }
    if matches!(expr.kind, ExprKind::Null) {
        return if definition.nullable() { Ok(ColumnDefault::Null) } else { invalid() };
    }
    if clock_digits(&expr).is_some() {
        let Some(fsp) = clock_digits(&expr).filter(|_| is_clock_of(&expr, definition)) else {
            return invalid();
        };
        return Ok(ColumnDefault::CurrentTimestamp { fsp });
    }
    if definition.is_large_object() {
        let error = error_code::ER_BLOB_CANT_HAVE_DEFAULT.with(&[&definition.name]);
        // Without strict mode the empty text is left out.
        let is_ignored = !context.sql_mode.is_strict()
            && definition.column_type.kind != TypeKind::Json
            && is_empty_text(&expr);
        if !is_ignored {
            return Err(error);
        }
        context.conditions.push(error.into_warning());
        return default_of(definition, None, context);
    }
    (context.literal_default)(&expr, definition)
}

fn is_empty_text(expr: &Expr<'_>) -> bool {
    let ExprKind::Literal(literal) = expr.kind else { return false };
    matches!(literal.value, parser::ast::LiteralValue::String { bytes: b"", .. })
}

/// The fractional digits of CURRENT_TIMESTAMP and its synonyms, or `None` for another expression.
fn clock_digits(expr: &Expr<'_>) -> Option<u8> {
    let ExprKind::Function(call) = expr.kind else { return None };
    const NAMES: &[&str] = &["current_timestamp", "now", "localtime", "localtimestamp"];
    if !NAMES.iter().any(|name| name.eq_ignore_ascii_case(call.name.name.name)) {
        return None;
    }
    match call.arguments {
        [] => Some(0),
        [digits] => match digits.kind {
            ExprKind::Literal(literal) => match literal.value {
                parser::ast::LiteralValue::Integer(digits @ 0..=6) => Some(digits as u8),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether the expression is CURRENT_TIMESTAMP with the digits of the column's own type.
fn is_clock_of(expr: &Expr<'_>, definition: &ColumnDef) -> bool {
    match definition.column_type.kind {
        TypeKind::Timestamp { fsp } | TypeKind::DateTime { fsp } => clock_digits(expr) == Some(fsp),
        _ => false,
    }
}

/// What the column counts for MySQL's limit of the row size.
pub fn row_bytes(column: &ColumnDef) -> u64 {
    use TypeKind::*;
    let length = u64::from(column.column_type.length);
    let width = u64::from(column.column_type.collation.charset().bytes_per_character_max());
    match column.column_type.kind {
        VarChar => length * width + if length * width > 255 { 2 } else { 1 },
        VarBinary => length + if length > 255 { 2 } else { 1 },
        TinyText | TinyBlob => 9,
        Text | Blob => 10,
        MediumText | MediumBlob => 11,
        LongText | LongBlob | Json => 12,
        _ => super::index::key_bytes(&column.column_type, None),
    }
}
