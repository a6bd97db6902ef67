//! Transactions that the last life has left without an end become running ones again: their undo records are undo stacks
//! and row versions once more. So their rows are locked, and everybody else reads what was before. The prepared ones
//! wait for their decision (`prepared`); the usual rollback undoes the others in the background while everybody works.
//!
//! Invariant: until it has ended, an adopted transaction is among `Writers::active`, which keeps the log with its records.
//! One that is being undone is also among `Unfinished`, which keeps its trees from being dropped; the trees of a prepared
//! one are protected by whoever decides about it. Called by `open`.

use super::analysis::UndoMap;
use crate::engine::Engine;
use crate::log::log_record::{Operation, RECORD_OVERHEAD_BYTES, UNDO_BYTES, UndoRecord};
use crate::row_table::{Before, Prepared};
use crate::spill::FoundSpill;
use crate::storage::record::stub_of;
use crate::transactions::transaction::Work;
use crate::transactions::transaction_state::{TransactionId, TransactionState};
use crate::writes::undo_stack::UndoItem;
use crate::{EngineError, Isolation, TreeId};
use pagestore::PageId;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;
use std::task::Poll;

/// How often a drop looks whether an unfinished transaction has left its tree.
const WAIT_RETRY_US: u64 = 10_000;

/// What the last life has left of a transaction.
pub(crate) struct Remains {
    pub id: TransactionId,
    pub undo: UndoMap,
    pub spill: Option<FoundSpill>,
    /// What it is prepared under, if it is.
    pub xid: Option<Box<[u8]>>,
}

/// The adopted transactions that are not undone yet.
#[derive(Default)]
pub(crate) struct Unfinished {
    transactions: Mutex<Vec<UnfinishedTransaction>>,
}

struct UnfinishedTransaction {
    state: Arc<TransactionState>,
    /// Where its changes may be.
    trees: BTreeSet<TreeId>,
    /// Its rollback met damage that it cannot pass.
    stuck: Option<EngineError>,
}

impl Engine {
    /// Makes a transaction of an earlier life a running one. None of its records that count is in the log before
    /// `from_lsn`.
    pub(crate) async fn adopt(
        self: &Arc<Self>,
        remains: Remains,
        from_lsn: u64,
    ) -> Result<Work, EngineError> {
        debug_assert_eq!(self.versions.snapshots.len(), 0, "nobody reads before all are running again");
        let Remains { id, undo, spill, xid } = remains;
        let has_records = !undo.is_empty() || xid.is_some();
        let first_lsn = if has_records { from_lsn } else { self.wal.end_lsn().0 };
        let state = self.writers.adopt(id, self.env.clock.now_us(), first_lsn);
        for (sequence, record) in undo {
            self.adopt_change(&state, sequence, record)?;
        }
        if let Some(found) = spill {
            self.adopt_spill(&state, found).await?;
        }
        state.set_prepared(xid.map(Arc::from));
        Ok(Work::adopted(self.clone(), Isolation::ReadCommitted, state))
    }

    fn adopt_change(
        &self,
        state: &Arc<TransactionState>,
        sequence: u64,
        record: UndoRecord,
    ) -> Result<(), EngineError> {
        let damaged =
            || EngineError::Corrupt { what: format!("an undo record of transaction {}", state.id.0) };
        let UndoRecord { operation, tree, key, before } = record;
        let log_bytes = UNDO_BYTES + RECORD_OVERHEAD_BYTES + key.len() + before.len();
        let page =
            || before[..].try_into().map(|page| PageId(u64::from_le_bytes(page))).map_err(|_| damaged());
        let item = match operation {
            Operation::CreateTree => UndoItem::Tree { tree, root: page()? },
            Operation::CreateChain => UndoItem::Chain(page()?),
            Operation::Insert | Operation::Update | Operation::Delete => {
                let old_chain = stub_of(&before).map(|stub| stub.first);
                let image = match operation {
                    Operation::Insert => Before::Absent,
                    _ => Before::Record(before),
                };
                let moves = self.rows.moves();
                let deletes = operation == Operation::Delete;
                let prepared = self.rows.prepare_write(state, tree, &key, sequence, moves, || image, deletes);
                let Prepared::Ready(name) = prepared else { return Err(damaged()) };
                UndoItem::Row { name, operation, old_chain }
            }
        };
        state.adopt_undo(sequence, item, log_bytes);
        Ok(())
    }

    /// Undoes an adopted transaction while others work.
    pub(crate) fn undo_in_background(self: &Arc<Self>, mut work: Work) {
        debug_assert!(work.state().prepared().is_none(), "a prepared transaction waits for its decision");
        let unfinished = UnfinishedTransaction { state: work.state(), trees: work.trees(), stuck: None };
        self.life.unfinished.transactions.lock().push(unfinished);
        self.spawn("undo", |engine| async move {
            let state = work.state();
            let ended = {
                let mut rollback = pin!(work.roll_back_patiently());
                // The next life goes on with it: a shutdown need not wait.
                poll_fn(|context| match engine.life.closed.load(Acquire) {
                    true => Poll::Ready(Err(EngineError::Closed)),
                    false => rollback.as_mut().poll(context),
                })
                .await
            };
            engine.life.unfinished.ended(&state, ended.as_ref().err());
            ended
        });
    }

    /// Waits until no unfinished transaction has changes in the tree, which is to be dropped: its long values must not
    /// be freed twice.
    pub async fn wait_for_unfinished(&self, tree: TreeId) -> Result<(), EngineError> {
        while self.life.unfinished.has(tree)? {
            self.check_running()?;
            self.env.clock.sleep(WAIT_RETRY_US).await;
        }
        Ok(())
    }
}

impl Unfinished {
    /// Whether some transaction has changes in the tree; an error if they will not be undone.
    fn has(&self, tree: TreeId) -> Result<bool, EngineError> {
        let transactions = self.transactions.lock();
        match transactions.iter().find(|one| one.trees.contains(&tree)) {
            Some(UnfinishedTransaction { stuck: Some(error), .. }) => Err(error.clone()),
            found => Ok(found.is_some()),
        }
    }

    fn ended(&self, state: &Arc<TransactionState>, error: Option<&EngineError>) {
        let mut transactions = self.transactions.lock();
        debug_assert!(
            transactions.iter().any(|one| Arc::ptr_eq(&one.state, state)),
            "it is listed until it has ended"
        );
        match error {
            None => transactions.retain(|one| !Arc::ptr_eq(&one.state, state)),
            Some(error) => {
                for one in transactions.iter_mut().filter(|one| Arc::ptr_eq(&one.state, state)) {
                    one.stuck = Some(error.clone());
                }
            }
        }
    }
}
