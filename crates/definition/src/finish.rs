//! The last step of a definition: a draft is checked as a whole and becomes the table's descriptor. Called by CREATE and
//! ALTER TABLE.
use datum::{SqlError, error_code};
use schema::{ColumnDefault, IndexDef, IndexId, IndexKind, IndexPart, TableDef};
use std::sync::Arc;

use super::conditions;
use super::draft::{ColumnSource, DefinitionContext, IndexDraft, PartDraft, TableDraft, same_name};
use super::foreign_key::{drop_redundant_indexes, foreign_keys_of, name_foreign_keys};
use super::index::{check_index, name_indexes};

/// The limits of MySQL.
const COLUMNS_MAX: usize = 1017;
const INDEXES_MAX: usize = 64;
/// MySQL's limit for all columns but BLOB and TEXT together.
const ROW_BYTES_MAX: u64 = 65_535;

impl TableDraft {
    /// Checks the whole and makes the descriptor, with the source of each of its columns. Trees of new indexes are 0;
    /// the caller creates them.
    pub fn finish(
        mut self,
        context: &mut DefinitionContext<'_>,
    ) -> Result<(TableDef, Vec<ColumnSource>), SqlError> {
        self.check_columns()?;
        self.finish_column_expressions()?;
        self.collect_column_keys()?;
        self.make_primary_key_not_null()?;
        drop_redundant_indexes(&mut self);
        name_indexes(&mut self)?;
        self.place_index_parts(context)?;
        name_foreign_keys(&mut self)?;
        if self.indexes.len() > INDEXES_MAX {
            return Err(error_code::ER_TOO_MANY_KEYS.with(&[&INDEXES_MAX]));
        }
        for position in 0..self.indexes.len() {
            check_index(&mut self, position, context)?;
        }
        self.warn_duplicate_indexes(context);
        self.check_auto_increment()?;
        if context.require_primary_key && !self.indexes.iter().any(|index| index.kind == IndexKind::Primary) {
            return Err(conditions::ER_TABLE_WITHOUT_PK.plain());
        }
        self.finish_checks()?;
        self.check_foreign_key_actions()?;
        let foreign_keys = foreign_keys_of(&self)?;
        let sources = self.columns.iter().map(|column| column.source).collect();
        let table = Arc::new(TableDef { foreign_keys, ..self.into_table() });
        check_row_expressions(&table, context)?;
        Ok((Arc::unwrap_or_clone(table), sources))
    }

    fn check_columns(&self) -> Result<(), SqlError> {
        if self.columns.is_empty() {
            return Err(error_code::ER_TABLE_MUST_HAVE_COLUMNS.plain());
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(error_code::ER_TOO_MANY_FIELDS.plain());
        }
        for (position, column) in self.columns.iter().enumerate() {
            let name = &column.definition.name;
            if !column.definition.hidden && self.column_position(name) != Some(position) {
                return Err(error_code::ER_DUP_FIELDNAME.with(&[name]));
            }
        }
        if self.columns.iter().all(|column| column.definition.invisible || column.definition.hidden) {
            return Err(conditions::ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN.plain());
        }
        let row_bytes: u64 =
            self.columns.iter().map(|column| super::column::row_bytes(&column.definition)).sum();
        if row_bytes > ROW_BYTES_MAX {
            return Err(error_code::ER_TOO_BIG_ROWSIZE.with(&[&ROW_BYTES_MAX]));
        }
        Ok(())
    }

    /// PRIMARY KEY and UNIQUE written with a column become indexes of the table.
    fn collect_column_keys(&mut self) -> Result<(), SqlError> {
        let mut keys = Vec::new();
        for column in &mut self.columns {
            let name = &column.definition.name;
            if std::mem::take(&mut column.primary) {
                keys.push(IndexDraft::of_column(IndexKind::Primary, name));
            }
            if std::mem::take(&mut column.unique) {
                keys.push(IndexDraft::of_column(IndexKind::Unique, name));
            }
        }
        keys.append(&mut self.indexes);
        self.indexes = keys;
        if self.indexes.iter().filter(|index| index.kind == IndexKind::Primary).count() > 1 {
            return Err(error_code::ER_MULTIPLE_PRI_KEY.plain());
        }
        Ok(())
    }

    fn make_primary_key_not_null(&mut self) -> Result<(), SqlError> {
        let Some(primary) = self.indexes.iter().find(|index| index.kind == IndexKind::Primary) else {
            return Ok(());
        };
        let columns: Vec<String> = primary.parts.iter().map(|part| part.column.clone()).collect();
        for name in columns {
            let Some(position) = self.column_position(&name) else { continue };
            let column = &mut self.columns[position];
            if column.written_nullable == Some(true) {
                return Err(error_code::ER_PRIMARY_CANT_HAVE_NULL.plain());
            }
            column.definition.column_type.nullable = false;
            if column.definition.default == ColumnDefault::Null {
                column.definition.default = ColumnDefault::None;
            }
        }
        Ok(())
    }

    fn warn_duplicate_indexes(&self, context: &mut DefinitionContext<'_>) {
        for (position, index) in self.indexes.iter().enumerate() {
            let is_new = index.existing.is_none();
            let has_twin = self.indexes.iter().enumerate().any(|(other, twin)| {
                other != position
                    && twin.kind == index.kind
                    && twin.parts == index.parts
                    && (other < position || twin.existing.is_some())
            });
            if is_new && has_twin {
                let twin = error_code::ER_DUP_INDEX.with(&[&index.name, &self.database, &self.name]);
                context.conditions.push(twin.into_warning());
            }
        }
    }

    fn check_auto_increment(&self) -> Result<(), SqlError> {
        let mut columns = self.columns.iter().filter(|column| column.definition.auto_increment);
        let Some(column) = columns.next() else { return Ok(()) };
        let is_first_part = self.indexes.iter().any(|index| {
            index.parts.first().is_some_and(|part| same_name(&part.column, &column.definition.name))
        });
        if columns.next().is_some() || !is_first_part {
            return Err(error_code::ER_WRONG_AUTO_KEY.plain());
        }
        Ok(())
    }

    fn into_table(self) -> TableDef {
        let mut next_id = self.next_index_id;
        let mut table = TableDef::new(self.id, self.database.clone(), self.name.clone());
        for index in &self.indexes {
            let (id, tree) = index.existing.unwrap_or_else(|| {
                next_id += 1;
                (IndexId(next_id - 1), 0)
            });
            let parts = index.parts.iter().map(|part| IndexPart {
                column: self.part_position(&part.column).expect("check_index found every column"),
                prefix_length: part.prefix_length.map(|length| length as u32),
                descending: part.descending,
            });
            table.indexes.push(IndexDef {
                id,
                name: index.name.clone(),
                kind: index.kind,
                parts: parts.collect(),
                tree,
                invisible: index.invisible,
                generated: index.generated,
                comment: index.comment.clone(),
            });
        }
        table.checks = self.checks.into_iter().map(|check| check.definition).collect();
        table.columns = self.columns.into_iter().map(|column| column.definition).collect();
        table.collation = self.collation;
        table.engine = self.engine;
        table.comment = self.comment;
        table.create_options = self.create_options;
        table.auto_increment_start = self.auto_increment_start;
        table.auto_increment_resets = self.auto_increment_resets;
        table.tree = self.tree;
        table.row_format = self.row_format;
        table.created_at = self.created_at;
        table.arrange_indexes();
        table
    }
}

impl IndexDraft {
    fn of_column(kind: IndexKind, column: &str) -> IndexDraft {
        let part = PartDraft { column: column.to_owned(), ..PartDraft::default() };
        IndexDraft {
            existing: None,
            name: String::new(),
            kind,
            parts: vec![part],
            invisible: false,
            generated: false,
            comment: String::new(),
        }
    }
}

/// Finds what only binding does: wrong numbers of arguments, collations that do not mix, and the like.
fn check_row_expressions(table: &Arc<TableDef>, context: &DefinitionContext<'_>) -> Result<(), SqlError> {
    let expressions = table.columns.iter().filter_map(|column| match (&column.generated, &column.default) {
        (Some(generated), _) => Some(&generated.expression),
        (None, ColumnDefault::Expression { text }) => Some(text),
        _ => None,
    });
    let conditions = table.checks.iter().map(|check| &check.condition);
    expressions.chain(conditions).try_for_each(|text| (context.row_expression_type)(text, table).map(drop))
}
