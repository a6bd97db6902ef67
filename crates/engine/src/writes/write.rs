//! Insert, update and delete of one record.
//!
//! Each is one tree operation: under the exclusive leaf latch it checks for conflicts, announces the version
//! in the row table, and changes the page together with its undo record in one log group. On a conflict
//! nothing is changed, the transaction waits without a latch, and starts again from the root.
//!
//! Who knows what the record is before the change (`insert_unseen`, `delete_unseen`) needs no leaf for that. If it would
//! have to be read, the change is made late (`btree::Edit::may_be_late`): versions, locks and undo are the same, and
//! nobody can load the leaf between the checks and the log record.

use crate::locks::lock_wait::Waited;
use crate::log::log_record::{RECORD_OVERHEAD_BYTES, UNDO_BYTES};
use crate::row_table::RowName;
use crate::storage::record;
use crate::storage::record::GHOST_RECORD;
use crate::transactions::transaction::{Transaction, Work};
use crate::writes::row_edit::{Change, Kind, RowEdit, Written};
use crate::writes::undo_stack::UndoItem;
use crate::{EngineError, LockMode, TreeId, Uniqueness, WaitPolicy};
use std::sync::atomic::Ordering::Relaxed;

impl Transaction {
    /// Adds a record, exclusively locked by this transaction.
    pub async fn insert(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        unique: Uniqueness,
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        self.check_writable()?;
        let duplicate_lock = self.duplicate_lock;
        match unique {
            Uniqueness::Key => self.work.insert(tree, key, value, duplicate_lock, wait).await?,
            Uniqueness::Prefix(length) => {
                let prefix = key.get(..length).expect("a unique prefix is a part of the key");
                let prefix_tree = RowName::prefix_tree(tree);
                self.work.lock_row(prefix_tree, prefix, LockMode::Exclusive, wait).await?;
                let inserted = match self.work.check_prefix(tree, key, prefix, duplicate_lock, wait).await {
                    Ok(()) => self.work.insert(tree, key, value, duplicate_lock, wait).await,
                    Err(error) => Err(error),
                };
                // From here on the record itself stands in the way of others.
                self.work.unlock_row(prefix_tree, prefix, 0);
                inserted?;
            }
        }
        self.work.engine.stats.rows_inserted.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Replaces the value of an existing record, locking it exclusively.
    pub async fn update(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        self.check_writable()?;
        self.work.write_value(tree, key, value, Kind::Update, LockMode::Exclusive, wait).await?;
        self.work.engine.stats.rows_updated.fetch_add(1, Relaxed);
        Ok(())
    }

    /// `insert` for a caller who knows that there is no such record: its leaf is not read for this. For entries of
    /// indexes whose keys hold the key of a row that the caller has locked.
    pub async fn insert_unseen(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        self.work.engine.check_key(key)?;
        if !self.work.engine.is_inline(key, value) {
            return self.insert(tree, key, value, Uniqueness::Key, wait).await;
        }
        self.check_writable()?;
        let record = record::encode_value(value);
        let write = Write { kind: Kind::Insert, record: &record, known: Some(None), mark: None };
        self.work.write(tree, key, write, self.duplicate_lock, wait).await?;
        self.work.engine.apply_some_late().await;
        self.work.engine.stats.rows_inserted.fetch_add(1, Relaxed);
        Ok(())
    }

    /// `delete` for a caller who knows that the record exists and has this value; see `insert_unseen`.
    pub async fn delete_unseen(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        self.work.engine.check_key(key)?;
        if !self.work.engine.is_inline(key, value) {
            return self.delete(tree, key, wait).await;
        }
        self.check_writable()?;
        let before = record::encode_value(value);
        let write =
            Write { kind: Kind::Delete, record: GHOST_RECORD, known: Some(Some(&before)), mark: None };
        self.work.write(tree, key, write, LockMode::Exclusive, wait).await?;
        self.work.engine.apply_some_late().await;
        self.work.engine.stats.rows_deleted.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Removes a record, locking its key exclusively; `NotFound` if it does not exist.
    pub async fn delete(&mut self, tree: TreeId, key: &[u8], wait: WaitPolicy) -> Result<(), EngineError> {
        self.check_writable()?;
        let write = Write { kind: Kind::Delete, record: GHOST_RECORD, known: None, mark: None };
        self.work.write(tree, key, write, LockMode::Exclusive, wait).await?;
        self.work.engine.stats.rows_deleted.fetch_add(1, Relaxed);
        Ok(())
    }
}

/// One record to write.
#[derive(Clone, Copy)]
struct Write<'a> {
    kind: Kind,
    record: &'a [u8],
    /// What the record is before, if the caller knows.
    known: Option<Option<&'a [u8]>>,
    /// What it makes of the tree's mark; filled in by `Work::write`.
    mark: Option<u128>,
}

impl Work {
    async fn insert(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        duplicate_lock: LockMode,
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        self.write_value(tree, key, value, Kind::Insert, duplicate_lock, wait).await
    }

    /// Writes a value, into an overflow chain first if it is long. If the write fails the chain is undone.
    async fn write_value(
        &mut self,
        tree: TreeId,
        key: &[u8],
        value: &[u8],
        kind: Kind,
        duplicate_lock: LockMode,
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        self.engine.check_key(key)?;
        if self.engine.is_inline(key, value) {
            let record = record::encode_value(value);
            let write = Write { kind, record: &record, known: None, mark: None };
            return self.write(tree, key, write, duplicate_lock, wait).await;
        }
        let mark = self.sequence();
        let stub = self.write_chain(tree, value).await?;
        debug_assert_eq!(self.sequence(), mark + 1, "a chain is one change");
        let record = record::encode_stub(stub);
        let write = Write { kind, record: &record, known: None, mark: None };
        let written = self.write(tree, key, write, duplicate_lock, wait).await;
        if let Err(error) = &written
            && !error.rolled_back()
        {
            self.roll_back_to(mark, true).await?;
        }
        written
    }

    /// Writes an encoded record, waiting for whoever is in the way.
    async fn write(
        &mut self,
        tree: TreeId,
        key: &[u8],
        write: Write<'_>,
        duplicate_lock: LockMode,
        wait: WaitPolicy,
    ) -> Result<(), EngineError> {
        let raised = self.mark.take().filter(|(of, _)| *of == tree);
        let write = Write { mark: raised.map(|(_, mark)| mark), ..write };
        self.engine.check_key(key)?;
        loop {
            match self.write_once(tree, key, write, duplicate_lock).await? {
                Written::Done => return Ok(()),
                Written::Missing => return Err(EngineError::NotFound),
                Written::Changed => return Err(EngineError::RecordChanged),
                Written::Duplicate => return Err(EngineError::DuplicateKey { existing_key: key.into() }),
                Written::Stopped => unreachable!("the tree operation was repeated"),
                Written::Gap => self.wait_for_gap(tree, key, wait).await?,
                Written::Locked(mode) => match self.wait_for_row(tree, key, mode, wait).await? {
                    Waited::Granted => {}
                    Waited::Skip => return Err(EngineError::LockNotAvailable),
                },
            }
        }
    }

    /// One attempt.
    async fn write_once(
        &mut self,
        tree: TreeId,
        key: &[u8],
        Write { kind, record, known, mark }: Write<'_>,
        duplicate_lock: LockMode,
    ) -> Result<Written, EngineError> {
        self.withdraw();
        let state = self.state();
        self.spill_if_large().await?;
        self.engine.keep_log_room().await?;
        self.moves_seen = self.engine.rows.moves();
        let engine = &self.engine;
        let handle = engine.tree(tree)?;
        let sequence = self.sequence();
        let mark = mark.filter(|mark| *mark > engine.trees.marks.get(tree));
        let before_lsn = engine.wal.end_lsn().0;
        let mut edit = RowEdit {
            engine,
            state: &state,
            tree,
            key,
            record,
            kind,
            known,
            mark,
            is_unseen: false,
            duplicate_lock,
            newest_allowed: self.newest_allowed,
            sequence,
            announced: &mut self.announced,
            outcome: Written::Done,
            stop: None,
            before_bytes: 0,
            seen_lsn: 0,
        };
        let priority = wal::Priority::Normal;
        let item = engine.modify_or_stop(&handle, key, &mut edit, priority, |edit| edit.stop.take()).await;
        let (outcome, before_bytes) = (edit.outcome, edit.before_bytes);
        self.seen_lsn = self.seen_lsn.max(edit.seen_lsn);
        engine.start_due_checkpoint();
        match item {
            Ok(Some(change)) => {
                // Before the step ends: see `marks`.
                if let Some(mark) = mark {
                    self.engine.trees.marks.raise(tree, mark, before_lsn);
                }
                let name = self.announced.take().expect("a change is announced first");
                debug_assert!(name.tree == tree && *name.key == *key, "what was announced has happened");
                debug_assert_eq!(self.sequence(), sequence, "the stack has the number that the log has");
                let Change { operation, old_chain } = change;
                let bytes = UNDO_BYTES + RECORD_OVERHEAD_BYTES + key.len() + before_bytes;
                let item = UndoItem::Row { name, operation, old_chain };
                env::coroutine::uncounted(|| self.push_undo(item, bytes));
                Ok(Written::Done)
            }
            Ok(None) => {
                self.withdraw();
                Ok(outcome)
            }
            Err(error) => {
                self.withdraw();
                Err(error)
            }
        }
    }
}
