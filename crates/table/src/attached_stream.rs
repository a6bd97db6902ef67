//! A stream of changes while it is a table's: what writers of the table tell it, until it is dropped.
use crate::change_stream::ChangeStream;
use crate::handle::TableHandle;
use datum::Value;
use engine::Transaction;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The stream is the table's until this is dropped.
#[must_use]
pub struct AttachedStream {
    table: Arc<TableHandle>,
    stream: Arc<ChangeStream>,
}

impl AttachedStream {
    pub fn stream(&self) -> &Arc<ChangeStream> {
        &self.stream
    }
}

impl Drop for AttachedStream {
    fn drop(&mut self) {
        self.table.changes.set(None);
        self.stream.close();
    }
}

impl TableHandle {
    /// Has writers tell `stream` what they change. The caller holds a lock that no writer passes, and is the only one
    /// who changes the table's definition until the result is dropped.
    pub fn attach_stream(self: &Arc<Self>, stream: ChangeStream) -> AttachedStream {
        let stream = Arc::new(stream);
        debug_assert!(self.changes.get().is_none(), "one build at a time listens to a table");
        self.changes.set(Some(stream.clone()));
        AttachedStream { table: self.clone(), stream }
    }

    /// Called before a change, while no page is latched: waits for a build that does not keep up.
    #[inline]
    pub(crate) async fn wait_for_build(&self) {
        if let Some(stream) = self.changes.get() {
            stream.wait_for_room().await;
        }
    }

    /// Called behind the change: of a new row, of one that has other values, or of both rows when its key changes.
    pub(crate) fn tell_change(
        &self,
        transaction: &mut Transaction,
        (old_key, old): (&[u8], Option<&[Value]>),
        (new_key, new): (&[u8], &[Value]),
    ) {
        let Some(stream) = self.changes.get() else { return };
        let Some(old) = old else { return stream.add(transaction, new_key, None) };
        let moves = old_key != new_key;
        if moves || stream.concerns(old, new) {
            stream.add(transaction, old_key, Some(old));
        }
        if moves {
            stream.add(transaction, new_key, None);
        }
    }

    /// Whether a build has to be told of changes.
    pub(crate) fn has_stream(&self) -> bool {
        self.changes.is_attached.load(Ordering::Relaxed)
    }

    /// Behind the deletion of a row.
    pub(crate) fn tell_deletion(&self, transaction: &mut Transaction, row_key: &[u8], row: Option<&[Value]>) {
        debug_assert!(row.is_some() || !self.has_stream(), "a build is told of whole rows");
        if let (Some(stream), Some(row)) = (self.changes.get(), row) {
            stream.add(transaction, row_key, Some(row));
        }
    }
}
