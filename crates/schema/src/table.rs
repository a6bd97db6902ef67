//! The descriptor of one table.
//!
//! Invariant: index parts name existing columns, at most one column is AUTO_INCREMENT, and `clustered_by`,
//! when set, names an index whose columns are all NOT NULL and which has no prefix parts.
use crate::check::CheckDef;
use crate::column::ColumnDef;
use crate::foreign_key::ForeignKeyDef;
use crate::identifier::same_name;
use crate::index::{IndexDef, IndexId, IndexKind};
use crate::row_places::RowPlaces;
use collation::CollationId;

/// Names a table for ever; a table that is rebuilt or truncated gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u64);

/// The row format new tables are written in (crate `table` owns its layout).
pub const ROW_FORMAT_CURRENT: u8 = 1;

#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    pub id: TableId,
    pub database: String,
    pub name: String,
    pub columns: Vec<ColumnDef>,
    /// In MySQL's order: primary, unique without nullable columns, unique, plain.
    pub indexes: Vec<IndexDef>,
    /// Those of which this table is the child, in the order of their names.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// In the order of their definition.
    pub checks: Vec<CheckDef>,
    /// The index whose key orders the rows; `None` means a hidden 8-byte row id does.
    pub clustered_by: Option<IndexId>,
    /// The engine's tree with the rows.
    pub tree: u64,
    pub row_format: u8,
    /// `None`: rows have the columns that their key does not give back, in their order.
    pub places: Option<RowPlaces>,
    pub collation: CollationId,
    /// As the user wrote it, in MySQL's spelling ("InnoDB").
    pub engine: String,
    pub comment: String,
    /// Options that are kept for SHOW CREATE TABLE only, e.g. ("ROW_FORMAT", "DYNAMIC").
    pub create_options: Vec<(String, String)>,
    /// The value `AUTO_INCREMENT=` gave, or the counter when the descriptor was last stored: it never starts lower.
    pub auto_increment_start: u64,
    /// How often `ALTER TABLE .. AUTO_INCREMENT=` has set the counter over the same tree: what the tree says of it from
    /// before the last time does not count.
    pub auto_increment_resets: u64,
    /// Seconds since 1970 of CREATE TABLE.
    pub created_at: i64,
    /// Only one session knows it, and it is gone after a restart; not part of the stored form.
    pub temporary: bool,
}

impl TableDef {
    /// The column that `_rowid` is: that of the primary key, else of the first unique index without NULLs, if it is the only
    /// one there and an integer.
    pub fn row_id_column(&self) -> Option<usize> {
        let is_key = |index: &&IndexDef| {
            let parts = || index.parts.iter();
            index.kind == IndexKind::Primary
                || (index.is_unique() && parts().all(|part| !self.columns[part.column].column_type.nullable))
        };
        let mut keys = self.indexes.iter().filter(is_key);
        let primary = self.indexes.iter().find(|index| index.kind == IndexKind::Primary);
        match primary.or_else(|| keys.next())?.parts.as_slice() {
            [part] if self.columns[part.column].column_type.kind.is_integer() => Some(part.column),
            _ => None,
        }
    }

    /// A table without indexes; the caller fills in the rest and calls `arrange_indexes`.
    pub fn new(id: TableId, database: impl Into<String>, name: impl Into<String>) -> TableDef {
        TableDef {
            id,
            database: database.into(),
            name: name.into(),
            columns: Vec::new(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            clustered_by: None,
            tree: 0,
            row_format: ROW_FORMAT_CURRENT,
            places: None,
            collation: CollationId::UTF8MB4_0900_AI_CI,
            engine: "InnoDB".to_owned(),
            comment: String::new(),
            create_options: Vec::new(),
            auto_increment_start: 1,
            auto_increment_resets: 0,
            created_at: 0,
            temporary: false,
        }
    }

    /// The row format that observers are shown. Rows are stored in one way, whatever a table asks for.
    pub fn shown_row_format(&self) -> &'static str {
        let option = |name: &str| self.create_options.iter().find(|(option, _)| option == name);
        match option("ROW_FORMAT").map(|(_, format)| format.as_str()) {
            Some("COMPRESSED") => "Compressed",
            Some("COMPACT") => "Compact",
            Some("REDUNDANT") => "Redundant",
            None if option("KEY_BLOCK_SIZE").is_some() => "Compressed",
            _ => "Dynamic",
        }
    }

    /// The remembered options as `information_schema.TABLES` and SHOW TABLE STATUS list them.
    pub fn shown_create_options(&self) -> String {
        const ORDER: &[&str] = &[
            "MAX_ROWS",
            "MIN_ROWS",
            "AVG_ROW_LENGTH",
            "ROW_FORMAT",
            "STATS_SAMPLE_PAGES",
            "STATS_AUTO_RECALC",
            "KEY_BLOCK_SIZE",
            "STATS_PERSISTENT",
            "PACK_KEYS",
            "CHECKSUM",
            "DELAY_KEY_WRITE",
        ];
        let listed = ORDER.iter().filter_map(|name| {
            let (_, value) = self.create_options.iter().find(|(option, _)| option == name)?;
            // MySQL writes one of them in capitals.
            let name = if *name == "KEY_BLOCK_SIZE" { (*name).to_owned() } else { name.to_lowercase() };
            Some(format!("{name}={value}"))
        });
        listed.collect::<Vec<_>>().join(" ")
    }

    /// Position of the column of this name (names ignore case). Hidden columns have no name that anybody can use.
    pub fn column_named(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| !column.hidden && same_name(&column.name, name))
    }

    /// Position of the index of this name (names ignore case).
    pub fn index_named(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| same_name(&index.name, name))
    }

    pub fn index_by_id(&self, id: IndexId) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// The index whose key orders the rows.
    pub fn clustering_index(&self) -> Option<&IndexDef> {
        self.clustered_by.and_then(|id| self.index_by_id(id))
    }

    /// The index has an entry for each element of an array: rows may have several of its entries, or none.
    pub fn is_multi_valued(&self, index: &IndexDef) -> bool {
        index.parts.iter().any(|part| self.columns[part.column].array_of.is_some())
    }

    /// The index through which the rows with certain values of these columns are found.
    pub fn index_led_by(&self, columns: &[usize]) -> Option<usize> {
        self.indexes.iter().position(|index| index.is_led_by(columns) && !self.is_multi_valued(index))
    }

    /// The index by which children find a row of this table: one that makes the columns unique, else any that begins
    /// with them.
    pub fn referenced_index(&self, columns: &[usize]) -> Option<usize> {
        self.indexes.iter().position(|index| index.is_key_of(columns)).or_else(|| self.index_led_by(columns))
    }

    pub fn primary_key(&self) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.kind == IndexKind::Primary)
    }

    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }

    /// Sorts the indexes into MySQL's order: among their like come unique ones over parts of texts behind the others, and then those
    /// over virtual columns; call before `choose_clustering`.
    pub fn arrange_indexes(&mut self) {
        let columns = &self.columns;
        self.indexes.sort_by_key(|index| {
            let rank = match index.kind {
                IndexKind::Primary => 0,
                IndexKind::Unique if index.parts.iter().all(|part| !columns[part.column].nullable()) => 1,
                IndexKind::Unique => 2,
                IndexKind::Plain => 3,
            };
            let is_of_parts = index.kind == IndexKind::Unique && index.has_prefix_parts();
            (rank, is_of_parts, index.parts.iter().any(|part| columns[part.column].is_virtual()))
        });
    }

    /// Whether rows need more than their given values before they are written: generated columns or constraints.
    pub fn has_row_rules(&self) -> bool {
        self.columns.iter().any(|column| column.generated.is_some())
            || self.checks.iter().any(|check| check.enforced)
    }

    /// As InnoDB: the primary key, else the first unique index without nullable or prefix parts, else
    /// nothing (a hidden row id). Sets `clustered_by`; a rebuilt table may choose anew, others must not.
    pub fn choose_clustering(&mut self) {
        let columns = &self.columns;
        self.clustered_by = self
            .indexes
            .iter()
            .find(|index| {
                index.is_unique()
                    && !index.has_prefix_parts()
                    && index.parts.iter().all(|part| !columns[part.column].nullable())
            })
            .map(|index| index.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::IndexPart;
    use datum::ColumnType;

    fn index(id: u32, kind: IndexKind, column: usize) -> IndexDef {
        IndexDef {
            id: IndexId(id),
            name: format!("i{id}"),
            kind,
            parts: vec![IndexPart::column(column)],
            tree: 0,
            invisible: false,
            generated: false,
            comment: String::new(),
        }
    }

    #[test]
    fn the_first_unique_not_null_index_clusters() {
        let mut table = TableDef::new(TableId(1), "d", "t");
        table.columns.push(ColumnDef::new("a", ColumnType::int()));
        table.columns.push(ColumnDef::new("b", ColumnType::int().not_null()));
        table.indexes = vec![
            index(1, IndexKind::Plain, 0),
            index(2, IndexKind::Unique, 0),
            index(3, IndexKind::Unique, 1),
        ];
        table.arrange_indexes();
        table.choose_clustering();
        assert_eq!(table.clustered_by, Some(IndexId(3)));
        assert_eq!(table.indexes.iter().map(|index| index.id.0).collect::<Vec<_>>(), [3, 2, 1]);
        table.indexes.remove(0);
        table.choose_clustering();
        assert_eq!(table.clustered_by, None);
    }

    /// As SHOW CREATE TABLE of MySQL 9.7 has them.
    #[test]
    fn unique_indexes_over_parts_come_behind_their_like() {
        let mut table = TableDef::new(TableId(1), "d", "t");
        for name in ["a", "b"] {
            table
                .columns
                .push(ColumnDef::new(name, ColumnType::varchar(50, collation::CollationId::UTF8MB4_BIN)));
        }
        table.indexes = (1..=4)
            .map(|id| {
                let kind = if id <= 2 { IndexKind::Unique } else { IndexKind::Plain };
                let mut index = index(id, kind, id as usize % 2);
                index.parts[0].prefix_length = (id % 2 == 1).then_some(5);
                index
            })
            .collect();
        table.arrange_indexes();
        assert_eq!(table.indexes.iter().map(|index| index.id.0).collect::<Vec<_>>(), [2, 1, 3, 4]);
    }
}
