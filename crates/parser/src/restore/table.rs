//! Table references as text.
use super::Restorer;
use crate::ast::{
    DataType, DerivedTable, IndexHint, IndexHintAction, IndexHintScope, Join, JoinConstraint, JoinKind,
    JsonTable, JsonTableColumn, NamedTable, TableReference, TypeName,
};
use std::fmt::Result;

impl Restorer<'_, '_, '_> {
    pub fn table_reference(&mut self, table: &TableReference<'_>) -> Result {
        match table {
            TableReference::Table(table) => self.named_table(table),
            TableReference::Derived(derived) => self.derived_table(derived),
            TableReference::JsonTable(table) => self.json_table(table),
            TableReference::Join(join) => self.join(join),
            TableReference::List(members) => {
                if self.view().is_some() {
                    return self.view_from(members);
                }
                self.text("(")?;
                self.separated(", ", members, |restorer, member| restorer.table_reference(member))?;
                self.text(")")
            }
        }
    }

    fn named_table(&mut self, table: &NamedTable<'_>) -> Result {
        match self.view() {
            Some(_) => self.view_table(&table.name, table.alias.is_some())?,
            None => self.object_name(&table.name)?,
        }
        if !table.partitions.is_empty() {
            self.text(" partition")?;
            self.names(table.partitions)?;
        }
        if let Some(alias) = table.alias {
            self.text(" ")?;
            self.name(alias.name)?;
        }
        table.index_hints.iter().try_for_each(|hint| self.index_hint(hint))
    }

    fn index_hint(&mut self, hint: &IndexHint<'_>) -> Result {
        let action = match hint.action {
            IndexHintAction::Use => " use index",
            IndexHintAction::Ignore => " ignore index",
            IndexHintAction::Force => " force index",
        };
        let scope = match hint.scope {
            IndexHintScope::All => "",
            IndexHintScope::Join => " for join",
            IndexHintScope::OrderBy => " for order by",
            IndexHintScope::GroupBy => " for group by",
        };
        if self.view().is_some() {
            self.text(&action.to_uppercase())?;
            self.text(&scope.to_uppercase())?;
            self.text(" (")?;
            self.separated(",", hint.indexes, |restorer, index| {
                match index.name.eq_ignore_ascii_case("primary") {
                    true => restorer.text("PRIMARY"),
                    false => restorer.name(index.name),
                }
            })?;
            return self.text(")");
        }
        self.text(action)?;
        self.text(scope)?;
        if hint.indexes.is_empty() {
            return self.text(" ()");
        }
        self.names(hint.indexes)
    }

    fn derived_table(&mut self, derived: &DerivedTable<'_>) -> Result {
        if derived.lateral {
            self.text("lateral ")?;
        }
        self.source_query(derived.query)?;
        self.text(" ")?;
        self.name(derived.alias.name)?;
        self.names(derived.columns)
    }

    fn join(&mut self, join: &Join<'_>) -> Result {
        if self.view().is_some() {
            return self.view_join(join);
        }
        self.text("(")?;
        self.table_reference(&join.left)?;
        if matches!(join.constraint, JoinConstraint::Natural) {
            self.text(" natural")?;
        }
        self.text(match join.kind {
            JoinKind::Inner => " join ",
            JoinKind::Left => " left join ",
            JoinKind::Right => " right join ",
            JoinKind::Straight => " straight_join ",
        })?;
        self.table_reference(&join.right)?;
        match join.constraint {
            JoinConstraint::On(condition) => {
                self.text(" on ")?;
                self.expr(condition)?;
            }
            JoinConstraint::Using(columns) => {
                self.text(" using")?;
                self.names(columns)?;
            }
            JoinConstraint::None | JoinConstraint::Natural => {}
        }
        self.text(")")
    }

    fn json_table(&mut self, table: &JsonTable<'_>) -> Result {
        self.text("json_table(")?;
        self.expr(&table.document)?;
        self.text(", ")?;
        self.plain_literal(&table.path)?;
        self.json_columns(table.columns)?;
        self.text(") ")?;
        self.name(table.alias.name)
    }

    fn json_columns(&mut self, columns: &[JsonTableColumn<'_>]) -> Result {
        self.text(" columns (")?;
        self.separated(", ", columns, |restorer, column| restorer.json_column(column))?;
        self.text(")")
    }

    fn json_column(&mut self, column: &JsonTableColumn<'_>) -> Result {
        match column {
            JsonTableColumn::Ordinality(name) => {
                self.name(name.name)?;
                self.text(" for ordinality")
            }
            JsonTableColumn::Path { name, data_type, exists, path, on_empty, on_error } => {
                self.name(name.name)?;
                self.text(" ")?;
                self.data_type(data_type)?;
                self.text(if *exists { " exists path " } else { " path " })?;
                self.plain_literal(path)?;
                self.json_behaviours(*on_empty, *on_error)
            }
            JsonTableColumn::Nested { path, columns } => {
                self.text("nested path ")?;
                self.plain_literal(path)?;
                self.json_columns(columns)
            }
        }
    }

    /// A column's type with its attributes.
    pub fn data_type(&mut self, data_type: &DataType<'_>) -> Result {
        self.text(type_text(data_type.name))?;
        match (data_type.length, data_type.decimals) {
            (Some(length), Some(decimals)) => write!(self.out, "({length},{decimals})")?,
            (Some(length), None) => write!(self.out, "({length})")?,
            _ => {}
        }
        if !data_type.members.is_empty() {
            self.text("(")?;
            self.separated(",", data_type.members, |restorer, member| restorer.string(member))?;
            self.text(")")?;
        }
        if data_type.unsigned {
            self.text(" unsigned")?;
        }
        if data_type.zerofill {
            self.text(" zerofill")?;
        }
        if let Some(charset) = data_type.charset {
            self.text(" character set ")?;
            self.word(charset.name)?;
        }
        if data_type.binary {
            self.text(" binary")?;
        }
        if let Some(collation) = data_type.collation {
            self.text(" collate ")?;
            self.word(collation.name)?;
        }
        Ok(())
    }
}

fn type_text(name: TypeName) -> &'static str {
    use TypeName::*;
    match name {
        TinyInt => "tinyint",
        SmallInt => "smallint",
        MediumInt => "mediumint",
        Int => "int",
        BigInt => "bigint",
        Serial => "serial",
        Bool => "bool",
        Decimal => "decimal",
        Float => "float",
        Double => "double",
        Bit => "bit",
        Char => "char",
        VarChar => "varchar",
        Binary => "binary",
        VarBinary => "varbinary",
        TinyText => "tinytext",
        Text => "text",
        MediumText => "mediumtext",
        LongText => "longtext",
        TinyBlob => "tinyblob",
        Blob => "blob",
        MediumBlob => "mediumblob",
        LongBlob => "longblob",
        Date => "date",
        Time => "time",
        DateTime => "datetime",
        Timestamp => "timestamp",
        Year => "year",
        Enum => "enum",
        Set => "set",
        Json => "json",
        Vector => "vector",
        Geometry => "geometry",
        Point => "point",
        LineString => "linestring",
        Polygon => "polygon",
        MultiPoint => "multipoint",
        MultiLineString => "multilinestring",
        MultiPolygon => "multipolygon",
        GeometryCollection => "geometrycollection",
    }
}
