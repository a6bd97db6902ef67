//! Rows behind the entries of a secondary index, many at a time.
//!
//! Entries are gathered, their rows' leaves are asked for together, and the rows are read while further leaves are on
//! their way: in the order of the index, or in that of the rows where the plan has no use for the index's. Only plain
//! reads come here: what is locked is locked one after the other. Called by `table_scan`.
use crate::context::ExecContext;
use crate::memory::{Held, MemoryBudget};
use crate::operator::BATCH_ROWS;
use datum::SqlError;
use engine::{EngineError, EntryBatch, TreeId};
use plan::{KEYS_SORTED_FIRST, KEYS_SORTED_MAX};
use std::collections::VecDeque;

/// Keys that are gathered to be sorted, at most, beside their number (`KEYS_SORTED_MAX`) and what memory the statement has.
const GATHERED_BYTES_MAX: usize = 8 << 20;
/// A key's place in the batch and in the order.
const KEY_PLACE_BYTES: usize = 20;
/// The first gathering where few rows are asked for: the reader may stop early.
const GATHERED_FIRST: usize = 512;
/// Groups of leaves that are asked for before the rows of the first are read.
const GROUPS_AHEAD: usize = 2;
/// Of so few rows the leaves are not asked for.
const FEW: usize = 3;
/// Groups that are let pass without a look after one that was in memory, at most.
const PAUSE_MAX: usize = 16;
/// A group that is not looked at.
const GROUP_ROWS: usize = 256;

#[derive(Default)]
pub struct RowLookups {
    /// The keys of the rows, in the order of the entries.
    keys: EntryBatch,
    /// How they are taken.
    order: Vec<u32>,
    next: usize,
    /// Rows up to here are asked for; the starts of the groups that are not begun yet.
    asked: usize,
    groups: VecDeque<usize>,
    /// Groups to let pass, and how many after the next group that is in memory.
    pause: usize,
    pause_next: usize,
    /// The next gathering.
    wanted: usize,
    held: Held,
}

impl RowLookups {
    /// Forgets everything of an earlier run.
    pub fn start(&mut self) {
        self.clear();
        self.wanted = 0;
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.order.clear();
        self.groups.clear();
        (self.next, self.asked) = (0, 0);
    }

    pub fn is_empty(&self) -> bool {
        self.next == self.order.len()
    }

    /// Whether the next entries are to be gathered before rows are read. `wanted` rows are asked for.
    pub fn gathers(&self, wanted: usize, in_row_order: bool) -> bool {
        let enough = match in_row_order {
            true => self.wanted.max(wanted.min(GATHERED_FIRST)),
            false => wanted,
        };
        self.keys.len() < enough && self.keys.bytes_len() < GATHERED_BYTES_MAX
    }

    /// Before entries are gathered for `wanted` rows. Who takes whole batches takes all: the more keys are sorted, the
    /// nearer their rows are to one another.
    pub fn begin(&mut self, wanted: usize) {
        self.clear();
        self.wanted = match wanted < BATCH_ROWS {
            true => (self.wanted * 4).clamp(GATHERED_FIRST, KEYS_SORTED_MAX),
            false => (self.wanted * 4).clamp(KEYS_SORTED_FIRST, KEYS_SORTED_MAX),
        };
    }

    pub fn add(&mut self, row_key: &[u8]) {
        self.keys.push(row_key, &[]);
    }

    /// After some entries; false when there is little memory left for more.
    pub fn has_room(&mut self, memory: &mut MemoryBudget) -> Result<bool, SqlError> {
        let bytes = self.keys.bytes_len() + self.keys.len() * KEY_PLACE_BYTES;
        Ok(!self.held.set_or_spill(bytes, memory)?)
    }

    /// After all entries are there.
    pub fn finish(&mut self, in_row_order: bool) {
        self.order.extend(0..self.keys.len() as u32);
        if in_row_order {
            let keys = &self.keys;
            let key = |number: &u32| keys.get(*number as usize).0;
            self.order.sort_unstable_by(|left, right| key(left).cmp(key(right)));
        }
    }

    /// Asks for the leaves of the rows to come, as far ahead as is good.
    pub async fn look_ahead(&mut self, tree: TreeId, context: &ExecContext<'_>) -> Result<(), EngineError> {
        while self.groups.front().is_some_and(|start| *start <= self.next) {
            self.groups.pop_front();
        }
        while self.groups.len() < GROUPS_AHEAD && self.asked + FEW < self.order.len() {
            self.groups.push_back(self.asked);
            if self.pause > 0 {
                self.pause -= 1;
                self.asked = (self.asked + GROUP_ROWS).min(self.order.len());
                continue;
            }
            let keys = &self.keys;
            let ahead = self.order[self.asked..].iter().map(|number| keys.get(*number as usize).0);
            let expected = context.host.seen_transaction().expect_rows(tree, ahead).await?;
            if expected.absent == 0 {
                self.pause_next = (self.pause_next * 2).clamp(1, PAUSE_MAX);
                self.pause = self.pause_next;
            } else {
                self.pause_next = 0;
            }
            self.asked += expected.keys;
        }
        Ok(())
    }

    /// The key of the next row.
    pub fn take(&mut self) -> Option<&[u8]> {
        let number = *self.order.get(self.next)?;
        self.next += 1;
        Some(self.keys.get(number as usize).0)
    }
}
