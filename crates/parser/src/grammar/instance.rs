//! Statements about the server as a whole: ALTER INSTANCE and RESET PERSIST.
use super::core::{Parser, Result};
use crate::ast::{InstanceAction, StatementKind};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// After ALTER, at the word INSTANCE.
    pub fn alter_instance(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let verb = self.plain_word()?;
        let object = self.plain_word()?;
        let action = match (verb.as_str(), object.as_str()) {
            ("RELOAD", "TLS") => self.reload_tls()?,
            ("RELOAD", "KEYRING") => InstanceAction::ReloadKeyring,
            ("ROTATE", "INNODB") => {
                self.expect_words(&["MASTER", "KEY"])?;
                InstanceAction::RotateInnodbKey
            }
            ("ROTATE", "BINLOG") => {
                self.expect_words(&["MASTER", "KEY"])?;
                InstanceAction::RotateBinlogKey
            }
            ("ENABLE" | "DISABLE", "INNODB") => {
                self.expect_words(&["REDO_LOG"])?;
                InstanceAction::RedoLog { enable: verb == "ENABLE" }
            }
            ("REPAIR", "PAGE") => InstanceAction::RepairPage(self.integer_option()?),
            _ => return Err(self.syntax_error()),
        };
        Ok(StatementKind::AlterInstance(action))
    }

    fn reload_tls(&mut self) -> Result<InstanceAction<'a>> {
        let mut channel = None;
        if self.accept_keyword(K::For) {
            self.expect_keyword(K::Channel)?;
            channel = Some(self.ident()?);
        }
        let no_rollback = self.at_word("NO");
        if no_rollback {
            self.advance();
            self.expect_words(&["ROLLBACK", "ON", "ERROR"])?;
        }
        Ok(InstanceAction::ReloadTls { channel, no_rollback })
    }

    /// After RESET, at PERSIST.
    pub fn reset_persist(&mut self) -> Result<StatementKind<'a>> {
        self.advance();
        let if_exists = self.accept_keywords(&[K::If, K::Exists]);
        let name = if self.at(T::End) && !if_exists { None } else { Some(self.ident()?) };
        Ok(StatementKind::ResetPersist { name, if_exists })
    }

    fn word_text(&self) -> Option<String> {
        let token = self.peek();
        let bytes = &self.text[token.start as usize..token.end as usize];
        (token.kind == T::Word).then(|| String::from_utf8_lossy(bytes).to_uppercase())
    }

    pub fn at_word(&self, word: &str) -> bool {
        self.word_text().is_some_and(|text| text == word)
    }

    /// The next word in capitals, whatever it is.
    fn plain_word(&mut self) -> Result<String> {
        let word = self.word_text().ok_or_else(|| self.syntax_error())?;
        self.advance();
        Ok(word)
    }

    pub fn expect_words(&mut self, words: &[&str]) -> Result<()> {
        for word in words {
            if !self.at_word(word) {
                return Err(self.syntax_error());
            }
            self.advance();
        }
        Ok(())
    }
}
