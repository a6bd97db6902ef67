//! The scheduler of events: sleeps until the next one is due, and starts it.
//!
//! Invariant: it never waits for an event that it has started, nor for a lock; the same event may run several times at once,
//! as in MySQL. The process list shows it while `event_scheduler` is ON. The program gives it a task, and a way to start
//! others.
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use instance::{Instance, LogLevel, ProcessEntry};
use schema::ProgramKind;
use session::Families;

use super::event_run::EventRun;
use crate::programs::event_run::SCHEDULER_USER;

/// The longest sleep; longer ones are taken in parts.
const SLEEP_MAX: Duration = Duration::from_secs(86_400);

/// Starts events as long as the server runs.
pub async fn schedule_events(
    instance: Arc<Instance>,
    families: &'static dyn Families,
    start: impl Fn(EventRun),
) {
    loop {
        while !instance.events.is_on() {
            instance.events.changed().await;
        }
        if !run_while_on(&instance, families, &start).await {
            return;
        }
    }
}

/// False when the server stops.
async fn run_while_on(
    instance: &Arc<Instance>,
    families: &'static dyn Families,
    start: &impl Fn(EventRun),
) -> bool {
    let id = instance.next_connection_id();
    let process = Arc::new(ProcessEntry::new(id, SCHEDULER_USER, "localhost".to_owned(), ""));
    process.update(|activity| activity.command = ProcessEntry::DAEMON);
    instance.processes().add(process.clone());
    let told = format!("Event Scheduler: scheduler thread started with id {}", id.0);
    instance.log_at(LogLevel::Note, &told);
    let begin = |due| start(EventRun::new(instance.clone(), families, due));
    let events = instance.catalog().all_programs(ProgramKind::Event);
    instance.events.fill(events, instance.timer().now_us()).into_iter().for_each(begin);
    while instance.events.is_on() && process.kill.state().is_none() {
        while let Some(due) = instance.events.take_due(instance.timer().now_us()) {
            // What is stale is not in the catalog any more.
            if instance.catalog().program_by_id(due.event.id).is_some() {
                begin(due);
            } else {
                instance.events.forget(due.event.id);
            }
        }
        let next = instance.events.next_moment();
        let state = if next.is_some() { "Waiting for next activation" } else { "Waiting on empty queue" };
        process.update(|activity| {
            activity.state = state;
            activity.since = std::time::Instant::now();
        });
        sleep(instance, &process, next).await;
    }
    instance.processes().remove(id, &instance.ended_counters);
    instance.log_at(LogLevel::Note, "Event Scheduler: Stopped");
    process.kill.state().is_none()
}

/// Until the moment, or until there is other news.
async fn sleep(instance: &Instance, process: &ProcessEntry, until: Option<i64>) {
    let mut timer = until.map(|second| {
        let micros = second.saturating_mul(1_000_000).saturating_sub(instance.timer().now_us());
        let length = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
        instance.timer().sleep(length.min(SLEEP_MAX))
    });
    let mut changed = pin!(instance.events.changed());
    let mut killed = pin!(process.kill.connection_killed());
    poll_fn(|context| {
        let is_over = changed.as_mut().poll(context).is_ready()
            || killed.as_mut().poll(context).is_ready()
            || timer.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
