//! The stages of watched statements: where a session tells what it has come to.
//!
//! Invariant: a session that is not watched pays a look at a flag of its own for each stage. A program's statements are part of
//! the stage of the statement that calls it.
use std::time::Instant;

use plan::{Plan, PlanKind};
use telemetry::Keeping;
use telemetry::instruments::stages;

use crate::session::Session;
use session_state::watch::tell_progress;

impl Session {
    pub(crate) fn keeping(&self) -> Keeping<'_> {
        self.instance.telemetry.keeping(u64::from(self.process.id.0), self.process.has_history())
    }

    fn now_ns(&self) -> u64 {
        self.instance.event_clock_ns(Instant::now())
    }

    /// A statement begins.
    pub(crate) fn begin_watching(&mut self) {
        self.observed.is_watched = self.instance.telemetry.watches() && self.process.is_instrumented();
        if self.observed.is_watched {
            let now_ns = self.now_ns();
            self.process.figures.begin_watched(now_ns, self.keeping());
            self.enter_stage(stages::STARTING);
        }
    }

    /// It is none that events tell of.
    pub(crate) fn forget_watching(&mut self) {
        if std::mem::take(&mut self.observed.is_watched) {
            self.process.figures.forget_watched();
        }
    }

    pub(crate) fn enter_stage(&self, name: &'static str) {
        if self.observed.is_watched && self.programs.depth() == 0 {
            self.process.figures.enter_stage(name, self.now_ns(), (None, None), self.keeping());
        }
    }

    /// The plan begins to run.
    pub(crate) fn enter_execution(&self, plan: &Plan) {
        if self.observed.is_watched {
            self.enter_stage(match plan.kind {
                PlanKind::Query(_) => stages::EXECUTING,
                PlanKind::Insert(_) => stages::UPDATE,
                PlanKind::Update(_) | PlanKind::Delete(_) => stages::UPDATING,
            });
        }
    }

    /// The statement ends: its last stage does. What a change of a table has come to is summed up for those who do not watch, too.
    pub(crate) fn end_stages(&self) {
        if self.observed.is_watched {
            tell_progress(&self.instance, &self.process, self.keeping());
            self.enter_stage(stages::CLEANING_UP);
            self.process.figures.leave_stages(self.now_ns(), self.keeping());
        } else if self.process.has_stages() {
            tell_progress(&self.instance, &self.process, self.keeping());
            self.process.figures.leave_stages(self.now_ns(), self.keeping());
        }
    }

    /// The client has its answer.
    pub(crate) fn begin_idle(&self) {
        if self.observed.is_watched {
            self.process.figures.begin_idle(self.now_ns(), self.keeping());
        }
    }
}
