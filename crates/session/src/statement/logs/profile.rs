//! SET profiling, SHOW PROFILES and SHOW PROFILE: where the last statements of a session spent their time.
//!
//! The stages are those that this server measures: what precedes the run of the plan, the run itself, and each cause of
//! waiting. Deprecated in MySQL, which keeps it for the tools that know nothing else.
use std::collections::VecDeque;
use std::time::Instant;

use env::{WAIT_CAUSES, WaitCause};

use crate::session::Session;
use session_state::ended::Ended;

/// A statement that was profiled.
#[derive(Clone, Debug)]
pub struct Profile {
    pub query_id: u64,
    pub text: Vec<u8>,
    pub elapsed_ns: u64,
    /// Name and nanoseconds of each, in the order of time.
    pub stages: Vec<(&'static str, u64)>,
}

/// The statements that a session has profiled, the oldest first.
#[derive(Default)]
pub struct Profiles {
    kept: VecDeque<Profile>,
    last_id: u64,
    /// `profiling` was on when the last statement ended, so when the running one began.
    is_on: bool,
    /// When the running statement's plan began to run.
    pub executing_since: Option<Instant>,
}

/// How much of a text is kept.
const TEXT_BYTES_MAX: usize = 300;

impl Profiles {
    pub fn all(&self) -> impl Iterator<Item = &Profile> {
        self.kept.iter()
    }

    /// The one with this number, or the last.
    pub fn find(&self, query_id: Option<u64>) -> Option<&Profile> {
        match query_id {
            None => self.kept.back(),
            Some(id) => self.kept.iter().find(|profile| profile.query_id == id),
        }
    }
}

fn stage_of(cause: WaitCause) -> &'static str {
    match cause {
        WaitCause::PageRead => "Waiting for page read",
        WaitCause::FreeFrame => "Waiting for free page frame",
        WaitCause::LogFlush => "waiting for handler commit",
        WaitCause::LogSpace => "Waiting for log space",
        WaitCause::RowLock => "Waiting for row lock",
        WaitCause::Versions => "Waiting for old versions",
        WaitCause::MetadataLock => "Waiting for table metadata lock",
    }
}

impl Session {
    /// The statement's plan begins to run.
    pub(crate) fn profile_execution(&mut self) {
        if self.settings.profiling {
            self.observed.profiles.executing_since = Some(Instant::now());
        }
    }

    /// Keeps the profile of a statement that has ended.
    pub(crate) fn note_profile(&mut self, ended: &Ended<'_>) {
        let profiles = &mut self.observed.profiles;
        let executing_since = profiles.executing_since.take();
        let is_own = matches!(ended.name, "statement/sql/show_profile" | "statement/sql/show_profiles");
        let was_on = std::mem::replace(&mut profiles.is_on, self.settings.profiling);
        if !was_on || !self.settings.profiling || is_own {
            return;
        }
        let executing_ns = executing_since.map_or(0, |since| since.elapsed().as_nanos() as u64);
        let executing_ns = executing_ns.min(ended.elapsed_ns);
        let mut stages = vec![("starting", ended.elapsed_ns - executing_ns)];
        let waits = WAIT_CAUSES.iter().map(|cause| (*cause, ended.waits.time_us(*cause) * 1000));
        let waits: Vec<(WaitCause, u64)> = waits.filter(|(_, time_ns)| *time_ns > 0).collect();
        let waited_ns: u64 = waits.iter().map(|(_, time_ns)| time_ns).sum();
        stages.push(("executing", executing_ns.saturating_sub(waited_ns)));
        stages.extend(waits.into_iter().map(|(cause, time_ns)| (stage_of(cause), time_ns)));
        stages.push(("cleaning up", 0));
        profiles.last_id += 1;
        profiles.kept.push_back(Profile {
            query_id: profiles.last_id,
            text: ended.text[..ended.text.len().min(TEXT_BYTES_MAX)].to_vec(),
            elapsed_ns: ended.elapsed_ns,
            stages,
        });
        while profiles.kept.len() > self.settings.profiling_history_size {
            profiles.kept.pop_front();
        }
    }
}
