//! XA transactions of another server: they are begun, prepared and decided under their own names.
//!
//! Invariant: one that is committed in one phase takes along how far the channel has come. A prepared one and how far the channel
//! has come are two commits, in this order. So after a crash between them a name that is there already, or is gone already, says
//! that the first one was made.
use binlog::{Query, RawEvent, XaPrepare};
use datum::{SqlError, error_code};

use super::applier::{Applier, Stage};

fn starts_with(sql: &[u8], words: &str) -> bool {
    sql.get(..words.len()).is_some_and(|head| head.eq_ignore_ascii_case(words.as_bytes()))
}

/// `XA START` and `XA END`, which are a part of their transaction.
pub(super) fn is_inside_branch(sql: &[u8]) -> bool {
    starts_with(sql, "XA START ") || starts_with(sql, "XA END ")
}

/// `XA COMMIT` and `XA ROLLBACK`.
pub(super) fn decides(sql: &[u8]) -> bool {
    starts_with(sql, "XA COMMIT ") || starts_with(sql, "XA ROLLBACK ")
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{digits}'")
}

impl Applier {
    /// Runs `XA START` or `XA END`.
    pub(super) async fn branch_statement(
        &mut self,
        query: &Query,
        raw: &RawEvent<'_>,
    ) -> Result<(), SqlError> {
        match self.session.run_applied(query, raw.header.timestamp).await {
            Err(error) if error.is(&error_code::ER_XAER_DUPID) => self.stage = Stage::PassingInside,
            result => {
                result?;
                self.stage = Stage::Inside;
            }
        }
        Ok(())
    }

    /// The end of a branch's events.
    pub(super) async fn prepare(&mut self, event: &XaPrepare, raw: &RawEvent<'_>) -> Result<(), SqlError> {
        if self.stage == Stage::PassingInside {
            self.passed(raw);
            return Ok(());
        }
        let xid = format!("{},{},{}", hexadecimal(&event.global), hexadecimal(&event.branch), event.format);
        if !event.one_phase {
            self.session.run_text_quietly(format!("XA PREPARE {xid}").as_bytes()).await?;
            return self.commit(raw).await;
        }
        self.advance(raw);
        self.store().await?;
        self.session.run_text_quietly(format!("XA COMMIT {xid} ONE PHASE").as_bytes()).await?;
        self.applying().stored();
        self.committed();
        Ok(())
    }

    /// A decision that an earlier attempt has made is no error.
    pub(super) fn was_decided(query: &Query, error: &SqlError) -> bool {
        decides(&query.sql) && error.is(&error_code::ER_XAER_NOTA)
    }
}
