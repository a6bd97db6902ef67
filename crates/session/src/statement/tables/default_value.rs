//! The defaults of columns: the literal of a DEFAULT clause as a value of the column's type, checked as strictly
//! as MySQL checks it (anything that does not fit is error 1067).
use std::sync::Arc;

use binder::Literals;
use collation::Charset;
use datum::{ColumnType, Severity, SqlError, TypeKind, Value, error_code};
use expression::EvalContext;
use parser::ast::Expr;
use plan::{NodeKind, PlanKind};
use schema::{ColumnDef, ColumnDefault};

use crate::session::Session;
use definition::{Conversion, DefinitionContext, RowExpressionType};
use variables::Settings;

type MakeDefault<'a> = Box<dyn Fn(&Expr<'_>, &ColumnDef) -> Result<ColumnDefault, SqlError> + 'a>;

/// Owns what a `DefinitionContext` borrows.
pub struct DefinitionSource<'a> {
    literal: MakeDefault<'a>,
    row_expression_type: Box<RowExpressionType<'a>>,
    session: &'a Session,
}

impl DefinitionSource<'_> {
    /// What the crate `definition` takes.
    pub fn context(&self) -> DefinitionContext<'_> {
        DefinitionContext {
            sql_mode: self.session.settings.sql_mode,
            default_engine: &self.session.settings.default_engine,
            require_primary_key: self.session.settings.require_primary_key,
            literal_default: &self.literal,
            knows_function: &functions::is_function,
            row_expression_type: &*self.row_expression_type,
            connection_charset: self.session.settings.bind_context().connection_collation.charset().name(),
            conditions: Vec::new(),
        }
    }
}

impl Session {
    /// What definitions ask of the session; errors of expressions are its own.
    pub fn definition_context(&self) -> DefinitionSource<'_> {
        DefinitionSource {
            literal: Box::new(|expr, column| self.literal_default(expr, column)),
            row_expression_type: Box::new(|text, table| {
                let context = self.binder_context(Literals::Inline, &[]);
                let expr = binder::bind_row_expression(text, table, self, &context)?;
                let array_of = expression::array_cast(&expr).map(|(_, element)| element.clone());
                Ok((expr.ty.column, array_of))
            }),
            session: self,
        }
    }

    fn literal_default(&self, expr: &Expr<'_>, column: &ColumnDef) -> Result<ColumnDefault, SqlError> {
        let invalid = || error_code::ER_INVALID_DEFAULT.with(&[&column.name]);
        let (value, column_type) = self.constant(expr).ok_or_else(invalid)?;
        let has_members = matches!(column.column_type.kind, TypeKind::Enum(_) | TypeKind::Set(_));
        if has_members && !matches!(value, Value::Bytes(_)) {
            return Err(invalid());
        }
        let stored = self.conversion().column_value(&value, &column_type, column, 1);
        let (stored, condition) = stored.map_err(|_| invalid())?;
        // What would be adjusted is refused in every mode.
        if let Some(condition) = condition {
            if condition.severity != Severity::Note {
                return Err(invalid());
            }
            self.shared.diagnostics.lock().add(condition);
        }
        let text = self.default_text(&stored, &column.column_type);
        Ok(ColumnDefault::Value { value: stored, text })
    }

    /// The value of an expression that needs neither rows nor waiting.
    pub fn constant(&self, expr: &Expr<'_>) -> Option<(Value, ColumnType)> {
        let context = self.planner_context(Literals::Inline, &[]);
        let plan = planner::plan_expressions(std::slice::from_ref(expr), self, &context).ok()?;
        let PlanKind::Query(query) = &plan.kind else { return None };
        let NodeKind::Project { expressions, .. } = &query.root.kind else { return None };
        let [expression] = expressions.as_slice() else { return None };
        let eval = EvalContext::new(Arc::new(self.expression_settings()), self.shared.clone());
        let value = expression.eval(&[], &eval).ok()?;
        Some((value, expression.ty.column.clone()))
    }

    /// What conversions to column types need of the session.
    pub fn conversion(&self) -> Conversion<'_> {
        self.conversion_of(&self.settings)
    }

    /// The same by settings that outlive a use of the session.
    pub fn conversion_of<'s>(&self, settings: &'s Settings) -> Conversion<'s> {
        Conversion::new(settings, self.now_utc_micros())
    }

    /// What SHOW CREATE TABLE quotes.
    fn default_text(&self, value: &Value, column_type: &ColumnType) -> String {
        if let (Value::Bit(bits), TypeKind::Bit(_)) = (value, &column_type.kind) {
            return format!("b'{bits:b}'");
        }
        let shown = value.in_session_zone(&self.settings.time_zone);
        let text = shown.to_text(column_type);
        let charset = column_type.collation.charset();
        let text = charset.convert_to(Charset::Utf8mb4, &text).bytes;
        let text = String::from_utf8_lossy(&text).into_owned();
        match column_type.zerofill {
            true => format!("{text:0>width$}", width = column_type.length as usize),
            false => text,
        }
    }
}
