//! Which programs may be created and changed.
use auth::Privilege;
use datum::{ErrorCode, SqlError};
use parser::ast::CreateProgram;
use schema::{ProgramAccess, ProgramDef, ProgramKind};
use session::program_kind;

use crate::caller::Caller;

impl Caller<'_> {
    pub(super) fn require_create_program(
        &self,
        create: &CreateProgram<'_>,
        database: &str,
    ) -> Result<(), SqlError> {
        match program_kind(create.kind) {
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
        match self.privileges().has_super_or(&[]) || self.trusts_creators() {
            true => Ok(()),
            false => Err(ER_BINLOG_CREATE_ROUTINE_NEED_SUPER.plain()),
        }
    }

    fn trusts_creators(&self) -> bool {
        let trusted = self.instance().globals.by_name("log_bin_trust_function_creators");
        self.instance().binary_log().is_none() || trusted.as_boolean()
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
