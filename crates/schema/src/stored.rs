//! The stored form of a table descriptor: versioned JSON, one object a table.
//!
//! Invariant: `from_bytes(to_bytes(t)) == t`, and bytes of any content give an error, never a panic. Unknown
//! fields are ignored so that a later version may add some; a changed meaning needs a new `FORMAT_VERSION`.
mod column_type_form;
mod foreign_key_form;
mod program_form;
mod value_form;
mod view_form;

use crate::check::CheckDef;
use crate::column::{ColumnDef, ColumnDefault, Generation};
use crate::foreign_key::ForeignKeyDef;
use crate::index::{IndexDef, IndexId, IndexKind, IndexPart};
use crate::row_places::RowPlaces;
use crate::table::{TableDef, TableId};
use collation::CollationId;
use serde_json::{Value as Json, json};

const FORMAT_VERSION: u64 = 1;
/// With foreign keys: a program that does not know them must not change the table.
const FORMAT_VERSION_FOREIGN_KEYS: u64 = 2;
/// With generated columns or CHECK constraints, for the same reason. There may be foreign keys.
const FORMAT_VERSION_ROW_RULES: u64 = 3;
/// With columns that came, went or moved over the same rows: a program that does not know it would read others. There may be all of
/// the above.
const FORMAT_VERSION_PLACES: u64 = 4;

/// The bytes are no table descriptor; the text says which field is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFormError {
    pub what: String,
}

impl std::fmt::Display for StoredFormError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "stored table descriptor: {}", self.what)
    }
}

impl std::error::Error for StoredFormError {}

type Read<T> = Result<T, StoredFormError>;

fn error(what: impl Into<String>) -> StoredFormError {
    StoredFormError { what: what.into() }
}

fn field<'a>(object: &'a Json, name: &str) -> Read<&'a Json> {
    object.get(name).ok_or_else(|| error(format!("no field '{name}'")))
}

fn text(object: &Json, name: &str) -> Read<String> {
    let value = field(object, name)?.as_str();
    value.map(str::to_owned).ok_or_else(|| error(format!("'{name}' is not text")))
}

fn number(object: &Json, name: &str) -> Read<u64> {
    field(object, name)?.as_u64().ok_or_else(|| error(format!("'{name}' is not a number")))
}

fn small<T: TryFrom<u64>>(object: &Json, name: &str) -> Read<T> {
    T::try_from(number(object, name)?).map_err(|_| error(format!("'{name}' is too large")))
}

/// Flags are written only when set.
fn flag(object: &Json, name: &str) -> bool {
    object.get(name).and_then(Json::as_bool).unwrap_or(false)
}

fn list<'a>(object: &'a Json, name: &str) -> Read<&'a Vec<Json>> {
    field(object, name)?.as_array().ok_or_else(|| error(format!("'{name}' is not a list")))
}

fn collation(object: &Json) -> Read<CollationId> {
    let name = text(object, "collation")?;
    CollationId::by_name(&name).ok_or_else(|| error(format!("unknown collation '{name}'")))
}

impl TableDef {
    pub fn to_bytes(&self) -> Vec<u8> {
        let has_foreign_keys = !self.foreign_keys.is_empty();
        let has_generated = self.columns.iter().any(|column| column.generated.is_some());
        let version = match has_foreign_keys {
            _ if self.places.is_some() => FORMAT_VERSION_PLACES,
            _ if has_generated || !self.checks.is_empty() => FORMAT_VERSION_ROW_RULES,
            true => FORMAT_VERSION_FOREIGN_KEYS,
            false => FORMAT_VERSION,
        };
        let mut form = json!({
            "version": version,
            "id": self.id.0,
            "database": self.database,
            "name": self.name,
            "columns": self.columns.iter().map(column_form).collect::<Vec<_>>(),
            "indexes": self.indexes.iter().map(index_form).collect::<Vec<_>>(),
            "clustered_by": self.clustered_by.map(|id| id.0),
            "tree": self.tree,
            "row_format": self.row_format,
            "collation": self.collation.name(),
            "engine": self.engine,
            "comment": self.comment,
            "create_options": self.create_options,
            "auto_increment_start": self.auto_increment_start,
            "auto_increment_resets": self.auto_increment_resets,
            "created_at": self.created_at,
        });
        if has_foreign_keys {
            let keys: Vec<Json> = self.foreign_keys.iter().map(foreign_key_form::write).collect();
            form["foreign_keys"] = Json::Array(keys);
        }
        if let Some(places) = &self.places {
            form["places"] = json!({"of": places.of, "width": places.width});
        }
        if !self.checks.is_empty() {
            form["checks"] = Json::Array(self.checks.iter().map(check_form).collect());
        }
        form.to_string().into_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<TableDef, StoredFormError> {
        let form: Json = serde_json::from_slice(bytes).map_err(|cause| error(cause.to_string()))?;
        let version = number(&form, "version")?;
        if !(FORMAT_VERSION..=FORMAT_VERSION_PLACES).contains(&version) {
            return Err(error(format!("format version {version} is not known")));
        }
        let mut table =
            TableDef::new(TableId(number(&form, "id")?), text(&form, "database")?, text(&form, "name")?);
        table.columns = list(&form, "columns")?.iter().map(read_column).collect::<Read<_>>()?;
        table.indexes = list(&form, "indexes")?.iter().map(read_index).collect::<Read<_>>()?;
        table.foreign_keys = match version {
            FORMAT_VERSION_FOREIGN_KEYS => read_foreign_keys(&form)?,
            FORMAT_VERSION_ROW_RULES | FORMAT_VERSION_PLACES if form.get("foreign_keys").is_some() => {
                read_foreign_keys(&form)?
            }
            _ => Vec::new(),
        };
        if form.get("checks").is_some() {
            table.checks = list(&form, "checks")?.iter().map(read_check).collect::<Read<_>>()?;
        }
        table.clustered_by = match field(&form, "clustered_by")? {
            Json::Null => None,
            _ => Some(IndexId(small(&form, "clustered_by")?)),
        };
        table.tree = number(&form, "tree")?;
        table.row_format = small(&form, "row_format")?;
        table.places = form.get("places").map(read_places).transpose()?;
        table.collation = collation(&form)?;
        table.engine = text(&form, "engine")?;
        table.comment = text(&form, "comment")?;
        table.create_options = list(&form, "create_options")?.iter().map(read_option).collect::<Read<_>>()?;
        table.auto_increment_start = number(&form, "auto_increment_start")?;
        // Older forms do not have it.
        if form.get("auto_increment_resets").is_some() {
            table.auto_increment_resets = number(&form, "auto_increment_resets")?;
        }
        table.created_at = field(&form, "created_at")?.as_i64().ok_or_else(|| error("'created_at'"))?;
        check_positions(&table)?;
        Ok(table)
    }
}

fn read_places(form: &Json) -> Read<RowPlaces> {
    let width: u16 = small(form, "width")?;
    let place = |place: &Json| match place {
        Json::Null => Ok(None),
        place => {
            let place = place.as_u64().and_then(|place| u16::try_from(place).ok());
            place.filter(|place| *place < width).map(Some).ok_or_else(|| error("a place of a column"))
        }
    };
    Ok(RowPlaces { of: list(form, "of")?.iter().map(place).collect::<Read<_>>()?, width })
}

fn read_foreign_keys(form: &Json) -> Read<Vec<ForeignKeyDef>> {
    list(form, "foreign_keys")?.iter().map(foreign_key_form::read).collect()
}

fn check_form(check: &CheckDef) -> Json {
    json!({"name": check.name, "condition": check.condition, "enforced": check.enforced})
}

fn read_check(form: &Json) -> Read<CheckDef> {
    Ok(CheckDef {
        name: text(form, "name")?,
        condition: text(form, "condition")?,
        enforced: flag(form, "enforced"),
    })
}

fn check_positions(table: &TableDef) -> Read<()> {
    let count = table.columns.len();
    if table.indexes.iter().flat_map(|index| &index.parts).any(|part| part.column >= count) {
        return Err(error("an index names a column that does not exist"));
    }
    if table.foreign_keys.iter().flat_map(|key| &key.columns).any(|column| *column >= count) {
        return Err(error("a foreign key names a column that does not exist"));
    }
    if table.places.as_ref().is_some_and(|places| places.of.len() != count) {
        return Err(error("a column without a place"));
    }
    if table.clustered_by.is_some() && table.clustering_index().is_none() {
        return Err(error("the clustering index does not exist"));
    }
    Ok(())
}

fn column_form(column: &ColumnDef) -> Json {
    let default = match &column.default {
        ColumnDefault::None => json!("none"),
        ColumnDefault::Null => json!("null"),
        ColumnDefault::Value { value, text } => json!({"value": value_form::write(value), "text": text}),
        ColumnDefault::CurrentTimestamp { fsp } => json!({"current_timestamp": fsp}),
        ColumnDefault::Expression { text } => json!({"expression": text}),
    };
    let mut form = json!({
        "name": column.name,
        "type": column_type_form::write(&column.column_type),
        "default": default,
    });
    for (name, set) in [
        ("on_update_current_timestamp", column.on_update_current_timestamp),
        ("auto_increment", column.auto_increment),
        ("hidden", column.hidden),
        ("invisible", column.invisible),
        ("explicit_collation", column.explicit_collation),
    ] {
        if set {
            form[name] = json!(true);
        }
    }
    if let Some(generated) = &column.generated {
        form["generated"] = json!({"expression": generated.expression, "stored": generated.stored});
    }
    if let Some(element) = &column.array_of {
        form["array_of"] = column_type_form::write(element);
    }
    if let Some(value) = &column.added_value {
        form["added_value"] = value_form::write(value);
    }
    if !column.comment.is_empty() {
        form["comment"] = json!(column.comment);
    }
    form
}

fn read_column(form: &Json) -> Read<ColumnDef> {
    let column_type = column_type_form::read(field(form, "type")?)?;
    let default = match field(form, "default")? {
        Json::String(word) if word == "none" => ColumnDefault::None,
        Json::String(word) if word == "null" => ColumnDefault::Null,
        other if other.get("value").is_some() => ColumnDefault::Value {
            value: value_form::read(field(other, "value")?)?,
            text: text(other, "text")?,
        },
        other if other.get("current_timestamp").is_some() => {
            ColumnDefault::CurrentTimestamp { fsp: small(other, "current_timestamp")? }
        }
        other => ColumnDefault::Expression { text: text(other, "expression")? },
    };
    let generated = match form.get("generated") {
        None => None,
        Some(generated) => {
            Some(Generation { expression: text(generated, "expression")?, stored: flag(generated, "stored") })
        }
    };
    Ok(ColumnDef {
        name: text(form, "name")?,
        column_type,
        default,
        on_update_current_timestamp: flag(form, "on_update_current_timestamp"),
        auto_increment: flag(form, "auto_increment"),
        generated,
        hidden: flag(form, "hidden"),
        array_of: form.get("array_of").map(column_type_form::read).transpose()?,
        invisible: flag(form, "invisible"),
        explicit_collation: flag(form, "explicit_collation"),
        added_value: form.get("added_value").map(value_form::read).transpose()?,
        comment: form.get("comment").and_then(Json::as_str).unwrap_or_default().to_owned(),
    })
}

fn index_form(index: &IndexDef) -> Json {
    let kind = match index.kind {
        IndexKind::Primary => "primary",
        IndexKind::Unique => "unique",
        IndexKind::Plain => "plain",
    };
    let parts: Vec<Json> = index
        .parts
        .iter()
        .map(|part| json!({"column": part.column, "length": part.prefix_length, "descending": part.descending}))
        .collect();
    let mut form = json!({
        "id": index.id.0, "name": index.name, "kind": kind, "parts": parts, "tree": index.tree,
        "invisible": index.invisible, "comment": index.comment,
    });
    if index.generated {
        form["generated"] = json!(true);
    }
    form
}

fn read_index(form: &Json) -> Read<IndexDef> {
    let kind = match text(form, "kind")?.as_str() {
        "primary" => IndexKind::Primary,
        "unique" => IndexKind::Unique,
        "plain" => IndexKind::Plain,
        other => return Err(error(format!("unknown index kind '{other}'"))),
    };
    Ok(IndexDef {
        id: IndexId(small(form, "id")?),
        name: text(form, "name")?,
        kind,
        parts: list(form, "parts")?.iter().map(read_part).collect::<Read<_>>()?,
        tree: number(form, "tree")?,
        invisible: flag(form, "invisible"),
        generated: flag(form, "generated"),
        comment: text(form, "comment")?,
    })
}

fn read_part(form: &Json) -> Read<IndexPart> {
    let prefix_length = match field(form, "length")? {
        Json::Null => None,
        _ => Some(small(form, "length")?),
    };
    Ok(IndexPart { column: small(form, "column")?, prefix_length, descending: flag(form, "descending") })
}

fn read_option(form: &Json) -> Read<(String, String)> {
    match form.as_array().map(Vec::as_slice) {
        Some([Json::String(name), Json::String(value)]) => Ok((name.clone(), value.clone())),
        _ => Err(error("a create option is not a pair of texts")),
    }
}

#[cfg(test)]
mod tests;
