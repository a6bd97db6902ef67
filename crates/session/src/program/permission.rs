//! Which programs may be called and seen, also inside of a statement.
use auth::{Privilege, PrivilegeSet};
use datum::{SqlError, error_code};
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
