//! Where things of a text stand, for logs: the `?` of a prepared statement, which they show with the values it ran with, and a statement
//! with its comments.
use bumpalo::Bump;

use crate::SqlMode;
use crate::ast::Span;
use crate::lexer::{TokenKind, tokenize, tokenize_all};

/// The position of each, in the order of the text.
pub fn parameter_places(text: &[u8], mode: SqlMode) -> Vec<usize> {
    let arena = Bump::new();
    let tokens = tokenize(text, mode, &arena).tokens.iter();
    tokens.filter(|token| token.kind == TokenKind::Question).map(|token| token.start as usize).collect()
}

/// A statement's span with the versioned comments (`/*!80000 .. */`) that it begins or ends in, so that the text can be read by
/// itself. A comment around the whole statement is left out.
pub fn span_with_comments(text: &[u8], span: Span, mode: SqlMode) -> Span {
    if !text.windows(2).any(|pair| pair == b"*/") {
        return span;
    }
    let arena = Bump::new();
    let mut whole = span;
    for &(start, end) in tokenize_all(text, mode, &arena).versioned_comments {
        let comment = Span::new(start as u32, end as u32);
        let meets = comment.start < span.end && span.start < comment.end;
        let is_around = comment.start < span.start && span.end < comment.end;
        if meets && !is_around {
            whole = whole.to(comment);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParseOptions, parse_one};

    fn whole(text: &str) -> &str {
        let arena = Bump::new();
        let parsed = parse_one(text.as_bytes(), ParseOptions::default(), &arena).expect("a statement");
        let span = span_with_comments(text.as_bytes(), parsed.statement.span, SqlMode::default());
        &text[span.start as usize..span.end as usize]
    }

    #[test]
    fn a_statement_has_the_comments_that_it_begins_and_ends_in() {
        // sysbench and mysqldump write these.
        let table = "create table t (a int) /*! engine = innodb */";
        assert_eq!(whole(&format!("  {table} ;")), table);
        let view = "/*!50001 create algorithm=undefined */ /*!50013 sql security invoker */ /*!50001 view v as select 1 */";
        assert_eq!(whole(view), view);
        assert_eq!(whole("/*!40000 alter table t disable keys */"), "alter table t disable keys");
        assert_eq!(whole("/* first */ drop table t /* last */"), "drop table t");
        assert_eq!(
            whole("create table t (a char(9) default '/*! */') /*!99999 x */"),
            "create table t (a char(9) default '/*! */')"
        );
    }

    #[test]
    fn signs_in_strings_are_none() {
        assert_eq!(parameter_places(b"select ?, '?', `?` /* ? */ + ?", SqlMode::default()), [7, 29]);
    }
}
