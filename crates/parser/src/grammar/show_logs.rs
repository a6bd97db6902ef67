//! SHOW of binary logs, relay logs and replicas.
use super::core::{Parser, Result};
use crate::ast::Show;
use crate::lexer::Keyword as K;

impl<'a> Parser<'a> {
    pub fn show_log(&mut self) -> Result<Show<'a>> {
        match self.advance().keyword {
            K::Binary => match self.expect_one_of(&[K::Logs, K::Log])? {
                K::Logs => Ok(Show::BinaryLogs),
                _ => {
                    self.expect_keyword(K::Status)?;
                    Ok(Show::BinaryLogStatus)
                }
            },
            K::Binlog => self.show_log_events(false),
            K::Relaylog => self.show_log_events(true),
            K::Replicas => Ok(Show::Replicas),
            _ => {
                self.expect_keyword(K::Status)?;
                Ok(Show::ReplicaStatus { channel: self.for_channel()? })
            }
        }
    }

    fn show_log_events(&mut self, relay: bool) -> Result<Show<'a>> {
        self.expect_keyword(K::Events)?;
        let log_name = if self.accept_keyword(K::In) { Some(self.string_option()?) } else { None };
        let position = if self.accept_keyword(K::From) { Some(self.integer_option()?) } else { None };
        let limit = self.limit()?;
        let channel = if relay { self.for_channel()? } else { None };
        Ok(Show::LogEvents { relay, log_name, position, limit, channel })
    }

    /// `FOR CHANNEL 'name'`
    pub fn for_channel(&mut self) -> Result<Option<&'a str>> {
        if !self.accept_keyword(K::For) {
            return Ok(None);
        }
        self.expect_keyword(K::Channel)?;
        self.string_text().map(Some)
    }
}
