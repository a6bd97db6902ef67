//! SET GLOBAL gtid_slave_pos: where the default channel goes on in the binary log of a MariaDB source, by its identifiers.
//!
//! Invariant: it changes while no applier of the channel runs, and is stored with what the channel has applied.
use binlog::MariaDbPosition;
use datum::{SqlError, error_code};
use instance::replication::{Applied, Part};
use session::Shield;
use variables::Setting;

use super::errors::{ER_BAD_REPLICA, ER_REPLICA_MUST_STOP};
use crate::caller::Caller;

impl Caller<'_> {
    /// Error 1231 for what is no list of `domain-server-number`.
    pub(crate) fn checked_domains(&self, given: &Setting) -> Result<Setting, SqlError> {
        match MariaDbPosition::parse(given.as_text()) {
            Some(position) => Ok(Setting::text(&position.to_string())),
            None => Err(error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&"gtid_slave_pos", &given.as_text()])),
        }
    }

    /// Stores it.
    pub(crate) async fn set_domains(&mut self, setting: &Setting, shield: &Shield) -> Result<(), SqlError> {
        let channel = self.instance().replication.channel("").ok_or_else(|| ER_BAD_REPLICA.plain())?;
        if channel.is_running(Part::Applier) {
            return Err(ER_REPLICA_MUST_STOP.with(&[&channel.name]));
        }
        let domains = MariaDbPosition::parse(setting.as_text()).unwrap_or_default();
        let applied = Applied { domains, ..channel.applied() };
        let bytes = applied.encode();
        let mut change = self.instance().catalog().begin_change();
        change.remove_applied(&channel.name).await?;
        catalog::put_applied(change.transaction(), &channel.name, None, &bytes).await?;
        self.commit_unlogged(change, shield).await?;
        channel.set_applied(applied, Some(bytes.len()));
        Ok(())
    }
}
