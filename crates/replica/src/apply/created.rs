//! CREATE TABLE .. SELECT of another server: the text of the table, then its rows in the same transaction.
//!
//! Invariant: the table is stored first, with a note; if its rows do not follow, the next attempt finds the note and begins with an
//! empty table.
use binlog::{Query, RawEvent};
use datum::SqlError;
use instance::replication::Applied;
use variables::Setting;

use super::applier::Applier;

impl Applier {
    /// Makes the table, and opens the transaction of its rows.
    pub(super) async fn create_with_rows(
        &mut self,
        query: &Query,
        (name, text): (&str, &[u8]),
        raw: &RawEvent<'_>,
    ) -> Result<(), SqlError> {
        let before = self.channel.applied();
        let gtid = self.applying().head.gtid.map_or_else(String::new, |gtid| gtid.to_string());
        let begun = format!("{gtid}:{}:{} {name}", before.file, before.position);
        let was_begun = before.begun == begun;
        let noted = Applied { begun, ..before };
        let after = std::mem::replace(&mut self.applying().next, noted);
        self.session.obey_event(query, raw.header.timestamp);
        // The own binary log gets the text with the rows.
        let logs = self.session.logged_to().is_some();
        self.session.variables_mut().set_by_name("sql_log_bin", Setting::Boolean(false));
        let mut created = Ok(());
        if was_begun {
            created = self.session.run_text_quietly(format!("DROP TABLE IF EXISTS {name}").as_bytes()).await;
        }
        if created.is_ok() {
            created = self.session.run_text_quietly(text).await;
        }
        self.session.variables_mut().set_by_name("sql_log_bin", Setting::Boolean(logs));
        let applying = self.applying();
        applying.next = after;
        applying.forget_stored();
        created?;
        self.open();
        self.session.log_applied_table(query);
        Ok(())
    }
}

/// The name and the text without its end, of a CREATE TABLE whose rows follow in the same transaction.
pub(super) fn created_with_rows(sql: &[u8]) -> Option<(&str, &[u8])> {
    const BEGIN: &[u8] = b"CREATE TABLE ";
    const END: &[u8] = b" START TRANSACTION";
    let (text, end) = sql.split_at_checked(sql.len().checked_sub(END.len())?)?;
    if !end.eq_ignore_ascii_case(END) || !text.get(..BEGIN.len())?.eq_ignore_ascii_case(BEGIN) {
        return None;
    }
    let rest = std::str::from_utf8(&text[BEGIN.len()..]).ok()?;
    // Names are quoted, as SHOW CREATE TABLE writes them.
    Some((rest.split_once(" (")?.0, text))
}

#[cfg(test)]
mod tests {
    use super::created_with_rows;

    #[test]
    fn a_table_whose_rows_follow_is_told_from_others() {
        let sql = b"CREATE TABLE `d`.`t` (\n  `a` int\n) START TRANSACTION";
        let (name, text) = created_with_rows(sql).unwrap();
        assert_eq!((name, text), ("`d`.`t`", &b"CREATE TABLE `d`.`t` (\n  `a` int\n)"[..]));
        assert!(created_with_rows(b"CREATE TABLE t (a int)").is_none());
        assert!(created_with_rows(b"x START TRANSACTION").is_none());
    }
}
