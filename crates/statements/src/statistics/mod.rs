//! Statements about what is known of tables: ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR and histograms.

mod histogram_data;
mod histograms;
mod maintenance;
