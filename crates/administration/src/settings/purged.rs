//! SET GLOBAL gtid_purged, with which dumps of MySQL begin.
//!
//! This server gives transactions no such identifiers. It keeps the set, as MySQL without a binary log does, so that a tool
//! which goes on from a dump finds where that was.
use datum::{ErrorCode, SqlError, error_code};
use functions::{PurgedError, purged_set};
use variables::{Setting, VariableId};

use crate::caller::Caller;
use session::Shield;

impl Caller<'_> {
    /// What the variable becomes.
    pub(crate) fn purged(&self, given: &Setting) -> Result<Setting, SqlError> {
        if self.has_open_transaction() {
            return Err(ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION.with(&[&"gtid_purged"]));
        }
        let present = self.instance().globals.by_name("gtid_purged");
        let text = purged_set(present.as_text(), given.as_text()).map_err(|error| match error {
            PurgedError::Malformed => {
                error_code::ER_WRONG_VALUE_FOR_VAR.with(&[&"gtid_purged", &given.as_text()])
            }
            PurgedError::Overlaps => ER_CANT_SET_GTID_PURGED
                .with(&[&"the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED"]),
            PurgedError::IsNoSuperset => {
                ER_CANT_SET_GTID_PURGED.with(&[&"the new value must be a superset of the old value"])
            }
        })?;
        Ok(Setting::text(&text))
    }

    /// Makes it durable, and `gtid_executed` the same.
    pub(crate) async fn set_purged(
        &mut self,
        id: VariableId,
        setting: Setting,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        let mut stored = self.instance().catalog().begin_change();
        stored.put_variable("gtid_purged", Some(setting.as_text())).await?;
        shield.raise();
        let result = stored.commit().await;
        shield.lower();
        result?;
        self.instance().globals.set(VariableId::known("gtid_executed"), setting.clone());
        self.instance().globals.set(id, setting);
        Ok(())
    }
}

const ER_CANT_SET_GTID_PURGED: ErrorCode =
    ErrorCode::new(3546, "HY000", "@@GLOBAL.GTID_PURGED cannot be changed: %s");
const ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION: ErrorCode = ErrorCode::new(
    1766,
    "HY000",
    "The system variable %s cannot be set when there is an ongoing transaction.",
);
