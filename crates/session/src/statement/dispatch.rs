//! Sends a parsed statement to its family, after the implicit commit that some families begin with.
use std::pin::pin;

use datum::{SqlError, error_code};
use expression::SessionServices;
use parser::Digest;
use parser::ast::{Into, LoadColumn, MaintenanceKind, ObjectName, Query, Statement, StatementKind};

use super::{Done, Request};
use crate::session::Session;
use definition::TableName;
use instance::count;
use session_state::command_counters::counter_of;
use session_state::guard::Shield;
use session_state::sink::ResultSink;

impl Session {
    pub(crate) async fn dispatch(
        &mut self,
        request: Request<'_>,
        digest: Option<Digest>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        use StatementKind::*;
        let kind = &request.statement.kind;
        self.observe_name(session_state::event_name::of_statement(kind));
        if let Some(counter) = counter_of(kind, &self.process.counters) {
            count(counter);
        }
        self.check_password_age(Some(kind))?;
        self.count_for_account(is_update(kind))?;
        self.check_xa(kind)?;
        if may_be_claimed(kind)
            && let Some(done) = self.families.claim(self, request, shield).await?
        {
            return Ok(done);
        }
        self.admit(kind, shield).await?;
        // Boxed are those whose state is large and whose cost is small beside their work: every connection holds
        // room for the largest that is not.
        match *kind {
            // A comment alone is a statement that does nothing.
            Empty if has_comment(request.text) => Ok(Done::ok()),
            Empty => Err(error_code::ER_EMPTY_QUERY.plain()),
            Query(query) if query.into.is_some() => {
                Box::pin(self.select_into(query, request, shield, sink)).await
            }
            Query(_) | Insert(_) | Update(_) | Delete(_) => {
                pin!(self.run_planned(request, digest, shield, sink)).await
            }
            Do(expressions) => self.evaluate_and_drop(expressions, request, shield).await,
            SetTransaction(asked) => self.set_transaction(asked),
            StartTransaction(asked) => self.start_transaction(Some(asked), shield).await,
            Begin => self.start_transaction(None, shield).await,
            Commit(end) => self.commit(end, shield).await,
            Rollback(end) => self.rollback(end, shield).await,
            Savepoint(name) => Ok(self.savepoint(name.name)),
            RollbackToSavepoint(name) => self.rollback_to_savepoint(name.name).await,
            ReleaseSavepoint(name) => self.release_savepoint(name.name),
            Xa(statement) => Box::pin(self.xa(statement, shield)).await,
            Use(name) => {
                self.use_database(name.name)?;
                Ok(Done::ok())
            }
            Call { procedure, arguments } => {
                self.require_no_identifier("CALL")?;
                Box::pin(self.call(procedure, arguments, request, shield, sink)).await
            }
            Signal(signal) => Box::pin(self.signal(signal, request, shield)).await,
            GetDiagnostics(statement) => Box::pin(self.get_diagnostics(statement, request, shield)).await,
            Prepare { name, source } => self.prepare_named(name, source),
            Execute { name, using } => {
                let using: Vec<String> = using.iter().map(|variable| variable.name.to_lowercase()).collect();
                self.execute_named(name.name, &using, shield, sink).await
            }
            Deallocate(name) => self.deallocate(name),
            LockTables(tables) => Box::pin(self.lock_tables(tables)).await,
            UnlockTables => self.commit_and_unlock(shield).await,
            TruncateTable(statement) if self.names_system_table(statement.table) => {
                self.families.carry_out(self, request, shield, sink).await
            }
            _ if is_schema_change(kind) => self.change_schema(request, shield, sink).await,
            _ => self.families.carry_out(self, request, shield, sink).await,
        }
    }

    /// Ends the open transaction where the kind of statement does, and asks whatever may refuse the statement or make it wait.
    async fn admit(&mut self, kind: &StatementKind<'_>, shield: &Shield) -> Result<(), SqlError> {
        if commits_implicitly(kind) {
            self.require_no_owned_transaction()?;
            self.commit_open(shield).await?;
        }
        if is_schema_change(kind) || is_account_statement(kind) {
            self.require_write_access()?;
        }
        self.require_statement(kind)?;
        self.check_locked_change(kind)?;
        self.close_handlers(kind)?;
        self.pass_before(kind).await?;
        self.pass_backup_lock(kind).await
    }

    /// DO: expressions whose values nobody sees.
    async fn evaluate_and_drop(
        &mut self,
        expressions: &[parser::ast::Expr<'_>],
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        self.programs.drops_values = true;
        let values = Box::pin(self.evaluate(expressions, request, shield)).await;
        self.programs.drops_values = false;
        values.map(|_| Done::ok())
    }

    /// UNLOCK TABLES ends the transaction where there were such locks.
    async fn commit_and_unlock(&mut self, shield: &Shield) -> Result<Done, SqlError> {
        if !self.table_locks.is_empty() {
            self.commit_open(shield).await?;
        }
        Ok(self.unlock_tables())
    }

    /// The family's work; tables that LOCK TABLES holds keep their locks under their new names.
    async fn change_schema(
        &mut self,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let changed = self.families.carry_out(self, request, shield, sink).await;
        self.definition_text = None;
        let done = changed?;
        self.move_table_locks(&request.statement.kind).await?;
        Ok(done)
    }

    /// What the lock of all tables and a server that only reads stop, as far as the kind of statement tells.
    async fn pass_before(&mut self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
        use StatementKind::{Delete, Insert, LoadData, MaintainTable, Update};
        match kind {
            kind if needs_passage(kind) => self.pass_to_change().await,
            Insert(_) | Update(_) | Delete(_) | LoadData(_) => self.check_own_read_lock(),
            MaintainTable(maintain) if is_logged(maintain.kind) => self.check_write_protection(),
            _ => Ok(()),
        }
    }

    /// Whether a statement's table is one of the server's own: its TRUNCATE lets a summary or a log begin anew.
    pub fn names_system_table(&self, table: ObjectName<'_>) -> bool {
        let is_virtual =
            |name: TableName| self.instance.virtual_tables.find(&name.database, &name.name).is_some();
        self.table_name(table).is_ok_and(is_virtual)
    }

    /// SELECT .. INTO: a file, or variables that take the values of the only row.
    async fn select_into(
        &mut self,
        query: &Query<'_>,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let targets = match query.into {
            Some(Into::Variables(targets)) => targets,
            Some(_) => return self.families.carry_out(self, request, shield, sink).await,
            None => return Err(error_code::ER_INTERNAL_ERROR.with(&[&"a query without INTO"])),
        };
        let plain = parser::ast::Query { into: None, ..*query };
        let statement = Statement { kind: StatementKind::Query(&plain), ..*request.statement };
        let request = Request { statement: &statement, ..request };
        let mut rows = executor::CollectRows::default();
        let fits = |plan: &plan::Plan| match &plan.kind {
            plan::PlanKind::Query(query) if query.columns.len() == targets.len() => Ok(()),
            _ => Err(error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain()),
        };
        let types = self.run_nested(request, fits, shield, &mut rows).await?;
        self.end_statement_transaction(shield).await?;
        let has_more = rows.rows.len() > 1;
        rows.rows.truncate(1);
        let Some(row) = rows.rows.pop() else {
            self.shared.warning(error_code::ER_SP_FETCH_NO_DATA.plain());
            return Ok(Done::ok());
        };
        for ((target, value), column_type) in targets.iter().zip(row).zip(types) {
            match target {
                LoadColumn::UserVariable(name) => {
                    self.shared.set_user_variable(&name.name.to_lowercase(), value, column_type)?;
                }
                LoadColumn::Column(column) => {
                    return Err(ER_SP_UNDECLARED_VAR.with(&[&column.name]));
                }
                LoadColumn::Local(_) => {
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&"stored programs"]));
                }
            }
        }
        if has_more {
            return Err(error_code::ER_TOO_MANY_ROWS.plain());
        }
        Ok(Done::affected(1))
    }
}

const ER_SP_UNDECLARED_VAR: datum::ErrorCode =
    datum::ErrorCode::new(1327, "42000", "Undeclared variable: %s");

/// What may name a system table whose rows stand for something else.
fn may_be_claimed(kind: &StatementKind<'_>) -> bool {
    use StatementKind::{AlterTable, CreateTable, Delete, DropTable, Insert, LockTables, Update};
    matches!(
        kind,
        Insert(_) | Update(_) | Delete(_) | DropTable(_) | CreateTable(_) | AlterTable(_) | LockTables(_)
    )
}

/// Changes of definitions and accounts stop at the lock of all tables.
/// Queries and changes of rows do when their plan tells what they use.
fn needs_passage(kind: &StatementKind<'_>) -> bool {
    match kind {
        StatementKind::CreateTable(statement) => !statement.temporary,
        StatementKind::DropTable(statement) => !statement.temporary,
        kind => is_schema_change(kind) || is_account_statement(kind),
    }
}

/// Table maintenance that counts as a change, though it waits for no lock of all tables.
fn is_logged(kind: MaintenanceKind) -> bool {
    matches!(kind, MaintenanceKind::Analyze | MaintenanceKind::Optimize | MaintenanceKind::Repair)
}

/// Statements that end the open transaction before they begin (MySQL manual, "Statements That Cause an Implicit
/// Commit").
pub(super) fn commits_implicitly(kind: &StatementKind<'_>) -> bool {
    match kind {
        StatementKind::LockTables(_)
        | StatementKind::Flush(_)
        | StatementKind::ResetBinaryLogs(_)
        | StatementKind::RestoreTable(_) => true,
        StatementKind::CreateTable(statement) => !statement.temporary,
        StatementKind::DropTable(statement) => !statement.temporary,
        StatementKind::MaintainTable(maintain) => maintain.kind != MaintenanceKind::Checksum,
        kind => is_schema_change(kind) || is_account_statement(kind),
    }
}

/// What MAX_UPDATES_PER_HOUR counts.
fn is_update(kind: &StatementKind<'_>) -> bool {
    use StatementKind::{Delete, Insert, Update};
    matches!(kind, Insert(_) | Update(_) | Delete(_)) || is_schema_change(kind) || is_account_statement(kind)
}

/// CREATE, ALTER, DROP and their kin: what changes definitions.
pub fn is_schema_change(kind: &StatementKind<'_>) -> bool {
    use StatementKind::*;
    matches!(
        kind,
        CreateTable(_)
            | AlterTable(_)
            | DropTable(_)
            | RenameTable(_)
            | TruncateTable(_)
            | CreateIndex(_)
            | DropIndex(_)
            | CreateDatabase(_)
            | AlterDatabase(_)
            | DropDatabase(_)
            | CreateView(_)
            | DropView(_)
            | CreateProgram(_)
            | AlterRoutine(_)
            | AlterEvent(_)
            | DropStored(_)
    )
}

/// CREATE USER, GRANT and their kin: what changes accounts.
pub fn is_account_statement(kind: &StatementKind<'_>) -> bool {
    use StatementKind::*;
    matches!(
        kind,
        CreateUser(_)
            | AlterUser(_)
            | DropUser(_)
            | RenameUser(_)
            | Grant(_)
            | Revoke(_)
            | SetPassword(_)
            | CreateRole(_)
            | DropRole(_)
            | GrantRole(_)
            | RevokeRole(_)
            | SetDefaultRole(_)
    )
}

/// Whether a text without a statement has more than spaces and its end.
fn has_comment(text: &[u8]) -> bool {
    text.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';' && *byte != 0)
}
