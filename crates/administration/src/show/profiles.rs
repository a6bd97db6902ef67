//! SHOW PROFILES and SHOW PROFILE.
use datum::{SqlError, Value};
use parser::ast::Limit;

use crate::caller::Caller;
use session::{MadeColumn, MadeRows};

const QUERY_COLUMNS: &[MadeColumn] =
    &[MadeColumn::Number("Query_ID"), MadeColumn::Decimal("Duration", 8), MadeColumn::Text("Query", 300)];

/// The columns of each type that can be asked for, in the order in which they stand.
const EXTRA: &[(&str, &[MadeColumn])] = &[
    ("CPU", &[MadeColumn::NullableDecimal("CPU_user", 6), MadeColumn::NullableDecimal("CPU_system", 6)]),
    (
        "CONTEXT SWITCHES",
        &[MadeColumn::NullableNumber("Context_voluntary"), MadeColumn::NullableNumber("Context_involuntary")],
    ),
    ("BLOCK IO", &[MadeColumn::NullableNumber("Block_ops_in"), MadeColumn::NullableNumber("Block_ops_out")]),
    ("IPC", &[MadeColumn::NullableNumber("Messages_sent"), MadeColumn::NullableNumber("Messages_received")]),
    (
        "PAGE FAULTS",
        &[MadeColumn::NullableNumber("Page_faults_major"), MadeColumn::NullableNumber("Page_faults_minor")],
    ),
    ("SWAPS", &[MadeColumn::NullableNumber("Swaps")]),
    (
        "SOURCE",
        &[
            MadeColumn::NullableText("Source_function", 30),
            MadeColumn::NullableText("Source_file", 20),
            MadeColumn::NullableNumber("Source_line"),
        ],
    ),
];

impl Caller<'_> {
    pub(super) fn show_profiles(&self) -> MadeRows {
        let mut rows = MadeRows::new(QUERY_COLUMNS);
        for profile in self.profiles().all() {
            rows.push(vec![
                Value::UInt(profile.query_id),
                seconds(profile.elapsed_ns, 8),
                Value::bytes(&profile.text),
            ]);
        }
        rows
    }

    /// What is not measured is NULL.
    pub(super) fn show_profile(
        &self,
        types: &[&str],
        query: Option<u64>,
        limit: Option<Limit<'_>>,
    ) -> Result<MadeRows, SqlError> {
        let mut columns = vec![MadeColumn::Text("Status", 30), MadeColumn::Decimal("Duration", 6)];
        for (name, more) in EXTRA {
            if types.iter().any(|asked| *asked == "ALL" || asked == name) {
                columns.extend_from_slice(more);
            }
        }
        let mut rows = MadeRows::new(&columns);
        let (offset, count) = super::conditions::offset_and_count(limit)?;
        let stages = self.profiles().find(query).map(|profile| profile.stages.as_slice());
        let stages = stages.unwrap_or_default().iter().skip(offset).take(count);
        for (name, time_ns) in stages {
            let mut row = vec![Value::bytes(name), seconds(*time_ns, 6)];
            row.resize(columns.len(), Value::Null);
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Nanoseconds as seconds with so many digits behind the point.
fn seconds(time_ns: u64, digits: usize) -> Value {
    Value::bytes(format!("{:.digits$}", time_ns as f64 / 1e9))
}
