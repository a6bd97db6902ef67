//! SHOW DATABASES.
use datum::Value;
use parser::ast::ShowFilter;

use crate::caller::Caller;
use session::{MadeColumn, MadeRows};

impl Caller<'_> {
    pub(super) fn show_databases(&self, filter: ShowFilter<'_>) -> MadeRows {
        let mut rows = MadeRows::new(&[MadeColumn::Text("Database", 64)]);
        if let ShowFilter::Like(pattern) = filter {
            rows = rows.with_name(0, format!("Database ({})", String::from_utf8_lossy(pattern)));
        }
        let shows_all = self.privileges().has_global(auth::Privilege::ShowDatabases);
        for database in self.instance().catalog().databases() {
            if shows_all
                || database.name == "performance_schema"
                || self.privileges().access().knows_database(&database.name)
            {
                rows.push(vec![Value::bytes(database.name)]);
            }
        }
        rows
    }
}
