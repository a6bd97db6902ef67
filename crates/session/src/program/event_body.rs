//! The body of an event, as one statement of the session that was made for it.
//!
//! Invariant: what it has told outlives it, also when it was killed. Called by the crate that starts events.
use std::sync::Arc;

use datum::{Condition, SqlError};
use instance::SharedProgram;

use super::host::NoClient;
use super::run::Run;
use crate::session::Session;
use crate::statement::{Done, IdentifierUse, Shield, StatementWork};
use session_state::sink::ResultSink;

struct EventWork {
    shared: Arc<SharedProgram>,
}

impl StatementWork for EventWork {
    fn identifier_use(&self) -> IdentifierUse {
        IdentifierUse::Other
    }

    async fn run(
        self,
        session: &mut Session,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let depth = session.programs.depth();
        let mut run = Run::new(self.shared.clone());
        let result = match session.enter_program(&self.shared) {
            Ok(()) => Box::pin(session.run_program(&mut run, shield, sink)).await,
            Err(error) => Err(error),
        };
        session.leave_programs(depth);
        result.map(|()| Done::ok())
    }
}

impl Session {
    /// Runs the body of an event, and answers what it told, its error among it.
    pub async fn run_event(
        &mut self,
        prepared: Result<Arc<SharedProgram>, SqlError>,
        text: &[u8],
    ) -> Vec<Condition> {
        self.begin_command();
        self.start_statement(false);
        self.show_activity("Connect", Some(text), std::time::Instant::now());
        let result = match prepared {
            Ok(shared) => self.run_guarded_statement(false, EventWork { shared }, &mut NoClient).await,
            Err(error) => Err(error),
        };
        self.end_observation(text, &result);
        self.process.kill.clear_query();
        let mut diagnostics = self.shared.diagnostics.lock();
        if let Err(error) = &result {
            diagnostics.add_error(error);
        }
        diagnostics.conditions().to_vec()
    }
}
