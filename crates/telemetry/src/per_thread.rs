//! What one session has done: its figures by kind of statement, its transactions, errors and waits, its last statements.
//!
//! Invariant: only the session's own task writes; the lock is for readers, which take it for a copy. When a session ends
//! its figures go to those of its account.
use parking_lot::Mutex;

use crate::error_counts::ErrorCounts;
use crate::event::{StatementEvent, TransactionEvent};
use crate::figures::{StatementTotals, Timings};
use crate::history::History;
use crate::single::Single;
use crate::tables::{RowCounts, TableCounts};
use crate::waits::WaitTotals;

/// How many of a session's last transactions are kept.
const TRANSACTIONS_MAX: usize = 10;

/// Figures that are summed for sessions, accounts and the server.
#[derive(Clone, Debug, Default)]
pub struct ThreadFigures {
    /// By kind, in the order of their first use.
    pub statements: Vec<(&'static str, StatementTotals)>,
    pub transactions: TransactionTotals,
    pub errors: ErrorCounts,
    pub waits: WaitTotals,
    /// Of stages, in the order of their first use.
    pub stages: Vec<(&'static str, Timings)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct TransactionTotals {
    pub read_write: Timings,
    pub read_only: Timings,
}

impl TransactionTotals {
    pub fn all(&self) -> Timings {
        let mut all = self.read_write;
        all.merge(&self.read_only);
        all
    }
}

impl ThreadFigures {
    fn totals(&mut self, name: &'static str) -> &mut StatementTotals {
        let same = |of: &str| std::ptr::eq(of, name) || of == name;
        let place = self.statements.iter().position(|(of, _)| same(of)).unwrap_or_else(|| {
            // One at a time: a session runs few kinds of statements, and each takes 200 bytes.
            self.statements.reserve_exact(1);
            self.statements.push((name, StatementTotals::default()));
            self.statements.len() - 1
        });
        &mut self.statements[place].1
    }

    pub fn merge(&mut self, other: &ThreadFigures) {
        for (name, totals) in &other.statements {
            self.totals(name).merge(totals);
        }
        self.transactions.read_write.merge(&other.transactions.read_write);
        self.transactions.read_only.merge(&other.transactions.read_only);
        self.errors.merge(&other.errors);
        self.waits.merge(&other.waits);
        for (name, timings) in &other.stages {
            self.stage(name).merge(timings);
        }
    }

    pub(crate) fn stage(&mut self, name: &'static str) -> &mut Timings {
        let place = self.stages.iter().position(|(of, _)| *of == name).unwrap_or_else(|| {
            self.stages.push((name, Timings::default()));
            self.stages.len() - 1
        });
        &mut self.stages[place].1
    }
}

/// One session's.
#[derive(Debug, Default)]
pub struct SessionFigures {
    pub(crate) state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) figures: ThreadFigures,
    history: History,
    /// The last statement, where the history is not kept or has been emptied since.
    beside_history: StatementEvent,
    tables: TableCounts,
    transaction: TransactionEvent,
    transactions: Vec<TransactionEvent>,
    pub(crate) next_event_id: u64,
    pub(crate) single: Single,
}

impl State {
    pub(crate) fn event_id(&mut self) -> u64 {
        self.next_event_id += 1;
        self.next_event_id
    }

    fn last_statement(&self) -> &StatementEvent {
        let beside = &self.beside_history;
        self.history.newest().filter(|event| event.event_id > beside.event_id).unwrap_or(beside)
    }
}

impl SessionFigures {
    /// A statement has ended: `fill` writes what it was over the session's last event.
    pub fn end_statement(
        &self,
        waits: &env::TaskWaits,
        error: Option<(u16, i64)>,
        keeps_history: bool,
        fill: impl FnOnce(&mut StatementEvent),
        told: impl FnOnce(&StatementEvent),
    ) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let event_id = state.single.statement.take().unwrap_or_else(|| state.event_id());
        let end_event_id = state.next_event_id;
        let event = if keeps_history { state.history.next_place() } else { &mut state.beside_history };
        fill(event);
        (event.event_id, event.end_event_id) = (event_id, end_event_id);
        let elapsed_ns = event.ended_ns.saturating_sub(event.began_ns);
        state.figures.totals(event.name).add(elapsed_ns, &event.figures);
        if !waits.is_empty() {
            state.figures.waits.add(waits);
        }
        if let Some((number, now_us)) = error {
            state.figures.errors.add(number, now_us);
        }
        told(event);
    }

    /// An execution has used tables: their numbers, indexes and rows.
    pub fn count_tables(&self, used: impl Iterator<Item = (u64, Option<usize>, RowCounts)>) {
        let mut state = self.state.lock();
        used.for_each(|(table, index, counts)| state.tables.add(table, index, &counts));
    }

    pub fn tables(&self) -> TableCounts {
        self.state.lock().tables.clone()
    }

    pub fn forget_tables(&self) {
        self.state.lock().tables.clear();
    }

    /// A transaction has begun.
    pub fn begin_transaction(&self, event: TransactionEvent) {
        let mut state = self.state.lock();
        let event_id = state.event_id();
        state.transaction = TransactionEvent { event_id, ..event };
    }

    /// The transaction has ended.
    pub fn end_transaction(&self, ended: &'static str, ended_ns: u64) {
        let mut state = self.state.lock();
        let end_event_id = state.next_event_id;
        let event = TransactionEvent { state: ended, ended_ns, end_event_id, ..state.transaction };
        state.transaction = event;
        let totals = &mut state.figures.transactions;
        let timings = if event.is_read_only { &mut totals.read_only } else { &mut totals.read_write };
        timings.add(ended_ns.saturating_sub(event.began_ns));
        if state.transactions.len() == TRANSACTIONS_MAX {
            state.transactions.remove(0);
        }
        state.transactions.push(event);
    }

    pub fn figures(&self) -> ThreadFigures {
        self.state.lock().figures.clone()
    }

    /// The statement that ended last; `None` before the first.
    pub fn last_statement(&self) -> Option<StatementEvent> {
        let state = self.state.lock();
        let last = state.last_statement();
        (last.event_id > 0).then(|| last.clone())
    }

    /// The number that a statement gets which runs now.
    pub fn next_event_id(&self) -> u64 {
        let state = self.state.lock();
        state.single.statement.unwrap_or(state.next_event_id + 1)
    }

    pub fn history(&self) -> Vec<StatementEvent> {
        self.state.lock().history.events().cloned().collect()
    }

    pub fn transaction(&self) -> Option<TransactionEvent> {
        let state = self.state.lock();
        (state.transaction.event_id > 0).then_some(state.transaction)
    }

    pub fn transactions(&self) -> Vec<TransactionEvent> {
        self.state.lock().transactions.clone()
    }

    /// TRUNCATE of the histories.
    pub fn clear_history(&self) {
        let mut state = self.state.lock();
        state.beside_history = state.last_statement().clone();
        state.history.clear();
    }

    /// TRUNCATE of a summary: `forget` empties what it is made from.
    pub fn forget(&self, forget: impl FnOnce(&mut ThreadFigures)) {
        forget(&mut self.state.lock().figures);
    }
}
