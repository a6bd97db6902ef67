//! What a run is to do: its connections, threads, times and workload. Made by the command line, read by the driver and its workers.
use crate::arrivals::Rates;
use client::Dsn;
use std::time::Duration;

/// How to run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub dsn: Dsn,
    pub threads: usize,
    pub connections: usize,
    pub pipeline: usize,
    pub is_prepared: bool,
    pub warmup: Duration,
    pub duration: Duration,
    /// `None` is the closed loop: each connection begins as soon as it has ended.
    pub rates: Option<Rates>,
    pub seed: u64,
    /// Count failures and connect again instead of ending.
    pub goes_on: bool,
    /// Ends after so many events.
    pub events_max: Option<u64>,
    /// Run on every new connection.
    pub on_connect: Vec<String>,
}
