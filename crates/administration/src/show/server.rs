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
    for row in STATIC_PRIVILEGES {
        rows.push(row.map(Value::bytes).to_vec());
    }
    for privilege in auth::DynamicPrivilege::ALL {
        rows.push([privilege.name(), "Server Admin", ""].map(Value::bytes).to_vec());
    }
    rows
}

/// Name, where it is granted, and what it is for, in MySQL's words and order.
const STATIC_PRIVILEGES: &[[&str; 3]] = &[
    ["Alter", "Tables", "To alter the table"],
    ["Alter routine", "Functions,Procedures", "To alter or drop stored functions/procedures"],
    ["Create", "Databases,Tables,Indexes", "To create new databases and tables"],
    ["Create routine", "Databases", "To use CREATE FUNCTION/PROCEDURE"],
    ["Create role", "Server Admin", "To create new roles"],
    ["Create temporary tables", "Databases", "To use CREATE TEMPORARY TABLE"],
    ["Create view", "Tables", "To create new views"],
    ["Create user", "Server Admin", "To create new users"],
    ["Delete", "Tables", "To delete existing rows"],
    ["Drop", "Databases,Tables", "To drop databases, tables, and views"],
    ["Drop role", "Server Admin", "To drop roles"],
    ["Event", "Server Admin", "To create, alter, drop and execute events"],
    ["Execute", "Functions,Procedures", "To execute stored routines"],
    ["File", "File access on server", "To read and write files on the server"],
    [
        "Grant option",
        "Databases,Tables,Functions,Procedures",
        "To give to other users those privileges you possess",
    ],
    ["Index", "Tables", "To create or drop indexes"],
    ["Insert", "Tables", "To insert data into tables"],
    ["Lock tables", "Databases", "To use LOCK TABLES (together with SELECT privilege)"],
    ["Process", "Server Admin", "To view the plain text of currently executing queries"],
    ["Proxy", "Server Admin", "To make proxy user possible"],
    ["References", "Databases,Tables", "To have references on tables"],
    ["Reload", "Server Admin", "To reload or refresh tables, logs and privileges"],
    ["Replication client", "Server Admin", "To ask where the slave or master servers are"],
    ["Replication slave", "Server Admin", "To read binary log events from the master"],
    ["Select", "Tables", "To retrieve rows from table"],
    ["Show databases", "Server Admin", "To see all databases with SHOW DATABASES"],
    ["Show view", "Tables", "To see views with SHOW CREATE VIEW"],
    ["Shutdown", "Server Admin", "To shut down the server"],
    ["Super", "Server Admin", "To use KILL thread, SET GLOBAL, CHANGE REPLICATION SOURCE, etc."],
    ["Trigger", "Tables", "To use triggers"],
    ["Create tablespace", "Server Admin", "To create/alter/drop tablespaces"],
    ["Update", "Tables", "To update existing rows"],
    ["Usage", "Server Admin", "No privileges - allow connect only"],
];

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
