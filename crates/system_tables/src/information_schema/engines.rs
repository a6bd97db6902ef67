//! `ENGINES`
use datum::Value;

use crate::view::{ViewColumn::*, ViewSource};

/// Engine, support, comment, transactions, XA, savepoints.
const ENGINE_ROWS: &[[&str; 6]] = &[[
    "InnoDB",
    "DEFAULT",
    "Transactions, row locks, crash recovery; the name is kept for compatibility",
    "YES",
    "NO",
    "YES",
]];

pub(super) const VIEW: ViewSource = ViewSource {
    name: "ENGINES",
    columns: &[
        Text("ENGINE", 64),
        Text("SUPPORT", 8),
        Text("COMMENT", 80),
        NullText("TRANSACTIONS", 3),
        NullText("XA", 3),
        NullText("SAVEPOINTS", 3),
    ],
    late: None,
    rows: |_, _| ENGINE_ROWS.iter().map(|row| row.iter().map(Value::bytes).collect()).collect(),
};
