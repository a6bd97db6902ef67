//! `COLLATIONS` and `COLLATION_CHARACTER_SET_APPLICABILITY`
use collation::{PadAttribute, all_collations};
use datum::Value;

use crate::view::{ViewColumn::*, ViewSource};

pub(super) const VIEW: ViewSource = ViewSource {
    name: "COLLATIONS",
    columns: &[
        Text("COLLATION_NAME", 64),
        Text("CHARACTER_SET_NAME", 64),
        Number("ID"),
        Text("IS_DEFAULT", 3),
        Text("IS_COMPILED", 3),
        Number("SORTLEN"),
        Text("PAD_ATTRIBUTE", 9),
    ],
    late: None,
    rows: |_, _| {
        let row = |collation: &collation::Collation| {
            vec![
                Value::bytes(collation.name),
                Value::bytes(collation.charset.name()),
                Value::UInt(u64::from(collation.id.number())),
                Value::bytes(if collation.is_default { "Yes" } else { "" }),
                Value::bytes("Yes"),
                Value::UInt(u64::from(collation.sort_length)),
                Value::bytes(match collation.pad {
                    PadAttribute::PadSpace => "PAD SPACE",
                    PadAttribute::NoPad => "NO PAD",
                }),
            ]
        };
        all_collations().iter().map(row).collect()
    },
};

pub(super) const APPLICABILITY: ViewSource = ViewSource {
    name: "COLLATION_CHARACTER_SET_APPLICABILITY",
    columns: &[Text("COLLATION_NAME", 64), Text("CHARACTER_SET_NAME", 64)],
    late: None,
    rows: |_, _| {
        all_collations()
            .iter()
            .map(|collation| vec![Value::bytes(collation.name), Value::bytes(collation.charset.name())])
            .collect()
    },
};
