//! The stored form of a foreign key. Called by the table's own form.
use super::{Json, Read, error, field, json, list, text};
use crate::foreign_key::{ForeignKeyDef, MatchOption, ReferentialAction};

pub(super) fn write(key: &ForeignKeyDef) -> Json {
    json!({
        "name": key.name,
        "columns": key.columns,
        "parent_database": key.parent_database,
        "parent_table": key.parent_table,
        "parent_columns": key.parent_columns,
        "match": key.match_option.name(),
        "on_delete": key.on_delete.name(),
        "on_update": key.on_update.name(),
    })
}

pub(super) fn read(form: &Json) -> Read<ForeignKeyDef> {
    let key = ForeignKeyDef {
        name: text(form, "name")?,
        columns: list(form, "columns")?.iter().map(position).collect::<Read<_>>()?,
        parent_database: text(form, "parent_database")?,
        parent_table: text(form, "parent_table")?,
        parent_columns: list(form, "parent_columns")?.iter().map(name).collect::<Read<_>>()?,
        match_option: match_option(form)?,
        on_delete: action(form, "on_delete")?,
        on_update: action(form, "on_update")?,
    };
    if key.columns.is_empty() || key.columns.len() != key.parent_columns.len() {
        return Err(error("a foreign key has not as many columns as it references"));
    }
    Ok(key)
}

fn position(form: &Json) -> Read<usize> {
    let number = form.as_u64().and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| error("a column of a foreign key is not a position"))
}

fn name(form: &Json) -> Read<String> {
    form.as_str().map(str::to_owned).ok_or_else(|| error("a column of a foreign key is not text"))
}

fn match_option(form: &Json) -> Read<MatchOption> {
    let word = field(form, "match")?.as_str();
    let option = MatchOption::ALL.into_iter().find(|option| word == Some(option.name()));
    option.ok_or_else(|| error("'match' is no match option"))
}

fn action(form: &Json, name: &str) -> Read<ReferentialAction> {
    let word = field(form, name)?.as_str();
    ReferentialAction::ALL
        .into_iter()
        .find(|action| word == Some(action.name()))
        .ok_or_else(|| error(format!("'{name}' is no referential action")))
}
