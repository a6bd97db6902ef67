//! START REPLICA .. UNTIL: where the applier is to end.
//!
//! Invariant: one condition, or file and position together; others are error 1277 or a syntax error, as in MySQL.
use binlog::GtidSet;
use datum::{SqlError, error_code};
use instance::replication::Until;
use parser::ast::UntilOption;

use super::errors::ER_BAD_REPLICA_UNTIL_COND;
use super::options::Given;
use crate::caller::Caller;
use session::Request;
use session::Shield;
use session::syntax_error_at;

impl Caller<'_> {
    pub(super) async fn until(
        &mut self,
        options: &[UntilOption<'_>],
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Until, SqlError> {
        let (mut file, mut position, mut until) = (None, None, Until::Never);
        for (option, value) in options {
            let name = option.name.to_lowercase();
            let Some(value) = value else {
                match name.as_str() {
                    "sql_after_mts_gaps" if options.len() == 1 => return Ok(Until::NoGaps),
                    _ => return Err(syntax_error_at(option.name.as_bytes(), 0)),
                }
            };
            let (value, _) = self.evaluate_one(value, request, shield).await?;
            let given = Given { name: &name, value: &value };
            match name.as_str() {
                "source_log_file" => file = Some(given.text()?),
                "source_log_pos" => position = Some(given.number()?),
                "sql_before_gtids" | "sql_after_gtids" if options.len() == 1 => {
                    let text = given.text()?;
                    let malformed = || error_code::ER_MALFORMED_GTID_SET_SPECIFICATION.with(&[&text]);
                    let set = GtidSet::parse(&text).ok_or_else(malformed)?;
                    until = if name == "sql_before_gtids" { Until::Before(set) } else { Until::After(set) };
                }
                "relay_log_file" | "relay_log_pos" => {
                    let what = "START REPLICA UNTIL with a place in relay logs";
                    return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
                }
                _ => return Err(syntax_error_at(option.name.as_bytes(), 0)),
            }
        }
        match (file, position) {
            (None, None) => Ok(until),
            (Some(file), Some(position)) if !file.is_empty() => Ok(Until::Position { file, position }),
            _ => Err(ER_BAD_REPLICA_UNTIL_COND.plain()),
        }
    }
}
