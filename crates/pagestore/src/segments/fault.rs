//! The rules that tests may have the store break, to see that the crash matrix notices. Nothing else plants any.

/// Which rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlantedFault {
    #[default]
    None,
    /// A segment is used again as soon as nothing lives in it.
    ReuseAtOnce,
    /// Batches are answered when written, not when synced.
    AcknowledgeUnsynced,
    /// The superblock is written without a sync.
    SuperblockUnsynced,
    /// Replay takes images of the last chunks as they are.
    TrustTornImages,
    /// Replay takes relocations without looking where the page is.
    RelocateBlindly,
    /// Replay takes the chunks of every incarnation.
    MixIncarnations,
    /// A load does not enter the gate of its segment.
    #[cfg(test)]
    ReadWithoutGate,
}
