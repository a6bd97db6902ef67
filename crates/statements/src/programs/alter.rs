//! ALTER PROCEDURE and ALTER FUNCTION.
use catalog::{LockMode, LockName};
use datum::{SqlError, error_code};
use parser::ast::{AlterRoutine, SqlSecurity};

use schema::ProgramKind;

use crate::caller::Caller;
use session::program_kind;
use session::{Done, Shield};

impl Caller<'_> {
    /// ALTER PROCEDURE and ALTER FUNCTION.
    pub async fn alter_routine(
        &mut self,
        statement: &AlterRoutine<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let kind = program_kind(statement.kind);
        let (database, name) = self.program_name(statement.name)?;
        self.require_alter_program(kind, &database, &name)?;
        let locks = vec![
            (LockName::Database(database.as_str().into()), LockMode::Shared),
            (session::Session::program_lock(kind, &database, &name), LockMode::Exclusive),
        ];
        let _locks = self.lock_for_change(locks).await?;
        let full = format!("{database}.{name}");
        let program = self.instance().catalog().program(kind, &database, &name);
        let program = program.ok_or_else(|| error_code::ER_SP_DOES_NOT_EXIST.with(&[&kind.word(), &full]))?;
        let mut changed = program.definition.clone();
        let asked = &statement.characteristics;
        if let Some(comment) = asked.comment {
            comment.clone_into(&mut changed.comment);
        }
        if let Some(access) = asked.access {
            changed.access = super::definition::access_of(access);
        }
        if kind == ProgramKind::Function {
            self.require_safe_function(&changed)?;
        }
        if let Some(security) = asked.security {
            changed.as_invoker = security == SqlSecurity::Invoker;
        }
        changed.altered_us = self.now_utc_micros();
        let mut change = self.instance().catalog().begin_change();
        change.put_program(changed).await?;
        self.commit_change(change, shield).await?;
        self.instance().programs.forget(program.id);
        Ok(Done::ok())
    }
}
