//! `Rpl_semi_sync_*`: semi-synchronous replication as source and as replica.
//!
//! Invariant: without a binary log the source's numbers are 0, and its status is OFF.
use instance::Instance;

pub fn numbers(instance: &Instance) -> Vec<(&'static str, u64)> {
    let figures = instance.binary_log().map(|log| log.semi_sync_figures()).unwrap_or_default();
    let average_us = figures.waited_us.checked_div(figures.confirmed).unwrap_or(0);
    vec![
        ("Rpl_semi_sync_source_clients", figures.clients),
        ("Rpl_semi_sync_source_net_avg_wait_time", 0),
        ("Rpl_semi_sync_source_net_wait_time", 0),
        ("Rpl_semi_sync_source_net_waits", figures.asked),
        ("Rpl_semi_sync_source_no_times", figures.timeouts),
        ("Rpl_semi_sync_source_no_tx", figures.unconfirmed),
        ("Rpl_semi_sync_source_timefunc_failures", 0),
        ("Rpl_semi_sync_source_tx_avg_wait_time", average_us),
        ("Rpl_semi_sync_source_tx_wait_time", figures.waited_us),
        ("Rpl_semi_sync_source_tx_waits", figures.confirmed),
        ("Rpl_semi_sync_source_wait_pos_backtraverse", 0),
        ("Rpl_semi_sync_source_wait_sessions", figures.waiting),
        ("Rpl_semi_sync_source_yes_tx", figures.confirmed),
    ]
}

pub fn texts(instance: &Instance) -> [(&'static str, String); 2] {
    let text = |is_on: bool| if is_on { "ON" } else { "OFF" }.to_owned();
    let is_on = instance.binary_log().is_some_and(|log| log.semi_sync_figures().is_on);
    let channels = instance.replication.channels();
    let confirms = channels.iter().any(|channel| channel.status.lock().confirms);
    [("Rpl_semi_sync_replica_status", text(confirms)), ("Rpl_semi_sync_source_status", text(is_on))]
}
