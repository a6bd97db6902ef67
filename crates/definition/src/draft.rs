//! A table on its way from syntax to descriptor: columns and indexes by name, so that both can still move.
use collation::CollationId;
use datum::{ColumnType, Condition, SqlError, SqlMode, error_code};
use parser::ast;
use schema::{
    CheckDef, ColumnDef, ColumnDefault, IndexDef, IndexId, IndexKind, IndexPart, TableDef, TableId,
};
use std::sync::Arc;

use super::check::{CheckDraft, last_number};
use super::conditions;
use super::foreign_key::{
    ForeignKeyDraft, drop_redundant_indexes, foreign_key_draft, foreign_keys_of, last_generated_number,
    name_foreign_keys,
};
use super::index::{check_index, name_indexes};

/// Gives the type of an expression over the row of a table, and that of its elements if it is a cast to an array.
pub type RowExpressionType<'a> =
    dyn Fn(&str, &Arc<TableDef>) -> Result<(ColumnType, Option<ColumnType>), SqlError> + 'a;

/// What definitions depend on outside their own words.
pub struct DefinitionContext<'a> {
    pub sql_mode: SqlMode,
    pub default_engine: &'a str,
    pub require_primary_key: bool,
    /// Makes a column's default from the expression of its DEFAULT clause (not CURRENT_TIMESTAMP, not NULL).
    pub literal_default: &'a dyn Fn(&ast::Expr<'_>, &ColumnDef) -> Result<ColumnDefault, SqlError>,
    /// Whether there is a function of this name, in lower case.
    pub knows_function: &'a dyn Fn(&str) -> bool,
    /// The types of an expression over the row of a table.
    pub row_expression_type: &'a RowExpressionType<'a>,
    /// The character set of the statement's strings.
    pub connection_charset: &'a str,
    pub conditions: Vec<Condition>,
}

/// Where the values of a column come from when a table is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// The column of this position of the old table.
    Old(usize),
    /// A new column: its default.
    New,
}

impl ColumnSource {
    /// The position of the column as it was.
    pub fn old(self) -> Option<usize> {
        match self {
            ColumnSource::Old(position) => Some(position),
            ColumnSource::New => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct ColumnDraft {
    pub definition: ColumnDef,
    /// NULL or NOT NULL as written.
    pub written_nullable: Option<bool>,
    pub primary: bool,
    pub unique: bool,
    pub source: ColumnSource,
}

#[derive(Clone, Debug)]
pub struct IndexDraft {
    /// Set for an index that exists already and keeps its tree.
    pub existing: Option<(IndexId, u64)>,
    /// Empty until `name_indexes`.
    pub name: String,
    pub kind: IndexKind,
    pub parts: Vec<PartDraft>,
    pub invisible: bool,
    /// Made for a foreign key.
    pub generated: bool,
    pub comment: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartDraft {
    /// Of an expression: the hidden column, once there is one.
    pub column: String,
    pub expression: Option<String>,
    pub prefix_length: Option<u64>,
    pub descending: bool,
}

impl PartDraft {
    /// A cast to an array, which makes the index multi-valued.
    pub fn is_array(&self) -> bool {
        let is_cast = |text: &String| text.starts_with("cast(") && text.ends_with(" array)");
        self.expression.as_ref().is_some_and(is_cast)
    }
}

#[derive(Clone, Debug)]
pub struct TableDraft {
    pub id: TableId,
    pub database: String,
    pub name: String,
    pub columns: Vec<ColumnDraft>,
    pub indexes: Vec<IndexDraft>,
    /// New ones are numbered from here: also the number of one that is dropped in the same statement is never used again.
    pub next_index_id: u32,
    pub foreign_keys: Vec<ForeignKeyDraft>,
    /// The last number among the names that the server made for the table's foreign keys.
    pub foreign_key_number: u32,
    pub checks: Vec<CheckDraft>,
    /// The last number among the names that the server made for the table's CHECK constraints.
    pub check_number: u32,
    pub collation: CollationId,
    pub engine: String,
    pub comment: String,
    pub create_options: Vec<(String, String)>,
    pub auto_increment_start: u64,
    pub auto_increment_resets: u64,
    pub tree: u64,
    pub row_format: u8,
    pub created_at: i64,
}

const COLUMNS_MAX: usize = 1017;
const INDEXES_MAX: usize = 64;
/// MySQL's limit for all columns but BLOB and TEXT together.
const ROW_BYTES_MAX: u64 = 65_535;

impl TableDraft {
    pub fn new(database: &str, name: &str, collation: CollationId) -> TableDraft {
        let table = TableDef::new(TableId(0), database, name);
        TableDraft { collation, ..TableDraft::of_table(&table) }
    }

    /// The draft that `finish` turns back into the same table.
    pub fn of_table(table: &TableDef) -> TableDraft {
        TableDraft {
            id: table.id,
            database: table.database.clone(),
            name: table.name.clone(),
            columns: table.columns.iter().enumerate().map(|(at, column)| column_draft(column, at)).collect(),
            indexes: table.indexes.iter().map(|index| index_draft(index, table)).collect(),
            next_index_id: table.indexes.iter().map(|index| index.id.0 + 1).max().unwrap_or(1),
            foreign_keys: table.foreign_keys.iter().map(|key| foreign_key_draft(key, table)).collect(),
            foreign_key_number: last_generated_number(table),
            checks: table.checks.iter().map(check_draft).collect(),
            check_number: last_number(&table.checks, &table.name),
            collation: table.collation,
            engine: table.engine.clone(),
            comment: table.comment.clone(),
            create_options: table.create_options.clone(),
            auto_increment_start: table.auto_increment_start,
            auto_increment_resets: table.auto_increment_resets,
            tree: table.tree,
            row_format: table.row_format,
            created_at: table.created_at,
        }
    }

    pub fn column_position(&self, name: &str) -> Option<usize> {
        let is_it =
            |column: &ColumnDraft| !column.definition.hidden && same_name(&column.definition.name, name);
        self.columns.iter().position(is_it)
    }

    pub fn index_position(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| same_name(&index.name, name))
    }

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

fn check_draft(check: &CheckDef) -> CheckDraft {
    CheckDraft { definition: check.clone(), column: None }
}

fn column_draft(column: &ColumnDef, position: usize) -> ColumnDraft {
    ColumnDraft {
        definition: column.clone(),
        written_nullable: None,
        primary: false,
        unique: false,
        source: ColumnSource::Old(position),
    }
}

fn index_draft(index: &IndexDef, table: &TableDef) -> IndexDraft {
    let parts = index.parts.iter().map(|part| PartDraft {
        column: table.columns[part.column].name.clone(),
        expression: match &table.columns[part.column] {
            ColumnDef { hidden: true, generated, .. } => {
                generated.as_ref().map(|generated| generated.expression.clone())
            }
            _ => None,
        },
        prefix_length: part.prefix_length.map(u64::from),
        descending: part.descending,
    });
    IndexDraft {
        existing: Some((index.id, index.tree)),
        name: index.name.clone(),
        kind: index.kind,
        parts: parts.collect(),
        invisible: index.invisible,
        generated: index.generated,
        comment: index.comment.clone(),
    }
}

/// Names of columns and indexes ignore letter case.
pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || (!left.is_ascii() && left.to_lowercase() == right.to_lowercase())
}
