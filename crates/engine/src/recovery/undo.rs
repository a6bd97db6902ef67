//! Undo of the losers: the same inverse operations as a rollback, from the log's images.

use super::analysis::UndoMap;
use crate::EngineError;
use crate::engine::Engine;
use crate::log_record::{LogRecord, Operation, UndoRecord};
use crate::spill::FoundSpill;
use crate::transaction_state::TransactionId;
use btree::Tree;
use pagestore::PageId;
use std::collections::BTreeMap;
use std::sync::Arc;
use wal::WalGroup;

impl Engine {
    /// Rolls back what the crash has cut off.
    pub(crate) async fn undo_losers(
        self: &Arc<Self>,
        losers: BTreeMap<u64, UndoMap>,
        spills: &[FoundSpill],
    ) -> Result<(), EngineError> {
        for (txn, undo) in losers {
            let txn = TransactionId(txn);
            let spill = spills.iter().find(|spill| spill.owner == txn);
            for (sequence, record) in undo.iter().rev() {
                if let Some(spill) = spill
                    && record.operation == Operation::CreateChain
                {
                    // It may be there too, and must not be freed twice.
                    self.forget_spilled_chain(&spill.live.tree, *sequence).await?;
                }
                match self.undo_from_log(txn, *sequence, record).await {
                    // The record is also in the spill, from a batch that was cut off, and the rollback has undone
                    // the creation of its tree before the crash.
                    Err(EngineError::NoSuchTree(_)) if spill.is_some() => {}
                    undone => undone?,
                }
            }
            let mut group = WalGroup::new();
            group.push(LogRecord::RolledBack.kind(), txn.0, &[]);
            // Only shortens the next analysis.
            let _ = self.wal.append_reserve(&group);
        }
        Ok(())
    }

    async fn undo_from_log(
        self: &Arc<Self>,
        txn: TransactionId,
        sequence: u64,
        record: &UndoRecord,
    ) -> Result<(), EngineError> {
        let page = || match record.before[..].try_into() {
            Ok(page) => Ok(PageId(u64::from_le_bytes(page))),
            Err(_) => Err(EngineError::Corrupt { what: format!("an undo record of transaction {}", txn.0) }),
        };
        match record.operation {
            Operation::Insert => self.restore_from_log(txn, sequence, record.tree, &record.key, None).await,
            Operation::Update | Operation::Delete => {
                let before = Some(&*record.before);
                self.restore_from_log(txn, sequence, record.tree, &record.key, before).await
            }
            Operation::CreateTree => {
                let tree = Tree { id: pagestore::TreeId(record.tree.0), root: page()? };
                self.undo_create_tree(None, txn, sequence, tree).await
            }
            Operation::CreateChain => self.undo_create_chain(None, txn, sequence, page()?).await,
        }
    }
}
