//! PARTITION BY and partition definitions.
use super::core::{Parser, Result};
use crate::ast::{
    Expr, Ident, PartitionDefinition, PartitionMethod, PartitionValues, Partitioning, SubPartitionDefinition,
};
use crate::lexer::{Keyword as K, TokenKind as T};

impl<'a> Parser<'a> {
    /// `PARTITION BY ..`, if it stands here.
    pub fn partitioning(&mut self) -> Result<Option<&'a Partitioning<'a>>> {
        if !self.at_keyword(K::Partition) || self.keyword_at(1) != K::By {
            return Ok(None);
        }
        self.advance();
        self.advance();
        let method = self.partition_method(true)?;
        let count = if self.accept_keyword(K::Partitions) { Some(self.integer_option()?) } else { None };
        let (mut sub_method, mut sub_count) = (None, None);
        if self.accept_keyword(K::Subpartition) {
            self.expect_keyword(K::By)?;
            sub_method = Some(self.partition_method(false)?);
            if self.accept_keyword(K::Subpartitions) {
                sub_count = Some(self.integer_option()?);
            }
        }
        let definitions = if self.at(T::LeftParen) && self.keyword_at(1) == K::Partition {
            self.partition_definitions()?
        } else {
            &[]
        };
        Ok(Some(self.alloc(Partitioning { method, count, sub_method, sub_count, definitions })))
    }

    fn partition_method(&mut self, ranges_allowed: bool) -> Result<PartitionMethod<'a>> {
        let linear = self.accept_keyword(K::Linear);
        match self.keyword() {
            K::Hash => {
                self.advance();
                Ok(PartitionMethod::Hash { linear, expr: self.partition_expr()? })
            }
            K::Key => {
                self.advance();
                let mut algorithm = None;
                if self.accept_keyword(K::Algorithm) {
                    self.expect(T::Equal)?;
                    algorithm = Some(self.integer_option()?);
                }
                self.expect(T::LeftParen)?;
                let columns: &[Ident<'a>] =
                    if self.at(T::RightParen) { &[] } else { self.comma_list(Self::ident)? };
                self.expect(T::RightParen)?;
                Ok(PartitionMethod::Key { linear, algorithm, columns })
            }
            word @ (K::Range | K::List) if ranges_allowed && !linear => {
                self.advance();
                if self.accept_keyword(K::Columns) {
                    let columns = self.ident_list()?;
                    return match word {
                        K::Range => Ok(PartitionMethod::RangeColumns(columns)),
                        _ => Ok(PartitionMethod::ListColumns(columns)),
                    };
                }
                let expr = self.partition_expr()?;
                match word {
                    K::Range => Ok(PartitionMethod::Range(expr)),
                    _ => Ok(PartitionMethod::List(expr)),
                }
            }
            _ => Err(self.syntax_error()),
        }
    }

    fn partition_expr(&mut self) -> Result<&'a Expr<'a>> {
        self.expect(T::LeftParen)?;
        let expr = self.partition_value()?;
        self.expect(T::RightParen)?;
        Ok(self.alloc(expr))
    }

    /// No comparisons and no predicates, as in MySQL's grammar.
    fn partition_value(&mut self) -> Result<Expr<'a>> {
        self.nested(|parser| parser.operators(super::expression::power::BIT_OR))
    }

    /// `(PARTITION p0 .., PARTITION p1 ..)`
    pub fn partition_definitions(&mut self) -> Result<&'a [PartitionDefinition<'a>]> {
        self.paren_list(Self::partition_definition)
    }

    fn partition_definition(&mut self) -> Result<PartitionDefinition<'a>> {
        self.expect_keyword(K::Partition)?;
        let name = self.ident()?;
        let values = self.partition_values()?;
        let options = self.table_options()?;
        let sub_partitions: &[SubPartitionDefinition<'a>] =
            if self.at(T::LeftParen) { self.paren_list(Self::sub_partition)? } else { &[] };
        Ok(PartitionDefinition { name, values, options, sub_partitions })
    }

    fn sub_partition(&mut self) -> Result<SubPartitionDefinition<'a>> {
        self.expect_keyword(K::Subpartition)?;
        let name = self.ident_or_string()?;
        Ok(SubPartitionDefinition { name, options: self.table_options()? })
    }

    fn partition_values(&mut self) -> Result<PartitionValues<'a>> {
        if !self.accept_keyword(K::Values) {
            return Ok(PartitionValues::None);
        }
        if self.accept_keyword(K::In) {
            return Ok(PartitionValues::In(self.paren_list(Self::partition_value)?));
        }
        self.expect_keywords(&[K::Less, K::Than])?;
        if self.accept_keyword(K::Maxvalue) {
            return Ok(PartitionValues::LessThan(self.arena.alloc_slice_copy(&[None])));
        }
        let bounds = self.paren_list(|parser| {
            if parser.accept_keyword(K::Maxvalue) {
                return Ok(None);
            }
            parser.partition_value().map(Some)
        })?;
        Ok(PartitionValues::LessThan(bounds))
    }
}
