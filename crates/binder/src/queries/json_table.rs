//! JSON_TABLE in FROM: its columns, and the tables before it that its document reads.
use crate::binder::{Binder, not_supported};
use crate::block::{Clause, Source, SourceColumn, SourceKind};
use crate::context::Literals;
use crate::queries::from::Joined;
use crate::same_name::same_name;
use crate::source::JsonTableSource;
use datum::{ColumnType, SqlError, StoredJson, Value, error_code, normalize_json};
use expression::EvalContext;
use parser::ast;
use plan::{JsonPath, JsonTableBehaviour, JsonTableColumn, table_value};

impl<'p> Binder<'p> {
    pub fn bind_json_table(&mut self, table: &ast::JsonTable<'p>) -> Result<Joined, SqlError> {
        // Paths and defaults are read from the text.
        self.shareable &= self.context.literals == Literals::Inline;
        let clause = self.block().clause.replace(Clause::TableFunction);
        let document = self.bind(&table.document);
        self.block().clause = clause;
        let document = document?;
        if crate::walk::has_subquery(&document) {
            return Err(not_supported("a correlated subquery in JSON_TABLE"));
        }
        let needs = self.block().sources_of(&document);
        let path = path_of(&table.path)?;
        let mut shown = Vec::new();
        let columns = self.json_columns(table.columns, &mut shown)?;
        let source = JsonTableSource { document, path, columns, needs, read_here_alone: Vec::new() };
        self.add_source(Source::made(
            table.alias.name.to_owned(),
            shown,
            SourceKind::JsonTable(Box::new(source)),
        ))
    }

    fn json_columns(
        &mut self,
        written: &[ast::JsonTableColumn<'p>],
        shown: &mut Vec<SourceColumn>,
    ) -> Result<Vec<JsonTableColumn>, SqlError> {
        let mut columns = Vec::with_capacity(written.len());
        for column in written {
            columns.push(match column {
                ast::JsonTableColumn::Ordinality(name) => {
                    let column_type = ColumnType { nullable: true, ..ColumnType::bigint() };
                    JsonTableColumn::Ordinality { number: show(name.name, &column_type, shown)? }
                }
                ast::JsonTableColumn::Nested { path, columns } => JsonTableColumn::Nested {
                    path: path_of(path)?,
                    columns: self.json_columns(columns, shown)?,
                },
                ast::JsonTableColumn::Path { name, data_type, exists, path, on_empty, on_error } => {
                    let column_type = self.context.session.column_type(data_type, name.name)?;
                    let column_type = ColumnType { nullable: true, ..column_type };
                    let number = show(name.name, &column_type, shown)?;
                    let (name, path) = (name.name.to_owned(), path_of(path)?);
                    if *exists {
                        JsonTableColumn::Exists { number, name, column_type, path }
                    } else {
                        let on_empty = self.json_table_behaviour(*on_empty, &column_type, &name)?;
                        let on_error = self.json_table_behaviour(*on_error, &column_type, &name)?;
                        JsonTableColumn::Value { number, name, column_type, path, on_empty, on_error }
                    }
                }
            });
        }
        Ok(columns)
    }

    fn json_table_behaviour(
        &mut self,
        written: Option<ast::JsonBehaviour<'p>>,
        column_type: &ColumnType,
        name: &str,
    ) -> Result<JsonTableBehaviour, SqlError> {
        Ok(match written {
            None | Some(ast::JsonBehaviour::Null) => JsonTableBehaviour::Null,
            Some(ast::JsonBehaviour::Error) => JsonTableBehaviour::Error,
            Some(ast::JsonBehaviour::Default(literal)) => {
                let document = normalize_json(&text_of(&literal)?)
                    .map_err(|invalid| invalid.in_function(1, "JSON_TABLE"))?;
                let context = EvalContext::of_constants(&self.context.bind);
                let value: Value = table_value(StoredJson::new(&document), column_type, name, &context)?;
                JsonTableBehaviour::Default(value)
            }
        })
    }
}

/// Adds a column and answers its number.
fn show(name: &str, column_type: &ColumnType, shown: &mut Vec<SourceColumn>) -> Result<usize, SqlError> {
    if shown.iter().any(|known| same_name(&known.name, name)) {
        return Err(error_code::ER_DUP_FIELDNAME.with(&[&name]));
    }
    shown.push(SourceColumn {
        name: name.to_owned(),
        column_type: column_type.clone(),
        hidden: false,
        invisible: false,
    });
    Ok(shown.len() - 1)
}

fn text_of(literal: &ast::Literal<'_>) -> Result<Vec<u8>, SqlError> {
    match literal.value {
        ast::LiteralValue::String { bytes, .. } => Ok(bytes.to_vec()),
        _ => Err(not_supported("a default of JSON_TABLE that is no string")),
    }
}

fn path_of(literal: &ast::Literal<'_>) -> Result<JsonPath, SqlError> {
    JsonPath::parse(&String::from_utf8_lossy(&text_of(literal)?))
}
