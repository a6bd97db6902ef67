//! A statement that is watched: behind each poll its waits and the stages of a change of a table go to the session's events.
//!
//! Made by `session` for a statement of a watched session, asked by `run_guarded`. One that is not watched has none.
use std::cell::{Cell, RefCell};
use std::time::Instant;

use env::{RunningWait, SingleWait, WaitCause, WatchedWaits};
use instance::{Instance, ProcessEntry};
use telemetry::instruments::stages;
use telemetry::{Keeping, ToldWait, wait_name};

pub struct Watch<'a> {
    instance: &'a Instance,
    process: &'a ProcessEntry,
    /// While it is not on the thread.
    list: RefCell<Option<Box<WatchedWaits>>>,
    is_on_thread: Cell<bool>,
    /// The stage that a wait for a lock of a definition has put aside.
    aside: RefCell<Option<&'static str>>,
}

/// What `events_waits_..` call a wait's operation.
fn operation(cause: WaitCause) -> &'static str {
    match cause {
        WaitCause::PageRead => "read",
        WaitCause::LogFlush => "sync",
        WaitCause::MetadataLock => "metadata lock",
        WaitCause::RowLock => "lock",
        WaitCause::FreeFrame | WaitCause::LogSpace | WaitCause::Versions => "wait",
    }
}

impl<'a> Watch<'a> {
    pub fn new(instance: &'a Instance, process: &'a ProcessEntry) -> Watch<'a> {
        Watch {
            instance,
            process,
            list: RefCell::new(Some(Box::default())),
            is_on_thread: Cell::new(false),
            aside: RefCell::default(),
        }
    }

    /// A poll begins. What runs inside another statement that is watched is a part of that.
    pub fn begin_poll(&self) {
        if let Some(outer) = WatchedWaits::replace(self.list.take()) {
            self.list.replace(WatchedWaits::replace(Some(outer)));
        } else {
            self.is_on_thread.set(true);
        }
    }

    /// It has ended.
    pub fn end_poll(&self) {
        if !self.is_on_thread.replace(false) {
            return;
        }
        let Some(mut list) = WatchedWaits::replace(None) else { return };
        let keeping =
            self.instance.telemetry.keeping(u64::from(self.process.id.0), self.process.has_history());
        tell_progress(self.instance, self.process, keeping);
        let (ended, running) = (std::mem::take(&mut list.ended), list.running.clone());
        let waits_for_lock = running.as_ref().is_some_and(|wait| wait.cause == WaitCause::MetadataLock);
        if !ended.is_empty() || running.is_some() {
            let ended = ended.into_iter().map(|wait| self.told(wait));
            let running = running.map(|RunningWait { cause, began, object }| {
                let wait = SingleWait { cause, began, ended: began, object };
                ToldWait { ended_ns: None, ..self.told(wait) }
            });
            self.process.figures.add_waits(ended, running, keeping);
        }
        self.show_lock_wait(waits_for_lock, keeping);
        *self.list.borrow_mut() = Some(list);
    }

    fn told(&self, wait: SingleWait) -> ToldWait {
        ToldWait {
            name: wait_name(wait.cause),
            operation: operation(wait.cause),
            began_ns: self.instance.event_clock_ns(wait.began),
            ended_ns: Some(self.instance.event_clock_ns(wait.ended)),
            object: wait.object,
        }
    }

    /// Waiting for a lock of a definition is a stage, behind which the one before begins anew.
    fn show_lock_wait(&self, waits: bool, keeping: Keeping<'_>) {
        let mut aside = self.aside.borrow_mut();
        let now_ns = || self.instance.event_clock_ns(Instant::now());
        let figures = &self.process.figures;
        match (waits, *aside) {
            (true, None) => {
                *aside = Some(figures.stage_name().unwrap_or(""));
                figures.enter_stage(stages::METADATA_LOCK, now_ns(), (None, None), keeping);
            }
            (false, Some(before)) => {
                *aside = None;
                if figures.stage_name() == Some(stages::METADATA_LOCK) {
                    figures.enter_stage(before, now_ns(), (None, None), keeping);
                }
            }
            _ => {}
        }
    }
}

/// The stages that a change of a table has come to since it was last asked.
pub fn tell_progress(instance: &Instance, process: &ProcessEntry, keeping: Keeping<'_>) {
    for entered in process.take_stages() {
        let now_ns = instance.event_clock_ns(entered.at);
        let work = Some((entered.done, entered.estimated));
        process.figures.enter_stage(entered.stage.event(), now_ns, (work, work), keeping);
    }
}
