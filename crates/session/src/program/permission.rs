//! What programs may be created, changed and called, also inside of a statement.
use auth::{Privilege, PrivilegeSet};
use datum::{SqlError, error_code};
use parser::ast::CreateProgram;
use program::Program;
use schema::ProgramKind;

use crate::session::Session;

impl Session {
    pub(super) fn require_create_program(
        &self,
        create: &CreateProgram<'_>,
        database: &str,
    ) -> Result<(), SqlError> {
        match super::made::kind_of(create.kind) {
            ProgramKind::Procedure | ProgramKind::Function => {
                self.require_database(Privilege::CreateRoutine, database)
            }
            ProgramKind::Event => self.require_database(Privilege::Event, database),
            ProgramKind::Trigger => {
                let table = create.trigger.map(|head| head.table.name.name).unwrap_or_default();
                self.require_table(Privilege::Trigger.into(), database, table)
            }
        }
    }

    pub(super) fn require_alter_program(
        &self,
        kind: ProgramKind,
        database: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        match kind {
            ProgramKind::Event => self.require_database(Privilege::Event, database),
            _ => self.require_routine(Privilege::AlterRoutine, kind, database, name),
        }
    }

    /// Error 1370.
    pub(crate) fn require_routine(
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

    fn routine_rights(&self, kind: ProgramKind, database: &str, name: &str) -> PrivilegeSet {
        let kind = match kind {
            ProgramKind::Function => auth::RoutineKind::Function,
            _ => auth::RoutineKind::Procedure,
        };
        self.privileges.access().routine(kind, database, name)
    }

    /// How much of a program the session may see.
    pub(crate) fn sight_of(&self, definition: &schema::ProgramDef) -> catalog::ProgramSight {
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
