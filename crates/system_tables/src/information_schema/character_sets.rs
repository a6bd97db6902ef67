//! `CHARACTER_SETS`
use collation::Charset;
use datum::Value;

use crate::view::{ViewColumn::*, ViewSource};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "CHARACTER_SETS",
    columns: &[
        Text("CHARACTER_SET_NAME", 64),
        Text("DEFAULT_COLLATE_NAME", 64),
        Text("DESCRIPTION", 2048),
        Number("MAXLEN"),
    ],
    late: None,
    rows: |_, _| {
        let row = |charset: Charset| {
            vec![
                Value::bytes(charset.name()),
                Value::bytes(charset.default_collation().name()),
                Value::bytes(charset.description()),
                Value::UInt(u64::from(charset.bytes_per_character_max())),
            ]
        };
        Charset::ALL.into_iter().map(row).collect()
    },
};
