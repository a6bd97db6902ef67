//! SHOW WARNINGS, SHOW ERRORS and their counts.
use datum::{Severity, SqlError, Value, error_code};
use parser::ast::{Expr, ExprKind, Limit, LiteralValue};

use crate::caller::Caller;
use session::{MadeColumn, MadeRows};

impl Caller<'_> {
    pub(super) fn show_conditions(
        &self,
        errors_only: bool,
        limit: Option<Limit<'_>>,
    ) -> Result<MadeRows, SqlError> {
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Level", 7),
            MadeColumn::Code("Code"),
            MadeColumn::Text("Message", 512),
        ]);
        let (offset, count) = offset_and_count(limit)?;
        let diagnostics = self.shared().diagnostics.lock();
        let shown = diagnostics
            .conditions()
            .iter()
            .filter(|condition| !errors_only || condition.severity == Severity::Error)
            .skip(offset)
            .take(count);
        for condition in shown {
            let level = match condition.severity {
                Severity::Note => "Note",
                Severity::Warning => "Warning",
                Severity::Error => "Error",
            };
            rows.push(vec![
                Value::bytes(level),
                Value::UInt(u64::from(condition.error.errno)),
                Value::bytes(&condition.error.message),
            ]);
        }
        Ok(rows)
    }

    pub(super) fn show_condition_count(&self, errors_only: bool) -> MadeRows {
        let diagnostics = self.shared().diagnostics.lock();
        let (name, count) = match errors_only {
            true => ("@@session.error_count", diagnostics.error_count()),
            false => ("@@session.warning_count", diagnostics.count()),
        };
        let mut rows = MadeRows::new(&[MadeColumn::Number(name)]);
        rows.push(vec![Value::UInt(count)]);
        rows
    }
}

/// How many rows a LIMIT skips and shows.
pub(super) fn offset_and_count(limit: Option<Limit<'_>>) -> Result<(usize, usize), SqlError> {
    let Some(limit) = limit else { return Ok((0, usize::MAX)) };
    let offset = limit.offset.as_ref().map(number).transpose()?.unwrap_or(0);
    Ok((offset, number(&limit.count)?))
}

fn number(expr: &Expr<'_>) -> Result<usize, SqlError> {
    match expr.kind {
        ExprKind::Literal(literal) => match literal.value {
            LiteralValue::Integer(number) => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
            _ => Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"LIMIT"])),
        },
        _ => Err(error_code::ER_WRONG_ARGUMENTS.with(&[&"LIMIT"])),
    }
}
