//! SHOW CREATE VIEW, and what SHOW TABLE STATUS says of a view.
use std::sync::Arc;

use datum::{SqlError, Value};
use parser::ast::{ObjectName, StatementKind};
use parser::{ParseOptions, RestoreOptions, ViewText};
use schema::{ViewDef, quote_identifier};

use super::create::statement_column;
use crate::caller::Caller;
use session::{MadeColumn, MadeRows};
use session::{Named, not_a_view};

impl Caller<'_> {
    pub(super) fn show_create_view(&self, name: ObjectName<'_>) -> Result<MadeRows, SqlError> {
        let name = self.table_name(name)?;
        match self.resolve_shared(&name.database, &name.name) {
            Some(Named::View(view)) => Ok(self.view_rows(&view)),
            Some(_) => Err(not_a_view(&name)),
            None => {
                self.instance().catalog().require_table(&name.database, &name.name)?;
                Err(not_a_view(&name))
            }
        }
    }

    /// The answer to SHOW CREATE VIEW, and to SHOW CREATE TABLE of a view.
    pub(super) fn view_rows(&self, view: &Arc<ViewDef>) -> MadeRows {
        if let Err(error) = self.view_columns().columns_of(view) {
            self.shared().warning(error);
        }
        let text = self.view_text(view);
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("View", 64),
            statement_column("Create View", &text),
            MadeColumn::Text("character_set_client", 32),
            MadeColumn::Text("collation_connection", 64),
        ]);
        let texts = [&view.name, &text, &view.charset_client, &view.collation_connection];
        rows.push(texts.map(Value::bytes).to_vec());
        rows
    }

    /// The statement that makes the view. A session that is in its database need not be told of it.
    fn view_text(&self, view: &ViewDef) -> String {
        let is_own = self.database() == Some(&*view.database);
        let mut name = quote_identifier(&view.name);
        if !is_own {
            name = format!("{}.{name}", quote_identifier(&view.database));
        }
        if !view.column_names.is_empty() {
            let columns: Vec<String> = view.column_names.iter().map(|name| quote_identifier(name)).collect();
            name = format!("{name} ({})", columns.join(","));
        }
        let query = match is_own {
            true => without_database(&view.query, &view.database),
            false => view.query.clone(),
        };
        let security = if view.as_invoker { "INVOKER" } else { "DEFINER" };
        let check = match view.check {
            Some(check) => format!(" WITH {} CHECK OPTION", check.word()),
            None => String::new(),
        };
        format!(
            "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {security} VIEW {name} AS {query}{check}",
            view.algorithm.word(),
            quote_identifier(&view.definer_user),
            quote_identifier(&view.definer_host),
        )
    }

    /// A row of SHOW TABLE STATUS.
    pub(super) fn view_status(&self, view: &Arc<ViewDef>) -> Vec<Value> {
        const COLUMN_COUNT: usize = 18;
        const CREATED: usize = 11;
        let mut row = vec![Value::Null; COLUMN_COUNT];
        row[0] = Value::bytes(&view.name);
        let created = self.settings().time_zone.to_local(view.created_at.saturating_mul(1_000_000));
        row[CREATED] = created.map_or(Value::Null, Value::DateTime);
        row[COLUMN_COUNT - 1] = match self.view_columns().columns_of(view) {
            Ok(_) => Value::bytes("VIEW"),
            Err(error) => {
                let message = Value::bytes(&error.message);
                self.shared().warning(error);
                message
            }
        };
        row
    }
}

/// The text of a view for those who are in its database.
fn without_database(text: &str, database: &str) -> String {
    let arena = bumpalo::Bump::new();
    let options = ParseOptions { mode: Default::default(), parameters: false };
    let Ok(parsed) = parser::parse(text.as_bytes(), options, &arena) else { return text.to_owned() };
    let StatementKind::Query(query) = parsed.statement.kind else { return text.to_owned() };
    let view = Some(ViewText { current_database: Some(database), ..ViewText::default() });
    parser::restore_query(query, RestoreOptions { string_charset: None, resolved: true, view }).to_string()
}
