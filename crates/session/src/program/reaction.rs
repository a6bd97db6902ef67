//! Handlers: which one an error or a warning of a program is for, its beginning and its end.
//!
//! Invariant: a handler knows the conditions as they were when it was called; with its end those are settled. Called by `run`,
//! between two instructions.
use std::sync::atomic::Ordering::Relaxed;

use datum::{Severity, SqlError, error_code};
use instance::SharedProgram;
use program::{Instruction, RaisedCondition};
use session_state::diagnostics::Area;

use super::run::{Next, Run};
use crate::session::Session;

impl Session {
    /// The instruction that follows an error: a handler's first, or none.
    pub(super) fn react_to_error(
        &mut self,
        run: &mut Run,
        shared: &SharedProgram,
        at: usize,
        error: SqlError,
    ) -> Result<usize, SqlError> {
        self.programs.assigned.clear();
        let ends_statement = error.is(&error_code::ER_QUERY_INTERRUPTED)
            || error.is(&error_code::ER_QUERY_TIMEOUT)
            || (self.programs.is_inside_statement() && error.is(&error_code::ER_LOCK_DEADLOCK));
        if ends_statement {
            return Err(error);
        }
        self.shared.row_count.store(-1, Relaxed);
        let raised = RaisedCondition { error: &error, severity: Severity::Error };
        let handler = shared.program.handler(at, raised);
        let Some(reaction) = handler.and_then(|handler| run.frame.reaction(handler)) else {
            return Err(error);
        };
        let after = match shared.program.instructions[at] {
            Instruction::JumpUnless { after, .. } | Instruction::Operand { after, .. } => after,
            _ => at + 1,
        };
        self.shared.diagnostics.lock().add_error(&error);
        let mut area = self.shared.diagnostics.lock().area();
        // Another error may follow it.
        let position = area.conditions.iter().rposition(|condition| condition.error == error);
        let position = position.unwrap_or(area.conditions.len());
        if position == area.conditions.len() {
            // There is no room for it where conditions are kept, but the handler is to know it.
            area.conditions.push(datum::Condition { severity: Severity::Error, error: error.clone() });
        }
        Ok(self.begin_handler(run, &reaction, area.handled_at(position), after))
    }

    fn begin_handler(
        &mut self,
        run: &mut Run,
        reaction: &program::Reaction,
        area: Area,
        after: usize,
    ) -> usize {
        let shared = run.shared.clone();
        let mut diagnostics = self.shared.diagnostics.lock();
        diagnostics.settle();
        run.began.push((diagnostics.epoch(), diagnostics.conditions().len()));
        drop(diagnostics);
        self.programs.handled.push(area);
        run.frame.begin(&shared.program, reaction, after)
    }

    pub(super) fn end_handler(&mut self, run: &mut Run, shared: &SharedProgram, at: usize) -> Next {
        let Some(end) = run.frame.end(&shared.program) else { return Next::At(at + 1) };
        for _ in 0..end.count {
            self.programs.handled.pop();
            if let Some((epoch, count)) = run.began.pop() {
                self.shared.diagnostics.lock().forget_handled(epoch, count);
            }
        }
        self.shared.diagnostics.lock().settle();
        run.close_cursors(end.cursors);
        Next::At(end.next)
    }

    /// The first instruction of the handler for the conditions that are there and no errors, if one was raised since they were
    /// settled: the last one that is handled counts, also one of a statement before. Behind RETURN, too.
    pub(super) fn react_to_warnings(
        &mut self,
        run: &mut Run,
        shared: &SharedProgram,
        at: usize,
        next: &Next,
    ) -> Option<usize> {
        let after = match (&shared.program.instructions[at], next) {
            // Neither is anything in MySQL, which looks for handlers behind all that it does.
            (Instruction::Enter | Instruction::End, _) => return None,
            (Instruction::Jump(target), _) if *target == at + 1 => return None,
            // As behind an error: a statement whose condition warned is left.
            (Instruction::JumpUnless { after, .. } | Instruction::Operand { after, .. }, _) => *after,
            (_, Next::At(next)) => *next,
            (_, Next::End) => at + 1,
        };
        let diagnostics = self.shared.diagnostics.lock();
        if !diagnostics.has_fresh() {
            return None;
        }
        let found = diagnostics.conditions().iter().enumerate().rev().find_map(|(position, condition)| {
            let raised = RaisedCondition { error: &condition.error, severity: condition.severity };
            let is_asked = condition.severity != Severity::Error;
            let handler = is_asked.then(|| shared.program.handler(at, raised)).flatten()?;
            Some((handler, position))
        });
        let (handler, position) = found?;
        let area = diagnostics.area().handled_at(position);
        drop(diagnostics);
        let reaction = run.frame.reaction(handler)?;
        Some(self.begin_handler(run, &reaction, area, after))
    }
}
