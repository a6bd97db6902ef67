//! The normalised text of a statement: MySQL's DIGEST_TEXT. Literals become `?`, lists of them shrink, keywords stand
//! in capitals under one name for each of their spellings, names in backticks, one space between all.
//!
//! Unlike `digest`, which finds plans, this is for people: statements that differ in comments, letter case or the number
//! of rows share one text.
use bumpalo::Bump;

use crate::SqlMode;
use crate::lexer::{Keyword, Token, TokenKind, keyword, tokenize};

/// A token of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Word(&'static str),
    Other(String),
    Name(String),
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    /// `(...)`
    LongRow,
    /// `(?) /* , ... */`
    Rows,
    /// `(...) /* , ... */`
    LongRows,
}

/// What `max_digest_length` counts of a token, and of a name beside its letters.
const TOKEN_BYTES: usize = 2;
const NAME_BYTES: usize = 4;

/// The first statement of `text`, up to `length_max` bytes of tokens as MySQL counts them; `None` when it has no token.
pub fn normal_text(text: &[u8], mode: SqlMode, length_max: usize) -> Option<String> {
    let arena = Bump::new();
    let tokens = tokenize(text, mode, &arena).tokens;
    let mut normal =
        Normal { text, mode, pieces: Vec::new(), depth: 0, positions_at: None, length: 0, length_max };
    for place in 0..tokens.len() {
        if matches!(tokens[place].kind, TokenKind::End | TokenKind::Unknown) {
            break;
        }
        normal.take(tokens, place);
        if normal.length > length_max {
            normal.pieces.push(Piece::Other("...".to_owned()));
            break;
        }
    }
    (!normal.pieces.is_empty()).then(|| normal.render())
}

struct Normal<'t> {
    text: &'t [u8],
    mode: SqlMode,
    pieces: Vec<Piece>,
    depth: usize,
    /// The depth of parentheses of a GROUP BY or ORDER BY list, where whole numbers are positions.
    positions_at: Option<usize>,
    length: usize,
    length_max: usize,
}

impl Normal<'_> {
    fn take(&mut self, tokens: &[Token], place: usize) {
        let token = tokens[place];
        let bytes = &self.text[token.start as usize..token.end as usize];
        self.length += TOKEN_BYTES;
        match token.kind {
            TokenKind::Integer if self.is_position(&tokens[place + 1..]) => self.other(bytes),
            kind if kind.is_literal() || kind == TokenKind::Question => self.value(),
            TokenKind::Word => self.word(tokens, place, bytes),
            TokenKind::QuotedIdent => self.name(&unquoted(bytes)),
            TokenKind::Introducer => self.other(b"(_charset)"),
            TokenKind::AtName => self.other(b"@?"),
            TokenKind::NotEqual => self.other(b"!="),
            TokenKind::LeftParen => {
                self.depth += 1;
                self.other(bytes);
            }
            TokenKind::RightParen => {
                self.depth = self.depth.saturating_sub(1);
                self.positions_at = self.positions_at.filter(|depth| *depth <= self.depth);
                self.close();
            }
            TokenKind::Hint => self.hint(bytes),
            _ => self.other(bytes),
        }
    }

    fn other(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.pieces.push(Piece::Other(text));
    }

    fn name(&mut self, name: &[u8]) {
        self.length += NAME_BYTES - TOKEN_BYTES + name.len();
        self.pieces.push(Piece::Name(String::from_utf8_lossy(name).into_owned()));
    }

    fn word(&mut self, tokens: &[Token], place: usize, bytes: &[u8]) {
        let token = tokens[place];
        let next = tokens.get(place + 1);
        let follows = |kind| next.is_some_and(|next| next.kind == kind && next.start == token.end);
        // The scope of a variable is a keyword: `@@session.sql_mode`.
        let is_scope = matches!(self.pieces.last(), Some(Piece::Other(sign)) if sign == "@@");
        let is_part = (follows(TokenKind::Dot) && !is_scope) || self.ends_with_dot();
        let is_bare_function = token.keyword.is_function_name() && !follows(TokenKind::LeftParen);
        let grammars_own = || Some(token.keyword.name()).filter(|name| !name.is_empty());
        let word = keyword(bytes).or_else(grammars_own);
        let Some(word) = word.filter(|_| !is_part && !is_bare_function) else {
            return self.name(bytes);
        };
        if token.keyword == Keyword::Null && !self.is_after_is_or_not() {
            return self.value();
        }
        match token.keyword {
            Keyword::By => self.positions_at = Some(self.depth),
            Keyword::Asc | Keyword::Desc => {}
            _ if self.positions_at == Some(self.depth) => self.positions_at = None,
            _ => {}
        }
        self.pieces.push(Piece::Word(usual_spelling(word)));
    }

    fn ends_with_dot(&self) -> bool {
        matches!(self.pieces.last(), Some(Piece::Other(sign)) if sign == ".")
    }

    fn is_after_is_or_not(&self) -> bool {
        matches!(self.pieces.last(), Some(Piece::Word("IS" | "NOT")))
    }

    /// A number that names a column of the result.
    fn is_position(&self, following: &[Token]) -> bool {
        let begins_item = match self.pieces.last() {
            Some(Piece::Word("BY")) => true,
            Some(Piece::Other(sign)) => sign == ",",
            _ => false,
        };
        let ends_item = following.first().is_none_or(|next| {
            matches!(next.kind, TokenKind::End | TokenKind::Comma | TokenKind::RightParen | TokenKind::Word)
        });
        self.positions_at == Some(self.depth) && begins_item && ends_item
    }

    /// Whether what stands before the last piece is the end of an operand, so that a sign after it is an operator.
    fn sign_is_operator(&self) -> bool {
        let before = self.pieces.len().checked_sub(2).map(|place| &self.pieces[place]);
        match before {
            None | Some(Piece::Word(_)) => false,
            Some(Piece::Other(sign)) => sign == ")" || sign == "@?",
            Some(_) => true,
        }
    }

    fn value(&mut self) {
        while matches!(self.pieces.last(), Some(Piece::Other(sign)) if sign == "-" || sign == "+")
            && !self.sign_is_operator()
        {
            self.pieces.pop();
        }
        if let [.., Piece::Value | Piece::Values, Piece::Other(comma)] = &self.pieces[..]
            && comma == ","
        {
            self.pieces.truncate(self.pieces.len() - 2);
            self.pieces.push(Piece::Values);
            return;
        }
        self.pieces.push(Piece::Value);
    }

    /// A closing parenthesis: values in parentheses are a row, rows one after the other a list.
    fn close(&mut self) {
        let row = match &self.pieces[..] {
            [.., Piece::Other(open), Piece::Value] if open == "(" => Piece::Row,
            [.., Piece::Other(open), Piece::Values] if open == "(" => Piece::LongRow,
            _ => return self.other(b")"),
        };
        self.pieces.truncate(self.pieces.len() - 2);
        if matches!(self.pieces.last(), Some(Piece::Word("IN"))) {
            return self.pieces.push(Piece::LongRow);
        }
        let rows = match (&self.pieces[..], &row) {
            ([.., Piece::Row | Piece::Rows, Piece::Other(comma)], Piece::Row) if comma == "," => Piece::Rows,
            ([.., Piece::LongRow | Piece::LongRows, Piece::Other(comma)], Piece::LongRow) if comma == "," => {
                Piece::LongRows
            }
            _ => return self.pieces.push(row),
        };
        self.pieces.truncate(self.pieces.len() - 2);
        self.pieces.push(rows);
    }

    /// Hints stay, with their literals replaced.
    fn hint(&mut self, bytes: &[u8]) {
        let inner = bytes.strip_prefix(b"/*+").and_then(|rest| rest.strip_suffix(b"*/")).unwrap_or(bytes);
        self.other(b"/*+");
        let arena = Bump::new();
        let tokens = tokenize(inner, self.mode, &arena).tokens;
        let before = std::mem::take(&mut self.pieces);
        let mut hint = Normal { text: inner, pieces: before, ..self.child() };
        for (place, token) in tokens.iter().enumerate() {
            let is_hint_name = tokens.get(place + 1).is_some_and(|next| next.kind == TokenKind::LeftParen);
            match token.kind {
                TokenKind::End | TokenKind::Unknown => break,
                TokenKind::Word if is_hint_name => {
                    let name = &inner[token.start as usize..token.end as usize];
                    hint.other(&name.to_ascii_uppercase());
                }
                _ => hint.take(tokens, place),
            }
        }
        self.pieces = hint.pieces;
        self.other(b"*/");
    }

    fn child(&self) -> Normal<'static> {
        Normal {
            text: &[],
            mode: self.mode,
            pieces: Vec::new(),
            depth: 0,
            positions_at: None,
            length: self.length,
            length_max: self.length_max,
        }
    }

    fn render(&self) -> String {
        let mut text = String::new();
        let mut joins = true;
        for piece in &self.pieces {
            if !joins {
                text.push(' ');
            }
            // `@@global`, without a space.
            joins = matches!(piece, Piece::Other(sign) if sign == "@@");
            match piece {
                Piece::Word(word) => text.push_str(word),
                Piece::Other(other) => text.push_str(other),
                Piece::Name(name) => {
                    text.push('`');
                    text.push_str(&name.replace('`', "``"));
                    text.push('`');
                }
                Piece::Value => text.push('?'),
                Piece::Values => text.push_str("?, ..."),
                Piece::Row => text.push_str("(?)"),
                Piece::LongRow => text.push_str("(...)"),
                Piece::Rows => text.push_str("(?) /* , ... */"),
                Piece::LongRows => text.push_str("(...) /* , ... */"),
            }
        }
        text
    }
}

fn unquoted(bytes: &[u8]) -> Vec<u8> {
    let quote = bytes[0];
    let inner = bytes.get(1..bytes.len().saturating_sub(1)).unwrap_or_default();
    let mut name = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == quote {
            bytes.next_if_eq(&quote);
        }
        name.push(byte);
    }
    name
}

/// Of several spellings of one keyword, the one that MySQL prints.
fn usual_spelling(word: &'static str) -> &'static str {
    match word {
        "ANY" => "SOME",
        "BIGINT" => "INT8",
        "CHAR" => "CHARACTER",
        "COLUMNS" => "FIELDS",
        "CURRENT_DATE" => "CURDATE",
        "CURRENT_TIME" => "CURTIME",
        "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => "NOW",
        "DATABASE" => "SCHEMA",
        "DATABASES" => "SCHEMAS",
        "DAY" => "SQL_TSI_DAY",
        "DEC" => "DECIMAL",
        "DESCRIBE" => "EXPLAIN",
        "DISTINCT" => "DISTINCTROW",
        "DOUBLE" => "FLOAT8",
        "HOUR" => "SQL_TSI_HOUR",
        "INT" | "INT4" => "INTEGER",
        "INT1" => "TINYINT",
        "INT2" => "SMALLINT",
        "INT3" | "MEDIUMINT" => "MIDDLEINT",
        "MID" | "SUBSTR" => "SUBSTRING",
        "MINUTE" => "SQL_TSI_MINUTE",
        "MONTH" => "SQL_TSI_MONTH",
        "QUARTER" => "SQL_TSI_QUARTER",
        "REGEXP" => "RLIKE",
        "SECOND" => "SQL_TSI_SECOND",
        "SESSION_USER" | "USER" => "SYSTEM_USER",
        "SQL_TSI_WEEK" => "WEEK",
        "SQL_TSI_YEAR" => "YEAR",
        "STD" | "STDDEV" => "STDDEV_POP",
        "VARCHAR" => "VARCHARACTER",
        "VARIANCE" => "VAR_POP",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let normal = normal_text(text.as_bytes(), SqlMode::default(), 1024);
        assert_eq!(normal.as_deref(), Some(expected), "{text}");
    }

    /// The right sides are MySQL 9.7's.
    #[test]
    fn values_rows_and_lists_shrink() {
        check(
            "select a, 'x', 1+2 from t where id in (1,2,3) and b=\"q\" limit 5, 6",
            "SELECT `a` , ?, ... + ? FROM `t` WHERE `id` IN (...) AND `b` = ? LIMIT ?, ...",
        );
        check(
            "insert into t (a,b) values (1,2),(3,4),(5,6)",
            "INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */",
        );
        check("insert into t values (1),(2)", "INSERT INTO `t` VALUES (?) /* , ... */");
        check("insert into t values (a,1),(2,now())", "INSERT INTO `t` VALUES ( `a` , ? ) , ( ? , NOW ( ) )");
        check("insert into t values (1),(1,2)", "INSERT INTO `t` VALUES (?) , (...)");
        check("insert into t values (),()", "INSERT INTO `t` VALUES ( ) , ( )");
        check(
            "replace into t values (null,default),(1,2)",
            "REPLACE INTO `t` VALUES ( ? , DEFAULT ) , (...)",
        );
        check(
            "select a from t where (a,b) in ((1,2),(3,4))",
            "SELECT `a` FROM `t` WHERE ( `a` , `b` ) IN ( (...) /* , ... */ )",
        );
        check(
            "select null, f(null), 1 is null, - 1, a - 1, a-1, (-1), -a, 3 -1",
            "SELECT ? , `f` (?) , ? IS NULL , ? , `a` - ? , `a` - ? , (?) , - `a` , ? - ?",
        );
        check(
            "select -1 + -2, 3 - -4, (a) - 1, f(1) - 2",
            "SELECT ? + ?, ... - ? , ( `a` ) - ? , `f` (?) - ?",
        );
    }

    #[test]
    fn words_and_names_are_told_apart() {
        check(
            "select t.name, t.user, t.key1, x as date from t",
            "SELECT `t` . `name` , `t` . `user` , `t` . `key1` , `x` AS DATE FROM `t`",
        );
        check(
            "select `count`, count, sum(a), user from t",
            "SELECT `count` , `count` , SUM ( `a` ) , SYSTEM_USER FROM `t`",
        );
        check(
            "set @@session.sql_mode = '', @a = 1, autocommit=0",
            "SET @@SESSION . `sql_mode` = ? , @? = ? , `autocommit` = ?",
        );
        check("create user u@localhost identified by 'x'", "CREATE SYSTEM_USER `u` @? IDENTIFIED BY ?");
        check(
            "select distinct a from t where a <> 1 -- c\n and b != 2 /* c */ and not c",
            "SELECT DISTINCTROW `a` FROM `t` WHERE `a` != ? AND `b` != ? AND NOT `c`",
        );
        check("select _latin1'x' collate latin1_bin", "SELECT (_charset) ? COLLATE `latin1_bin`");
        check("select /*+ max_execution_time(1000) */ 1", "SELECT /*+ MAX_EXECUTION_TIME (?) */ ?");
    }

    #[test]
    fn positions_stay() {
        check(
            "select 1 from t group by 1, 2 with rollup having 1 order by 1",
            "SELECT ? FROM `t` GROUP BY 1 , 2 WITH ROLLUP HAVING ? ORDER BY 1",
        );
        check(
            "select 1 from t where a=1 order by a, 3 asc, b+1, -1 limit 5",
            "SELECT ? FROM `t` WHERE `a` = ? ORDER BY `a` , 3 ASC , `b` + ?, ... LIMIT ?",
        );
    }

    #[test]
    fn long_texts_end_early() {
        let names: Vec<String> = (0..100).map(|number| format!("column_{number}")).collect();
        let text = format!("select {}", names.join(","));
        let normal = normal_text(text.as_bytes(), SqlMode::default(), 100).expect("it has tokens");
        assert!(normal.ends_with(" ..."), "{normal}");
        assert_eq!(normal_text(b" -- c", SqlMode::default(), 100), None);
    }
}
