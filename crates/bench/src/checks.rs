//! Asks a workload's questions about its data: each finds nothing while the data is consistent.
//!
//! Invariant: a question that fails is not a data set that is consistent. Called by `companion` after a run.

use client::{Connection, Dsn};
use workload::Workload;

use crate::Result;

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    pub name: String,
    /// What was found, or why it could not be asked; `None` is good.
    pub trouble: Option<String>,
}

/// Asks them all.
pub fn run_checks(dsn: &Dsn, workload: &dyn Workload) -> Result<Vec<CheckResult>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let mut connection = Connection::connect(dsn).await.map_err(|error| format!("{dsn}: {error}"))?;
        let mut results = Vec::new();
        for check in workload.checks() {
            let trouble = match connection.ask(&check.sql).await {
                Ok(answer) if answer.rows() == 0 => None,
                Ok(answer) => {
                    let cells: Vec<String> = (0..answer.columns())
                        .map(|column| format!("{}={}", answer.name(column), answer.cell(0, column).text()))
                        .collect();
                    Some(format!("{} rows break it, the first: {}", answer.rows(), cells.join(" ")))
                }
                Err(error) => Some(error.to_string()),
            };
            results.push(CheckResult { name: check.name, trouble });
        }
        Ok(results)
    })
}
