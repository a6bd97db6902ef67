//! Gives the receivers and appliers of replication a place among the tasks.
//!
//! Invariant: both tasks of a channel end before the engine is closed; what they have not applied is fetched again by the next
//! start. Called by `start`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use instance::Instance;
use instance::replication::{FilterOption, Part};

use crate::log;
use crate::worker::{WorkerPool, spawn};

/// A transaction that is applied meanwhile is given up after this.
const END_MAX: Duration = Duration::from_secs(2);
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) fn start(server: &Arc<Instance>, pool: &WorkerPool, filters: Vec<FilterOption>) {
    for channel in server.replication.filter_by_options(filters) {
        log::warning(&format!(
            "There are per-channel replication filter(s) configured for channel '{channel}' which does not exist. The \
             filter(s) have been discarded."
        ));
    }
    let (instance, workers) = (Arc::downgrade(server), pool.clone());
    server.replication.set_starter(move |channel, part| {
        let Some(instance) = instance.upgrade() else { return };
        let worker = workers.least_loaded().clone();
        let burden = worker.burden();
        worker.run(move || {
            spawn(async move {
                match part {
                    Part::Receiver => replica::receive(instance, channel).await,
                    Part::Applier => replica::apply_channel(instance, crate::FAMILIES, channel).await,
                }
                drop(burden);
            });
        });
    });
    if server.global_variable("skip_replica_start") == "ON" {
        return;
    }
    for channel in server.replication.channels() {
        if !channel.settings.lock().host.is_empty() {
            for part in Part::BOTH {
                server.replication.start(&channel, part);
            }
        }
    }
}

/// Asks all tasks to end, and waits for them.
pub(crate) fn stop(server: &Arc<Instance>) {
    let channels = server.replication.channels();
    channels.iter().for_each(|channel| Part::BOTH.iter().for_each(|part| channel.stop(*part)));
    let deadline = Instant::now() + END_MAX;
    while channels.iter().any(|channel| channel.runs()) {
        if Instant::now() >= deadline {
            log::warning("a task of replication did not end in time; its transaction is rolled back");
            return;
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}
