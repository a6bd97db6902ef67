//! The end of a transaction: where the channel stands with it, and its commit.
use binlog::RawEvent;
use datum::SqlError;
use engine::UnsettledCommit;
use instance::replication::AppliedTransaction;
use instance::unix_now_us;

use super::applier::{Applier, Stage};
use super::engine_failed;

impl Applier {
    /// The next transaction begins there in its source's files.
    pub(super) fn stand_at(&mut self, file: &str, position: u64) {
        let next = &mut self.applying().next;
        (next.file, next.position) = (file.to_owned(), position);
    }

    /// The end of a transaction that is here already, or of one of rows, which may have none here.
    pub(super) async fn end(&mut self, raw: &RawEvent<'_>) -> Result<(), SqlError> {
        if !matches!(self.stage, Stage::Passing | Stage::PassingInside) {
            self.open();
            self.session.log_applied_nothing();
        }
        self.commit(raw).await
    }

    /// The place in the file moves behind the event.
    pub(super) fn advance(&mut self, raw: &RawEvent<'_>) {
        let low = raw.header.next_position;
        if low > 0 {
            let next = &mut self.applying().next;
            // The event has the low half only.
            let high = next.position & !u64::from(u32::MAX);
            let moved = high | u64::from(low);
            next.position = if moved < next.position { moved + (1 << 32) } else { moved };
        }
    }

    /// The end of a transaction that is here already.
    pub(super) fn passed(&mut self, raw: &RawEvent<'_>) {
        self.advance(raw);
        self.stage = Stage::Outside;
        self.channel.status.lock().applying = None;
    }

    /// Stores in the open transaction how far the channel comes with it.
    pub(super) async fn store(&mut self) -> Result<(), SqlError> {
        self.session.store_applied().await
    }

    pub(super) async fn commit(&mut self, raw: &RawEvent<'_>) -> Result<(), SqlError> {
        if matches!(self.stage, Stage::Passing | Stage::PassingInside) {
            self.passed(raw);
            return Ok(());
        }
        let commit = self.commit_unsettled(raw).await?;
        self.settling.add(commit).await.map_err(engine_failed)
    }

    /// A commit that nobody has waited for.
    pub(super) async fn commit_unsettled(&mut self, raw: &RawEvent<'_>) -> Result<UnsettledCommit, SqlError> {
        self.open();
        self.advance(raw);
        self.store().await?;
        let commit = self.session.commit_applied().await?;
        self.applying().stored();
        self.committed();
        Ok(commit)
    }

    pub(super) fn committed(&mut self) {
        self.retries = 0;
        self.stage = Stage::Outside;
        self.tables.clear();
        let mut status = self.channel.status.lock();
        if let Some(applied) = self.current.take() {
            status.applying = None;
            status.last_applied = AppliedTransaction { ended_us: unix_now_us(), ..applied };
        }
    }
}
