//! Triggers as definitions: which table, in which order, and what happens to them when the table does.
use catalog::SchemaChange;
use datum::{SqlError, error_code};
use definition::TableName;
use parser::ast::{ObjectName, TriggerHead};
use schema::{ProgramDef, TriggerDef, TriggerEvent};

use crate::caller::Caller;

pub(super) fn trigger_of(head: &TriggerHead<'_>) -> TriggerDef {
    TriggerDef {
        table: head.table.name.name.to_owned(),
        is_before: head.is_before,
        event: match head.event {
            parser::ast::TriggerEvent::Insert => TriggerEvent::Insert,
            parser::ast::TriggerEvent::Update => TriggerEvent::Update,
            parser::ast::TriggerEvent::Delete => TriggerEvent::Delete,
        },
        order: 0,
    }
}

impl Caller<'_> {
    /// The table of a trigger in a database; it must be a stored one of the same database.
    pub(super) fn trigger_table(&self, table: ObjectName<'_>, database: &str) -> Result<TableName, SqlError> {
        let name = match table.database {
            Some(_) => self.table_name(table)?,
            None => TableName { database: database.to_owned(), name: table.name.name.to_owned() },
        };
        if name.database != database {
            return Err(error_code::ER_TRG_IN_WRONG_SCHEMA.plain());
        }
        if self.instance().virtual_tables.find(&name.database, &name.name).is_some() {
            return Err(ER_NO_TRIGGERS_ON_SYSTEM_SCHEMA.plain());
        }
        if self.has_temporary(&name) {
            return Err(error_code::ER_TRG_ON_VIEW_OR_TEMP_TABLE.with(&[&name.name]));
        }
        self.instance().catalog().require_table(&name.database, &name.name)?;
        Ok(name)
    }

    /// Stores a trigger at its place among those of its sort, and has plans of the table made anew.
    pub(super) async fn put_trigger(
        &mut self,
        change: &mut SchemaChange,
        head: &TriggerHead<'_>,
        mut definition: ProgramDef,
    ) -> Result<(), SqlError> {
        let Some(trigger) = &mut definition.trigger else { return Ok(()) };
        let catalog = self.instance().catalog().clone();
        let table = catalog.require_table(&definition.database, &trigger.table)?;
        let same_sort =
            |other: &TriggerDef| other.is_before == trigger.is_before && other.event == trigger.event;
        let mut others = catalog.triggers(&definition.database, &trigger.table);
        others.retain(|program| program.definition.trigger.as_ref().is_some_and(same_sort));
        let place = match &head.order {
            None => others.len(),
            Some(order) => {
                let found = others.iter().position(|program| program.definition.name == order.other.name);
                let absent = || ER_REFERENCED_TRG_DOES_NOT_EXIST.with(&[&order.other.name]);
                found.ok_or_else(absent)? + usize::from(order.follows)
            }
        };
        trigger.order = place as u32 + 1;
        for (number, other) in others.iter().enumerate() {
            let order = if number < place { number + 1 } else { number + 2 } as u32;
            let mut moved = other.definition.clone();
            if let Some(trigger) = &mut moved.trigger
                && trigger.order != order
            {
                trigger.order = order;
                change.put_program(moved).await?;
            }
        }
        change.put_program(definition).await?;
        change.renew_table(&table).await
    }

    /// The triggers go with their table.
    pub async fn drop_triggers_of(
        &self,
        change: &mut SchemaChange,
        table: &TableName,
    ) -> Result<(), SqlError> {
        for program in self.instance().catalog().triggers(&table.database, &table.name) {
            change.remove_program(&program).await?;
        }
        Ok(())
    }

    /// The triggers follow their table, within its database.
    pub async fn move_triggers(
        &self,
        change: &mut SchemaChange,
        from: &TableName,
        to: &TableName,
    ) -> Result<(), SqlError> {
        for program in self.instance().catalog().triggers(&from.database, &from.name) {
            if from.database != to.database {
                return Err(error_code::ER_TRG_IN_WRONG_SCHEMA.plain());
            }
            let mut moved = program.definition.clone();
            if let Some(trigger) = &mut moved.trigger {
                trigger.table.clone_from(&to.name);
            }
            change.put_program(moved).await?;
        }
        Ok(())
    }
}

const ER_NO_TRIGGERS_ON_SYSTEM_SCHEMA: datum::ErrorCode =
    datum::ErrorCode::new(1465, "HY000", "Triggers can not be created on system tables");
const ER_REFERENCED_TRG_DOES_NOT_EXIST: datum::ErrorCode = datum::ErrorCode::new(
    3011,
    "HY000",
    "Referenced trigger '%s' for the given action time and event type does not exist.",
);
