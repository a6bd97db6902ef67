//! SELECT .. INTO, and the file format options that LOAD DATA has too.
use super::core::{Parser, Result};
use crate::ast::{FieldOptions, Into, LineOptions, LoadColumn};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    pub fn select_into(&mut self) -> Result<Option<&'a Into<'a>>> {
        if !self.accept_keyword(K::Into) {
            return Ok(None);
        }
        let into = if self.accept_keyword(K::Outfile) {
            let path = self.string_text()?;
            let charset = self.load_charset()?;
            Into::OutFile { path, charset, fields: self.field_options()?, lines: self.line_options()? }
        } else if self.accept_keyword(K::Dumpfile) {
            Into::DumpFile { path: self.string_text()? }
        } else {
            Into::Variables(self.comma_list(Self::receiving_variable)?)
        };
        Ok(Some(self.alloc(into)))
    }

    fn receiving_variable(&mut self) -> Result<LoadColumn<'a>> {
        if self.at(T::AtName) {
            return Ok(LoadColumn::UserVariable(self.user_variable()?));
        }
        if let Some(local) = self.receiving_slot()? {
            return Ok(local);
        }
        let name = self.ident()?;
        Ok(LoadColumn::Column(crate::ast::ColumnReference { qualifier: None, name: name.name }))
    }

    pub fn load_charset(&mut self) -> Result<Option<crate::ast::Ident<'a>>> {
        match self.keyword() {
            K::Charset => {}
            K::Character | K::Char => {
                self.advance();
                if !self.at_keyword(K::Set) {
                    return Err(self.syntax_error());
                }
            }
            _ => return Ok(None),
        }
        self.advance();
        self.charset_name().map(Some)
    }

    /// `FIELDS ..` or `COLUMNS ..`
    pub fn field_options(&mut self) -> Result<FieldOptions<'a>> {
        let mut options = FieldOptions::default();
        if self.accept_one_of(&[K::Fields, K::Columns]).is_none() {
            return Ok(options);
        }
        let mut count = 0;
        loop {
            match self.keyword() {
                K::Terminated => options.terminated_by = Some(self.option_by()?),
                K::Optionally => {
                    self.advance();
                    options.optionally_enclosed = true;
                    options.enclosed_by = Some(self.option_by()?);
                }
                K::Enclosed => options.enclosed_by = Some(self.option_by()?),
                K::Escaped => options.escaped_by = Some(self.option_by()?),
                _ if count == 0 => return Err(self.syntax_error()),
                _ => return Ok(options),
            }
            count += 1;
        }
    }

    pub fn line_options(&mut self) -> Result<LineOptions<'a>> {
        let mut options = LineOptions::default();
        if !self.accept_keyword(K::Lines) {
            return Ok(options);
        }
        let mut count = 0;
        loop {
            match self.keyword() {
                K::Terminated => options.terminated_by = Some(self.option_by()?),
                K::Starting => options.starting_by = Some(self.option_by()?),
                _ if count == 0 => return Err(self.syntax_error()),
                _ => return Ok(options),
            }
            count += 1;
        }
    }

    /// `TERMINATED BY 'x'` and the like, the current token being the first word.
    fn option_by(&mut self) -> Result<&'a [u8]> {
        self.advance();
        self.expect_keyword(K::By)?;
        self.string_option()
    }
}
