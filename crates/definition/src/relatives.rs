//! Which other tables a statement has to lock because foreign keys join them to its own.
use std::collections::BTreeSet;

use parser::ast::{AlterSpecification as Spec, ColumnAttribute, ColumnDefinition, ObjectName, TableElement};

use super::foreign_key_check::ForeignKeys;
use super::table_name::TableName;

impl ForeignKeys<'_> {
    /// The tables that foreign keys join to one of this name, which need not exist.
    pub fn relatives(&self, name: &TableName) -> BTreeSet<TableName> {
        let mut relatives = self.children(name);
        if let Some(table) = self.catalog.table(&name.database, &name.name) {
            relatives.extend(table.definition().foreign_keys.iter().map(TableName::parent_of));
        }
        relatives
    }

    fn children(&self, name: &TableName) -> BTreeSet<TableName> {
        let children = self.catalog.children_of(&name.database, &name.name).into_iter();
        children.map(|(child, _)| TableName::of(child.definition())).collect()
    }

    /// The tables that an ALTER TABLE has to have for itself beside its own: its children, since their statements work
    /// with its definition though they may not name it (MySQL waits even for those that have only read a child), and
    /// the parents too if the relation may change.
    pub fn altered_relatives(&self, name: &TableName, specifications: &[Spec<'_>]) -> BTreeSet<TableName> {
        let mut relatives = self.children(name);
        let mut changes = false;
        for specification in specifications {
            match specification {
                Spec::AddForeignKey(key) => {
                    relatives.insert(referenced_name(&name.database, key.references.table));
                }
                Spec::AddElements(elements) => {
                    relatives.extend(referenced_by(&name.database, elements));
                }
                Spec::AddColumn { column, .. } => {
                    relatives.extend(column_parents(&name.database, column));
                }
                Spec::ChangeColumn { .. }
                | Spec::DropForeignKey(_)
                | Spec::DropConstraint(_)
                | Spec::RenameColumn { .. } => changes = true,
                Spec::RenameTable(to) => {
                    changes = true;
                    relatives.extend(self.definer.table_name(*to).iter().flat_map(|to| self.relatives(to)));
                }
                _ => {}
            }
        }
        if changes {
            relatives.extend(self.relatives(name));
        }
        relatives
    }
}

/// The tables that elements of CREATE or ALTER TABLE reference.
pub fn referenced_by(database: &str, elements: &[TableElement<'_>]) -> BTreeSet<TableName> {
    let mut parents = BTreeSet::new();
    for element in elements {
        match element {
            TableElement::ForeignKey(key) => {
                parents.insert(referenced_name(database, key.references.table));
            }
            TableElement::Column(column) => parents.extend(column_parents(database, column)),
            TableElement::Index(_) | TableElement::Check(_) => {}
        }
    }
    parents
}

fn referenced_name(database: &str, name: ObjectName<'_>) -> TableName {
    let database = name.database.map_or(database, |database| database.name);
    TableName { database: database.to_owned(), name: name.name.name.to_owned() }
}

fn column_parents<'a>(
    database: &'a str,
    column: &'a ColumnDefinition<'_>,
) -> impl Iterator<Item = TableName> + 'a {
    column.attributes.iter().filter_map(move |attribute| match attribute {
        ColumnAttribute::References(references) => Some(referenced_name(database, references.table)),
        _ => None,
    })
}
