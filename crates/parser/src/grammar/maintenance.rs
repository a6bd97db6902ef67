//! FLUSH, and ANALYZE, CHECK, CHECKSUM, OPTIMIZE and REPAIR TABLE.
use super::core::{Parser, Result};
use crate::ast::{Flush, FlushTarget, Histogram, MaintainTable, MaintenanceKind, ObjectName, StatementKind};
use crate::lexer::Keyword as K;
use bumpalo::collections::Vec;

impl<'a> Parser<'a> {
    pub fn maintain_table(&mut self) -> Result<StatementKind<'a>> {
        let kind = match self.advance().keyword {
            K::Analyze => MaintenanceKind::Analyze,
            K::Check => MaintenanceKind::Check,
            K::Checksum => MaintenanceKind::Checksum,
            K::Optimize => MaintenanceKind::Optimize,
            _ => MaintenanceKind::Repair,
        };
        let has_log =
            matches!(kind, MaintenanceKind::Analyze | MaintenanceKind::Optimize | MaintenanceKind::Repair);
        let local = has_log && self.accept_one_of(&[K::NoWriteToBinlog, K::Local]).is_some();
        self.expect_one_of(&[K::Table, K::Tables])?;
        let tables: &[ObjectName<'a>] = self.comma_list(Self::object_name)?;
        let mut maintain = MaintainTable { kind, local, tables, options: &[], histogram: None };
        match kind {
            MaintenanceKind::Analyze => maintain.histogram = self.histogram()?,
            MaintenanceKind::Optimize => {}
            _ => maintain.options = self.maintenance_options(),
        }
        Ok(StatementKind::MaintainTable(self.alloc(maintain)))
    }

    pub fn maintenance_options(&mut self) -> &'a [&'static str] {
        let mut options = Vec::new_in(self.arena);
        loop {
            if self.accept_keywords(&[K::For, K::Upgrade]) {
                options.push("FOR UPGRADE");
                continue;
            }
            match self.accept_one_of(&[K::Quick, K::Fast, K::Medium, K::Extended, K::Changed, K::UseFrm]) {
                Some(word) => options.push(word.name()),
                None => return options.into_bump_slice(),
            }
        }
    }

    fn histogram(&mut self) -> Result<Option<Histogram<'a>>> {
        let Some(word) = self.accept_one_of(&[K::Update, K::Drop]) else { return Ok(None) };
        self.expect_keywords(&[K::Histogram, K::On])?;
        let columns = self.comma_list(Self::ident)?;
        let mut histogram =
            Histogram { drop: word == K::Drop, columns, buckets: None, auto_update: None, using_data: None };
        if histogram.drop {
            return Ok(Some(histogram));
        }
        if self.at_keyword(K::With) {
            self.advance();
            histogram.buckets = Some(self.integer_option()?);
            self.expect_keyword(K::Buckets)?;
        }
        if let Some(word) = self.accept_one_of(&[K::Manual, K::Auto]) {
            self.expect_keyword(K::Update)?;
            histogram.auto_update = Some(word == K::Auto);
        }
        if self.accept_keyword(K::Using) {
            self.expect_keyword(K::Data)?;
            histogram.using_data = Some(self.string_option()?);
        }
        Ok(Some(histogram))
    }

    pub fn flush(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let local = self.accept_one_of(&[K::NoWriteToBinlog, K::Local]).is_some();
        if self.accept_one_of(&[K::Table, K::Tables]).is_some() {
            let target = self.flush_tables()?;
            return Ok(StatementKind::Flush(Flush {
                local,
                targets: self.arena.alloc_slice_copy(&[target]),
            }));
        }
        let targets = self.comma_list(Self::flush_target)?;
        Ok(StatementKind::Flush(Flush { local, targets }))
    }

    fn flush_tables(&mut self) -> Result<FlushTarget<'a>> {
        let tables: &[ObjectName<'a>] =
            if self.at_ident() { self.comma_list(Self::object_name)? } else { &[] };
        let read_lock = self.accept_keyword(K::With);
        if read_lock {
            self.expect_keywords(&[K::Read, K::Lock])?;
        }
        let for_export = !read_lock && !tables.is_empty() && self.accept_keyword(K::For);
        if for_export {
            self.expect_keyword(K::Export)?;
        }
        Ok(FlushTarget::Tables { tables, read_lock, for_export })
    }

    fn flush_target(&mut self) -> Result<FlushTarget<'a>> {
        let (word, token) = self.advance_keyword();
        let target = match word {
            K::Privileges => return Ok(FlushTarget::Privileges),
            K::Status => return Ok(FlushTarget::Status),
            K::Logs => return Ok(FlushTarget::Logs),
            K::Hosts => return Ok(FlushTarget::Hosts),
            K::OptimizerCosts => return Ok(FlushTarget::OptimizerCosts),
            K::UserResources => return Ok(FlushTarget::UserResources),
            K::Binary => FlushTarget::BinaryLogs,
            K::Engine => FlushTarget::EngineLogs,
            K::Error => FlushTarget::ErrorLogs,
            K::General => FlushTarget::GeneralLogs,
            K::Slow => FlushTarget::SlowLogs,
            K::Relay => {
                self.expect_keyword(K::Logs)?;
                return Ok(FlushTarget::RelayLogs { channel: self.for_channel()? });
            }
            _ => return Err(self.syntax_error_at(token)),
        };
        self.expect_keyword(K::Logs)?;
        Ok(target)
    }
}
