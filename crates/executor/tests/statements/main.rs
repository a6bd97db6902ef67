//! Whole statements, planned and run on an engine in memory.
mod access_paths;
mod cost;
mod depth;
mod harness;
mod paths;
mod queries;
mod spill;
mod sysbench;
