//! A row's version chain: what the row was before each change that some snapshot may not see yet.
//!
//! The page holds the newest version. Entry i says who wrote version i and what the row was before it, so a
//! reader walks from the newest and stops at the first writer it sees. Invariant: only the newest entries
//! can have an active writer, all of them the same one.

use crate::transactions::transaction_state::TransactionState;
use std::collections::VecDeque;
use std::sync::Arc;

/// A row's state before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// There was no such row (or only a ghost).
    Absent,
    /// The record as it stood in the page, with the engine's header.
    Record(Box<[u8]>),
}

/// Who wrote a version.
enum Writer {
    State(Arc<TransactionState>),
    /// Merged history needs no more of a transaction than its commit, which every new snapshot sees.
    CommittedAt(u64),
}

impl Writer {
    fn is(&self, other: &Arc<TransactionState>) -> bool {
        matches!(self, Writer::State(state) if Arc::ptr_eq(state, other))
    }

    fn committed_at(&self) -> Option<u64> {
        match self {
            Writer::State(state) => state.committed_at(),
            Writer::CommittedAt(lsn) => Some(*lsn),
        }
    }

    fn state(&self) -> Option<&Arc<TransactionState>> {
        match self {
            Writer::State(state) => Some(state),
            Writer::CommittedAt(_) => None,
        }
    }
}

struct Version {
    writer: Writer,
    /// The number of the write within its transaction.
    sequence: u64,
    before: Before,
    /// It was a delete, or the last of the changes that were dropped behind it was: the next newer image, or else the page,
    /// has no such row.
    deletes: bool,
}

impl Version {
    /// There is no such row before or after it: who needs the image would see the same without it.
    fn is_void(&self) -> bool {
        self.deletes && self.before == Before::Absent
    }
}

/// Oldest first, so that pruning takes from the front.
#[derive(Default)]
pub(super) struct VersionChain {
    versions: VecDeque<Version>,
}

/// What a reader who looks elsewhere as well has to know of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unseen<B> {
    /// Every version here is one that the reader sees.
    None,
    /// The newest is the reader's own, so the page is what it sees, whatever there is elsewhere.
    Own,
    /// The oldest before-image that the reader needs, with its writer's place in the order of commits: the LSN of the
    /// commit, the highest number for one that has not committed.
    Before(B, u64),
}

/// A version that a commit has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended<B> {
    /// Of the commit.
    pub lsn: u64,
    pub before: B,
    /// See `Version`.
    pub deletes: bool,
}

/// What thinning a chain has left.
#[derive(Default)]
pub(crate) struct Thinned {
    pub dropped: Vec<Before>,
    /// What the images take that are left.
    pub image_bytes: usize,
    pub is_empty: bool,
}

/// The version a reader sees.
pub(crate) enum Visible<'a> {
    /// The one in the page.
    Page,
    Before(&'a Before),
}

impl VersionChain {
    pub fn len(&self) -> usize {
        self.versions.len()
    }

    pub fn push(&mut self, writer: Arc<TransactionState>, sequence: u64, before: Before, deletes: bool) {
        debug_assert!(
            self.active_writer().is_none_or(|active| Arc::ptr_eq(active, &writer)),
            "one transaction at a time has changed a row and not ended"
        );
        debug_assert!(
            self.versions
                .back()
                .is_none_or(|newest| !newest.writer.is(&writer) || newest.sequence < sequence),
            "the changes of a transaction are in the order of their numbers"
        );
        if self.versions.capacity() == 0 {
            // Most rows change once before their versions are pruned.
            self.versions.reserve_exact(1);
        }
        self.versions.push_back(Version { writer: Writer::State(writer), sequence, before, deletes });
    }

    pub fn pop(&mut self) {
        let popped = self.versions.pop_back().expect("the caller checked the newest version");
        debug_assert!(popped.writer.state().is_some_and(|writer| writer.is_active()), "an end is not undone");
    }

    /// Takes out the version that `writer`, who is active, wrote as `sequence`.
    pub fn remove(&mut self, writer: &Arc<TransactionState>, sequence: u64) {
        if let Some(index) = self.find(writer, sequence) {
            debug_assert!(writer.is_active(), "the versions of who has ended are pruned instead");
            self.versions.remove(index);
        }
    }

    /// What an active transaction has written are the newest versions, in its order; they may be very many.
    fn find(&self, writer: &Arc<TransactionState>, sequence: u64) -> Option<usize> {
        let is_before = |version: &Version| version.sequence < sequence || !version.writer.is(writer);
        let index = self.versions.partition_point(is_before);
        let found = self.versions.get(index)?;
        (found.sequence == sequence && found.writer.is(writer)).then_some(index)
    }

    pub fn newest_is(&self, writer: &Arc<TransactionState>, sequence: u64) -> bool {
        self.versions.back().is_some_and(|newest| newest.sequence == sequence && newest.writer.is(writer))
    }

    pub fn newest_before(&self) -> &Before {
        &self.versions.back().expect("the caller checked the newest version").before
    }

    pub fn before(&self, writer: &Arc<TransactionState>, sequence: u64) -> Option<&Before> {
        self.find(writer, sequence).map(|index| &self.versions[index].before)
    }

    /// The transaction that has the row implicitly locked.
    pub fn active_writer(&self) -> Option<&Arc<TransactionState>> {
        let newest = self.versions.back()?;
        newest.writer.state().filter(|writer| writer.is_active())
    }

    /// When the newest version was committed, if it is.
    pub fn newest_if_committed(&self) -> Option<u64> {
        self.versions.back().and_then(|newest| newest.writer.committed_at())
    }

    /// When the newest committed version was committed; 0 when that is forgotten, hence long durable.
    pub fn newest_commit_lsn(&self) -> u64 {
        self.versions.iter().rev().find_map(|version| version.writer.committed_at()).unwrap_or(0)
    }

    pub fn visible(&self, snapshot_lsn: u64, me: Option<&Arc<TransactionState>>) -> Visible<'_> {
        match self.oldest_unseen(snapshot_lsn, me) {
            Unseen::Before(before, _) => Visible::Before(before),
            Unseen::None | Unseen::Own => Visible::Page,
        }
    }

    pub fn oldest_unseen(&self, snapshot_lsn: u64, me: Option<&Arc<TransactionState>>) -> Unseen<&Before> {
        let mut oldest = Unseen::None;
        for version in self.versions.iter().rev() {
            if me.is_some_and(|me| version.writer.is(me)) {
                return Unseen::Own;
            }
            let committed_at = version.writer.committed_at();
            if committed_at.is_some_and(|lsn| lsn <= snapshot_lsn) {
                break;
            }
            oldest = Unseen::Before(&version.before, committed_at.unwrap_or(u64::MAX));
        }
        oldest
    }

    /// The versions that were committed at or before `lsn`, oldest first.
    pub fn committed_through(&self, lsn: u64) -> impl Iterator<Item = Ended<&Before>> {
        self.versions.iter().map_while(move |version| {
            let lsn = version.writer.committed_at().filter(|committed| *committed <= lsn)?;
            Some(Ended { lsn, before: &version.before, deletes: version.deletes })
        })
    }

    /// Takes them out.
    pub fn forget_through(&mut self, lsn: u64) {
        let count = self.committed_through(lsn).count();
        self.versions.drain(..count);
        if self.versions.is_empty() {
            self.versions = VecDeque::new();
        }
    }

    /// Drops the before-images that none of the `snapshots` (ascending) needs, nor any snapshot from
    /// `visible_lsn` on: those between two versions that every snapshot sees alike and, unless it `keeps_voids`, those of
    /// rows that were made and deleted meanwhile.
    pub fn thin(&mut self, snapshots: &[u64], visible_lsn: u64, keeps_voids: bool) -> Thinned {
        debug_assert!(snapshots.is_sorted(), "they are searched by halves");
        let mut dropped = Vec::new();
        let mut kept: VecDeque<Version> = VecDeque::with_capacity(1);
        let mut older_lsn = 0;
        for mut version in self.versions.drain(..) {
            let Some(lsn) = version.writer.committed_at().filter(|lsn| *lsn <= visible_lsn) else {
                kept.push_back(version);
                continue;
            };
            // The image is what snapshots from the older version's commit to this one's see.
            debug_assert!(older_lsn <= lsn, "versions are in the order of commits");
            let first = snapshots.partition_point(|snapshot| *snapshot < older_lsn);
            if snapshots.get(first).is_some_and(|snapshot| *snapshot < lsn) {
                older_lsn = lsn;
                version.writer = Writer::CommittedAt(lsn);
                kept.push_back(version);
            } else {
                if let Some(older) = kept.back_mut() {
                    older.deletes = version.deletes;
                }
                dropped.push(version.before);
            }
        }
        let is_visible =
            |version: &Version| matches!(version.writer, Writer::CommittedAt(lsn) if lsn <= visible_lsn);
        kept.retain(|version| keeps_voids || !is_visible(version) || !version.is_void());
        self.versions = kept;
        if self.versions.len() * 2 < self.versions.capacity() {
            self.versions.shrink_to_fit();
        }
        let images = self.versions.iter().map(|version| match &version.before {
            Before::Record(record) => record.len(),
            Before::Absent => 0,
        });
        Thinned { dropped, image_bytes: images.sum(), is_empty: self.versions.is_empty() }
    }

    /// Drops what only snapshots before `horizon_lsn` could need: every before-image of a writer that all
    /// later snapshots see, and everything older. `dropped` is shown each.
    pub fn prune(&mut self, horizon_lsn: u64, mut dropped: impl FnMut(&Before)) {
        let unneeded = self
            .versions
            .iter()
            .rposition(|version| version.writer.committed_at().is_some_and(|lsn| lsn <= horizon_lsn));
        let count = unneeded.map_or(0, |position| position + 1);
        self.versions.drain(..count).for_each(|version| dropped(&version.before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isolation;
    use crate::transactions::transaction_state::TransactionId;
    use proptest::prelude::*;

    /// A chain of committed changes, each with what was before it and whether it deletes the row.
    fn chain_of(commits: &[u64], change: impl Fn(usize) -> (Before, bool)) -> VersionChain {
        let mut chain = VersionChain::default();
        for (number, lsn) in commits.iter().enumerate() {
            let writer = TransactionState::new(TransactionId(*lsn), Isolation::RepeatableRead, 0, 0);
            writer.stamp_committed(*lsn);
            let (before, deletes) = change(number);
            chain.push(writer, 0, before, deletes);
        }
        chain
    }

    fn image(number: usize) -> Before {
        Before::Record(vec![number as u8].into())
    }

    fn chain(commits: &[u64]) -> VersionChain {
        chain_of(commits, |number| (image(number), false))
    }

    /// The row is made and deleted in turn.
    fn coming_and_going(commits: &[u64]) -> VersionChain {
        chain_of(commits, |number| match number % 2 {
            0 => (Before::Absent, false),
            _ => (image(number), true),
        })
    }

    fn seen(chain: &VersionChain, snapshot: u64) -> Option<Before> {
        match chain.visible(snapshot, None) {
            Visible::Page => None,
            Visible::Before(before) => Some(before.clone()),
        }
    }

    proptest! {
        #[test]
        fn thinning_changes_nothing_for_anybody(
            commits in proptest::collection::btree_set(1u64..60, 0..20),
            mut snapshots in proptest::collection::vec(0u64..60, 0..5),
            visible_lsn in 0u64..70,
        ) {
            let commits: Vec<u64> = commits.into_iter().collect();
            snapshots.retain(|snapshot| *snapshot <= visible_lsn);
            snapshots.sort_unstable();
            let full = chain(&commits);
            let mut thin = chain(&commits);
            let thinned = thin.thin(&snapshots, visible_lsn, false);
            prop_assert_eq!(thin.len() + thinned.dropped.len(), full.len());
            prop_assert_eq!((thinned.image_bytes, thinned.is_empty), (thin.len(), thin.len() == 0));
            for snapshot in snapshots.iter().copied().chain(visible_lsn..70) {
                prop_assert_eq!(seen(&thin, snapshot), seen(&full, snapshot), "at {}", snapshot);
            }
            let invisible = commits.iter().filter(|lsn| **lsn > visible_lsn).count();
            prop_assert!(thin.len() <= snapshots.len() + invisible);
        }

        #[test]
        fn rows_that_came_and_went_leave_nothing(
            commits in proptest::collection::btree_set(1u64..60, 0..20),
            mut snapshots in proptest::collection::vec(0u64..60, 0..5),
            visible_lsn in 0u64..70,
        ) {
            let commits: Vec<u64> = commits.into_iter().collect();
            snapshots.retain(|snapshot| *snapshot <= visible_lsn);
            snapshots.sort_unstable();
            let full = coming_and_going(&commits);
            let mut thin = coming_and_going(&commits);
            thin.thin(&snapshots, visible_lsn, false);
            let is_there = !commits.len().is_multiple_of(2);
            let page = if is_there { Before::Record([255].into()) } else { Before::Absent };
            for snapshot in snapshots.iter().copied().chain(visible_lsn..70) {
                let (thin, full) = (seen(&thin, snapshot), seen(&full, snapshot));
                prop_assert_eq!(
                    thin.unwrap_or_else(|| page.clone()), full.unwrap_or_else(|| page.clone()), "at {}", snapshot
                );
            }
            if !is_there && commits.last().is_none_or(|last| *last <= visible_lsn) {
                let images = thin.versions.iter().filter(|version| version.before != Before::Absent).count();
                let between = |pair: &&[u64]| snapshots.iter().any(|snapshot| (pair[0]..pair[1]).contains(snapshot));
                prop_assert_eq!(images, commits.chunks(2).filter(between).count());
                prop_assert!(images > 0 || thin.len() == 0);
            }
        }
    }
}
