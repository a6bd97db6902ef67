//! Where a column's value comes from when the statement gives none.
use crate::planner::{Planner, not_supported};
use datum::{SqlError, Value};
use parser::ast;
use plan::DefaultSource;
use schema::{ColumnDef, ColumnDefault, TableDef};

impl<'p> Planner<'p> {
    /// The default of a column; an AUTO_INCREMENT column takes the counter's next value.
    pub fn default_source(&mut self, table: &TableDef, column: usize) -> Result<DefaultSource, SqlError> {
        let column = &table.columns[column];
        if column.auto_increment {
            return Ok(DefaultSource::AutoIncrement);
        }
        Ok(match &column.default {
            ColumnDefault::None => DefaultSource::Missing,
            ColumnDefault::Null => DefaultSource::Value(Value::Null),
            ColumnDefault::Value { value, .. } => DefaultSource::Value(value.clone()),
            ColumnDefault::CurrentTimestamp { .. } => {
                DefaultSource::Expr(self.bind_current_timestamp(&column.column_type)?)
            }
            ColumnDefault::Expression { text } => self.default_expression(column, text)?,
        })
    }

    /// A stored default expression. It is parsed for each plan: such columns are rare, and plans are kept.
    fn default_expression(&mut self, column: &ColumnDef, text: &str) -> Result<DefaultSource, SqlError> {
        let arena = bumpalo::Bump::new();
        let statement = format!("SELECT {text}");
        let options = parser::ParseOptions { mode: parser::SqlMode::default(), parameters: false };
        let unusable = || not_supported(&format!("the default expression of column '{}'", column.name));
        let parsed = parser::parse(statement.as_bytes(), options, &arena).map_err(|_| unusable())?;
        let ast::StatementKind::Query(query) = parsed.statement.kind else { return Err(unusable()) };
        let ast::QueryBody::Select(select) = query.body else { return Err(unusable()) };
        let [ast::SelectItem::Expression { expr, .. }] = select.items else { return Err(unusable()) };
        // Literals of the stored text are no literals of the statement, so they must not become its parameters.
        let context = crate::context::PlannerContext {
            bind: self.context.bind.clone(),
            current_database: self.context.current_database,
            literals: crate::context::Literals::Inline,
            parameter_types: &[],
            session: self.context.session,
            lock_source_rows: self.context.lock_source_rows,
        };
        let mut inner = Planner::new(self.catalog, &context);
        inner.blocks.push(crate::block::Block::default());
        let source = crate::block::Source {
            alias: String::new(),
            database: String::new(),
            columns: Vec::new(),
            kind: crate::block::SourceKind::Derived(None),
            optional: false,
            lock: None,
            names_results: false,
        };
        inner.block().sources.push(source);
        Ok(DefaultSource::Expr(inner.bind(expr)?))
    }
}
