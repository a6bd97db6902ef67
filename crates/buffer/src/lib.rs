//! The buffer pool: frames within a hard memory budget, latches, eviction and write-back.
