//! Changes of a table beside those who use it: which locks are held when, and the build of new indexes (decision 0047).
//!
//! Invariant: from the first look at the definition to the commit this session alone may change it. Writers are stopped while a
//! build begins, everybody while it ends, and both requests are made in steps.
use std::sync::Arc;

use catalog::{
    BuildWork, CopiedKeys, Demands, FollowedParent, IndexBuild, LockGuard, LockMode, LockName, LostKeys,
    Progress, RowConverter, SchemaChange, TableCopy, check_table_name,
};
use datum::{SqlError, error_code};
use definition::{ColumnSource, Concurrency, TableName};
use parser::ast::AlterSpecification;
use table::{ReadyTable, TableHandle};

use crate::caller::Caller;
use session::LockSteps;

/// A round of so few records is the last but one: the next one goes under the exclusive lock.
const SHORT_ROUND: usize = 256;
/// When writers are as fast as the build, after so many rounds the rest is done under the lock.
const ROUNDS_MAX: usize = 64;

/// The locks of one ALTER TABLE.
pub(crate) struct AlterLocks {
    /// Of databases, of a new name, and of the tables as `Upgradable`.
    guards: Vec<LockGuard>,
    /// The table, first, and those that change with it.
    tables: Vec<LockName>,
    /// Tables that rows are checked against.
    parents: Vec<LockName>,
    is_alone: bool,
}

impl AlterLocks {
    /// For tables that only their session knows.
    pub fn none() -> AlterLocks {
        AlterLocks { guards: Vec::new(), tables: Vec::new(), parents: Vec::new(), is_alone: true }
    }

    /// Rows of the table are checked against these parents, which are locked as `Upgradable`.
    pub fn add_parents(&mut self, parents: impl Iterator<Item = TableName>) {
        self.parents.extend(parents.map(|parent| parent.lock()));
    }

    fn table(&self) -> &[LockName] {
        &self.tables[..1]
    }

    /// The tables whose rows have to stay as they are while nobody tells of changes.
    fn written(&self) -> Vec<LockName> {
        let mut names = [self.table(), &self.parents].concat();
        names.sort();
        names.dedup();
        names
    }

    fn excluded(&self) -> Vec<(LockName, LockMode)> {
        let names = self.tables.iter().cloned();
        let mut wanted: Vec<_> = names.map(|name| (name, LockMode::Exclusive)).collect();
        wanted.sort();
        wanted
    }
}

impl Caller<'_> {
    /// Keeps other definitions away from the table, its relatives and its new name.
    pub(crate) async fn lock_altered(
        &self,
        name: &TableName,
        to: Option<&TableName>,
        specifications: &[AlterSpecification<'_>],
    ) -> Result<AlterLocks, SqlError> {
        let mut locks = vec![(name.database_lock(), LockMode::Shared), (name.lock(), LockMode::Upgradable)];
        if let Some(to) = to {
            check_table_name(&to.name)?;
            self.require_changeable(&to.database)?;
            locks.push((to.database_lock(), LockMode::Shared));
            locks.push((to.lock(), LockMode::Exclusive));
        }
        let relatives = || self.foreign_keys().altered_relatives(name, specifications);
        let guards = self.lock_with_relatives(locks, LockMode::Upgradable, relatives).await?;
        if let Some(to) = to {
            let catalog = self.instance().catalog();
            catalog.require_database(&to.database)?;
            if catalog.is_named(&to.database, &to.name) {
                return Err(error_code::ER_TABLE_EXISTS_ERROR.with(&[&to.name]));
            }
        }
        let own = name.lock();
        let upgradable = guards.iter().filter(|guard| guard.mode() == LockMode::Upgradable);
        let others = upgradable.map(|guard| guard.name().clone()).filter(|other| *other != own);
        let tables = std::iter::once(own.clone()).chain(others).collect();
        Ok(AlterLocks { guards, tables, parents: Vec::new(), is_alone: false })
    }

    /// Lets nobody else use the tables any more.
    pub(crate) async fn exclude_all(&self, locks: &mut AlterLocks) -> Result<(), SqlError> {
        if locks.is_alone {
            return Ok(());
        }
        let guards = self.lock_for_change(locks.excluded()).await?;
        locks.guards.extend(guards);
        locks.is_alone = true;
        Ok(())
    }

    /// Waits until nobody is in the middle of a change of the tables, and lets nobody begin one while the result lives.
    async fn exclude_writers(
        &self,
        names: &[LockName],
        followed: &mut [FollowedParent],
    ) -> Result<Vec<LockGuard>, SqlError> {
        let wanted: Vec<_> = names.iter().map(|name| (name.clone(), LockMode::NoWrite)).collect();
        let mut steps = LockSteps::new(self);
        loop {
            if let Some(guards) = self.lock_step(&wanted, &mut steps).await? {
                return Ok(guards);
            }
            for parent in &mut *followed {
                parent.put_by().await?;
            }
            self.rest(&wanted, &mut steps).await?;
        }
    }

    /// Keeps those away until the end whom the change does not allow.
    pub(crate) async fn exclude_for(
        &self,
        locks: &mut AlterLocks,
        concurrency: Concurrency,
    ) -> Result<(), SqlError> {
        match concurrency {
            Concurrency::Nobody => self.exclude_all(locks).await,
            Concurrency::Readers if locks.is_alone => Ok(()),
            Concurrency::Readers => {
                let guards = self.exclude_writers(&locks.written(), &mut []).await?;
                locks.guards.extend(guards);
                Ok(())
            }
            Concurrency::ReadersAndWriters => Ok(()),
        }
    }

    /// Fills the new indexes of a table, whose trees exist and are empty, and checks what is demanded of the rows; gives their
    /// number. Nobody else uses the table when this is done.
    pub(crate) async fn build_indexes(
        &self,
        change: &mut SchemaChange,
        before: &Arc<TableHandle>,
        (after, sources): (&Arc<TableHandle>, &[ColumnSource]),
        (indexes, demands): (Vec<usize>, Demands<'_>),
        (locks, concurrency): (&mut AlterLocks, Concurrency),
    ) -> Result<u64, SqlError> {
        let work = self.build_work(before, indexes.len()).await?;
        let is_online = concurrency == Concurrency::ReadersAndWriters && !locks.is_alone;
        let sources: Vec<Option<usize>> = sources.iter().map(|source| source.old()).collect();
        let mut followed = Vec::new();
        let mut stopped = Vec::new();
        if is_online {
            for parent in LostKeys::of(after, &demands, &indexes) {
                let name = TableName::of(parent.parent()).lock();
                // One after the other, so that nobody waits for two of them.
                let _stopped = self.exclude_writers(&[name], &mut followed).await?;
                followed.push(parent.follow(change, &work).await?);
            }
            stopped = self.exclude_writers(locks.table(), &mut followed).await?;
        }
        let built = (indexes, demands);
        let begun = IndexBuild::begin(change, before, (after, &sources), built, (is_online, followed), work);
        let mut build = begun.await?;
        drop(stopped);
        let count = build.fill(change).await?;
        let mut end = LockEnd::new(self, locks);
        while !end.is_alone() {
            for _ in 0..ROUNDS_MAX {
                if build.catch_up(change).await? <= SHORT_ROUND {
                    break;
                }
            }
            build.release();
            end.try_once(self).await?;
        }
        build.finish(change).await?;
        Ok(count)
    }

    /// Copies a table into new trees; gives the number of rows. Nobody else uses it when this is done.
    pub(crate) async fn copy_table(
        &self,
        change: &mut SchemaChange,
        (before, after): (&Arc<TableHandle>, &ReadyTable),
        (keys, converter): (CopiedKeys, &mut dyn RowConverter),
        (locks, concurrency): (&mut AlterLocks, Concurrency),
    ) -> Result<u64, SqlError> {
        let work = self.build_work(before, after.definition().indexes.len()).await?;
        let is_online = concurrency == Concurrency::ReadersAndWriters && !locks.is_alone;
        let stopped = match is_online {
            true => self.exclude_writers(locks.table(), &mut []).await?,
            false => Vec::new(),
        };
        let begun = TableCopy::begin(change, (before, after), (keys, converter), is_online, work);
        let mut copy = begun.await?;
        drop(stopped);
        let count = copy.fill(change).await?;
        let mut end = LockEnd::new(self, locks);
        while !end.is_alone() {
            for _ in 0..ROUNDS_MAX {
                if copy.catch_up(change).await? <= SHORT_ROUND {
                    break;
                }
            }
            copy.release();
            end.try_once(self).await?;
        }
        copy.finish(change).await?;
        Ok(count)
    }

    async fn build_work(&self, before: &Arc<TableHandle>, indexes: usize) -> Result<BuildWork, SqlError> {
        let progress = Arc::new(Progress::default());
        let rows = before.clone().ready(self.instance().engine()).await?.estimated_rows();
        progress.expect(rows * (1 + indexes as u64));
        self.process().watch_progress(&progress);
        Ok(BuildWork { space: self.instance().temporary().clone(), progress })
    }
}

/// The requests for the exclusive lock, between which a build goes on catching up.
struct LockEnd<'l> {
    locks: &'l mut AlterLocks,
    wanted: Vec<(LockName, LockMode)>,
    steps: LockSteps,
}

impl<'l> LockEnd<'l> {
    fn new(session: &Caller<'_>, locks: &'l mut AlterLocks) -> LockEnd<'l> {
        LockEnd { wanted: locks.excluded(), steps: LockSteps::new(session), locks }
    }

    fn is_alone(&self) -> bool {
        self.locks.is_alone
    }

    async fn try_once(&mut self, session: &Caller<'_>) -> Result<(), SqlError> {
        match session.lock_step(&self.wanted, &mut self.steps).await? {
            Some(guards) => {
                self.locks.guards.extend(guards);
                self.locks.is_alone = true;
                Ok(())
            }
            None => session.rest(&self.wanted, &mut self.steps).await.map(drop),
        }
    }
}
