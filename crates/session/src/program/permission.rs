//! What programs may be created, changed and called, also inside of a statement.
use auth::{Privilege, PrivilegeSet};
use datum::{ErrorCode, SqlError, error_code};
use parser::ast::CreateProgram;
use program::Program;
use schema::{ProgramAccess, ProgramDef, ProgramKind};

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

    /// Error 1418: what is logged has to do the same on a replica, and a function has to say that it does.
    pub(super) fn require_safe_function(&self, definition: &ProgramDef) -> Result<(), SqlError> {
        let only_reads = matches!(definition.access, ProgramAccess::NoSql | ProgramAccess::ReadsSqlData);
        match definition.is_deterministic || only_reads || self.trusts_creators() {
            true => Ok(()),
            false => Err(ER_BINLOG_UNSAFE_ROUTINE.plain()),
        }
    }

    /// Error 1419 for who makes a function or trigger without SUPER while a binary log is written.
    pub(super) fn require_trusted_creator(&self) -> Result<(), SqlError> {
        match self.privileges.has_super_or(&[]) || self.trusts_creators() {
            true => Ok(()),
            false => Err(ER_BINLOG_CREATE_ROUTINE_NEED_SUPER.plain()),
        }
    }

    fn trusts_creators(&self) -> bool {
        let trusted = self.instance.globals.by_name("log_bin_trust_function_creators");
        self.instance.binary_log().is_none() || trusted.as_boolean()
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

const ER_BINLOG_UNSAFE_ROUTINE: ErrorCode = ErrorCode::new(
    1418,
    "HY000",
    "This function has none of DETERMINISTIC, NO SQL, or READS SQL DATA in its declaration and binary logging is enabled (you *might* want to use the less safe log_bin_trust_function_creators variable)",
);
const ER_BINLOG_CREATE_ROUTINE_NEED_SUPER: ErrorCode = ErrorCode::new(
    1419,
    "HY000",
    "You do not have the SUPER privilege and binary logging is enabled (you *might* want to use the less safe log_bin_trust_function_creators variable)",
);
