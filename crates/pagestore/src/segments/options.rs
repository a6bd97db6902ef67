//! Sizes and tuning of a segment store. The sizes are kept in its superblock; the rest may change at each opening.

/// See the fields. The default is for real disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentOptions {
    /// The unit of reuse: so long that writes and the cleaner's reads are sequential. Fixed at creation.
    pub segment_bytes: u64,
    /// Bounds the size of a file (1 GB). Fixed at creation.
    pub segments_per_file: u32,
    /// How many segments a new store has, and by how many it grows at least.
    pub segments_min: u32,
    /// `extend` promises room for all pages up to this share of the space, in percent.
    pub fill_max_percent: u32,
    /// Above this share of living bytes the store grows while the disk has room, in percent.
    pub fill_target_percent: u32,
    /// A cycle of the map checkpoint begins when this share of the space (1/n) has been written.
    pub cycle_share: u32,
    /// `extend` promises room for one in this many page ids: 1, unless the caller frees pages and tells the store.
    pub ids_per_page: u32,
    /// A rule to break: for tests of the crash matrix.
    #[cfg(any(test, feature = "planted-faults"))]
    pub fault: super::PlantedFault,
}

impl Default for SegmentOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 8 << 20,
            segments_per_file: 128,
            segments_min: 8,
            fill_max_percent: 92,
            fill_target_percent: 72,
            cycle_share: 32,
            ids_per_page: 1,
            #[cfg(any(test, feature = "planted-faults"))]
            fault: super::PlantedFault::None,
        }
    }
}

impl SegmentOptions {
    /// Segments of four 4K pages, so that a few writes meet every border. For tests.
    pub fn tiny() -> Self {
        Self {
            segment_bytes: 5 * 4096,
            segments_per_file: 16,
            segments_min: 4,
            fill_max_percent: 95,
            ..Self::default()
        }
    }
}
