//! The metadata locks that statements take.
use std::collections::BTreeSet;
use std::time::Duration;

use catalog::{Drain, LockGuard, LockMode, LockName};
use datum::{SqlError, error_code};
use definition::TableName;

use crate::session::Session;
use session_state::guard::within;

/// How long the others have between two requests.
const REST: Duration = Duration::from_millis(100);
/// So many times as long as a request took they have at least.
const RESTS: u32 = 4;
/// For this part of the time that a definition has waited it may keep others waiting at once.
const SHARE: u32 = 10;

/// The requests for one lock, as long as `lock_wait_timeout` in all. Each keeps others waiting for `ddl_lock_step`, or for a tenth
/// of the time that has gone by if that is longer. None is made while somebody has had the table for longer than that: it would only
/// make others wait for him. So who reads waits no longer than a tenth of what the definition has waited, and in the end
/// it comes to its lock whatever they do.
pub struct LockSteps {
    step: Duration,
    left: Duration,
    waited: Duration,
    /// No request before so much time has gone by: the others have four times as long as the last one took.
    not_before: Duration,
    /// What statements had who waited for another of the locks: it comes first from then on.
    contested: Option<LockName>,
    /// What became free during a rest: who waits behind must not come in between.
    kept: Option<LockGuard>,
}

impl LockSteps {
    /// By the session's settings.
    pub fn new(session: &Session) -> LockSteps {
        let step = Duration::from_millis(session.settings.ddl_lock_step_ms);
        let left = Duration::from_secs(session.settings.lock_wait_timeout_s);
        let (waited, not_before) = (Duration::ZERO, Duration::ZERO);
        LockSteps { step, left, waited, not_before, contested: None, kept: None }
    }

    fn take(&mut self, wanted: Duration) -> Duration {
        let taken = wanted.min(self.left);
        self.left -= taken;
        self.waited += taken;
        taken
    }

    /// In the order in which they are asked for.
    fn ordered<'n>(
        &self,
        names: &'n [(LockName, LockMode)],
    ) -> impl Iterator<Item = &'n (LockName, LockMode)> {
        let contested = self.contested.clone();
        let first = names.iter().position(|(name, _)| Some(name) == contested.as_ref());
        first
            .map(|first| &names[first])
            .into_iter()
            .chain(names.iter().enumerate().filter(move |(at, _)| Some(*at) != first).map(|(_, name)| name))
    }

    /// How long the next request may take.
    fn next(&self) -> Duration {
        self.step.max(self.waited / SHARE)
    }
}

/// Each name once, with its strongest mode, in their order.
fn strongest(mut names: Vec<(LockName, LockMode)>) -> Vec<(LockName, LockMode)> {
    names.sort_by(|left, right| left.0.cmp(&right.0).then(right.1.cmp(&left.1)));
    names.dedup_by(|later, earlier| later.0 == earlier.0);
    names
}

impl Session {
    /// Locks for a definition, together with relatives, whose number is only known for sure when all are locked.
    pub async fn lock_with_relatives(
        &self,
        locks: Vec<(LockName, LockMode)>,
        mode: LockMode,
        relatives: impl Fn() -> BTreeSet<TableName>,
    ) -> Result<Vec<LockGuard>, SqlError> {
        loop {
            let wanted = relatives();
            let others = wanted.iter().map(|name| (name.lock(), mode));
            let guards = self.lock_for_change(locks.iter().cloned().chain(others).collect()).await?;
            if relatives().is_subset(&wanted) {
                return Ok(guards);
            }
        }
    }

    /// Locks shared what a plan uses, until the transaction ends.
    pub async fn lock_shared(&mut self, locks: &[(LockName, LockMode)]) -> Result<(), SqlError> {
        for (name, mode) in locks {
            let mut held = self.transaction.locks.iter();
            if held.any(|guard| guard.name() == name && guard.mode() >= *mode) {
                continue;
            }
            let guard = self.lock(name, *mode).await?;
            self.transaction.locks.push(guard);
        }
        Ok(())
    }

    /// Locks for one DDL statement: databases shared, tables exclusive, in the order of their names so that two
    /// such statements cannot wait for each other. What would make others wait is asked for in steps.
    pub async fn lock_for_change(
        &self,
        names: Vec<(LockName, LockMode)>,
    ) -> Result<Vec<LockGuard>, SqlError> {
        let names = strongest(names);
        let stops_others = |(name, mode): &(LockName, LockMode)| {
            *mode == LockMode::Exclusive && matches!(name, LockName::Table(..))
        };
        if !names.iter().any(stops_others) {
            return self.lock_all(names).await;
        }
        let mut steps = LockSteps::new(self);
        loop {
            if let Some(guards) = self.lock_step(&names, &mut steps).await? {
                return Ok(guards);
            }
            steps.kept = self.rest(&names, &mut steps).await?;
        }
    }

    /// The same for locks that are held until somebody says otherwise: others wait behind the request.
    pub(in crate::statement) async fn lock_all(
        &self,
        names: Vec<(LockName, LockMode)>,
    ) -> Result<Vec<LockGuard>, SqlError> {
        let mut guards = Vec::with_capacity(names.len());
        for (name, mode) in strongest(names) {
            guards.push(self.lock(&name, mode).await?);
        }
        Ok(guards)
    }

    /// What is free is taken at any time: nobody is kept waiting.
    fn try_all(&self, names: &[(LockName, LockMode)]) -> Option<Vec<LockGuard>> {
        let (locks, owner) = (self.instance.catalog().locks(), self.lock_owner());
        names.iter().map(|(name, mode)| locks.try_acquire(owner, name, *mode)).collect()
    }

    /// One request for all of them, which is given up when it takes too long: what stood behind it goes on. So does who waits for
    /// one of them and has another; a deadlock with what the session has already is error 1213.
    pub async fn lock_step(
        &self,
        names: &[(LockName, LockMode)],
        steps: &mut LockSteps,
    ) -> Result<Option<Vec<LockGuard>>, SqlError> {
        let (locks, owner) = (self.instance.catalog().locks(), self.lock_owner());
        // A holder passes the queue, so it stays until all are there.
        let kept = steps.kept.take();
        if let Some(guards) = self.try_all(names) {
            return Ok(Some(guards));
        }
        let limit = steps.next();
        let waits = steps.waited < steps.not_before || locks.have_old_holder(owner, names, limit);
        if waits && kept.is_none() {
            return Ok(None);
        }
        let ordered: Vec<_> = steps.ordered(names).collect();
        let all = async {
            let mut guards = Vec::with_capacity(names.len());
            for (name, mode) in ordered {
                let asked = match locks.try_acquire(owner, name, *mode) {
                    Some(guard) => Ok(guard),
                    None => locks.acquire_politely(owner, name.clone(), *mode).await,
                };
                match asked {
                    Ok(guard) => guards.push(guard),
                    Err(catalog::LockDeadlock) => return Err((!guards.is_empty()).then(|| name.clone())),
                }
            }
            Ok(guards)
        };
        let limit = steps.take(limit);
        steps.not_before = steps.waited + limit * RESTS;
        match within(self.instance.timer(), limit, all).await {
            Some(Ok(guards)) => Ok(Some(guards)),
            Some(Err(None)) => Err(error_code::ER_LOCK_DEADLOCK.plain()),
            Some(Err(contested)) => {
                steps.contested = contested;
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// The time between two steps, which ends when the lock that was in the way is free, and has it then; error 1205 when there is
    /// no time left.
    pub async fn rest(
        &self,
        names: &[(LockName, LockMode)],
        steps: &mut LockSteps,
    ) -> Result<Option<LockGuard>, SqlError> {
        if steps.left.is_zero() {
            return Err(error_code::ER_LOCK_WAIT_TIMEOUT.plain());
        }
        let (locks, owner) = (self.instance.catalog().locks(), self.lock_owner());
        let is_taken = |(name, mode): &&(LockName, LockMode)| locks.try_acquire(owner, name, *mode).is_none();
        let Some((name, mode)) = names.iter().find(is_taken) else { return Ok(None) };
        let aside = locks.acquire_aside(owner, name.clone(), *mode);
        // Whom it would wait for ever is told by the next step.
        let rested = within(self.instance.timer(), steps.take(REST), aside).await;
        Ok(rested.and_then(Result::ok))
    }

    /// Waits for a while until those have ended who had the lock when the waiting began; false if there are some left. Everybody else
    /// comes and goes.
    pub async fn drain_step(&self, drain: &mut Drain, steps: &mut LockSteps) -> Result<bool, SqlError> {
        match within(self.instance.timer(), steps.take(REST / 2), drain).await {
            Some(Ok(())) => Ok(true),
            Some(Err(catalog::LockDeadlock)) => Err(error_code::ER_LOCK_DEADLOCK.plain()),
            None if steps.left.is_zero() => Err(error_code::ER_LOCK_WAIT_TIMEOUT.plain()),
            None => Ok(false),
        }
    }

    /// See `MetadataLocks::drain`.
    pub fn drain(&self, name: &LockName, mode: LockMode) -> Drain {
        self.instance.catalog().locks().drain(self.lock_owner(), name.clone(), mode)
    }

    /// For a statement that changes accounts.
    pub async fn lock_accounts(&self) -> Result<LockGuard, SqlError> {
        self.lock(&LockName::Accounts, LockMode::Exclusive).await
    }

    async fn lock(&self, name: &LockName, mode: LockMode) -> Result<LockGuard, SqlError> {
        let (locks, owner) = (self.instance.catalog().locks(), self.lock_owner());
        match locks.try_acquire(owner, name, mode) {
            Some(guard) => Ok(guard),
            None => self.settled(locks.acquire(owner, name.clone(), mode)).await,
        }
    }
}
