//! UPDATE of one or more tables.
use super::assign::Assigner;
use super::auto_increment;
use super::foreign_key::{ForeignKeys, pardon};
use super::input::ChangeInput;
use super::rules::check_row;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::deferred::retried;
use crate::outcome::Outcome;
use crate::row_store::RowStore;
use crate::seen_keys::SeenKeys;
use datum::{SqlError, Value};
use engine::LockMode;
use plan::{UpdatePlan, UpdateTarget};
use schema::TriggerEvent;
use table::{ChangeOutcome, ReadyTable};

struct Target<'p> {
    plan: &'p UpdateTarget,
    handle: ReadyTable,
    foreign_keys: ForeignKeys,
    assigner: Assigner<'p>,
    /// With joins: rows already updated, since each is changed once.
    done: SeenKeys,
    /// The statement changes this table under another name as well.
    is_twice: bool,
}

pub async fn execute_update(plan: &UpdatePlan, context: &mut ExecContext<'_>) -> Result<Outcome, SqlError> {
    context.host.transaction().set_duplicate_lock(LockMode::Shared);
    // With several tables every locked row is waited for, as in MySQL.
    context.settings.tests_before_waiting = plan.targets.len() == 1 && !is_join(plan);
    let mut targets = Vec::with_capacity(plan.targets.len());
    for target in &plan.targets {
        let handle = context.ready_table(target.table.id).await?;
        targets.push(Target {
            foreign_keys: ForeignKeys::of(&handle, context),
            handle,
            assigner: Assigner {
                defers_null: context.triggers.has(target.table.id, true, TriggerEvent::Update),
                ..Assigner::new(&target.table, context, plan.ignore)
            },
            plan: target,
            done: SeenKeys::new(),
            is_twice: plan.targets.iter().filter(|other| other.table.id == target.table.id).count() > 1,
        });
    }
    let is_twice = targets.iter().any(|target| target.is_twice);
    let mut input = ChangeInput::new(&plan.input, plan.collect_first || is_twice);
    let mut outcome = Outcome::default();
    let turns: Vec<&mut [Target<'_>]> = match is_twice {
        // All rows under one name come before those under the other.
        true => targets.chunks_mut(1).collect(),
        false => vec![&mut targets[..]],
    };
    let last = turns.len() - 1;
    for (turn, targets) in turns.into_iter().enumerate() {
        let changed = update_rows(plan, targets, &mut input, turn < last, context, &mut outcome).await?;
        if let Some(changed) = changed {
            input.replace(changed, context);
        }
    }
    Ok(outcome)
}

/// Updates these targets in all rows; answers the frames as they are then when they are `wanted`.
async fn update_rows(
    plan: &UpdatePlan,
    targets: &mut [Target<'_>],
    input: &mut ChangeInput<'_>,
    wanted: bool,
    context: &mut ExecContext<'_>,
    outcome: &mut Outcome,
) -> Result<Option<RowStore>, SqlError> {
    let mut changed = wanted.then(|| RowStore::new(plan.input.width));
    let mut rows = RowBatch::new(plan.input.width);
    let mut pace = Pace::default();
    let mut more = true;
    while more {
        rows.clear();
        more = input.next_rows(context, &mut rows).await?;
        for index in 0..rows.len() {
            context.check()?;
            for target in &mut *targets {
                update_row(plan, target, rows.row_mut(index), context, outcome).await?;
                pace.count_change().await;
            }
            if let Some(changed) = &mut changed {
                changed.push(rows.row(index), context).await?;
            }
        }
    }
    if let Some(changed) = &mut changed {
        changed.finish(context).await?;
    }
    Ok(changed)
}

async fn update_row(
    plan: &UpdatePlan,
    target: &mut Target<'_>,
    frame: &mut [Value],
    context: &mut ExecContext<'_>,
    outcome: &mut Outcome,
) -> Result<(), SqlError> {
    // The inner side of an outer join without a match has no row.
    let row_key = std::mem::take(&mut frame[target.plan.row_key_position]);
    let Value::Bytes(row_key) = row_key else { return Ok(()) };
    let is_met_again = plan.collect_first
        && plan.targets.len() + usize::from(is_join(plan)) > 1
        && !target.done.insert(&row_key, context).await?;
    if is_met_again {
        return Ok(());
    }
    outcome.matched_rows += 1;
    let positions = &target.plan.column_positions;
    let mut old: Vec<Value> = positions.iter().map(|&position| frame[position].clone()).collect();
    assign_values(target, frame, outcome.matched_rows, context).await?;
    context.check()?;
    let mut new = assigned_row(plan, target, frame, &old);
    let has_triggers = context.triggers.follow(target.plan.table.id, TriggerEvent::Update);
    if !target.is_twice && new == old && !has_triggers {
        return Ok(());
    }
    let is_assigned =
        |column: usize| target.plan.assignments.iter().any(|assignment| assignment.column == column);
    if target.is_twice || plan.targets.len() > 1 && target.foreign_keys.is_child() {
        // The row may have been changed under the other name, or by a cascade from another target.
        let present = target.foreign_keys.present_row(&target.handle, &row_key, context).await?;
        let Some(present) = present else { return Ok(()) };
        for (column, value) in present.iter().enumerate().filter(|(column, _)| !is_assigned(*column)) {
            new[column] = value.clone();
        }
        old = present;
        if new == old && !has_triggers {
            return Ok(());
        }
    }
    if has_triggers {
        // The triggers see the statement's time, and may give another one; what only they change keeps its time.
        if new != old {
            target.assigner.touch_timestamps(&mut new, is_assigned, context.eval)?;
        }
        let fired = context.fire_before(&target.handle, TriggerEvent::Update, Some(&old), &mut new).await?;
        if let Some(given) = fired {
            target.assigner.require_values(&mut new, &given, &[], false, context.eval)?;
        }
        if new == old {
            return context.update_nothing(&target.handle, &old).await;
        }
    } else {
        target.assigner.touch_timestamps(&mut new, is_assigned, context.eval)?;
    }
    if let Some(rules) = &target.plan.rules {
        target.assigner.generate(rules, &mut new, outcome.matched_rows, context.eval)?;
        context.check()?;
        if let Err(error) = check_row(rules, &new, context.eval) {
            let row_begin = context.host.transaction().savepoint();
            return pardon(error, plan.ignore, row_begin, &target.handle, context).await;
        }
    }
    write_row(plan, target, &row_key, old, new, context, outcome).await
}

/// The row as the assignments left it in the frame, which shows the old one again to whoever must not see it.
fn assigned_row(plan: &UpdatePlan, target: &Target<'_>, frame: &mut [Value], old: &[Value]) -> Vec<Value> {
    let positions = &target.plan.column_positions;
    if plan.targets.len() == 1 {
        // Nobody else reads this frame.
        return positions.iter().map(|&position| std::mem::take(&mut frame[position])).collect();
    }
    let new = positions.iter().map(|&position| frame[position].clone()).collect();
    if target.is_twice || !target.plan.is_seen {
        positions.iter().zip(old).for_each(|(&position, value)| frame[position] = value.clone());
    }
    new
}

/// The assignments, each of which sees what those before it have put into the frame.
async fn assign_values(
    target: &Target<'_>,
    frame: &mut [Value],
    number: u64,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    for assignment in &target.plan.assignments {
        let column = assignment.column;
        let (assigner, value) = (&target.assigner, &assignment.value);
        let value = retried(context, |eval| assigner.assigned(column, value, frame, number, eval)).await?;
        frame[target.plan.column_positions[column]] = match value {
            // The counter works for INSERT only.
            Value::Null if !target.plan.table.columns[column].nullable() && !target.assigner.defers_null => {
                let column_type = &target.plan.table.columns[column].column_type;
                target.assigner.convert(column, &Value::Null, column_type, number, context.eval)?
            }
            value => value,
        };
    }
    Ok(())
}

/// Brings the new values into the table, and to the row's children.
async fn write_row(
    plan: &UpdatePlan,
    target: &Target<'_>,
    row_key: &[u8],
    old: Vec<Value>,
    new: Vec<Value>,
    context: &mut ExecContext<'_>,
    outcome: &mut Outcome,
) -> Result<(), SqlError> {
    let Target { handle, foreign_keys, .. } = target;
    let is_assigned =
        |column: usize| target.plan.assignments.iter().any(|assignment| assignment.column == column);
    let row_begin = context.host.transaction().savepoint();
    if let Err(error) = foreign_keys.before_update(handle, row_key, &old, &new, context).await {
        return pardon(error, plan.ignore, row_begin, handle, context).await;
    }
    match context.update_row(handle, row_key, &old, &new).await? {
        ChangeOutcome::Done => {
            outcome.affected_rows += 1;
            if target.plan.table.auto_increment_column().is_some_and(is_assigned) {
                auto_increment::observe_update(handle, &new);
            }
            Ok(())
        }
        ChangeOutcome::Duplicate { index, .. } => {
            let error = handle.duplicate_error(index, &new);
            pardon(error, plan.ignore, row_begin, handle, context).await
        }
    }
}

/// More than one table is read.
fn is_join(plan: &UpdatePlan) -> bool {
    fn joins(node: &plan::Node) -> bool {
        use plan::NodeKind::*;
        match &node.kind {
            NestedLoop(_) | HashJoin(_) => true,
            Filter { input, .. } | Sort { input, .. } | Limit { input, .. } => joins(input),
            Initialise(initialise) => joins(&initialise.input),
            Apply(apply) => joins(&apply.input),
            _ => false,
        }
    }
    joins(&plan.input)
}
