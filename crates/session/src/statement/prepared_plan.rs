//! Plans of texts with `?`: made for the kinds of the values, and found again by them.
//!
//! Invariant: a plan tells nothing of a value but its kind, so that it serves other values and other sessions. Called by
//! `prepared`.
use std::sync::Arc;

use binder::Literals;
use collation::{Charset, CollationId};
use datum::{ColumnType, Condition, SqlError, TypeKind, Value, error_code};
use expression::{KnownValues, Markers, ReadParameter};
use plan::{Plan, PlanKind};

use super::Request;
use super::assigning::Planned;
use crate::session::Session;
use instance::{ParameterClass, PieceRows, StatementText, TextKey, TypedPlan};

/// The longest text that a VARCHAR holds, which is what MySQL takes a text parameter for.
const VARCHAR_BYTES_MAX: u32 = 65_535;

impl Session {
    pub(super) fn text_key(&self, text: &[u8], classes: &[ParameterClass]) -> TextKey {
        TextKey {
            text: text.into(),
            ignores_space: self.connection.capabilities.ignore_space,
            classes: classes.into(),
            environment: self.plan_environment(),
        }
    }

    /// Plans a parsed statement for the parameters of `key`, and lets other sessions have the plan.
    pub(super) fn plan_for(
        &self,
        (planned, rows): (Planned<'_>, PieceRows),
        request: Request<'_>,
        text: &Arc<StatementText>,
        key: TextKey,
    ) -> Result<Arc<TypedPlan>, SqlError> {
        let mut plan = self.plan_markers(&planned, request)?;
        if let (PieceRows::Into(targets), PlanKind::Query(query)) = (&rows, &plan.kind)
            && targets.len() != query.columns.len()
        {
            return Err(error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT.plain());
        }
        let is_told = |condition: &Condition| condition.error.is(&error_code::ER_WARN_DEPRECATED_SYNTAX);
        let (told, conditions) = std::mem::take(&mut plan.conditions).into_iter().partition(is_told);
        plan.conditions = conditions;
        let told: Vec<Condition> = told;
        let prepared = Arc::new(self.prepare_plan(plan)?);
        self.require_plan(&prepared.plan)?;
        let (text, classes) = (text.clone(), key.classes.clone());
        let plan = Arc::new(TypedPlan { text, classes, prepared, rows, told: told.into() });
        if plan.prepared.plan.shareable {
            self.instance.plan_cache.put_prepared(key, plan.clone(), self.instance.catalog().version());
        }
        Ok(plan)
    }

    /// A plan with `?` for markers. Where a function does not convert a value's type, all values keep theirs.
    fn plan_markers(&self, planned: &Planned<'_>, request: Request<'_>) -> Result<Plan, SqlError> {
        let converting = self.plan_with_markers(planned, request, Markers::of_statement(false))?;
        match converting {
            Some(plan) => Ok(plan),
            None => {
                let keeping = self.plan_with_markers(planned, request, Markers::of_statement(true))?;
                keeping.ok_or_else(|| error_code::ER_WRONG_ARGUMENTS.with(&[&"EXECUTE"]))
            }
        }
    }

    /// `None` if a value was refused.
    fn plan_with_markers(
        &self,
        planned: &Planned<'_>,
        request: Request<'_>,
        markers: Markers,
    ) -> Result<Option<Plan>, SqlError> {
        let mut context = self.planner_context(Literals::Inline, request.parameter_types);
        context.values = request.parameters;
        context.binder.bind.markers = markers;
        context.binder.bind.known = KnownValues::of_markers(request.parameters.to_vec());
        let plan = match planned {
            Planned::Statement(statement) => planner::plan_statement(statement, self, &context)?,
            Planned::Values(values) => planner::plan_expressions(values, self, &context)?,
        };
        Ok((!context.binder.bind.markers.is_refused()).then_some(plan))
    }

    /// Whether the plan is for values like these, of which it may have read some.
    pub(super) fn suits_markers(&self, plan: &Plan, parameters: &[Value]) -> bool {
        if plan.readings.is_empty() {
            return self.suits(plan, parameters);
        }
        let mut values = parameters.to_vec();
        ReadParameter::extend(&plan.readings, &mut values) && self.suits(plan, &values)
    }

    /// The type by which a parameter is planned. It tells nothing of the value's length, because the plan serves
    /// other values and other sessions too.
    pub(super) fn parameter_type(&self, class: ParameterClass) -> ColumnType {
        match class {
            ParameterClass::Null => ColumnType::new(TypeKind::Null),
            ParameterClass::Integer => ColumnType::bigint(),
            ParameterClass::Unsigned => ColumnType::bigint_unsigned(),
            ParameterClass::Real => ColumnType::double(),
            ParameterClass::Decimal => ColumnType::decimal(65, 30),
            ParameterClass::Text => {
                let collation = self.settings.connection_collation;
                let characters = VARCHAR_BYTES_MAX / collation.charset().bytes_per_character_max();
                ColumnType::varchar(characters, collation)
            }
            ParameterClass::Json => {
                let characters = VARCHAR_BYTES_MAX / Charset::Utf8mb4.bytes_per_character_max();
                ColumnType::varchar(characters, CollationId::UTF8MB4_BIN)
            }
            ParameterClass::Date => ColumnType::new(TypeKind::Date),
            ParameterClass::Time => ColumnType::new(TypeKind::Time { fsp: 6 }),
            ParameterClass::DateTime => ColumnType::new(TypeKind::DateTime { fsp: 6 }),
        }
    }
}

/// What of a value decides about a plan.
pub(super) fn class_of(value: &Value) -> ParameterClass {
    match value {
        Value::Null => ParameterClass::Null,
        Value::Int(_) => ParameterClass::Integer,
        Value::UInt(_) | Value::Bit(_) | Value::Year(_) | Value::Enum(_) | Value::Set(_) => {
            ParameterClass::Unsigned
        }
        Value::Float(_) | Value::Double(_) => ParameterClass::Real,
        Value::Decimal(_) => ParameterClass::Decimal,
        Value::Bytes(_) => ParameterClass::Text,
        Value::Json(_) => ParameterClass::Json,
        Value::Date(_) => ParameterClass::Date,
        Value::Time(_) => ParameterClass::Time,
        Value::DateTime(_) | Value::Timestamp(_) => ParameterClass::DateTime,
    }
}
