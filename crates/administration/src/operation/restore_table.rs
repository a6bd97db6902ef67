//! RESTORE TABLE: a new table with the rows and the definition that a table had at a moment (decision 0060).
//!
//! Invariant: names, rights and the moment are checked before anything is read. While the work goes on a kill is seen to by whoever does
//! it: when the statement has ended, in whatever way, nothing is left but a whole table.
use binlog::Gtid;
use datum::{DateTime, ErrorCode, SqlError, error_code};
use instance::{RestoreMoment, RestoreOrder};
use parser::ast::{self, RestoreTable};

use crate::caller::Caller;
use session::{Done, Effects};

impl Caller<'_> {
    pub(crate) async fn restore_table(&mut self, statement: &RestoreTable<'_>) -> Result<Done, SqlError> {
        let old = self.table_name(statement.table)?;
        let new = self.table_name(statement.new.unwrap_or(statement.table))?;
        self.check_write_protection()?;
        self.check_own_read_lock()?;
        self.require_no_identifier("RESTORE TABLE")?;
        if self.holds_table_locks() {
            return Err(error_code::ER_LOCK_OR_ACTIVE_TRANSACTION.plain());
        }
        if self.has_backup_lock() {
            let what = "RESTORE TABLE under LOCK INSTANCE FOR BACKUP of the same session";
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
        }
        self.instance().catalog().require_database(&new.database)?;
        if self.instance().catalog().is_named(&new.database, &new.name) {
            let error =
                if statement.new.is_some() { error_code::ER_TABLE_EXISTS_ERROR } else { ER_EXISTS_STILL };
            return Err(error.with(&[&new.name]));
        }
        let moment = self.restore_moment(&statement.moment)?;
        let restorer = self.instance().backups.restorer();
        let restorer =
            restorer.ok_or_else(|| error_code::ER_NOT_SUPPORTED_YET.with(&[&"RESTORE TABLE here"]))?;
        let order = RestoreOrder {
            instance: self.instance().clone(),
            process: self.process().clone(),
            table: (old.database, old.name),
            new: (new.database, new.name),
            moment,
            from: statement.from.map(str::to_owned),
            is_logged: self.variables().by_name("sql_log_bin").as_boolean(),
        };
        let process = self.process().clone();
        let _handled = process.kill.handle();
        let restored = restorer.restore(order).await?;
        for (count, what) in [(restored.foreign_keys, "foreign keys"), (restored.triggers, "triggers")] {
            if count > 0 {
                self.shared().note(ER_LEFT_OUT.with(&[&count, &what]));
            }
        }
        let info = format!("Rows: {}  Log up to LSN: {}", restored.rows, restored.lsn);
        Ok(Done::Ok(Effects { affected_rows: restored.rows, info: info.into(), ..Effects::default() }))
    }

    /// A time is of the session's time zone, and has to be over.
    fn restore_moment(&self, moment: &ast::RestoreMoment<'_>) -> Result<RestoreMoment, SqlError> {
        Ok(match *moment {
            ast::RestoreMoment::End => RestoreMoment::End,
            ast::RestoreMoment::Lsn(lsn) => RestoreMoment::Lsn(lsn),
            ast::RestoreMoment::Time(text) => {
                let parsed = DateTime::parse(text.as_bytes(), false).filter(|parsed| !parsed.truncated);
                let micros = parsed.and_then(|parsed| self.settings().time_zone.to_unix_micros(parsed.value));
                let micros = micros.and_then(|micros| u64::try_from(micros).ok());
                let micros = micros.ok_or_else(|| error_code::ER_WRONG_VALUE.with(&[&"DATETIME", &text]))?;
                if micros > instance::unix_now_us() {
                    return Err(ER_NOT_YET.with(&[&text]));
                }
                RestoreMoment::Time(micros)
            }
            ast::RestoreMoment::Transaction { gtid: text, is_wanted } => {
                let gtid =
                    Gtid::parse(text).ok_or_else(|| error_code::ER_WRONG_VALUE.with(&[&"GTID", &text]))?;
                RestoreMoment::Transaction { gtid, is_wanted }
            }
        })
    }
}

const ER_EXISTS_STILL: ErrorCode =
    ErrorCode::new(1050, "42S01", "Table '%s' already exists; with INTO the restored one gets another name");
const ER_NOT_YET: ErrorCode =
    ErrorCode::new(1105, "HY000", "RESTORE TABLE: the moment '%s' has not come yet");
const ER_LEFT_OUT: ErrorCode =
    ErrorCode::new(1105, "HY000", "RESTORE TABLE: the new table is without the %s %s of the old one");
