//! The options of a table: which are kept, which are only remembered, which are refused.
use datum::{SqlError, SqlMode, error_code};
use parser::ast::{Ident, TableOption, TableOptionName, TableOptionValue};

use super::comment::fitting_comment;
use super::conditions;
use super::data_type::choose_collation;
use super::draft::{DefinitionContext, TableDraft};
use variables::storage_engine;

const COMMENT_LENGTH_MAX: usize = 2048;

/// What the options asked for that is not a property of the draft.
#[derive(Default)]
pub struct OptionEffects {
    /// AUTO_INCREMENT = n
    pub auto_increment: Option<u64>,
    /// ENGINE = .. asks for a rebuild even when the engine stays.
    pub engine: bool,
}

/// `current_collation` is the default to which the character set options apply.
pub fn apply_options(
    options: &[TableOption<'_>],
    draft: &mut TableDraft,
    context: &mut DefinitionContext<'_>,
) -> Result<OptionEffects, SqlError> {
    let mut effects = OptionEffects::default();
    let mut charset: Option<Ident<'_>> = None;
    let mut collation: Option<Ident<'_>> = None;
    for option in options {
        match (option.name, option.value) {
            (TableOptionName::Engine, value) => {
                draft.engine = choose_engine(&text_of(value), &draft.name, context)?;
                effects.engine = true;
            }
            (TableOptionName::AutoIncrement, TableOptionValue::Integer(next)) => {
                effects.auto_increment = Some(next.max(1));
            }
            (TableOptionName::CharacterSet, TableOptionValue::Name(name)) => charset = Some(name),
            (TableOptionName::Collate, TableOptionValue::Name(name)) => collation = Some(name),
            (TableOptionName::CharacterSet | TableOptionName::Collate, _) => {}
            (TableOptionName::Comment, TableOptionValue::String(text)) => {
                let too_long =
                    || conditions::ER_TOO_LONG_TABLE_COMMENT.with(&[&draft.name, &COMMENT_LENGTH_MAX]);
                draft.comment = fitting_comment(text, COMMENT_LENGTH_MAX, too_long, context)?.to_owned();
            }
            (name, value) => remember(name, &text_of(value), draft)?,
        }
    }
    draft.collation = choose_collation(charset, collation, draft.collation)?;
    if let Some(next) = effects.auto_increment {
        draft.auto_increment_start = next;
    }
    Ok(effects)
}

fn text_of(value: TableOptionValue<'_>) -> String {
    match value {
        TableOptionValue::Integer(number) => number.to_string(),
        TableOptionValue::String(text) => text.to_owned(),
        TableOptionValue::Name(name) => name.name.to_owned(),
        TableOptionValue::Default => "DEFAULT".to_owned(),
        TableOptionValue::Tables(_) | TableOptionValue::None => String::new(),
    }
}

/// Every known engine is InnoDB's here; the statement is told so by a warning, as when MySQL substitutes one.
pub fn choose_engine(
    written: &str,
    table: &str,
    context: &mut DefinitionContext<'_>,
) -> Result<String, SqlError> {
    let known = storage_engine(written);
    if known.is_none() {
        let unknown = error_code::ER_UNKNOWN_STORAGE_ENGINE.with(&[&written]);
        if context.sql_mode.contains(SqlMode::NO_ENGINE_SUBSTITUTION) {
            return Err(unknown);
        }
        context.conditions.push(unknown.into_warning());
    }
    if known != Some("InnoDB") {
        let warning = conditions::ER_WARN_USING_OTHER_HANDLER.with(&[&"InnoDB", &table]);
        context.conditions.push(warning.into_warning());
    }
    Ok("InnoDB".to_owned())
}

/// Options without an effect here are shown again by SHOW CREATE TABLE; those that would change what the table
/// does are refused.
fn remember(name: TableOptionName, text: &str, draft: &mut TableDraft) -> Result<(), SqlError> {
    use TableOptionName as Name;
    let unsupported = |what: &str| Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
    let shown = match name {
        Name::MinRows => "MIN_ROWS",
        Name::MaxRows => "MAX_ROWS",
        Name::AverageRowLength => "AVG_ROW_LENGTH",
        Name::PackKeys => "PACK_KEYS",
        Name::StatsPersistent => "STATS_PERSISTENT",
        Name::StatsAutoRecalc => "STATS_AUTO_RECALC",
        Name::StatsSamplePages => "STATS_SAMPLE_PAGES",
        Name::Checksum => "CHECKSUM",
        Name::DelayKeyWrite => "DELAY_KEY_WRITE",
        Name::RowFormat => "ROW_FORMAT",
        Name::KeyBlockSize => "KEY_BLOCK_SIZE",
        // Nothing depends on where or how large the files are.
        Name::AutoExtendSize | Name::InsertMethod | Name::Password | Name::Storage => return Ok(()),
        Name::Tablespace if text.eq_ignore_ascii_case("innodb_file_per_table") => return Ok(()),
        Name::Compression if text.is_empty() || text.eq_ignore_ascii_case("none") => return Ok(()),
        Name::Encryption if text.is_empty() || text.eq_ignore_ascii_case("n") => return Ok(()),
        Name::Tablespace => return unsupported("TABLESPACE"),
        Name::Compression => return unsupported("COMPRESSION"),
        Name::Encryption => return unsupported("ENCRYPTION"),
        Name::Connection => return unsupported("CONNECTION"),
        Name::NodeGroup => return unsupported("NODEGROUP"),
        Name::DataDirectory | Name::IndexDirectory => return unsupported("DATA DIRECTORY"),
        Name::Union => return unsupported("UNION"),
        Name::StartTransaction => return unsupported("START TRANSACTION in CREATE TABLE"),
        Name::SecondaryEngine | Name::EngineAttribute | Name::SecondaryEngineAttribute => {
            return unsupported("secondary engines and engine attributes");
        }
        Name::Engine | Name::AutoIncrement | Name::CharacterSet | Name::Collate | Name::Comment => {
            return Ok(());
        }
    };
    draft.create_options.retain(|(earlier, _)| earlier != shown);
    // 0 of these is what a table has that does not name them.
    let is_absent = matches!(
        name,
        Name::MinRows
            | Name::MaxRows
            | Name::AverageRowLength
            | Name::Checksum
            | Name::DelayKeyWrite
            | Name::KeyBlockSize
    ) && text == "0";
    if !text.eq_ignore_ascii_case("DEFAULT") && !is_absent {
        draft.create_options.push((shown.to_owned(), text.to_ascii_uppercase()));
        draft.create_options.sort_by_key(|(option, _)| SHOWN_ORDER.iter().position(|name| name == option));
    }
    Ok(())
}

/// The order in which SHOW CREATE TABLE prints the remembered options.
const SHOWN_ORDER: &[&str] = &[
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
];
