//! The stored form of a view: versioned JSON, as that of a table.
use super::{Json, Read, StoredFormError, error, field, flag, json, list, number, text};
use crate::view::{ViewAlgorithm, ViewCheck, ViewDef};

const FORMAT_VERSION: u64 = 1;

impl ViewDef {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut form = json!({
            "version": FORMAT_VERSION,
            "database": self.database,
            "name": self.name,
            "column_names": self.column_names,
            "query": self.query,
            "algorithm": self.algorithm.word(),
            "as_invoker": self.as_invoker,
            "definer_user": self.definer_user,
            "definer_host": self.definer_host,
            "is_updatable": self.is_updatable,
            "uses": self.uses,
            "charset_client": self.charset_client,
            "collation_connection": self.collation_connection,
            "created_at": self.created_at,
        });
        if let Some(check) = self.check {
            form["check"] = json!(check.word());
        }
        form.to_string().into_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<ViewDef, StoredFormError> {
        let form: Json = serde_json::from_slice(bytes).map_err(|cause| error(cause.to_string()))?;
        let version = number(&form, "version")?;
        if version != FORMAT_VERSION {
            return Err(error(format!("format version {version} of a view is not known")));
        }
        let algorithm = match text(&form, "algorithm")?.as_str() {
            "UNDEFINED" => ViewAlgorithm::Undefined,
            "MERGE" => ViewAlgorithm::Merge,
            "TEMPTABLE" => ViewAlgorithm::TempTable,
            other => return Err(error(format!("unknown algorithm '{other}'"))),
        };
        let check = match form.get("check").and_then(Json::as_str) {
            None => None,
            Some("CASCADED") => Some(ViewCheck::Cascaded),
            Some("LOCAL") => Some(ViewCheck::Local),
            Some(other) => return Err(error(format!("unknown check option '{other}'"))),
        };
        Ok(ViewDef {
            database: text(&form, "database")?,
            name: text(&form, "name")?,
            column_names: list(&form, "column_names")?.iter().map(read_text).collect::<Read<_>>()?,
            query: text(&form, "query")?,
            algorithm,
            as_invoker: flag(&form, "as_invoker"),
            definer_user: text(&form, "definer_user")?,
            definer_host: text(&form, "definer_host")?,
            check,
            is_updatable: flag(&form, "is_updatable"),
            uses: list(&form, "uses")?.iter().map(read_pair).collect::<Read<_>>()?,
            charset_client: text(&form, "charset_client")?,
            collation_connection: text(&form, "collation_connection")?,
            created_at: field(&form, "created_at")?.as_i64().ok_or_else(|| error("'created_at'"))?,
        })
    }
}

fn read_text(form: &Json) -> Read<String> {
    form.as_str().map(str::to_owned).ok_or_else(|| error("a name is not text"))
}

fn read_pair(form: &Json) -> Read<(String, String)> {
    match form.as_array().map(Vec::as_slice) {
        Some([Json::String(database), Json::String(name)]) => Ok((database.clone(), name.clone())),
        _ => Err(error("a used table is not a pair of texts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> ViewDef {
        ViewDef {
            database: "d".to_owned(),
            name: "v".to_owned(),
            column_names: vec!["é".to_owned()],
            query: "select 1 AS `1`".to_owned(),
            algorithm: ViewAlgorithm::Merge,
            as_invoker: true,
            definer_user: "u".to_owned(),
            definer_host: "%".to_owned(),
            check: Some(ViewCheck::Local),
            is_updatable: false,
            uses: vec![("d".to_owned(), "t".to_owned())],
            charset_client: "utf8mb4".to_owned(),
            collation_connection: "utf8mb4_0900_ai_ci".to_owned(),
            created_at: 7,
        }
    }

    #[test]
    fn a_view_reads_back_as_it_was_written() {
        let view = view();
        assert_eq!(ViewDef::from_bytes(&view.to_bytes()), Ok(view));
    }

    #[test]
    fn bytes_of_any_content_are_refused() {
        let bytes = view().to_bytes();
        for end in 0..bytes.len() {
            assert!(ViewDef::from_bytes(&bytes[..end]).is_err());
        }
        for (from, to) in [("MERGE", "MORGE"), ("LOCAL", "LOCAX"), ("\"version\":1", "\"version\":9")] {
            let changed = String::from_utf8_lossy(&bytes).replace(from, to);
            assert!(ViewDef::from_bytes(changed.as_bytes()).is_err(), "{from}");
        }
    }
}
