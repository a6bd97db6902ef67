//! Whole statements, planned and run on an engine in memory.
mod access_paths;
mod cost;
mod harness;
mod queries;
mod sysbench;
