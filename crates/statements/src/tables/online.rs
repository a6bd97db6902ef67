//! Changes of a table beside those who use it: which locks are held when, and the build of new indexes (decision 0047).
//!
//! Invariant: from the first look at the definition to the commit this session alone may change it. A build begins when those have
//! ended who wrote before it followed, for which nobody is stopped; everybody is while it ends, which is asked for in steps.
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use catalog::{
    BuildWork, CopiedKeys, Demands, FollowedParent, IndexBuild, LockGuard, LockMode, LockName, LostKeys,
    Progress, RowConverter, SchemaChange, TableCopy, check_table_name,
};
use datum::{SqlError, error_code};
use definition::{ColumnSource, Concurrency, TableName};
use parser::ast::AlterSpecification;
use table::{ReadyTable, TableHandle};

use crate::caller::Caller;
use session::{LockSteps, within};

/// A round of so few records is the last but one: the next one goes under the exclusive lock.
const SHORT_ROUND: usize = 256;
/// Between two rounds while a lock is asked for.
const TURN: Duration = Duration::from_millis(5);
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
    async fn exclude_writers(&self, names: &[LockName]) -> Result<Vec<LockGuard>, SqlError> {
        let wanted: Vec<_> = names.iter().map(|name| (name.clone(), LockMode::NoWrite)).collect();
        let mut steps = LockSteps::new(self);
        loop {
            if let Some(guards) = self.lock_step(&wanted, &mut steps).await? {
                return Ok(guards);
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
                let guards = self.exclude_writers(&locks.written()).await?;
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
        if is_online {
            for parent in LostKeys::of(after, &demands, &indexes) {
                let name = TableName::of(parent.parent()).lock();
                followed.push(parent.follow(&work));
                self.outlast_writers(&name, &mut Parents(&mut followed)).await?;
            }
        }
        let built = (indexes, demands);
        let mut build = IndexBuild::attach(before, (after, &sources), built, (is_online, followed), work);
        if is_online {
            self.outlast_writers(&locks.table()[0], &mut build).await?;
        }
        build.take_snapshot(change).await?;
        let count = build.fill(change).await?;
        self.catch_up_and_exclude(&mut build, change, locks).await?;
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
        let attached = TableCopy::attach(change, (before, after), (keys, converter), is_online, work);
        let mut copy = attached.await?;
        if is_online {
            self.outlast_writers(&locks.table()[0], &mut copy).await?;
        }
        copy.take_snapshot(change).await?;
        let count = copy.fill(change).await?;
        self.catch_up_and_exclude(&mut copy, change, locks).await?;
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

/// What takes up what others write meanwhile.
trait FollowingBuild {
    /// One round; gives the number of records.
    async fn round(&mut self, change: &mut SchemaChange) -> Result<usize, SqlError>;
    /// Keeps what they tell for later.
    async fn put_by(&mut self) -> Result<(), SqlError>;
    /// Whether rounds hold those who write.
    fn set_holding(&mut self, holds: bool);
}

impl FollowingBuild for IndexBuild<'_> {
    async fn round(&mut self, change: &mut SchemaChange) -> Result<usize, SqlError> {
        self.catch_up(change).await
    }

    async fn put_by(&mut self) -> Result<(), SqlError> {
        IndexBuild::put_by(self).await
    }

    fn set_holding(&mut self, holds: bool) {
        IndexBuild::set_holding(self, holds);
    }
}

impl FollowingBuild for TableCopy<'_> {
    async fn round(&mut self, change: &mut SchemaChange) -> Result<usize, SqlError> {
        self.catch_up(change).await
    }

    async fn put_by(&mut self) -> Result<(), SqlError> {
        TableCopy::put_by(self).await
    }

    fn set_holding(&mut self, holds: bool) {
        TableCopy::set_holding(self, holds);
    }
}

/// Parents that are followed before their child is.
struct Parents<'p>(&'p mut [FollowedParent]);

impl FollowingBuild for Parents<'_> {
    async fn round(&mut self, _: &mut SchemaChange) -> Result<usize, SqlError> {
        Ok(0)
    }

    async fn put_by(&mut self) -> Result<(), SqlError> {
        for parent in &mut *self.0 {
            parent.put_by().await?;
        }
        Ok(())
    }

    fn set_holding(&mut self, _: bool) {}
}

impl Caller<'_> {
    /// Waits until those have ended who began to write before the build followed. Nobody waits for that.
    async fn outlast_writers(
        &self,
        name: &LockName,
        build: &mut impl FollowingBuild,
    ) -> Result<(), SqlError> {
        let (mut drain, mut steps) = (self.drain(name, LockMode::NoWrite), LockSteps::new(self));
        while !self.drain_step(&mut drain, &mut steps).await? {
            build.put_by().await?;
        }
        Ok(())
    }

    /// Rounds until one is short, then the exclusive lock. While that is asked for rounds go on, and hold nobody: who has the table
    /// has to come to its end, and little is left then.
    async fn catch_up_and_exclude(
        &self,
        build: &mut impl FollowingBuild,
        change: &mut SchemaChange,
        locks: &mut AlterLocks,
    ) -> Result<(), SqlError> {
        let (wanted, mut steps) = (locks.excluded(), LockSteps::new(self));
        while !locks.is_alone {
            build.set_holding(true);
            for _ in 0..ROUNDS_MAX {
                if build.round(change).await? <= SHORT_ROUND {
                    break;
                }
            }
            build.set_holding(false);
            let granted = {
                let mut step = pin!(self.lock_step(&wanted, &mut steps));
                loop {
                    let turn = within(self.instance().timer(), TURN, step.as_mut()).await;
                    match turn {
                        Some(granted) => break granted?,
                        None => build.round(change).await.map(drop)?,
                    }
                }
            };
            match granted {
                Some(guards) => {
                    locks.guards.extend(guards);
                    locks.is_alone = true;
                }
                None => self.rest(&wanted, &mut steps).await.map(drop)?,
            }
        }
        Ok(())
    }
}
