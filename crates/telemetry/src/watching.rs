//! How a session's single waits and stages come about: its own part of `SessionFigures` that only watched sessions write.
//!
//! Called by `session` where a statement begins, comes to a stage and ends, and by `session_state` behind each poll.
use env::WaitObject;

use crate::figures::Timings;
use crate::instruments::{IDLE, TABLE_IO};
use crate::per_thread::{SessionFigures, State};
use crate::single::{EventObject, Keeping, Span, StageEvent, WaitEvent};
use crate::tables::RowCounts;

/// What is done and what there is to do, if anybody knows.
type Done = Option<(u64, u64)>;

/// A wait as it is told: its instrument, its times and its object.
#[derive(Clone, Debug)]
pub struct ToldWait {
    pub name: &'static str,
    pub operation: &'static str,
    pub began_ns: u64,
    /// `None` while it goes on.
    pub ended_ns: Option<u64>,
    pub object: Option<WaitObject>,
}

fn span(keeping: Keeping<'_>, name: &str, began_ns: u64, ended_ns: Option<u64>) -> Span {
    match keeping.instruments.of(name) {
        Some((_, true)) => Span { began_ns: Some(began_ns), ended_ns },
        _ => Span::default(),
    }
}

impl State {
    fn end_stage(&mut self, ended_ns: u64, work: Option<(u64, u64)>, keeping: Keeping<'_>) {
        let Some(mut stage) = self.single.stage.take() else { return };
        stage.end_event_id = self.next_event_id;
        stage.work = work.or(stage.work);
        if let Some(began_ns) = stage.span.began_ns {
            stage.span.ended_ns = Some(ended_ns);
            self.figures.stage(stage.name).add(ended_ns.saturating_sub(began_ns));
        } else {
            self.figures.stage(stage.name).merge(&Timings { count: 1, ..Timings::default() });
        }
        self.single.end_stage(stage, keeping);
    }

    fn end_idle(&mut self, now_ns: u64, keeping: Keeping<'_>) {
        let is_idle = |wait: &WaitEvent| wait.name == IDLE && wait.end_event_id == 0;
        let Some(mut idle) = self.single.wait.take_if(|wait| is_idle(wait)) else { return };
        idle.end_event_id = idle.event_id;
        idle.span.ended_ns = idle.span.began_ns.map(|_| now_ns);
        self.single.end_wait(idle, keeping);
    }
}

impl SessionFigures {
    /// A statement begins that is watched: it gets its number now, so that others can be nested in it.
    pub fn begin_watched(&self, now_ns: u64, keeping: Keeping<'_>) {
        let mut state = self.state.lock();
        state.end_idle(now_ns, keeping);
        state.single.stage = None;
        let number = state.event_id();
        state.single.statement = Some(number);
    }

    /// The statement comes to a stage; the one before ends, with what was done in it.
    pub fn enter_stage(
        &self,
        name: &'static str,
        now_ns: u64,
        (done, work): (Done, Done),
        keeping: Keeping<'_>,
    ) {
        let mut state = self.state.lock();
        state.end_stage(now_ns, done, keeping);
        if keeping.instruments.of(name).is_some_and(|(is_on, _)| is_on) {
            let event_id = state.event_id();
            let outer = state.single.outer();
            let span = span(keeping, name, now_ns, None);
            state.single.stage = Some(StageEvent { event_id, end_event_id: 0, name, span, work, outer });
        }
    }

    /// It is none that is told.
    pub fn forget_watched(&self) {
        let mut state = self.state.lock();
        state.single.statement = None;
        state.single.stage = None;
    }

    /// The stage that goes on, by its name.
    pub fn stage_name(&self) -> Option<&'static str> {
        self.state.lock().single.stage.map(|stage| stage.name)
    }

    /// The statement leaves its last stage.
    pub fn leave_stages(&self, now_ns: u64, keeping: Keeping<'_>) {
        self.state.lock().end_stage(now_ns, None, keeping);
    }

    /// Waits that have ended, and the one that goes on.
    pub fn add_waits(
        &self,
        ended: impl Iterator<Item = ToldWait>,
        running: Option<ToldWait>,
        keeping: Keeping<'_>,
    ) {
        let mut state = self.state.lock();
        for told in ended.chain(running) {
            let begun = state.single.wait.take_if(|wait| wait.end_event_id == 0 && wait.name == told.name);
            let is_running = told.ended_ns.is_none();
            let mut event = match begun {
                // The same goes on.
                Some(begun) => begun,
                None => WaitEvent {
                    event_id: state.event_id(),
                    end_event_id: 0,
                    name: told.name,
                    span: span(keeping, told.name, told.began_ns, None),
                    object: told.object.map(EventObject::Wait),
                    operation: told.operation,
                    rows: None,
                    outer: state.single.outer(),
                },
            };
            if is_running {
                state.single.begin_wait(event, keeping);
            } else {
                event.end_event_id = event.event_id;
                event.span.ended_ns = event.span.began_ns.and(told.ended_ns);
                state.single.end_wait(event, keeping);
            }
        }
    }

    /// The rows of tables that an execution has used, each kind of use one event of so many rows.
    pub fn add_table_io(
        &self,
        used: impl Iterator<Item = (u64, Option<usize>, RowCounts)>,
        keeping: Keeping<'_>,
    ) {
        let mut state = self.state.lock();
        for (table, index, counts) in used {
            let kinds = [
                ("fetch", counts.fetched),
                ("insert", counts.inserted),
                ("update", counts.updated),
                ("delete", counts.deleted),
            ];
            for (operation, rows) in kinds.into_iter().filter(|(_, rows)| *rows > 0) {
                let event_id = state.event_id();
                let event = WaitEvent {
                    event_id,
                    end_event_id: event_id,
                    name: TABLE_IO,
                    span: Span::default(),
                    object: Some(EventObject::Table(table, index)),
                    operation,
                    rows: Some(rows),
                    outer: state.single.outer(),
                };
                state.single.end_wait(event, keeping);
            }
        }
    }

    /// The session waits for its client.
    pub fn begin_idle(&self, now_ns: u64, keeping: Keeping<'_>) {
        let mut state = self.state.lock();
        let event = WaitEvent {
            event_id: state.event_id(),
            end_event_id: 0,
            name: IDLE,
            span: span(keeping, IDLE, now_ns, None),
            object: None,
            operation: "idle",
            rows: None,
            outer: None,
        };
        state.single.begin_wait(event, keeping);
    }

    /// The wait that goes on, or the last one.
    pub fn wait(&self) -> Option<WaitEvent> {
        self.state.lock().single.wait.clone()
    }

    pub fn stage(&self) -> Option<StageEvent> {
        self.state.lock().single.stage
    }

    pub fn waits(&self) -> Vec<WaitEvent> {
        self.state.lock().single.waits.iter().cloned().collect()
    }

    pub fn stages(&self) -> Vec<StageEvent> {
        self.state.lock().single.stages.iter().copied().collect()
    }

    /// TRUNCATE of the waits' histories, or of the current ones.
    pub fn clear_waits(&self) {
        self.state.lock().single.waits.clear();
    }

    pub fn clear_last_wait(&self) {
        self.state.lock().single.wait.take_if(|wait| wait.end_event_id > 0);
    }

    pub fn clear_stages(&self) {
        self.state.lock().single.stages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Telemetry;
    use crate::single::Outer;
    use std::sync::atomic::Ordering::Relaxed;

    fn told(began_ns: u64, ended_ns: Option<u64>) -> ToldWait {
        let name = "wait/lock/row/evenkeel/row";
        ToldWait { name, operation: "lock", began_ns, ended_ns, object: Some(WaitObject::Tree(7)) }
    }

    #[test]
    fn waits_are_nested_in_stages_and_those_in_statements() {
        let (telemetry, figures) = (Telemetry::default(), SessionFigures::default());
        for name in
            ["events_waits_current", "events_waits_history", "events_stages_current", "events_stages_history"]
        {
            telemetry.consumers.switch(name).expect("it has a switch").store(true, Relaxed);
        }
        telemetry.instruments.switch("stage/sql/executing", false, true);
        telemetry.instruments.switch("stage/sql/executing", true, true);
        let keeping = telemetry.keeping(1, true);
        figures.begin_watched(10, keeping);
        assert_eq!(figures.next_event_id(), 1);
        figures.enter_stage("stage/sql/executing", 11, (None, None), keeping);
        figures.add_waits([].into_iter(), Some(told(12, None)), keeping);
        let wait = figures.wait().expect("it waits");
        assert_eq!((wait.event_id, wait.end_event_id, wait.outer), (3, 0, Some(Outer::Stage(2))));
        figures.add_waits([told(12, Some(20))].into_iter(), None, keeping);
        let used = RowCounts { fetched: 5, updated: 1, ..RowCounts::default() };
        figures.add_table_io([(9, Some(0), used)].into_iter(), keeping);
        figures.leave_stages(30, keeping);
        let ids: Vec<_> =
            figures.waits().iter().map(|wait| (wait.event_id, wait.operation, wait.rows)).collect();
        assert_eq!(ids, [(3, "lock", None), (4, "fetch", Some(5)), (5, "update", Some(1))]);
        let waited = figures.waits()[0].span;
        assert_eq!((waited.began_ns, waited.ended_ns), (Some(12), Some(20)));
        let stage = figures.stages()[0];
        assert_eq!((stage.event_id, stage.end_event_id, stage.outer), (2, 5, Some(Outer::Statement(1))));
        assert_eq!(
            figures.figures().stages,
            [("stage/sql/executing", Timings { count: 1, sum_ns: 19, min_ns: 19, max_ns: 19 })]
        );
        for number in 0..20 {
            figures.add_waits([told(number, Some(number + 1))].into_iter(), None, keeping);
        }
        assert_eq!(figures.waits().len(), 10);
    }
}
