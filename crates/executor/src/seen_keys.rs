//! Keys that a statement has met: the last ones in memory up to a share, the others in runs of a temporary file.
//!
//! Invariant: a key is in memory or in a run, never in both. Called by what asks for each row whether its key is new: joining
//! changes, IN, recursion without duplicates, and DISTINCT aggregates over sorted input.
use crate::context::ExecContext;
use crate::cooperate::{Pace, Pauses};
use crate::memory::{Held, MemoryBudget};
use datum::SqlError;
use foldhash::{HashSet, HashSetExt};
use rowstore::KeyRuns;

/// What a key costs beside its bytes.
const ENTRY_BYTES: usize = 48;
/// Fewer keys are not worth a run, however little memory there is.
const RUN_KEYS_MIN: usize = 64;

pub struct SeenKeys {
    recent: HashSet<Box<[u8]>>,
    held: Held,
    runs: KeyRuns,
    held_runs: Held,
    pace: Pace,
}

impl SeenKeys {
    pub fn new() -> SeenKeys {
        SeenKeys {
            recent: HashSet::new(),
            held: Held::default(),
            runs: KeyRuns::default(),
            held_runs: Held::default(),
            pace: Pace::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.recent.is_empty() && self.runs.is_empty()
    }

    /// What it counts for in the budget that it was filled with.
    pub fn held_bytes(&self) -> usize {
        self.held.bytes() + self.held_runs.bytes()
    }

    pub async fn contains(&self, key: &[u8]) -> Result<bool, SqlError> {
        Ok(self.recent.contains(key) || !self.runs.is_empty() && self.runs.contains(key).await?)
    }

    /// Adds the key; false when it was there.
    pub async fn insert(&mut self, key: &[u8], context: &mut ExecContext<'_>) -> Result<bool, SqlError> {
        if self.contains(key).await? {
            return Ok(false);
        }
        self.recent.insert(key.into());
        let share = context.settings.shares.rows_bytes;
        let has_no_room = self.held.take_or_spill(key.len() + ENTRY_BYTES, share, &mut context.memory)?;
        if has_no_room && self.recent.len() >= RUN_KEYS_MIN {
            self.write(context).await?;
        }
        Ok(true)
    }

    /// Brings the keys in memory to disk.
    async fn write(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        context.work.disk_tables += u64::from(self.runs.is_empty());
        let before = self.runs.written_bytes();
        let keys = std::mem::take(&mut self.recent);
        let mut pauses = Pauses { pace: &mut self.pace, interrupt: context.interrupt };
        self.runs.add(keys, context.temporary, &mut pauses).await?;
        context.work.spilled_bytes += self.runs.written_bytes() - before;
        self.held.release(&mut context.memory);
        self.held_runs.release(&mut context.memory);
        self.held_runs.take(self.runs.memory_bytes(), &mut context.memory)
    }

    /// Forgets all keys.
    pub fn clear(&mut self, memory: &mut MemoryBudget) {
        self.held.release(memory);
        self.held_runs.release(memory);
        self.recent.clear();
        self.runs = KeyRuns::default();
    }
}
