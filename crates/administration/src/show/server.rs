//! SHOW of what the program is made of: engines, character sets, collations, privileges, plugins.
use collation::{Charset, PadAttribute, all_collations};
use datum::{SqlError, Value, error_code};

use crate::caller::Caller;
use session::{MadeColumn, MadeRows};
use variables::storage_engine;

pub(super) fn character_sets() -> MadeRows {
    let mut rows = MadeRows::new(&[
        MadeColumn::Text("Charset", 64),
        MadeColumn::Text("Description", 2048),
        MadeColumn::Text("Default collation", 64),
        MadeColumn::Number("Maxlen"),
    ]);
    for charset in Charset::ALL {
        rows.push(vec![
            Value::bytes(charset.name()),
            Value::bytes(charset.description()),
            Value::bytes(charset.default_collation().name()),
            Value::UInt(u64::from(charset.bytes_per_character_max())),
        ]);
    }
    rows
}

pub(super) fn collations() -> MadeRows {
    let mut rows = MadeRows::new(&[
        MadeColumn::Text("Collation", 64),
        MadeColumn::Text("Charset", 64),
        MadeColumn::Number("Id"),
        MadeColumn::Text("Default", 3),
        MadeColumn::Text("Compiled", 3),
        MadeColumn::Code("Sortlen"),
        MadeColumn::Word("Pad_attribute", 9),
    ]);
    let mut all: Vec<_> = all_collations().iter().collect();
    all.sort_by_key(|collation| collation.name);
    for collation in all {
        rows.push(vec![
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
        ]);
    }
    rows
}

pub(super) fn privileges() -> MadeRows {
    let mut rows = MadeRows::new(&[
        MadeColumn::Text("Privilege", 64),
        MadeColumn::Text("Context", 64),
        MadeColumn::Text("Comment", 256),
    ]);
    for privilege in auth::Privilege::ALL {
        rows.push([privilege.name(), "Server Admin,Databases,Tables", ""].map(Value::bytes).to_vec());
    }
    rows
}

pub(super) fn plugins() -> MadeRows {
    let mut rows = MadeRows::new(&[
        MadeColumn::Text("Name", 64),
        MadeColumn::Text("Status", 10),
        MadeColumn::Text("Type", 80),
        MadeColumn::NullableText("Library", 64),
        MadeColumn::NullableText("License", 80),
    ]);
    for (name, kind) in [
        ("mysql_native_password", "AUTHENTICATION"),
        ("caching_sha2_password", "AUTHENTICATION"),
        ("InnoDB", "STORAGE ENGINE"),
    ] {
        rows.push(vec![
            Value::bytes(name),
            Value::bytes("ACTIVE"),
            Value::bytes(kind),
            Value::Null,
            Value::bytes("Apache-2.0"),
        ]);
    }
    rows
}

impl Caller<'_> {
    pub(super) async fn show_engines(&mut self) -> Result<MadeRows, SqlError> {
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Engine", 64),
            MadeColumn::Text("Support", 8),
            MadeColumn::Text("Comment", 80),
            MadeColumn::NullableText("Transactions", 3),
            MadeColumn::NullableText("XA", 3),
            MadeColumn::NullableText("Savepoints", 3),
        ]);
        for row in self.system_rows(catalog::INFORMATION_SCHEMA, "ENGINES").await? {
            rows.push(row);
        }
        Ok(rows)
    }

    /// SHOW ENGINE INNODB STATUS and its relatives.
    pub(super) fn show_engine(&self, engine: Option<&str>, what: &str) -> Result<MadeRows, SqlError> {
        let engine = engine.unwrap_or("InnoDB");
        let unknown = || error_code::ER_UNKNOWN_STORAGE_ENGINE.with(&[&engine]);
        let known = match engine.eq_ignore_ascii_case("performance_schema") {
            true => "PERFORMANCE_SCHEMA",
            false => storage_engine(engine).ok_or_else(unknown)?,
        };
        let mut rows = MadeRows::new(&[
            MadeColumn::Text("Type", 10),
            MadeColumn::Text("Name", 512),
            MadeColumn::LongText("Status"),
        ]);
        if known == "InnoDB" {
            self.require_global(auth::Privilege::Process)?;
        }
        // MUTEX lists latches that were waited for, and nobody counts that here; LOGS has no rows in MySQL either.
        if what == "STATUS" && known == "InnoDB" {
            let text = self.instance().engine_status();
            rows.push(vec![Value::bytes("InnoDB"), Value::bytes(""), Value::bytes(text)]);
        }
        if what == "STATUS" && engine.eq_ignore_ascii_case("performance_schema") {
            let bytes = self.instance().telemetry.digests.bytes().to_string();
            let name = "performance_schema.memory";
            rows.push(["performance_schema", name, &bytes].map(Value::bytes).to_vec());
        }
        Ok(rows)
    }
}
