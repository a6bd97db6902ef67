//! XA START, END, PREPARE, COMMIT, ROLLBACK and RECOVER, and what an XA transaction keeps other statements from.
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | ACTIVE | XA START | XA END |
//! | IDLE | XA END | XA PREPARE, XA COMMIT ONE PHASE, XA ROLLBACK, XA START RESUME |
//! | PREPARED | XA PREPARE, if `xa_detach_on_prepare` is off | XA COMMIT, XA ROLLBACK, the session's end |
//! | ROLLBACK ONLY | a deadlock or the like | XA ROLLBACK, XA COMMIT (which fails) |
//!
//! With `xa_detach_on_prepare`, the default, XA PREPARE takes the transaction from the session: any may decide it.
use auth::DynamicPrivilege;
use datum::{SqlError, Value, error_code};
use parser::ast::{Show, StatementKind, XaStatement};

use crate::session::Session;
use crate::statement::Done;
use instance::Xid;
use session_state::guard::Shield;
use session_state::result::{MadeColumn, MadeRows};
use session_state::transaction_control::transaction_error;
use session_state::xa::{XaBranch, XaFailure, XaState, wrong_state};

impl Session {
    pub(in crate::statement) async fn xa(
        &mut self,
        statement: XaStatement<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        match statement {
            XaStatement::Start { xid, join, resume } => self.xa_start(Xid::of(&xid), join, resume),
            XaStatement::End { xid, suspend, .. } => self.xa_end(&Xid::of(&xid), suspend),
            XaStatement::Prepare(xid) => self.xa_prepare(&Xid::of(&xid), shield).await,
            XaStatement::Commit { xid, one_phase } => self.xa_commit(&Xid::of(&xid), one_phase, shield).await,
            XaStatement::Rollback(xid) => self.xa_rollback(&Xid::of(&xid), shield).await,
            XaStatement::Recover { convert } => self.xa_recover(convert),
        }
    }

    fn xa_start(&mut self, xid: Xid, join: bool, resume: bool) -> Result<Done, SqlError> {
        match &mut self.xa {
            Some(branch) if branch.state == XaState::Idle && resume => {
                if *branch.xid() != xid {
                    return Err(error_code::ER_XAER_NOTA.plain());
                }
                branch.state = XaState::Active;
                return Ok(Done::ok());
            }
            _ if join || resume => return Err(error_code::ER_XAER_INVAL.plain()),
            Some(branch) => return Err(wrong_state(Some(branch))),
            None if self.transaction.is_open() || !self.table_locks.is_empty() => {
                return Err(error_code::ER_XAER_OUTSIDE.plain());
            }
            None => {}
        }
        let claim = self.instance.xa.begin(xid, self.process.id);
        let claim = claim.ok_or_else(|| error_code::ER_XAER_DUPID.plain())?;
        let engine = self.instance.engine().clone();
        self.transaction.begin(&engine, self.settings.isolation, self.settings.access, true);
        self.xa = Some(XaBranch { claim, state: XaState::Active, failure: None });
        Ok(Done::ok())
    }

    fn xa_end(&mut self, xid: &Xid, suspend: bool) -> Result<Done, SqlError> {
        if suspend {
            return Err(error_code::ER_XAER_INVAL.plain());
        }
        match &mut self.xa {
            Some(branch) if matches!(branch.state, XaState::Active | XaState::RollbackOnly) => {
                if branch.xid() != xid {
                    return Err(error_code::ER_XAER_NOTA.plain());
                }
                branch.require_alive()?;
                branch.state = XaState::Idle;
                Ok(Done::ok())
            }
            other => Err(wrong_state(other.as_ref())),
        }
    }

    async fn xa_prepare(&mut self, xid: &Xid, shield: &Shield) -> Result<Done, SqlError> {
        let branch = match self.xa.take() {
            Some(branch) if branch.state == XaState::Idle && branch.xid() == xid => branch,
            other => {
                let is_idle = other.as_ref().is_some_and(|branch| branch.state == XaState::Idle);
                self.xa = other;
                return Err(if is_idle {
                    error_code::ER_XAER_NOTA.plain()
                } else {
                    wrong_state(self.xa.as_ref())
                });
            }
        };
        // An error or KILL from here on ends the branch, and rolls it back.
        self.commit_is_due = true;
        let _passage = match self.transaction.has_changes() {
            true => Some(self.pass_to_decide().await?),
            false => None,
        };
        self.commit_is_due = false;
        let id = self.transaction.current.as_ref().and_then(engine::Transaction::id);
        let owner = self.instance.xa.lock_owner(id);
        shield.raise();
        let is_logged = self.log_branch(xid, false);
        let prepared = self.transaction.prepare(&xid.encode(is_logged), owner).await;
        shield.lower();
        let is_kept = !self.variables.by_name("xa_detach_on_prepare").as_boolean();
        branch.claim.prepared(prepared.map_err(transaction_error)?, is_kept);
        if is_kept {
            self.xa = Some(XaBranch { state: XaState::Prepared, ..branch });
        }
        Ok(Done::ok())
    }

    async fn xa_commit(&mut self, xid: &Xid, one_phase: bool, shield: &Shield) -> Result<Done, SqlError> {
        let Some(branch) = self.xa.as_mut().filter(|branch| branch.xid() == xid) else {
            return self.decide(xid, true, shield).await;
        };
        if let Err(error) = branch.require_alive() {
            self.undo_branch(shield).await?;
            return Err(error);
        }
        match (branch.state, one_phase) {
            (XaState::Idle, true) => {
                let _branch = self.xa.take();
                self.log_branch(xid, true);
                self.commit_open(shield).await?;
                Ok(Done::ok())
            }
            (XaState::Prepared, false) => self.decide(xid, true, shield).await,
            _ => Err(wrong_state(self.xa.as_ref())),
        }
    }

    async fn xa_rollback(&mut self, xid: &Xid, shield: &Shield) -> Result<Done, SqlError> {
        let Some(branch) = self.xa.as_mut().filter(|branch| branch.xid() == xid) else {
            return self.decide(xid, false, shield).await;
        };
        match branch.state {
            XaState::Active => match branch.failure {
                None => Err(wrong_state(self.xa.as_ref())),
                Some(_) => self.undo_branch(shield).await,
            },
            XaState::Idle => {
                // Unlike ROLLBACK it waits for who has locked all tables.
                let _passage = match self.transaction.has_changes() {
                    true => Some(self.pass_to_decide().await?),
                    false => None,
                };
                self.undo_branch(shield).await
            }
            XaState::RollbackOnly => self.undo_branch(shield).await,
            XaState::Prepared => self.decide(xid, false, shield).await,
        }
    }

    /// Rolls the session's own branch back and forgets it.
    async fn undo_branch(&mut self, shield: &Shield) -> Result<Done, SqlError> {
        shield.raise();
        let undone = self.transaction.rollback().await.map_err(transaction_error);
        shield.lower();
        self.xa = None;
        undone?;
        Ok(Done::ok())
    }

    /// Commits or rolls back a prepared transaction, whoever has prepared it.
    async fn decide(&mut self, xid: &Xid, commits: bool, shield: &Shield) -> Result<Done, SqlError> {
        let own = self.xa.as_ref();
        let is_own = own.is_some_and(|branch| branch.xid() == xid);
        if own.is_some() && !is_own || self.transaction.is_open() {
            return Err(wrong_state(own));
        }
        let deciding = self.instance.xa.decide(xid, self.process.id);
        let mut deciding = deciding.ok_or_else(|| error_code::ER_XAER_NOTA.plain())?;
        let _passage = self.pass_to_decide().await?;
        if Xid::is_logged(deciding.transaction().xid())
            && let Some(events) = self.decision_event(xid, commits)
        {
            deciding.transaction().set_events(events);
        }
        shield.raise();
        let decided = match commits {
            true => deciding.transaction().commit().await,
            false => deciding.transaction().rollback().await,
        };
        shield.lower();
        match decided {
            Ok(()) => {
                deciding.end();
                if is_own {
                    self.xa = None;
                }
                Ok(Done::ok())
            }
            Err(error) => {
                if !commits {
                    // It is no longer prepared; its rollback goes on in the background.
                    deciding.end();
                    self.xa = None;
                }
                Err(transaction_error(error))
            }
        }
    }

    fn xa_recover(&self, convert: bool) -> Result<Done, SqlError> {
        if !self.privileges.has_dynamic(DynamicPrivilege::XaRecoverAdmin) {
            return Err(error_code::ER_XAER_RMERR.plain());
        }
        let mut rows = MadeRows::new(&[
            MadeColumn::Number("formatID"),
            MadeColumn::Number("gtrid_length"),
            MadeColumn::Number("bqual_length"),
            MadeColumn::Text("data", 258),
        ]);
        for xid in self.instance.xa.prepared() {
            let data = if convert { Value::bytes(xid.hexadecimal()) } else { Value::bytes(xid.data()) };
            rows.push(vec![
                Value::UInt(xid.format),
                Value::UInt(xid.global.len() as u64),
                Value::UInt(xid.branch.len() as u64),
                data,
            ]);
        }
        Ok(Done::Made(rows))
    }

    /// Error 1399 for what would end the XA transaction behind its back.
    pub(crate) fn require_no_xa(&self) -> Result<(), SqlError> {
        match &self.xa {
            Some(branch) => Err(wrong_state(Some(branch))),
            None => Ok(()),
        }
    }

    /// Tables can be used while a branch is ACTIVE and nothing has undone it.
    pub fn require_usable_xa(&mut self) -> Result<(), SqlError> {
        let Some(branch) = &mut self.xa else { return Ok(()) };
        branch.require_alive()?;
        match branch.state {
            XaState::Active | XaState::RollbackOnly => Ok(()),
            XaState::Idle | XaState::Prepared => Err(wrong_state(Some(branch))),
        }
    }

    /// What an XA transaction keeps a statement from, as far as its kind tells.
    pub(in crate::statement) fn check_xa(&mut self, kind: &StatementKind<'_>) -> Result<(), SqlError> {
        let Some(branch) = &self.xa else { return Ok(()) };
        match kind {
            StatementKind::Show(show) if reads_tables(show) => self.require_usable_xa(),
            StatementKind::Explain(explain)
                if matches!(explain.target, parser::ast::ExplainTarget::Table { .. }) =>
            {
                self.require_usable_xa()
            }
            StatementKind::Savepoint(_) if matches!(branch.state, XaState::Idle | XaState::Prepared) => {
                Err(wrong_state(Some(branch)))
            }
            StatementKind::RollbackToSavepoint(name) | StatementKind::ReleaseSavepoint(name)
                if matches!(branch.state, XaState::Idle) && self.transaction.has_savepoint(name.name) =>
            {
                Err(wrong_state(Some(branch)))
            }
            _ => Ok(()),
        }
    }

    /// Notes that a statement's error has undone the whole transaction of the branch.
    pub(in crate::statement) fn branch_failed(&mut self, error: &SqlError) {
        if let Some(branch) = self.xa.as_mut().filter(|branch| branch.state == XaState::Active) {
            branch.failure.get_or_insert(XaFailure::of(error));
        }
    }
}

/// Which SHOW statements MySQL answers from tables.
fn reads_tables(show: &Show<'_>) -> bool {
    !matches!(
        show,
        Show::Warnings(_)
            | Show::Errors(_)
            | Show::CountWarnings
            | Show::CountErrors
            | Show::ProcessList { .. }
            | Show::Grants { .. }
            | Show::Privileges
            | Show::CreateDatabase { .. }
            | Show::Engine { .. }
            | Show::BinaryLogs
            | Show::BinaryLogStatus
            | Show::LogEvents { .. }
            | Show::ReplicaStatus { .. }
            | Show::Replicas
            | Show::Profiles
    )
}
