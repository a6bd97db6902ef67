//! SHOW PROCESSLIST.
use datum::Value;

use crate::caller::Caller;
use session::{MadeColumn, MadeRows, optional_text};

/// How much of a statement SHOW PROCESSLIST without FULL shows.
const INFO_CHARACTERS: usize = 100;

impl Caller<'_> {
    pub(super) fn show_process_list(&self, full: bool) -> MadeRows {
        let mut rows = MadeRows::new(&[
            MadeColumn::Number("Id"),
            MadeColumn::Text("User", 32),
            MadeColumn::Text("Host", 261),
            MadeColumn::NullableText("db", 64),
            MadeColumn::Text("Command", 16),
            MadeColumn::Number("Time"),
            MadeColumn::NullableText("State", 64),
            MadeColumn::LongText("Info"),
        ]);
        for row in self.process_rows(full) {
            rows.push(row);
        }
        rows
    }

    fn process_rows(&self, full: bool) -> Vec<Vec<Value>> {
        let sees_all = self.privileges().has_global(auth::Privilege::Process);
        let mut rows = Vec::new();
        for entry in self.instance().processes().all() {
            let activity = entry.activity();
            if !sees_all && activity.user != self.connection().user {
                continue;
            }
            let info = activity.info().map(|text| match full {
                true => text.to_owned(),
                false => text.chars().take(INFO_CHARACTERS).collect(),
            });
            rows.push(vec![
                Value::UInt(u64::from(entry.id.0)),
                Value::bytes(&activity.user),
                Value::bytes(&activity.host),
                optional_text(activity.database.as_deref()),
                Value::bytes(activity.command),
                Value::UInt(activity.since.elapsed().as_secs()),
                Value::bytes(entry.shown_state(&activity, self.instance().catalog().locks()).as_bytes()),
                optional_text(info),
            ]);
        }
        rows
    }
}
