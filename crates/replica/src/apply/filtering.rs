//! The channel's filters as they meet events: tables of rows, and statements that come as text.
//!
//! Invariant: a transaction of which nothing is wanted is dealt with all the same: its identifier and its place in the source's file
//! are stored.
use binlog::{Query, RawEvent, TableMap};
use bumpalo::Bump;
use datum::SqlError;
use instance::replication::Filters;
use parser::ast::{DeleteTarget, GrantTarget, ObjectKind, ObjectName, RoutineKind, StatementKind};
use parser::parse_one;

use super::ApplierSession;
use super::applier::{Applier, Stage};
use super::created::created_with_rows;

impl Applier {
    /// Takes a table under its database's name here; false where its rows are not applied.
    pub(super) fn filter_table(&self, map: &mut TableMap) -> bool {
        if let Some(name) = self.filters.renamed(&map.database) {
            map.database = name;
        }
        self.filters.takes_database(&map.database)
            && self.filters.takes_tables([(map.database.as_str(), map.table.as_str())])
    }

    /// Takes a statement under its database's name here; false where it is not applied.
    pub(super) fn filter_statement(&mut self, query: &mut Query, second: u32) -> bool {
        if self.filters.is_empty() {
            return true;
        }
        // Its own settings say how it is read.
        self.session.obey_event(query, second);
        self.session.is_wanted(&self.filters, query)
    }

    /// A statement that is not applied. Outside of a transaction it is one, unless its rows have to come.
    pub(super) async fn pass_statement(&mut self, query: &Query, raw: &RawEvent<'_>) -> Result<(), SqlError> {
        let goes_on = self.stage == Stage::Inside || created_with_rows(&query.sql).is_some();
        self.open();
        match goes_on {
            true => Ok(()),
            false => self.end(raw).await,
        }
    }
}

impl ApplierSession {
    fn is_wanted(&self, filters: &Filters, query: &mut Query) -> bool {
        use StatementKind::*;
        let text = self.to_utf8(&query.sql);
        let arena = Bump::new();
        // What is no statement fails where it is run.
        let Ok(parsed) = parse_one(&text, self.parse_options(false), &arena) else { return true };
        let kind = &parsed.statement.kind;
        let defined = match kind {
            Begin
            | Commit(_)
            | Rollback(_)
            | Savepoint(_)
            | RollbackToSavepoint(_)
            | ReleaseSavepoint(_)
            | Xa(_) => {
                return true;
            }
            CreateDatabase(create) => Some(create.name),
            DropDatabase(drop) => Some(drop.name),
            AlterDatabase(alter) => alter.name,
            _ => None,
        };
        if let Some(defined) = defined {
            // The new names of databases are for what is in them.
            return filters.takes_database(&query.database) && filters.takes_definition_of(defined.name);
        }
        if let Some(name) = filters.renamed(&query.database) {
            query.database = name;
        }
        if !filters.takes_database(&query.database) {
            return false;
        }
        let full = |name: ObjectName<'_>| {
            let database = name.database.map_or(query.database.as_str(), |database| database.name);
            (database.to_owned(), name.name.name.to_owned())
        };
        let names: Vec<(String, String)> = match kind {
            _ if !filters.has_table_rules() => return true,
            DropStored(dropped) if dropped.kind == RoutineKind::Trigger => {
                let (database, name) = full(dropped.name);
                match self.triggers_table(&database, &name) {
                    Some(table) => vec![(database, table)],
                    // It may be one that was left out.
                    None => return dropped.if_exists,
                }
            }
            kind => changed_tables(kind).into_iter().map(full).collect(),
        };
        filters.takes_tables(names.iter().map(|(database, name)| (database.as_str(), name.as_str())))
    }
}

/// The tables that a statement changes, in the order in which it names them.
fn changed_tables<'a>(kind: &StatementKind<'a>) -> Vec<ObjectName<'a>> {
    use StatementKind::*;
    match kind {
        CreateTable(statement) => vec![statement.name],
        AlterTable(statement) => vec![statement.table],
        CreateIndex(statement) => vec![statement.table],
        DropIndex(statement) => vec![statement.table],
        TruncateTable(statement) => vec![statement.table],
        DropTable(statement) | DropView(statement) => statement.tables.to_vec(),
        RenameTable(statement) => statement.renames.iter().flat_map(|one| [one.from, one.to]).collect(),
        CreateView(statement) => vec![statement.name],
        CreateProgram(statement) => statement.trigger.iter().map(|head| head.table).collect(),
        MaintainTable(statement) => statement.tables.to_vec(),
        Grant(statement) => granted_table(Some(statement.target)),
        Revoke(statement) => granted_table(statement.target),
        Insert(statement) => vec![statement.table],
        Update(statement) => statement.single_table().into_iter().map(|table| table.name).collect(),
        Delete(statement) => match statement.target {
            DeleteTarget::Single(table) => vec![table.name],
            DeleteTarget::Multiple { targets, .. } => targets.to_vec(),
        },
        _ => Vec::new(),
    }
}

fn granted_table(target: Option<GrantTarget<'_>>) -> Vec<ObjectName<'_>> {
    match target {
        Some(GrantTarget::Object { kind: ObjectKind::Table, name }) => vec![name],
        _ => Vec::new(),
    }
}
