//! What an execution needs from outside the plan.
use crate::host::{StatementHost, Triggers};
use crate::kept::KeptRows;
use crate::memory::MemoryBudget;
use crate::strict::StrictSession;
use crate::table_use::TableUses;
use crate::work::Work;
use datum::{SqlError, error_code};
use engine::{LockMode, ReadMode, WaitPolicy};
use env::TemporarySpace;
use expression::EvalContext;
use plan::{LockClause, LockWait, RowRules};
use schema::TableId;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use table::{ReadyTable, TableResolver};

/// One execution of one statement. The session makes it; operators borrow it call by call.
pub struct ExecContext<'a> {
    pub host: &'a mut dyn StatementHost,
    /// Of the tables that the statement changes.
    pub triggers: Triggers<'a>,
    /// Its `parameters` are set by the session; `slots` are sized and filled by `execute`.
    pub eval: &'a mut EvalContext,
    /// Stands between expressions and the session while a strict change runs.
    pub strict: &'a Arc<StrictSession>,
    pub tables: &'a dyn TableResolver,
    /// The rules of tables that the statement changes through foreign keys.
    pub cascade_rules: &'a [(TableId, Arc<RowRules>)],
    /// Handed to virtual tables.
    pub viewer: &'a dyn Any,
    pub interrupt: &'a Interrupt,
    pub settings: ExecSettings,
    pub memory: MemoryBudget,
    /// Where rows go that memory has no room for.
    pub temporary: &'a Arc<TemporarySpace>,
    /// Starts empty.
    pub kept: KeptRows,
    /// Starts at nothing.
    pub work: Work,
    /// Starts empty.
    pub uses: TableUses,
}

#[derive(Debug, Clone)]
pub struct ExecSettings {
    /// `innodb_lock_wait_timeout`.
    pub lock_wait: WaitPolicy,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    /// A scan for the rows to change looks at the committed version of a row that is locked by another
    /// transaction, and waits only if that passes the filter. Below REPEATABLE READ alone.
    pub tests_before_waiting: bool,
    /// Which locking scans lock one row at a time. Set by `execute`.
    pub locks_one_by_one: OneByOne,
    /// Foreign keys are obeyed.
    pub foreign_key_checks: bool,
    /// A statement around, which called the program that this one is in, makes errors of warnings about values.
    pub is_inside_strict: bool,
    /// Plain SELECTs lock as FOR SHARE: SERIALIZABLE inside a transaction.
    pub share_reads: bool,
    /// `sql_select_limit`-like cap of result rows; `u64::MAX` for none.
    pub select_limit: u64,
    /// `cte_max_recursion_depth`.
    pub recursion_depth_max: u64,
    pub shares: MemoryShares,
}

/// What one operator may hold in memory before it writes rows to disk.
#[derive(Debug, Clone, Copy)]
pub struct MemoryShares {
    /// `sort_buffer_size`.
    pub sort_bytes: usize,
    /// `tmp_table_size`: kept rows, groups, distinct rows, sides of set operations.
    pub rows_bytes: usize,
    /// A hash join's table: the greater of `join_buffer_size` and `tmp_table_size`.
    pub join_bytes: usize,
}

impl Default for MemoryShares {
    fn default() -> MemoryShares {
        MemoryShares { sort_bytes: 256 << 10, rows_bytes: 16 << 20, join_bytes: 16 << 20 }
    }
}

/// Which locking scans lock one row at a time, because something happens between one row and the next that others can see, or that can wait or
/// fail: a change, a join, a subquery. Who reads a table from end to end will have locked all of it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneByOne {
    Never,
    /// Those that read what rows before them look up.
    LookedUp,
    /// All but those of whole tables that the statement does not change.
    NotSources,
    Always,
}

impl Default for ExecSettings {
    fn default() -> ExecSettings {
        ExecSettings {
            lock_wait: WaitPolicy::Wait { timeout_us: 50_000_000 },
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            tests_before_waiting: false,
            locks_one_by_one: OneByOne::Never,
            foreign_key_checks: true,
            is_inside_strict: false,
            share_reads: false,
            select_limit: u64::MAX,
            recursion_depth_max: 1000,
            shares: MemoryShares::default(),
        }
    }
}

/// Set by KILL or a timer of another task, asked for every batch.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicU8);

impl Interrupt {
    const KILLED: u8 = 1;
    const TIMED_OUT: u8 = 2;

    /// KILL QUERY and KILL CONNECTION.
    pub fn kill(&self) {
        self.0.store(Self::KILLED, Relaxed);
    }

    /// `max_execution_time` is over.
    pub fn time_out(&self) {
        self.0.store(Self::TIMED_OUT, Relaxed);
    }

    /// Before the next statement.
    pub fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// The error that ends the statement, if it was interrupted.
    pub fn check(&self) -> Result<(), SqlError> {
        match self.0.load(Relaxed) {
            0 => Ok(()),
            Self::TIMED_OUT => Err(error_code::ER_QUERY_TIMEOUT.plain()),
            _ => Err(error_code::ER_QUERY_INTERRUPTED.plain()),
        }
    }
}

impl ExecContext<'_> {
    /// Interrupted, or a warning was raised to an error.
    pub(crate) fn check(&self) -> Result<(), SqlError> {
        self.interrupt.check()?;
        self.strict.check()
    }

    /// A table that rows come into. The session has made it ready with its metadata lock, so nothing is waited for here.
    pub(crate) async fn ready_table(&mut self, id: TableId) -> Result<ReadyTable, SqlError> {
        self.tables.table(id)?.ready(self.host.transaction().engine()).await
    }

    /// How a table with this lock clause is read.
    pub(crate) fn read_mode(&self, lock: Option<LockClause>) -> ReadMode {
        match lock {
            None if self.settings.share_reads => ReadMode::Locking(LockMode::Shared, self.settings.lock_wait),
            None => ReadMode::Snapshot,
            Some(lock) => {
                let mode = if lock.exclusive { LockMode::Exclusive } else { LockMode::Shared };
                ReadMode::Locking(mode, self.wait_policy(lock.wait))
            }
        }
    }

    fn wait_policy(&self, wait: LockWait) -> WaitPolicy {
        match wait {
            LockWait::Session => self.settings.lock_wait,
            LockWait::NoWait => WaitPolicy::NoWait,
            LockWait::SkipLocked => WaitPolicy::SkipLocked,
        }
    }
}
