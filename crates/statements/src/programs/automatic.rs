//! What accounts get and lose by themselves when routines come and go (`automatic_sp_privileges`).
//!
//! Invariant: whoever creates a routine may run, change and drop it; nothing is granted on a routine that has been dropped, so
//! that a new one of its name does not inherit it. Called after the routine is stored or gone.
use auth::{Privilege, PrivilegeSet, RoutineKind};
use datum::SqlError;
use schema::ProgramKind;

use crate::caller::Caller;
use session::Shield;

impl Caller<'_> {
    /// The creator gets what it has not: EXECUTE and ALTER ROUTINE.
    pub(super) async fn grant_created(
        &mut self,
        kind: ProgramKind,
        database: &str,
        name: &str,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        let Some(kind) = self.automatic_kind(kind) else { return Ok(()) };
        let granted = PrivilegeSet::of(&[Privilege::Execute, Privilege::AlterRoutine]);
        if self.privileges().access().routine(kind, database, name).has(granted) {
            return Ok(());
        }
        let (account, origin) = (self.privileges().account_name().clone(), self.origin());
        let key = (kind, (database.to_owned(), name.to_owned()));
        let change = |store: &auth::AccountStore| {
            // An account that is gone meanwhile needs no privilege.
            let _ = store.change(&account, |account| {
                let entry = account.grants.routines.entry(key).or_default();
                entry.privileges |= granted;
                entry.origin = origin;
            });
            Ok(())
        };
        self.change_stored_accounts(shield, change).await
    }

    /// Nobody has anything on it any more.
    pub(super) async fn revoke_dropped(
        &mut self,
        kind: ProgramKind,
        database: &str,
        name: &str,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        let Some(kind) = self.automatic_kind(kind) else { return Ok(()) };
        let folded = name.to_lowercase();
        let is_it = |(of, (in_database, routine)): &(RoutineKind, auth::ObjectKey)| {
            *of == kind && in_database == database && routine.to_lowercase() == folded
        };
        let accounts = self.instance().accounts().all();
        let mut holders = Vec::new();
        for account in accounts.iter().filter(|account| account.grants.routines.keys().any(is_it)) {
            holders.push(account.name.clone());
        }
        if holders.is_empty() {
            return Ok(());
        }
        let change = |store: &auth::AccountStore| {
            for holder in &holders {
                let _ = store.change(holder, |account| account.grants.routines.retain(|key, _| !is_it(key)));
            }
            Ok(())
        };
        self.change_stored_accounts(shield, change).await
    }

    fn automatic_kind(&self, kind: ProgramKind) -> Option<RoutineKind> {
        let is_on = self.instance().globals.by_name("automatic_sp_privileges").as_boolean();
        match kind {
            ProgramKind::Procedure if is_on => Some(RoutineKind::Procedure),
            ProgramKind::Function if is_on => Some(RoutineKind::Function),
            _ => None,
        }
    }
}
