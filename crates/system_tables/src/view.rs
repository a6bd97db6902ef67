//! What all views have in common: a descriptor made from a short list of columns, rows made by a function.
use std::any::Any;
use std::sync::Arc;

use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, Value};
use schema::{ColumnDef, LocalFuture, TableDef, TableId, VirtualTable};
use table::ReadyTable;

use catalog::{Catalog, INFORMATION_SCHEMA, LockOwner, Viewer};

use crate::information_schema::shapes;

/// A column of a view: name, then length or nothing. `Null..` columns may be NULL.
#[derive(Clone, Copy, Debug)]
pub enum ViewColumn {
    Text(&'static str, u32),
    NullText(&'static str, u32),
    LongText(&'static str),
    NullMediumText(&'static str),
    NullLongText(&'static str),
    Number(&'static str),
    NullNumber(&'static str),
    Signed(&'static str),
    NullSigned(&'static str),
    Int(&'static str),
    NullFloat(&'static str),
    NullTime(&'static str),
    DateTime(&'static str),
    Json(&'static str),
    NullDateTime(&'static str),
}

impl ViewColumn {
    fn definition(self) -> ColumnDef {
        use ViewColumn::*;
        let collation = CollationId::UTF8MB3_GENERAL_CI;
        let long_text = ColumnType { collation, ..ColumnType::new(TypeKind::LongText) };
        let datetime = ColumnType::new(TypeKind::DateTime { fsp: 0 });
        match self {
            Text(name, length) => ColumnDef::new(name, ColumnType::varchar(length, collation).not_null()),
            NullText(name, length) => ColumnDef::new(name, ColumnType::varchar(length, collation)),
            LongText(name) => ColumnDef::new(name, long_text.not_null()),
            NullMediumText(name) => {
                ColumnDef::new(name, ColumnType { collation, ..ColumnType::new(TypeKind::MediumText) })
            }
            NullLongText(name) => ColumnDef::new(name, long_text),
            Number(name) => ColumnDef::new(name, ColumnType::bigint_unsigned().not_null()),
            NullNumber(name) => ColumnDef::new(name, ColumnType::bigint_unsigned()),
            Signed(name) => ColumnDef::new(name, ColumnType::bigint().not_null()),
            NullSigned(name) => ColumnDef::new(name, ColumnType::bigint()),
            Int(name) => ColumnDef::new(name, ColumnType::new(TypeKind::Long).not_null()),
            NullFloat(name) => {
                ColumnDef::new(name, ColumnType::new(TypeKind::Float { digits: Some((12, 0)) }))
            }
            NullTime(name) => ColumnDef::new(name, ColumnType::new(TypeKind::Time { fsp: 0 })),
            Json(name) => ColumnDef::new(name, ColumnType::new(TypeKind::Json).not_null()),
            DateTime(name) => ColumnDef::new(name, datetime.not_null()),
            NullDateTime(name) => ColumnDef::new(name, datetime),
        }
    }
}

/// The descriptor of a virtual table.
pub fn view_definition(database: &str, name: &str, columns: &[ViewColumn]) -> Arc<TableDef> {
    let mut definition = TableDef::new(TableId(0), database, name);
    definition.columns = columns.iter().map(|column| column.definition()).collect();
    definition.collation = CollationId::UTF8MB3_GENERAL_CI;
    if database == INFORMATION_SCHEMA {
        shapes::apply(&mut definition);
    }
    Arc::new(definition)
}

/// The constant part of a view.
#[derive(Clone, Copy)]
pub(crate) struct ViewSource {
    pub name: &'static str,
    pub columns: &'static [ViewColumn],
    pub rows: fn(&Catalog, &Viewer) -> Vec<Vec<Value>>,
    pub late: Option<LateColumns>,
}

/// Columns that tell what only a table that is ready knows. Every row of the view is of the table that its second and
/// third column name.
#[derive(Clone, Copy)]
pub(crate) struct LateColumns {
    pub columns: &'static [usize],
    /// Puts the values into the row.
    pub fill: fn(&Catalog, &ReadyTable, &mut [Value]),
}

/// What MySQL fills into a temporary table, whose columns are named as the statement writes them.
const NAMED_AS_WRITTEN: &[&str] = &[
    "APPLICABLE_ROLES",
    "COLLATIONS",
    "COLUMN_PRIVILEGES",
    "ENABLED_ROLES",
    "ENGINES",
    "INNODB_FOREIGN",
    "INNODB_TEMP_TABLE_INFO",
    "OPTIMIZER_TRACE",
    "PLUGINS",
    "PROFILING",
    "ROLE_COLUMN_GRANTS",
    "ROLE_ROUTINE_GRANTS",
    "ROLE_TABLE_GRANTS",
    "SCHEMA_PRIVILEGES",
    "TABLE_PRIVILEGES",
];

pub(crate) struct View {
    definition: Arc<TableDef>,
    catalog: Arc<Catalog>,
    source: ViewSource,
}

impl View {
    pub fn new(catalog: &Arc<Catalog>, source: ViewSource) -> View {
        let definition = view_definition(INFORMATION_SCHEMA, source.name, source.columns);
        View { definition, catalog: catalog.clone(), source }
    }
}

impl VirtualTable for View {
    fn definition(&self) -> &Arc<TableDef> {
        &self.definition
    }

    fn names_results(&self) -> bool {
        !NAMED_AS_WRITTEN.contains(&self.source.name)
    }

    fn rows<'a>(&'a self, viewer: &'a dyn Any) -> LocalFuture<'a, Result<Vec<Vec<Value>>, SqlError>> {
        let mut rows = match viewer.downcast_ref::<Viewer>() {
            Some(viewer) => (self.source.rows)(&self.catalog, viewer),
            None => Vec::new(),
        };
        rows.iter_mut().for_each(|row| shapes::fit(&self.definition, row));
        Box::pin(async move { Ok(rows) })
    }

    fn late_columns(&self) -> &'static [usize] {
        self.source.late.map_or(&[], |late| late.columns)
    }

    /// MySQL shows statistics here that it keeps; a table that nobody has used since the start is made ready for it,
    /// as a statement on it would, unless its definition is just being changed: then it has NULL.
    fn complete<'a>(
        &'a self,
        viewer: &'a dyn Any,
        row: &'a mut [Value],
    ) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async move {
            let (Some(late), Some(viewer)) = (self.source.late, viewer.downcast_ref::<Viewer>()) else {
                return Ok(());
            };
            let [_, Value::Bytes(database), Value::Bytes(name), ..] = &*row else { return Ok(()) };
            let [database, name] = [database, name].map(|text| String::from_utf8_lossy(text));
            let Some(table) = self.catalog.table(&database, &name) else { return Ok(()) };
            let owner = LockOwner(viewer.connection_id);
            if let Some(ready) = self.catalog.ready_unless_changing(&table, owner).await? {
                (late.fill)(&self.catalog, &ready, row);
                shapes::fit(&self.definition, row);
            }
            Ok(())
        })
    }
}

/// The only catalog there is.
pub(crate) fn catalog_name() -> Value {
    Value::bytes("def")
}

pub(crate) fn yes_no(condition: bool) -> Value {
    Value::bytes(if condition { "YES" } else { "NO" })
}
