//! Carries a program's instructions out.
//!
//! Invariant: between two instructions the session is as between two statements. An error goes to the innermost handler
//! that takes it, and ends the program when there is none; KILL and the time limit go to no handler.
use std::sync::{Arc, LazyLock};

use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use env::coroutine::roomy;
use env::yield_now;
use instance::{PiecePlan, SharedProgram, count};
use program::{Frame, Instruction};
use schema::ProgramKind;

use super::context::{ER_STACK_OVERRUN, Strictness};
use super::store::{Taking, fits_as_it_is, is_variable};
use crate::program::value_use::ValueUse;
use crate::session::Session;
use crate::statement::{Shield, lone_expression};
use session_state::sink::{ResultSink, StatusFlags, StatusInfo};

/// Between two pauses for other sessions; a loop of simple instructions takes about a millisecond for so many.
const INSTRUCTIONS_BETWEEN_PAUSES: u32 = 256;

/// One run of a program.
pub(super) struct Run {
    pub shared: Arc<SharedProgram>,
    /// By slot.
    pub values: Vec<Value>,
    /// Of slots whose value says it, where there is one.
    told_types: Vec<(usize, ColumnType)>,
    pub cursors: Vec<Option<OpenCursor>>,
    /// What RETURN has given.
    pub returned: Option<Value>,
    /// What errors call that, if not by the program's name.
    pub result_name: Option<Arc<str>>,
    /// The slots of the changed row's columns that have been given values.
    pub given: Vec<usize>,
    pub frame: Frame,
    /// For each handler that runs: the state of the conditions when it began.
    pub began: Vec<(u64, usize)>,
}

pub(super) struct OpenCursor {
    pub rows: std::vec::IntoIter<Vec<Value>>,
    pub types: Vec<ColumnType>,
}

/// What errors call a slot: a variable, or a column of the changed row.
fn name_of(shared: &SharedProgram, slot: usize) -> &str {
    let columns = &shared.program.row_columns;
    let column = columns.iter().find(|column| column.slot == slot).map(|column| &column.name);
    column.unwrap_or(&shared.program.slots[slot].name)
}

/// Where the program goes on.
pub(super) enum Next {
    At(usize),
    End,
}

impl Run {
    pub fn new(shared: Arc<SharedProgram>) -> Run {
        Run {
            values: vec![Value::Null; shared.types.len()],
            told_types: Vec::new(),
            cursors: shared.program.cursors.iter().map(|_| None).collect(),
            returned: None,
            result_name: None,
            given: Vec::new(),
            frame: Frame::default(),
            began: Vec::new(),
            shared,
        }
    }

    pub fn type_of(&self, slot: usize) -> &ColumnType {
        static UNTOLD: LazyLock<ColumnType> = LazyLock::new(|| ColumnType::new(TypeKind::Null));
        let told = || self.told_types.iter().find(|(of, _)| *of == slot).map(|(_, column_type)| column_type);
        self.shared.types[slot].as_ref().or_else(told).unwrap_or(&UNTOLD)
    }

    fn tell_type(&mut self, slot: usize, column_type: ColumnType) {
        match self.told_types.iter_mut().find(|(of, _)| *of == slot) {
            Some((_, told)) => *told = column_type,
            None => self.told_types.push((slot, column_type)),
        }
    }

    fn note_given(&mut self, slot: usize) {
        let is_of_row = self.shared.program.row_columns.iter().any(|column| column.slot == slot);
        if is_of_row && !self.given.contains(&slot) {
            self.given.push(slot);
        }
    }

    pub fn close_cursors(&mut self, cursors: Vec<usize>) {
        for cursor in cursors {
            self.cursors[cursor] = None;
        }
    }
}

impl Session {
    /// Gives a slot its value.
    pub(super) fn assign(
        &mut self,
        run: &mut Run,
        slot: usize,
        value: Value,
        from: &ColumnType,
    ) -> Result<(), SqlError> {
        let is_strict = self.settings.sql_mode.is_strict();
        self.take(run, slot, (value, from), Taking { is_strict, is_copy: false })
    }

    /// The same of a value that is taken in some other way.
    pub(super) fn take(
        &mut self,
        run: &mut Run,
        slot: usize,
        (value, from): (Value, &ColumnType),
        taking: Taking,
    ) -> Result<(), SqlError> {
        run.note_given(slot);
        match &run.shared.types[slot] {
            None => {
                run.tell_type(slot, from.clone());
                run.values[slot] = value;
            }
            Some(to) if fits_as_it_is(&value, to) => run.values[slot] = value,
            Some(to) => match self.fit(name_of(&run.shared, slot), value, (from, to), taking) {
                Ok(fitted) => run.values[slot] = fitted,
                Err(error) => {
                    // A variable whose new value is refused has none, as in MySQL.
                    run.values[slot] = Value::Null;
                    return Err(error);
                }
            },
        }
        Ok(())
    }

    /// A program that a statement calls begins, runs to its end and is left. Its conditions come behind those that were there,
    /// but for those of a trigger, which are settled with it.
    pub(super) async fn run_called(
        &mut self,
        run: &mut Run,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let depth = self.programs.depth();
        let shared = run.shared.clone();
        let before = self.shared.diagnostics.lock().area();
        let result = match self.enter_program(&shared) {
            Ok(()) => roomy(Box::pin(self.run_program(run, shield, sink))).await,
            Err(error) => Some(Err(error)),
        };
        self.leave_programs(depth);
        let result = result.unwrap_or_else(|| Err(ER_STACK_OVERRUN.plain()));
        let mut diagnostics = self.shared.diagnostics.lock();
        match shared.live.definition.kind {
            ProgramKind::Trigger if result.is_ok() => diagnostics.replace(before),
            _ => diagnostics.put_before(before),
        }
        result
    }

    /// Runs the program to its end.
    pub(super) async fn run_program(
        &mut self,
        run: &mut Run,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let shared = run.shared.clone();
        let (mut at, mut pace) = (0, 0u32);
        loop {
            pace += 1;
            if pace.is_multiple_of(INSTRUCTIONS_BETWEEN_PAUSES) {
                yield_now().await;
            }
            self.process.kill.interrupt.check()?;
            let result = match self.step_at_hand(run, &shared, at) {
                Some(result) => result,
                None => self.step(run, &shared, at, shield, sink).await,
            };
            at = match result {
                Ok(next) => match (self.react_to_warnings(run, &shared, at, &next), next) {
                    (Some(handler), _) => handler,
                    (None, Next::At(next)) => next,
                    (None, Next::End) => return Ok(()),
                },
                Err(error) => {
                    let next = self.react_to_error(run, &shared, at, error)?;
                    let status = self.status_flags().with(StatusFlags::MORE_RESULTS);
                    sink.end_unfinished(&StatusInfo { status, ..StatusInfo::default() });
                    next
                }
            };
        }
    }

    /// An instruction that waits for nothing and finds the plan of its expression kept; `None` for any other.
    fn step_at_hand(
        &mut self,
        run: &mut Run,
        shared: &Arc<SharedProgram>,
        at: usize,
    ) -> Option<Result<Next, SqlError>> {
        let next = match &shared.program.instructions[at] {
            Instruction::Assign { slot, piece } => {
                let kept = self.kept_piece(run, *piece)?;
                let plan = kept.plan()?;
                self.begins_at_hand(plan)?;
                let is_strict = self.settings.sql_mode.is_strict();
                let assigned = match self.piece_at_hand(run, plan, is_strict)? {
                    Ok((value, from)) => {
                        let taking = Taking { is_strict, is_copy: is_variable(plan) };
                        self.take(run, *slot, (value, &from), taking)
                    }
                    Err(error) => {
                        run.values[*slot] = Value::Null;
                        Err(error)
                    }
                };
                assigned.map(|()| Next::At(at + 1))
            }
            Instruction::JumpUnless { piece, otherwise, .. } => {
                let kept = self.kept_piece(run, *piece)?;
                let plan = kept.plan()?;
                self.begins_at_hand(plan)?;
                let is_strict =
                    self.programs.strictness() > Strictness::None && self.settings.sql_mode.is_strict();
                let value = self.piece_at_hand(run, plan, is_strict)?;
                value.map(|(value, _)| Next::At(if value == Value::Int(1) { at + 1 } else { *otherwise }))
            }
            Instruction::Jump(target) => Ok(Next::At(*target)),
            Instruction::Run(piece) => {
                let done = self.run_at_hand(run, *piece)?;
                done.map(|()| Next::At(at + 1))
            }
            _ => return None,
        };
        Some(next)
    }

    /// Whether the expression is a variable and nothing else.
    fn is_variable(&self, run: &Run, piece: usize) -> bool {
        let kept = self.kept_piece(run, piece);
        kept.as_ref().and_then(|kept| kept.plan()).is_some_and(is_variable)
    }

    /// The expression needs neither a table nor a program: an instruction of it begins.
    fn begins_at_hand(&mut self, plan: &PiecePlan) -> Option<()> {
        lone_expression(&plan.prepared.plan)?;
        self.start_inner(false);
        Some(())
    }

    async fn step(
        &mut self,
        run: &mut Run,
        shared: &Arc<SharedProgram>,
        at: usize,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Next, SqlError> {
        let next = Ok(Next::At(at + 1));
        if let Instruction::Assign { .. }
        | Instruction::Operand { .. }
        | Instruction::Clear(_)
        | Instruction::JumpUnless { .. }
        | Instruction::Open(_)
        | Instruction::Fetch { .. }
        | Instruction::Close(_)
        | Instruction::CaseNotFound
        | Instruction::Return(_) = &shared.program.instructions[at]
        {
            self.start_inner(false);
        }
        match &shared.program.instructions[at] {
            Instruction::Run(piece) => {
                let result = Box::pin(self.run_piece(run, *piece, shield, sink)).await;
                // Also of a statement that failed: it may have assigned a row before it met another.
                self.take_assigned(run)?;
                result?;
            }
            Instruction::Assign { slot, piece } | Instruction::Operand { slot, piece, .. } => {
                let value_use = match shared.program.instructions[at] {
                    Instruction::Operand { .. } => ValueUse::Operand,
                    _ => ValueUse::Assigned,
                };
                let assigned =
                    Box::pin(self.evaluate_piece(run, *piece, value_use, Some(*slot), shield)).await;
                if let Err(error) = assigned {
                    run.values[*slot] = Value::Null;
                    return Err(error);
                }
            }
            Instruction::Clear(slot) => run.values[*slot] = Value::Null,
            Instruction::JumpUnless { piece, equals, otherwise, .. } => {
                let truth = Box::pin(self.evaluate_truth(run, *piece, *equals, shield)).await?;
                return Ok(Next::At(if truth { at + 1 } else { *otherwise }));
            }
            Instruction::Enter => run.frame.enter(),
            Instruction::Leave(count) => {
                let ended = run.frame.leave(*count);
                run.close_cursors(ended);
            }
            Instruction::Handler(handler) => run.frame.add_handler(*handler),
            Instruction::HandlerEnd => return Ok(self.end_handler(run, shared, at)),
            Instruction::Cursor(cursor) => run.frame.add_cursor(*cursor),
            Instruction::Open(cursor) => self.open_program_cursor(run, *cursor, shield).await?,
            Instruction::Fetch { cursor, targets } => self.fetch_into(run, *cursor, targets)?,
            Instruction::Close(cursor) => {
                let closed = run.cursors[*cursor].take();
                closed.ok_or_else(|| error_code::ER_SP_CURSOR_NOT_OPEN.plain())?;
            }
            Instruction::CaseNotFound => return Err(error_code::ER_SP_CASE_NOT_FOUND.plain()),
            Instruction::Return(piece) => {
                self.return_value(run, shared, *piece, shield).await?;
                return Ok(Next::End);
            }
            Instruction::Jump(target) => return Ok(Next::At(*target)),
            Instruction::End => return Ok(Next::End),
        }
        next
    }

    /// RETURN: the value as the function's type has it.
    async fn return_value(
        &mut self,
        run: &mut Run,
        shared: &SharedProgram,
        piece: usize,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        // A value that is refused leaves NULL, which is returned if a handler goes on to the end.
        run.returned = Some(Value::Null);
        let (value, from) = match self.returned_at_hand(run, piece) {
            Some(returned) => returned?,
            None => Box::pin(self.evaluate_piece(run, piece, ValueUse::Assigned, None, shield)).await?,
        };
        let name = run.result_name.as_deref().unwrap_or(&shared.live.definition.name);
        let value = match &shared.program.returns {
            Some(to) if fits_as_it_is(&value, to) => value,
            Some(to) => {
                let is_copy = self.is_variable(run, piece);
                let taking = Taking { is_strict: self.settings.sql_mode.is_strict(), is_copy };
                self.fit(name, value, (&from, to), taking)?
            }
            None => value,
        };
        run.returned = Some(value);
        Ok(())
    }

    /// Brings what a statement has put into variables to the program's slots.
    fn take_assigned(&mut self, run: &mut Run) -> Result<(), SqlError> {
        let is_silent = std::mem::take(&mut self.programs.assigns_silently);
        for (slot, value, from) in std::mem::take(&mut self.programs.assigned) {
            match &run.shared.types[slot] {
                Some(to) if is_silent => {
                    run.values[slot] = self.fit_silently(value, &from, to);
                    run.note_given(slot);
                }
                _ => self.assign(run, slot, value, &from)?,
            }
        }
        Ok(())
    }

    fn fetch_into(&mut self, run: &mut Run, cursor: usize, targets: &[usize]) -> Result<(), SqlError> {
        let not_open = || error_code::ER_SP_CURSOR_NOT_OPEN.plain();
        let open = run.cursors[cursor].as_mut().ok_or_else(not_open)?;
        if open.types.len() != targets.len() {
            return Err(error_code::ER_SP_WRONG_NO_OF_FETCH_ARGS.plain());
        }
        let row = open.rows.next().ok_or_else(|| error_code::ER_SP_FETCH_NO_DATA.plain())?;
        let types = open.types.clone();
        let is_strict = self.settings.sql_mode.is_strict() && !self.programs.makes_rows_fit();
        for ((slot, value), from) in targets.iter().zip(row).zip(&types) {
            self.take(run, *slot, (value, from), Taking { is_strict, is_copy: true })?;
        }
        Ok(())
    }

    async fn open_program_cursor(
        &mut self,
        run: &mut Run,
        cursor: usize,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        if run.cursors[cursor].is_some() {
            return Err(error_code::ER_SP_CURSOR_ALREADY_OPEN.plain());
        }
        let piece = run.shared.program.cursors[cursor].piece;
        let (rows, types) = Box::pin(self.query_piece(run, piece, shield)).await?;
        run.cursors[cursor] = Some(OpenCursor { rows: rows.into_iter(), types });
        Ok(())
    }

    /// Counts a statement of a program.
    pub(super) fn count_program_statement(&self) {
        count(&self.process.counters.queries);
    }
}
