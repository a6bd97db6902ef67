//! How much background work user writes have earned, and how much space everybody must leave to others.
//!
//! Nothing here waits or knows the time: work is owed in bytes, in proportion to bytes written.

use super::SegmentOptions;
use super::place::{BLOCK_BYTES, Geometry};

/// How strongly the cleaner answers a shortage of free segments, in bytes cleaned per byte written.
const GAIN: f64 = 4.0;
/// So large a part (1/n) of the room that is left above the writers' floor may be owed: the less there is, the sooner
/// they wait.
const OWED_SHARE: i64 = 2;
/// Of all segments, so many percent are kept for the cleaner, and for it to keep free beyond that; but not more than
/// it can use, however large the store is.
const RESERVE_PERCENT: u32 = 1;
const RESERVE_MAX: u32 = 6;
const TARGET_PERCENT: u32 = 1;
const TARGET_MAX: u32 = 8;
/// Cleaning that is owed beyond this many segments is forgotten: there was nothing to clean.
const DEBT_SEGMENTS_MAX: i64 = 16;

/// How many segments must stay free, and how many pages the space can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// What the checkpoint of an opening needs. An opening that is cut off leaves nothing that lives, so there is no more
    /// to be kept for the next.
    pub(super) opening_floor: u32,
    /// Only the map goes below: a cycle that was cut off, and the checkpoint of the recovery after it.
    pub(super) map_floor: u32,
    /// Only cleaner, frees and map go below.
    pub(super) fresh_floor: u32,
    /// The cleaner works to keep this many free.
    pub(super) free_target: u32,
    /// More pages would leave the cleaner nothing to gain.
    pub(super) pages_max: u64,
}

impl Limits {
    pub(super) fn new(geometry: Geometry, options: &SegmentOptions, segments: u32, map_blocks: u64) -> Self {
        let map_segments = map_blocks.div_ceil(geometry.items_per_segment(BLOCK_BYTES)) as u32;
        let opening_floor = map_segments + 1;
        let map_floor = 2 * map_segments + 2;
        let share = |percent: u32, max| (segments * percent).div_ceil(100).clamp(2, max);
        let fresh_floor = map_floor + share(RESERVE_PERCENT, RESERVE_MAX);
        let free_target = fresh_floor + share(TARGET_PERCENT, TARGET_MAX);
        // Beside the floors: the map, its last copy that waits for a checkpoint, and the open segments.
        let kept = fresh_floor + 2 * map_segments + 4;
        let usable = u64::from(segments.saturating_sub(kept));
        let page_bytes = geometry.page_size.bytes();
        let pages_max =
            usable * geometry.items_per_segment(page_bytes) * u64::from(options.fill_max_percent) / 100;
        Self { opening_floor, map_floor, fresh_floor, free_target, pages_max }
    }
}

#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes to relocate.
    pub(super) clean_debt: i64,
    /// Bytes of map blocks to write.
    pub(super) map_debt: i64,
    /// Written since the last cycle began.
    pub(super) cycle_bytes: u64,
    pub(super) cycle_active: bool,
    /// A cycle has ended since the cleaner last worked.
    pub(super) just_cycled: bool,
    /// Cycles in a row that freed nothing, or only what the map itself left behind: that goes round for ever.
    pub(super) fruitless_cycles: u32,
    /// A step of the cycle was the last that was done, not one of the cleaner.
    pub(super) cycle_was_last: bool,
    /// The cleaner found no segment to write to.
    pub(super) cleaner_blocked: bool,
    /// Growth was refused by the disk: bytes to write before it is tried again.
    pub(super) growth_pause: u64,
    /// Filling new segments failed; they are used as they are.
    pub(super) no_filling: bool,
    /// Nothing can be gained: waiting writers are told that the disk is full.
    pub(super) stuck: bool,
}

impl Pace {
    /// A fresh chunk was placed. `fill` is the living share of the space in which garbage may lie.
    pub(super) fn note_fresh(
        &mut self,
        bytes: u64,
        fill: f64,
        free: u32,
        limits: Limits,
        segment_bytes: u64,
    ) {
        let target = f64::from(limits.free_target);
        let shortage = (target - f64::from(free)) / target;
        let rate = (write_amplification(fill) - 1.0 + GAIN * shortage).max(0.0);
        self.clean_debt += (bytes as f64 * rate) as i64;
        self.clean_debt = self.clean_debt.min(DEBT_SEGMENTS_MAX * segment_bytes as i64);
        self.note_written(bytes);
        self.growth_pause = self.growth_pause.saturating_sub(bytes);
    }

    /// A cycle has ended that freed so many segments of pages, and of the map.
    pub(super) fn note_cycle(&mut self, freed: u32, freed_map: u32) {
        self.cycle_active = false;
        self.just_cycled = true;
        self.fruitless_cycles += 1;
        self.note_freed(freed, freed_map);
    }

    pub(super) fn note_freed(&mut self, freed: u32, freed_map: u32) {
        self.cleaner_blocked &= freed + freed_map == 0;
        if freed > 0 {
            self.fruitless_cycles = 0;
        }
    }

    pub(super) fn note_written(&mut self, bytes: u64) {
        self.cycle_bytes += bytes;
        // A cycle ends after about a quarter of the writes that lead to the next.
        self.map_debt = (self.map_debt + (bytes / 4) as i64).min(1 << 20);
    }

    /// Writers may run ahead of the cleaner by a part of what is left above their floor. Both sides change by a chunk
    /// at a time, so nobody waits for long at once.
    pub(super) fn allows_fresh(&self, headroom: u64, slack: u64) -> bool {
        self.clean_debt <= headroom as i64 / OWED_SHARE + slack as i64
    }
}

/// Bytes written per user byte when pages are overwritten uniformly and `fill` of the space lives: a segment that is
/// cleaned in order of age still has the share E alive, where fill = (E - 1) / ln E, and WA = 1 / (1 - E).
pub fn write_amplification(fill: f64) -> f64 {
    let fill = fill.clamp(0.0, 0.97);
    let (mut low, mut high) = (1e-9_f64, 1.0 - 1e-9);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if (middle - 1.0) / middle.ln() < fill { low = middle } else { high = middle }
    }
    1.0 / (1.0 - low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageSize;

    #[test]
    fn amplification_follows_the_model() {
        for (fill, expected) in [(0.5, 1.25), (0.7, 1.88), (0.8, 2.69), (0.9, 5.18)] {
            let found = write_amplification(fill);
            assert!((found - expected).abs() < 0.02, "{fill}: {found}");
        }
    }

    #[test]
    fn cleaning_is_owed_only_when_space_is_short() {
        let geometry = Geometry::new(PageSize::K8, &SegmentOptions::default());
        let limits = Limits::new(geometry, &SegmentOptions::default(), 1000, 256);
        assert!(limits.map_floor < limits.fresh_floor && limits.fresh_floor < limits.free_target);
        let mut pace = Pace::default();
        pace.note_fresh(1 << 20, 0.7, 500, limits, 8 << 20);
        assert_eq!(pace.clean_debt, 0);
        pace.note_fresh(1 << 20, 0.7, limits.free_target, limits, 8 << 20);
        assert!(pace.clean_debt > 900_000 && pace.clean_debt < 940_000);
        assert!(pace.allows_fresh(0, 1 << 20));
        assert!(!pace.allows_fresh(0, 256 << 10));
        pace.clean_debt = 100 << 20;
        assert!(!pace.allows_fresh(180 << 20, 1 << 20));
        assert!(pace.allows_fresh(200 << 20, 1 << 20));
    }
}
