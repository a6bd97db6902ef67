//! `gtid_next`: the identifier that the session's next transaction gets, and what becomes of it.
//!
//! | state | entered by | left by |
//! |---|---|---|
//! | automatic | the session's begin, SET gtid_next = AUTOMATIC | SET gtid_next |
//! | owned | SET to an identifier that is not executed | the end of the transaction |
//! | known | SET to one that is executed: changes are passed over | COMMIT or ROLLBACK |
//! | used | the end of such a transaction: changes are error 1837 | SET gtid_next |
//!
//! Invariant: an identifier has one owner at a time, and is in the binary log once; a transaction that has changed nothing is
//! logged for its identifier. Called around each statement of a client, and by SET.
use binlog::{Gtid, GtidChoice};
use datum::{ErrorCode, SqlError, error_code};
use parser::ast::StatementKind;
use table::RowEvents;
use variables::Setting;

use crate::session::Session;
use crate::statement::dispatch::{is_account_statement, is_schema_change};
use crate::statement::{Done, log_error};
use session_state::guard::Shield;
use session_state::transaction_control::transaction_error;

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum NextIdentifier {
    #[default]
    Automatic,
    Owned(Gtid),
    Known(Gtid),
    Used(Gtid),
}

/// What a statement does with an identifier that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdentifierUse {
    Change,
    /// It may run statements that change something.
    Call,
    Commit,
    Rollback,
    Other,
}

impl IdentifierUse {
    pub fn of(kind: &StatementKind<'_>) -> IdentifierUse {
        use StatementKind::*;
        match kind {
            Commit(_) => IdentifierUse::Commit,
            Rollback(_) => IdentifierUse::Rollback,
            Call { .. } | Execute { .. } => IdentifierUse::Call,
            CreateTable(statement) if statement.temporary => IdentifierUse::Other,
            DropTable(statement) if statement.temporary => IdentifierUse::Other,
            Insert(_) | Update(_) | Delete(_) | LoadData(_) => IdentifierUse::Change,
            kind if is_schema_change(kind) || is_account_statement(kind) => IdentifierUse::Change,
            _ => IdentifierUse::Other,
        }
    }
}

impl NextIdentifier {
    pub fn is_automatic(self) -> bool {
        matches!(self, NextIdentifier::Automatic)
    }

    /// For the binary log.
    pub fn choice(self) -> GtidChoice {
        match self {
            NextIdentifier::Owned(gtid) => GtidChoice::Given(gtid),
            _ => GtidChoice::Automatic,
        }
    }
}

impl Session {
    /// The value of `gtid_next` in its own form.
    pub fn checked_identifier(&self, setting: &Setting) -> Result<Setting, SqlError> {
        if self.transaction.is_open() {
            return Err(error_code::ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&"gtid_next"]));
        }
        if let NextIdentifier::Owned(gtid) = self.identifier {
            return Err(ER_CANT_SET_GTID_NEXT_WHEN_OWNING_GTID.with(&[&gtid]));
        }
        let text = setting.as_text().trim();
        let is_on = self.instance.globals.by_name("gtid_mode").as_text() == "ON";
        if text.eq_ignore_ascii_case("AUTOMATIC") {
            return Ok(Setting::text("AUTOMATIC"));
        }
        if text.eq_ignore_ascii_case("ANONYMOUS") {
            return match is_on {
                true => Err(ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_ON.plain()),
                false => Ok(Setting::text("ANONYMOUS")),
            };
        }
        let Some(gtid) = Gtid::parse(text) else {
            return Err(match has_tag(text) {
                true => error_code::ER_NOT_SUPPORTED_YET.with(&[&"identifiers with tags"]),
                false => ER_MALFORMED_GTID_SPECIFICATION.with(&[&setting.as_text()]),
            });
        };
        if !is_on {
            return Err(ER_CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_OFF.plain());
        }
        if self.logged_to().is_none() {
            return Err(
                error_code::ER_NOT_SUPPORTED_YET.with(&[&"gtid_next = UUID:NUMBER without a binary log"])
            );
        }
        Ok(Setting::text(&gtid.to_string()))
    }

    /// The session owns the identifier, once nobody else does; or it is executed.
    pub async fn take_identifier(&mut self, setting: &Setting) -> Result<(), SqlError> {
        self.identifier = NextIdentifier::Automatic;
        let Some(gtid) = Gtid::parse(setting.as_text()) else { return Ok(()) };
        self.instance.replication.owned.acquire(self.process.id, &gtid.to_string()).await?;
        match self.is_executed(gtid).await {
            Ok(false) => {
                self.identifier = NextIdentifier::Owned(gtid);
                Ok(())
            }
            Ok(true) => {
                self.give_up_identifier();
                self.identifier = NextIdentifier::Known(gtid);
                Ok(())
            }
            Err(error) => {
                self.give_up_identifier();
                Err(error)
            }
        }
    }

    async fn is_executed(&self, gtid: Gtid) -> Result<bool, SqlError> {
        let Some(log) = self.instance.binary_log() else { return Ok(false) };
        log.catch_up().await.map_err(|error| log_error(&error))?;
        Ok(log.has_executed(gtid) || self.instance.replication.executed().contains(gtid))
    }

    /// Another session may take it.
    pub(crate) fn give_up_identifier(&mut self) {
        self.identifier = NextIdentifier::Automatic;
        self.instance.replication.owned.release_all(self.process.id);
    }

    /// Error 1778: what is open would be committed under the identifier, and nothing was left for what follows.
    pub(in crate::statement) fn require_no_owned_transaction(&self) -> Result<(), SqlError> {
        match self.identifier {
            NextIdentifier::Owned(_) if self.transaction.is_open() => {
                Err(ER_CANT_DO_IMPLICIT_COMMIT_IN_TRX_WHEN_GTID_NEXT_IS_SET.plain())
            }
            _ => Ok(()),
        }
    }

    /// What may commit more than once has no use for one identifier.
    pub fn require_no_identifier(&self, what: &str) -> Result<(), SqlError> {
        match self.identifier {
            NextIdentifier::Owned(_) => {
                let what = format!("{what} with gtid_next = UUID:NUMBER");
                Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]))
            }
            _ => Ok(()),
        }
    }

    /// Before a statement that changes something: it is passed over if its transaction is executed.
    pub(crate) fn before_change(&self, used: IdentifierUse) -> Result<Option<Done>, SqlError> {
        match (self.identifier, used) {
            (NextIdentifier::Used(gtid), IdentifierUse::Change | IdentifierUse::Call) => {
                Err(ER_GTID_NEXT_TYPE_UNDEFINED_GTID.with(&[&gtid]))
            }
            (NextIdentifier::Known(_), IdentifierUse::Change | IdentifierUse::Call) => Ok(Some(Done::ok())),
            _ => Ok(None),
        }
    }

    /// Behind each statement: a transaction that has ended is logged under its identifier, which is used then.
    pub(crate) async fn settle_identifier(
        &mut self,
        used: IdentifierUse,
        result: Result<Done, SqlError>,
    ) -> Result<Done, SqlError> {
        let ends = matches!(used, IdentifierUse::Commit | IdentifierUse::Rollback);
        let gtid = match self.identifier {
            NextIdentifier::Known(gtid) if ends => {
                self.identifier = NextIdentifier::Used(gtid);
                return result;
            }
            NextIdentifier::Owned(gtid) => gtid,
            _ => return result,
        };
        if self.transaction.is_open() || self.xa.is_some() {
            return result;
        }
        let is_success = result.is_ok();
        let mut settled = self.is_executed(gtid).await;
        let is_due = match used {
            IdentifierUse::Commit | IdentifierUse::Change => is_success,
            _ => false,
        };
        if is_due && matches!(settled, Ok(false)) {
            settled = self.log_nothing().await.map(|()| true);
        }
        let is_undone = used == IdentifierUse::Rollback || used == IdentifierUse::Change && !is_success;
        if is_undone || !matches!(settled, Ok(false)) {
            self.give_up_identifier();
            self.identifier = NextIdentifier::Used(gtid);
        }
        match settled {
            Ok(_) => result,
            Err(error) => result.and(Err(error)),
        }
    }

    /// Commits a transaction that has nothing but its identifier.
    async fn log_nothing(&mut self) -> Result<(), SqlError> {
        let _passage = self.pass_to_commit().await?;
        let events = RowEvents::of_nothing(self.event_settings(), self.statement_events());
        let engine = self.instance.engine().clone();
        self.transaction.begin(&engine, self.settings.isolation, self.settings.access, true);
        if let Some(transaction) = &mut self.transaction.current {
            transaction.set_events(Box::new(events));
        }
        let shield = Shield::default();
        shield.raise();
        self.transaction.commit().await.map_err(transaction_error)
    }
}

/// `uuid:tag:number`.
fn has_tag(text: &str) -> bool {
    let mut parts = text.split(':');
    let source = parts.next().and_then(binlog::ServerUuid::parse);
    let tag = parts.next().map(str::trim).filter(|tag| tag.starts_with(|one: char| !one.is_ascii_digit()));
    source.is_some() && tag.is_some_and(|tag| !tag.is_empty()) && parts.next().is_some()
}

const ER_MALFORMED_GTID_SPECIFICATION: ErrorCode =
    ErrorCode::new(1774, "HY000", "Malformed GTID specification '%s'.");
const ER_CANT_DO_IMPLICIT_COMMIT_IN_TRX_WHEN_GTID_NEXT_IS_SET: ErrorCode = ErrorCode::new(
    1778,
    "HY000",
    "Cannot execute statements with implicit commit inside a transaction when @@SESSION.GTID_NEXT == 'UUID:NUMBER'.",
);
const ER_CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_OFF: ErrorCode = ErrorCode::new(
    1781,
    "HY000",
    "@@SESSION.GTID_NEXT cannot be set to UUID:NUMBER when @@GLOBAL.GTID_MODE = OFF.",
);
const ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_ON: ErrorCode = ErrorCode::new(
    1782,
    "HY000",
    "@@SESSION.GTID_NEXT cannot be set to ANONYMOUS when @@GLOBAL.GTID_MODE = ON.",
);
const ER_CANT_SET_GTID_NEXT_WHEN_OWNING_GTID: ErrorCode = ErrorCode::new(
    1790,
    "HY000",
    "@@SESSION.GTID_NEXT cannot be changed by a client that owns a GTID. The client owns %s. Ownership is released on COMMIT or ROLLBACK.",
);
const ER_GTID_NEXT_TYPE_UNDEFINED_GTID: ErrorCode = ErrorCode::new(
    1837,
    "HY000",
    "When @@SESSION.GTID_NEXT is set to a GTID, you must explicitly set it to a different value after a COMMIT or ROLLBACK. \
     Please check GTID_NEXT variable manual page for detailed explanation. Current @@SESSION.GTID_NEXT is '%s'.",
);
