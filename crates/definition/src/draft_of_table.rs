//! A table that is there as a draft, which a change begins with.
use collation::CollationId;
use schema::{CheckDef, ColumnDef, IndexDef, TableDef, TableId};

use super::check::last_number;
use super::draft::{CheckDraft, ColumnDraft, ColumnSource, IndexDraft, PartDraft, TableDraft};
use super::foreign_key::{foreign_key_draft, last_generated_number};

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
