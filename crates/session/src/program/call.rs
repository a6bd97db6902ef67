//! CALL: arguments in, the program's run, arguments out.
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use auth::Privilege;
use catalog::{LockMode, LockName};
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use expression::SessionServices;
use instance::{CallInput, CallPiece, IntoTarget, SharedProgram};
use parser::ast::{Expr, ExprKind, ObjectName, ParameterMode};
use schema::ProgramKind;

use super::context::{BusyStatement, Strictness};
use super::run::Run;
use super::store::Taking;
use crate::session::Session;
use crate::statement::{Done, Effects, Request, Shield};
use session_state::sink::ResultSink;

/// What takes the value of an OUT parameter.
enum Target {
    Nothing,
    UserVariable(String),
    /// Of the program that calls.
    Slot(usize),
    /// `?` of a prepared CALL: the client is sent the value.
    Parameter,
}

impl Session {
    pub(crate) async fn call(
        &mut self,
        procedure: ObjectName<'_>,
        arguments: &[Expr<'_>],
        request: Request<'_>,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        let (database, name) = self.program_name(procedure)?;
        let full = format!("{database}.{name}");
        self.require_routine(Privilege::Execute, ProgramKind::Procedure, &database, &name)?;
        // As in MySQL: until the first transaction inside ends, or the one around it.
        self.lock_shared(&[Session::called_lock(&database, &name)]).await?;
        let live = self.instance.catalog().program(ProgramKind::Procedure, &database, &name);
        let live = live.ok_or_else(|| error_code::ER_SP_DOES_NOT_EXIST.with(&[&"PROCEDURE", &full]))?;
        let shared = self.shared_program(&live)?;
        self.check_recursion(&shared)?;
        self.permit_call(&shared.program)?;
        let expected = shared.program.parameters.len();
        if arguments.len() != expected {
            let found = arguments.len();
            return Err(error_code::ER_SP_WRONG_NO_OF_ARGS.with(&[&"PROCEDURE", &full, &expected, &found]));
        }
        let targets = targets_of(&shared, arguments, request, &full)?;
        let mut run = Run::new(shared.clone());
        self.pass_arguments(&mut run, arguments, request, shield).await?;
        self.run_called(&mut run, shield, sink).await?;
        self.leave_call(shield).await?;
        self.return_arguments(&run, targets, sink)?;
        Ok(self.called())
    }

    pub(super) fn called_lock(database: &str, name: &str) -> (LockName, LockMode) {
        (Session::program_lock(ProgramKind::Procedure, database, name), LockMode::Shared)
    }

    async fn leave_call(&mut self, shield: &Shield) -> Result<(), SqlError> {
        if !self.programs.is_inside_statement() {
            self.end_statement_transaction(shield).await?;
        }
        self.reads_conditions = false;
        Ok(())
    }

    fn called(&self) -> Done {
        let affected_rows = u64::try_from(self.shared.row_count.load(Relaxed)).unwrap_or(0);
        Done::Ok(Effects { affected_rows, ..Effects::default() })
    }

    /// CALL of a program, as it is kept; `None` when it is for another procedure than the name means now.
    pub(super) async fn call_kept(
        &mut self,
        caller: &Run,
        call: &CallPiece,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Option<Result<Done, SqlError>> {
        if let Err(error) = self.enter_call(call).await {
            return Some(Err(error));
        }
        let live = self.instance.catalog().program_by_id(call.procedure)?;
        let shared = match self.shared_program(&live) {
            Ok(shared) => shared,
            Err(error) => return Some(Err(error)),
        };
        let permitted = self.check_recursion(&shared).and_then(|()| self.permit_call(&shared.program));
        if let Err(error) = permitted {
            return Some(Err(error));
        }
        let mut run = Run::new(shared);
        if let Err(error) = self.pass_kept(&mut run, caller, call)? {
            return Some(Err(error));
        }
        Some(self.run_call(&mut run, call, shield, sink).await)
    }

    async fn enter_call(&mut self, call: &CallPiece) -> Result<(), SqlError> {
        self.statements.set_plan_is_stale(false);
        self.require_routine(Privilege::Execute, ProgramKind::Procedure, &call.database, &call.name)?;
        self.lock_shared(&call.lock).await
    }

    /// `None` when a value has to be waited for.
    fn pass_kept(&mut self, run: &mut Run, caller: &Run, call: &CallPiece) -> Option<Result<(), SqlError>> {
        let is_strict = self.settings.sql_mode.is_strict();
        for (slot, argument) in call.arguments.iter().enumerate() {
            let (value, from) = match &argument.input {
                None => continue,
                Some(CallInput::Slot(from)) => {
                    let value = caller.values[*from].clone();
                    let taking = Taking { is_strict, is_copy: true };
                    if let Err(error) = self.take(run, slot, (value, caller.type_of(*from)), taking) {
                        return Some(Err(error));
                    }
                    continue;
                }
                Some(CallInput::Value(plan)) => match self.piece_at_hand(caller, plan, is_strict)? {
                    Ok(value) => value,
                    Err(error) => return Some(Err(error)),
                },
            };
            if let Err(error) = self.assign(run, slot, value, &from) {
                return Some(Err(error));
            }
        }
        Some(Ok(()))
    }

    async fn run_call(
        &mut self,
        run: &mut Run,
        call: &CallPiece,
        shield: &Shield,
        sink: &mut dyn ResultSink,
    ) -> Result<Done, SqlError> {
        self.run_called(run, shield, sink).await?;
        self.leave_call(shield).await?;
        for (slot, argument) in call.arguments.iter().enumerate() {
            let Some(target) = &argument.output else { continue };
            let (value, column_type) = (run.values[slot].clone(), run.type_of(slot).clone());
            match target {
                IntoTarget::UserVariable(name) => self.shared.set_user_variable(name, value, column_type)?,
                IntoTarget::Slot(slot) => self.programs.assigned.push((*slot, value, column_type)),
            }
        }
        Ok(self.called())
    }

    async fn pass_arguments(
        &mut self,
        run: &mut Run,
        arguments: &[Expr<'_>],
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<(), SqlError> {
        let modes = run.shared.program.parameters.clone();
        // Functions among the arguments compute what is assigned.
        let busy = self.programs.busy.len();
        let strictness = match self.settings.sql_mode.is_strict() {
            true => Strictness::Assignment,
            false => Strictness::None,
        };
        self.programs.busy.push(BusyStatement { tables: Vec::new(), strictness, makes_fit: false });
        for (slot, (argument, mode)) in arguments.iter().zip(modes).enumerate() {
            if mode == ParameterMode::Out {
                continue;
            }
            let (value, from) = self.evaluate_kept(argument, request, shield).await?;
            self.assign(run, slot, value, &from)?;
        }
        self.programs.busy.truncate(busy);
        Ok(())
    }

    fn return_arguments(
        &mut self,
        run: &Run,
        targets: Vec<Target>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), SqlError> {
        let mut sent = Vec::new();
        for (slot, target) in targets.into_iter().enumerate() {
            let (value, column_type) = (run.values[slot].clone(), run.type_of(slot).clone());
            match target {
                Target::Nothing => {}
                Target::UserVariable(name) => self.shared.set_user_variable(&name, value, column_type)?,
                Target::Slot(slot) => self.programs.assigned.push((slot, value, column_type)),
                Target::Parameter => {
                    sent.push((run.shared.program.slots[slot].name.clone(), value, column_type));
                }
            }
        }
        if !sent.is_empty() {
            self.send_out_parameters(sent, sink);
        }
        Ok(())
    }

    /// The OUT parameters of a prepared CALL, as a result of one row.
    fn send_out_parameters(&self, sent: Vec<(String, Value, ColumnType)>, sink: &mut dyn ResultSink) {
        use executor::RowSink;
        use session_state::result::{ClientRows, conversions, shape_of};
        use session_state::sink::{StatusFlags, StatusInfo};
        let columns: Vec<plan::OutputColumn> = sent
            .iter()
            .map(|(name, _, column_type)| plan::OutputColumn::computed(name, column_type.clone()))
            .collect();
        let types: Vec<ColumnType> = sent.iter().map(|(_, _, column_type)| column_type.clone()).collect();
        sink.columns(&shape_of(&columns, &self.settings));
        let converted = conversions(&types, &self.settings);
        let row: Vec<Value> = sent.into_iter().map(|(_, value, _)| value).collect();
        // Rows that are handed on fail for no reason of their own.
        let _ = ClientRows::new(sink, &converted, &self.settings).row(&row);
        let status = self.status_flags().with(StatusFlags::MORE_RESULTS).with(StatusFlags::PS_OUT_PARAMS);
        sink.end_rows(&StatusInfo { status, ..StatusInfo::default() });
    }
}

fn targets_of(
    shared: &Arc<SharedProgram>,
    arguments: &[Expr<'_>],
    request: Request<'_>,
    full: &str,
) -> Result<Vec<Target>, SqlError> {
    let mut targets = Vec::with_capacity(arguments.len());
    for (position, (argument, mode)) in arguments.iter().zip(&shared.program.parameters).enumerate() {
        targets.push(match (mode, argument.kind) {
            (ParameterMode::In, _) => Target::Nothing,
            (_, ExprKind::UserVariable(name)) => Target::UserVariable(name.name.to_lowercase()),
            (_, ExprKind::Local(local)) => Target::Slot(request.locals[local.index.0 as usize]),
            (_, ExprKind::Parameter(_)) => Target::Parameter,
            _ => return Err(error_code::ER_SP_NOT_VAR_ARG.with(&[&(position + 1), &full])),
        });
    }
    Ok(targets)
}

/// The type of a value that nothing else tells.
pub(super) fn type_of(value: &Value) -> ColumnType {
    match value {
        Value::Null => ColumnType::new(TypeKind::Null),
        Value::Int(_) => ColumnType::bigint(),
        Value::UInt(_) | Value::Bit(_) | Value::Year(_) | Value::Enum(_) | Value::Set(_) => {
            ColumnType::bigint_unsigned()
        }
        Value::Float(_) | Value::Double(_) => ColumnType::double(),
        Value::Decimal(_) => ColumnType::decimal(65, 30),
        Value::Date(_) => ColumnType::new(TypeKind::Date),
        Value::Time(_) => ColumnType::new(TypeKind::Time { fsp: 6 }),
        Value::DateTime(_) | Value::Timestamp(_) => ColumnType::new(TypeKind::DateTime { fsp: 6 }),
        Value::Json(_) => ColumnType::new(TypeKind::Json),
        Value::Bytes(_) => ColumnType::varchar(65_535 / 4, collation::CollationId::UTF8MB4_0900_AI_CI),
    }
}
