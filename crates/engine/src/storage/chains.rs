//! Long values: overflow chains, written before the record that refers to them and freed when the last
//! snapshot that could see them is gone.
//!
//! Every step is one log group that says how to go on. Writing: each step logs the chain's undo record again,
//! with the same sequence and the new first page, so what a crash leaves is freed. Freeing: each step logs
//! that the old first page is freed and, unless it was the last, that the rest is pending.

use crate::engine::Engine;
use crate::log::log_record::{
    COMPENSATED_BYTES, LogRecord, NO_TRANSACTION, Operation, RECORD_OVERHEAD_BYTES, UNDO_BYTES,
};
use crate::transactions::transaction::Work;
use crate::transactions::transaction_state::{TransactionId, TransactionState};
use crate::{EngineError, TreeId};
use btree::Mtr;
use btree::overflow::{FreeStep, Reader, Stub, Writer};
use pagestore::PageId;
use wal::Priority;

/// Room for the engine's records in one group: an undo record or two of the records of freeing.
const RECORD_BYTES: usize = UNDO_BYTES + 64;
const _: () = assert!(
    RECORD_BYTES >= UNDO_BYTES + 8 + RECORD_OVERHEAD_BYTES,
    "a step has room for the undo record of a page, and twice that for the two records of freeing"
);

impl Work {
    /// Writes a chain with the value, as the newest item of the undo stack.
    pub async fn write_chain(&mut self, tree: TreeId, value: &[u8]) -> Result<Stub, EngineError> {
        let engine = self.engine.clone();
        engine.note_chains(tree).await?;
        engine.keep_log_room().await?;
        let state = self.state();
        let sequence = self.sequence();
        let mut writer = Writer::new(pagestore::TreeId(tree.0), value.len());
        loop {
            let step = engine.pool.run(|| {
                let mut mtr = Mtr::begin(&engine.pool);
                let step = writer.step(&engine.space, &mut mtr, value)?;
                mtr.reserve(RECORD_BYTES)?;
                state.begin_step();
                log_chain_undo(&mut mtr, state.id, sequence, step.pages[0]);
                Ok((step, mtr.commit()))
            });
            let (step, committed) = match step.await {
                Ok(done) => done,
                Err(error) => {
                    self.roll_back_to(sequence, true).await?;
                    return Err(engine.pool_error(error));
                }
            };
            committed.map_err(|error| engine.log_failed(&error))?;
            debug_assert!(!step.pages.is_empty(), "a step writes a page");
            state.set_chain(sequence, step.pages[0]);
            writer.advance(step);
            debug_assert_eq!(state.next_sequence(), sequence + 1, "the chain is the newest change");
            if let Some(stub) = writer.stub() {
                return Ok(stub);
            }
        }
    }
}

fn log_chain_undo(mtr: &mut Mtr<'_>, txn: TransactionId, sequence: u64, first: PageId) {
    let before = first.0.to_le_bytes();
    let operation = Operation::CreateChain;
    let undo = LogRecord::Undo { operation, sequence, tree: TreeId(0), key: &[], before: &before };
    mtr.log_extra(undo.kind(), txn.0, &undo.payload());
}

impl Engine {
    pub(crate) async fn read_chain(&self, stub: Stub) -> Result<Vec<u8>, EngineError> {
        let mut reader = Reader::new(stub);
        self.pool.run(|| reader.read(&self.pool)).await.map_err(|error| self.pool_error(error))?;
        let value = reader.into_value();
        debug_assert_eq!(value.len() as u64, stub.length, "a shorter chain is an error before");
        Ok(value)
    }

    /// Undoes `write_chain`.
    pub(crate) async fn undo_create_chain(
        &self,
        state: &TransactionState,
        sequence: u64,
        mut first: PageId,
    ) -> Result<(), EngineError> {
        loop {
            let mut free = FreeStep::new(first);
            let step = self.pool.run(|| {
                let mut mtr = Mtr::begin_with(&self.pool, Priority::Reserve);
                let rest = free.plan(&self.space, &mut mtr)?;
                mtr.reserve(RECORD_BYTES + COMPENSATED_BYTES)?;
                state.begin_step();
                match rest {
                    Some(rest) => log_chain_undo(&mut mtr, state.id, sequence, rest),
                    None => {
                        let compensated = LogRecord::Compensated { sequence };
                        mtr.log_extra(compensated.kind(), state.id.0, &compensated.payload());
                    }
                }
                Ok((rest, mtr.commit()))
            });
            let (rest, committed) = match step.await.map_err(|error| self.pool_error(error)) {
                // Nothing refers to the chain. What cannot be followed stays in use.
                Err(error) if error.is_corruption() => return Ok(()),
                done => done?,
            };
            committed.map_err(|error| self.log_failed(&error))?;
            let Some(rest) = rest else { return Ok(()) };
            state.set_chain(sequence, rest);
            first = rest;
        }
    }

    /// Frees chains that committed transactions have replaced and nobody can see any more.
    pub(crate) async fn free_chains(&self, chains: Vec<u64>) -> Result<(), EngineError> {
        for chain in chains {
            let mut next = Some(PageId(chain));
            while let Some(first) = next {
                next = match self.free_chain_step(first).await {
                    Err(error) if error.is_corruption() => {
                        self.forget_chain(first);
                        None
                    }
                    done => done?,
                };
            }
        }
        Ok(())
    }

    async fn free_chain_step(&self, first: PageId) -> Result<Option<PageId>, EngineError> {
        let mut free = FreeStep::new(first);
        let step = self.pool.run(|| {
            let mut mtr = Mtr::begin_with(&self.pool, Priority::Reserve);
            let rest = free.plan(&self.space, &mut mtr)?;
            mtr.reserve(2 * RECORD_BYTES)?;
            let freed = LogRecord::Freed { chain: first.0 };
            mtr.log_extra(freed.kind(), NO_TRANSACTION.0, &freed.payload());
            if let Some(rest) = rest {
                let pending = LogRecord::PendingFrees { chains: vec![rest.0] };
                mtr.log_extra(pending.kind(), NO_TRANSACTION.0, &pending.payload());
            }
            // Under the commit mutex: a checkpoint lists the pending chains either before or after this.
            let mut history = self.versions.history.lock();
            let committed = mtr.commit();
            if committed.is_ok() {
                history.chain_freed(first.0);
                history.add_pending_chains(rest.map(|rest| rest.0));
            }
            Ok((rest, committed))
        });
        let (rest, committed) = step.await.map_err(|error| self.pool_error(error))?;
        committed.map_err(|error| self.log_failed(&error))?;
        Ok(rest)
    }
}
