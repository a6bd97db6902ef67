//! Statements that administer a server and show what it has, as MySQL's manual groups them: accounts, SET, SHOW, the control
//! of replication, FLUSH, KILL, backups, and the import of another server's privilege tables.
//!
//! The program hands [`Administration`] to each session (decision 0064). `session` has counted the statement by then, checked
//! the privileges that its kind needs, and committed what it commits implicitly. A folder for each family; each asks the
//! session through `Caller`.
#![forbid(unsafe_code)]

mod accounts;
mod caller;
mod import;
mod operation;
mod replication;
mod settings;
mod show;

use datum::{SqlError, error_code};
use instance::StopKind;
use parser::ast::{ExplainTarget, StatementKind};
use session::{Done, Families, FamilyFuture, Request, ResultSink, Session, Shield};

use caller::Caller;

/// The families of this crate.
pub struct Administration;

impl Families for Administration {
    fn claim<'a>(
        &'static self,
        session: &'a mut Session,
        request: Request<'a>,
        shield: &'a Shield,
    ) -> FamilyFuture<'a, Option<Done>> {
        Box::pin(async move {
            let mut caller = Caller(session);
            let kind = &request.statement.kind;
            if let Some(done) = caller.import_statement(kind, request, shield).await? {
                return Ok(Some(done));
            }
            match kind {
                StatementKind::Update(update) => caller.update_setup(update, request, shield).await,
                StatementKind::Insert(insert) => caller.insert_setup(insert, request, shield).await,
                StatementKind::Delete(delete) => caller.delete_setup(delete, request).await,
                _ => Ok(None),
            }
        })
    }

    fn carry_out<'a>(
        &'static self,
        session: &'a mut Session,
        request: Request<'a>,
        shield: &'a Shield,
        sink: &'a mut dyn ResultSink,
    ) -> FamilyFuture<'a, Done> {
        match request.statement.kind {
            // The most frequent one, whose state is small beside that of the others.
            StatementKind::Set(statement) => {
                Box::pin(async move { Caller(session).set(statement, request, shield).await })
            }
            _ => Box::pin(async move { Caller(session).carry_out(request, shield, sink).await }),
        }
    }
}

impl Caller<'_> {
    async fn carry_out(
        &mut self,
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        use StatementKind::*;
        let kind = &request.statement.kind;
        match *kind {
            SetRole(role) => self.set_role(role),
            Show(show) => self.show(show, request, shield).await,
            Explain(explain) => match explain.target {
                ExplainTarget::Table { table, column } => self.describe(table, column, request, shield).await,
                _ => Err(unsupported(kind)),
            },
            Kill(kill) => self.kill_statement(kill, request, shield).await,
            Flush(flush) => self.flush(flush).await,
            PurgeBinaryLogs(purge) => self.purge_binary_logs(purge, request, shield).await,
            ResetBinaryLogs(first) => self.reset_binary_logs(first, shield).await,
            ChangeReplicationSource(change) => self.change_source(change, request, shield).await,
            ChangeReplicationFilter(change) => self.change_filter(change),
            ReplicaControl(control) => self.control_replica(control, request, shield).await,
            CloneLocal(directory) => self.clone_local(directory, shield).await,
            BackupInstance { base, bytes_per_second } => {
                self.backup_instance(base, bytes_per_second, sink).await
            }
            Shutdown => self.shut_down(StopKind::Shutdown),
            Restart => self.shut_down(StopKind::Restart),
            LockInstance => self.lock_instance().await,
            UnlockInstance => self.unlock_instance(),
            ResetPersist { name, if_exists } => {
                let name = name.map(|name| name.name);
                self.reset_persist(name, if_exists, shield).await
            }
            Help(topic) => Ok(operation::help::help(topic)),
            AlterInstance(action) => self.alter_instance(action).await,
            RestoreTable(restore) => self.restore_table(restore).await,
            TruncateTable(statement) => self.truncate_system_table(statement.table),
            _ if session::is_account_statement(kind) => self.account_statement(request, shield).await,
            _ => Err(unsupported(kind)),
        }
    }
}

fn unsupported(kind: &StatementKind<'_>) -> SqlError {
    let what = match kind {
        StatementKind::Unsupported(statement) => statement.family,
        _ => "this statement",
    };
    error_code::ER_NOT_SUPPORTED_YET.with(&[&what])
}
