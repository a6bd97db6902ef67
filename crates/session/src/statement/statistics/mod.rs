//! Statements about what is known of tables: ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR and histograms.

pub(super) mod histogram_data;
pub(super) mod histograms;
pub(super) mod maintenance;
