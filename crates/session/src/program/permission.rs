//! Which programs may be called and seen, also inside of a statement.
use auth::{Privilege, PrivilegeSet};
use datum::{SqlError, error_code};
use instance::SharedProgram;
use program::Program;
use schema::ProgramKind;

use crate::session::Session;

impl Session {
    /// Error 1370.
    pub fn require_routine(
        &self,
        privilege: Privilege,
        kind: ProgramKind,
        database: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        if self.privileges.is_full() || self.routine_rights(kind, database, name).has(privilege.into()) {
            return Ok(());
        }
        let command = privilege.name().to_lowercase();
        let account = self.privileges.account_name();
        let (user, host) = (&account.user, account.host.as_str());
        let full = format!("{database}.{name}");
        Err(error_code::ER_PROCACCESS_DENIED_ERROR.with(&[&command, user, &host, &full]))
    }

    /// Error 1142 or 1143 unless the trigger's definer may have triggers on its table, and read and change the columns that
    /// it names of the changed row.
    pub(super) fn require_trigger(&self, shared: &SharedProgram) -> Result<(), SqlError> {
        let Some(table) = &shared.table else { return Ok(()) };
        if self.privileges.is_full() {
            return Ok(());
        }
        let access = self.privileges.access();
        let (database, name) = (shared.live.definition.database.as_str(), table.name.as_str());
        let of_table = access.table(database, name);
        if !of_table.has(Privilege::Trigger.into()) {
            return Err(self.table_denied(Privilege::Trigger.name(), name));
        }
        let columns = shared.program.row_columns.iter().zip(&shared.row_positions);
        let read = columns.clone().filter(|(column, _)| column.is_read);
        let assigned = columns.filter(|(column, _)| column.is_assigned);
        let asked = read.map(|(_, at)| (*at, Privilege::Select));
        // A value is read before it is given.
        for (position, privilege) in asked.chain(assigned.map(|(_, at)| (*at, Privilege::Update))) {
            let column = &table.columns[position].name;
            let held = of_table | access.column(database, name, column);
            if !held.has(privilege.into()) {
                return Err(self.column_denied(privilege.name(), column, name));
            }
        }
        Ok(())
    }

    fn routine_rights(&self, kind: ProgramKind, database: &str, name: &str) -> PrivilegeSet {
        let kind = match kind {
            ProgramKind::Function => auth::RoutineKind::Function,
            _ => auth::RoutineKind::Procedure,
        };
        self.privileges.access().routine(kind, database, name)
    }

    /// How much of a program the session may see.
    pub fn sight_of(&self, definition: &schema::ProgramDef) -> catalog::ProgramSight {
        (self.make_viewer().program_sight)(definition)
    }

    /// Whether what runs inside of a statement may call the procedure.
    pub(super) fn permit_call(&self, program: &Program) -> Result<(), SqlError> {
        let barred = program.barred_inside.filter(|_| self.programs.is_inside_statement());
        let Some(barred) = barred else { return Ok(()) };
        let (errno, message) = barred.refusal(self.programs.inside_what());
        let sqlstate = if matches!(errno, 1336 | 1415) { b"0A000" } else { b"HY000" };
        Err(SqlError { errno, sqlstate: *sqlstate, message })
    }
}
