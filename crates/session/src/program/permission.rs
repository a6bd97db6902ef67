//! What programs may be created, changed and called, and what may stand inside of them.
use auth::{Privilege, PrivilegeSet};
use datum::{SqlError, error_code};
use parser::ast::{CreateProgram, Into, StatementKind};
use schema::ProgramKind;

use crate::session::Session;
use crate::statement::commits_implicitly;

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

    /// What a program inside of a statement may not do, when it is met in a procedure that one calls.
    pub(super) fn permit_inside(&self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
        if !self.programs.is_inside_statement() {
            return Ok(());
        }
        let returns_rows = match kind {
            StatementKind::Query(query) => !matches!(query.into, Some(Into::Variables(_))),
            StatementKind::Show(_) | StatementKind::Explain(_) | StatementKind::MaintainTable(_) => true,
            _ => false,
        };
        if returns_rows {
            return Err(error_code::ER_SP_NO_RETSET.with(&[&self.programs.inside_what()]));
        }
        if let StatementKind::Set(set) = kind
            && set.sets("autocommit")
        {
            return Err(ER_SP_CANT_SET_AUTOCOMMIT.plain());
        }
        let is_dynamic = matches!(
            kind,
            StatementKind::Prepare { .. } | StatementKind::Execute { .. } | StatementKind::Deallocate(_)
        );
        if is_dynamic {
            return Err(error_code::ER_STMT_NOT_ALLOWED_IN_SF_OR_TRG.with(&[&"Dynamic SQL"]));
        }
        let commits = commits_implicitly(kind)
            || matches!(
                kind,
                StatementKind::Commit(_)
                    | StatementKind::Rollback(_)
                    | StatementKind::Begin
                    | StatementKind::StartTransaction(_)
                    | StatementKind::Xa(_)
            );
        if commits {
            return Err(error_code::ER_COMMIT_NOT_ALLOWED_IN_SF_OR_TRG.plain());
        }
        Ok(())
    }
}

const ER_SP_CANT_SET_AUTOCOMMIT: datum::ErrorCode =
    datum::ErrorCode::new(1445, "HY000", "Not allowed to set autocommit from a stored function or trigger");
