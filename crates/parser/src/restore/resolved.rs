//! Expressions as MySQL keeps them in the definition of a table: CHECK constraints, generated columns, default values,
//! index parts.
//!
//! There the text is made from the resolved expression: columns without their table, conditions where truth is meant,
//! negations pushed down to the comparisons, functions under their first name. It still parses, to an expression of
//! the same value, and restoring that again gives the same text.
use super::Restorer;
use super::expression::operator_text;
use crate::ast::{
    BinaryOperator, CastTarget, CastType, Expr, ExprKind, FunctionCall, IntervalUnit, IsTest, JsonExtract,
    Literal, LiteralValue, LogicalOperator, UnaryOperator,
};
use std::fmt::Result;

/// Functions that answer a question, so that they need no comparison to be a condition.
const CONDITIONS: &[&str] = &[
    "is_ipv4",
    "is_ipv4_compat",
    "is_ipv4_mapped",
    "is_ipv6",
    "is_uuid",
    "isnull",
    "json_contains",
    "json_contains_path",
    "json_overlaps",
    "json_schema_valid",
    "json_valid",
    "regexp_like",
];

/// Other names of functions, and the first ones.
const FIRST_NAMES: &[(&str, &str)] = &[
    ("ceil", "ceiling"),
    ("character_length", "char_length"),
    ("current_date", "curdate"),
    ("current_time", "curtime"),
    ("current_timestamp", "now"),
    ("day", "dayofmonth"),
    ("lcase", "lower"),
    ("localtime", "now"),
    ("localtimestamp", "now"),
    ("mid", "substr"),
    ("octet_length", "length"),
    ("power", "pow"),
    ("schema", "database"),
    ("session_user", "user"),
    ("substring", "substr"),
    ("system_user", "user"),
    ("ucase", "upper"),
];

impl Restorer<'_, '_, '_> {
    /// Writes the expression, or nothing: then it is written as everywhere.
    pub fn resolved(&mut self, expr: &Expr<'_>) -> Option<Result> {
        Some(match &expr.kind {
            ExprKind::Subquery(query) if self.view().is_some() => self.operand_query(query, false),
            ExprKind::Exists(_) | ExprKind::InSubquery { .. } | ExprKind::Quantified(_)
                if self.view().is_some() =>
            {
                self.query_test(expr, false)
            }
            ExprKind::Unary { operator, operand } => self.resolved_unary(*operator, operand),
            ExprKind::Logical { operator, operands } => self.conditions(*operator, operands),
            ExprKind::Binary { operator, left, right } => {
                return self.resolved_binary(*operator, left, right);
            }
            ExprKind::Is { negated, operand, test } => self.is_test(*negated, operand, *test),
            ExprKind::InList { negated, operand, list: [only] } => {
                let operator = if *negated { BinaryOperator::NotEqual } else { BinaryOperator::Equal };
                self.comparison(operator, operand, only)
            }
            ExprKind::Like { negated: true, operand, pattern, escape } => {
                let like = ExprKind::Like { negated: false, operand, pattern, escape: *escape };
                self.denied(&Expr { kind: like, ..*expr })
            }
            ExprKind::Regexp { negated, operand, pattern } => self.regexp_like(*negated, operand, pattern),
            ExprKind::JsonExtract(extract) => self.json_extract(extract),
            ExprKind::Cast { operand, target } => self.resolved_cast(operand, target),
            ExprKind::Collate { operand, collation } => self
                .enclosed("(", operand, " collate ")
                .and_then(|()| self.word(collation.name))
                .and_then(|()| self.text(")")),
            ExprKind::TimestampAdd { unit, amount, date } => self.moved(date, " + ", amount, *unit),
            ExprKind::TimestampDiff { unit, from, to } => self.difference(*unit, from, to),
            ExprKind::Literal(Literal {
                value: LiteralValue::Hex { bytes, charset: None } | LiteralValue::Bit { bytes, charset: None },
                ..
            }) => self.number_of_bytes(bytes),
            ExprKind::Function(call) => return self.resolved_call(call),
            _ => return None,
        })
    }

    /// An operand between two texts.
    fn enclosed(&mut self, before: &str, operand: &Expr<'_>, after: &str) -> Result {
        self.text(before)?;
        self.expr(operand)?;
        self.text(after)
    }

    fn resolved_unary(&mut self, operator: UnaryOperator, operand: &Expr<'_>) -> Result {
        match operator {
            UnaryOperator::Not => self.negation(operand),
            UnaryOperator::Minus => self.enclosed("-(", operand, ")"),
            UnaryOperator::Plus => self.expr(operand),
            UnaryOperator::BitNot => self.enclosed("~(", operand, ")"),
            UnaryOperator::Binary => self.enclosed("cast(", operand, " as char charset binary)"),
        }
    }

    fn resolved_binary(
        &mut self,
        operator: BinaryOperator,
        left: &Expr<'_>,
        right: &Expr<'_>,
    ) -> Option<Result> {
        Some(match operator {
            BinaryOperator::MemberOf => {
                self.enclosed("", left, " member of (").and_then(|()| self.enclosed("", right, ")"))
            }
            BinaryOperator::SoundsLike => {
                self.enclosed("(soundex(", left, ") = soundex(").and_then(|()| self.enclosed("", right, "))"))
            }
            BinaryOperator::Concat => {
                self.enclosed("concat(", left, ",").and_then(|()| self.enclosed("", right, ")"))
            }
            operator if operator.is_comparison() => self.comparison(operator, left, right),
            _ => return None,
        })
    }

    /// Rows are compared member by member.
    fn comparison(&mut self, operator: BinaryOperator, left: &Expr<'_>, right: &Expr<'_>) -> Result {
        let word = match operator {
            BinaryOperator::Equal => " and ",
            BinaryOperator::NotEqual => " or ",
            _ => "",
        };
        self.text("(")?;
        match (left.kind, right.kind) {
            (ExprKind::Row(left), ExprKind::Row(right)) if !word.is_empty() => {
                let pairs: Vec<(&Expr<'_>, &Expr<'_>)> = left.iter().zip(right).collect();
                self.separated(word, &pairs, |restorer, (left, right)| {
                    restorer.comparison(operator, left, right)
                })?;
            }
            _ => {
                self.expr(left)?;
                self.text(" ")?;
                self.text(operator_text(operator))?;
                self.text(" ")?;
                self.expr(right)?;
            }
        }
        self.text(")")
    }

    fn conditions(&mut self, operator: LogicalOperator, operands: &[Expr<'_>]) -> Result {
        self.text("(")?;
        self.separated(logical_word(operator), operands, |restorer, operand| restorer.condition(operand))?;
        self.text(")")
    }

    /// An operand of which the truth counts.
    pub fn condition(&mut self, expr: &Expr<'_>) -> Result {
        match is_condition(expr) {
            true => self.expr(expr),
            false => self.enclosed("(0 <> ", expr, ")"),
        }
    }

    fn is_test(&mut self, negated: bool, operand: &Expr<'_>, test: IsTest) -> Result {
        let is = if negated { " is not " } else { " is " };
        let word = match test {
            IsTest::Null | IsTest::Unknown => "null)",
            IsTest::True => "true)",
            IsTest::False => "false)",
        };
        let is_query = matches!(
            operand.kind,
            ExprKind::Exists(_) | ExprKind::InSubquery { .. } | ExprKind::Quantified(_)
        );
        if self.view().is_some() && is_query && !negated && matches!(test, IsTest::False) {
            return self.query_test(operand, true);
        }
        self.text("(")?;
        match test {
            IsTest::Null | IsTest::Unknown => self.expr(operand)?,
            IsTest::True | IsTest::False => self.condition(operand)?,
        }
        self.text(is)?;
        self.text(word)
    }

    /// NOT, as far down as it goes.
    fn negation(&mut self, expr: &Expr<'_>) -> Result {
        match &expr.kind {
            ExprKind::Unary { operator: UnaryOperator::Not, operand } => self.condition(operand),
            ExprKind::Binary { operator, left, right } if opposite(*operator).is_some() => {
                self.comparison(opposite(*operator).unwrap_or(*operator), left, right)
            }
            ExprKind::Logical { operator: LogicalOperator::Xor, operands: [first, others @ ..] } => {
                self.text("(")?;
                self.negation(first)?;
                for operand in others.iter() {
                    self.text(" xor ")?;
                    self.condition(operand)?;
                }
                self.text(")")
            }
            ExprKind::Logical { operator, operands } => {
                let other = match operator {
                    LogicalOperator::And => LogicalOperator::Or,
                    _ => LogicalOperator::And,
                };
                self.text("(")?;
                self.separated(logical_word(other), operands, |restorer, operand| {
                    restorer.negation(operand)
                })?;
                self.text(")")
            }
            ExprKind::Is { negated, operand, test } => self.is_test(!negated, operand, *test),
            ExprKind::Exists(_) | ExprKind::InSubquery { .. } | ExprKind::Quantified(_)
                if self.view().is_some() =>
            {
                self.query_test(expr, true)
            }
            ExprKind::Between { negated, operand, low, high } => {
                let between = ExprKind::Between { negated: !negated, operand, low, high };
                self.expr(&Expr { kind: between, ..*expr })
            }
            ExprKind::InList { negated, operand, list } => {
                let in_list = ExprKind::InList { negated: !negated, operand, list };
                self.expr(&Expr { kind: in_list, ..*expr })
            }
            ExprKind::Like { negated: true, operand, pattern, escape } => {
                let like = ExprKind::Like { negated: false, operand, pattern, escape: *escape };
                self.expr(&Expr { kind: like, ..*expr })
            }
            ExprKind::Regexp { negated, operand, pattern } => self.regexp_like(!negated, operand, pattern),
            ExprKind::Function(FunctionCall { name, arguments: [operand], .. })
                if name.name.name.eq_ignore_ascii_case("isnull") =>
            {
                self.is_test(true, operand, IsTest::Null)
            }
            _ if is_condition(expr) => self.denied(expr),
            _ => self.enclosed("(0 = ", expr, ")"),
        }
    }

    fn denied(&mut self, condition: &Expr<'_>) -> Result {
        self.enclosed("(not(", condition, "))")
    }

    fn regexp_like(&mut self, negated: bool, operand: &Expr<'_>, pattern: &Expr<'_>) -> Result {
        let (before, after) = if negated { ("(not(regexp_like(", ")))") } else { ("regexp_like(", ")") };
        self.enclosed(before, operand, ",")?;
        self.enclosed("", pattern, after)
    }

    fn json_extract(&mut self, extract: &JsonExtract<'_>) -> Result {
        self.text(if extract.unquote { "json_unquote(json_extract(" } else { "json_extract(" })?;
        self.expr(&extract.column)?;
        self.text(",")?;
        self.literal(&extract.path)?;
        self.text(if extract.unquote { "))" } else { ")" })
    }

    fn resolved_cast(&mut self, operand: &Expr<'_>, target: &CastType<'_>) -> Result {
        self.enclosed("cast(", operand, " as ")?;
        if target.array {
            self.array_type(target)?;
            return self.text(" array)");
        }
        let connection = self.options.string_charset.unwrap_or("utf8mb4");
        let charset = match target.target {
            CastTarget::Char => Some(target.charset.map_or(connection, |charset| charset.name)),
            CastTarget::NationalChar => Some("utf8mb3"),
            CastTarget::Binary => Some("binary"),
            _ => None,
        };
        match (charset, target.target) {
            (Some(charset), _) => {
                self.text("char")?;
                if let Some(length) = target.length {
                    write!(self.out, "({length})")?;
                }
                self.text(" charset ")?;
                self.word(charset)?;
            }
            (None, CastTarget::Decimal) => {
                let (length, decimals) = (target.length.unwrap_or(10), target.decimals.unwrap_or(0));
                let full = CastType { length: Some(length), decimals: Some(decimals), ..*target };
                self.cast_type(&full)?;
            }
            (None, _) => self.cast_type(target)?,
        }
        self.text(")")
    }

    /// The elements of an array: without a character set, and DECIMAL with a space.
    fn array_type(&mut self, target: &CastType<'_>) -> Result {
        let length = target.length.unwrap_or(10);
        match target.target {
            CastTarget::Decimal => write!(self.out, "decimal({length}, {})", target.decimals.unwrap_or(0)),
            _ => self.cast_type(&CastType { array: false, ..*target }),
        }
    }

    fn moved(&mut self, date: &Expr<'_>, sign: &str, amount: &Expr<'_>, unit: IntervalUnit) -> Result {
        self.enclosed("(", date, sign)?;
        self.enclosed("interval ", amount, " ")?;
        self.text(super::expression::unit_text(unit))?;
        self.text(")")
    }

    fn difference(&mut self, unit: IntervalUnit, from: &Expr<'_>, to: &Expr<'_>) -> Result {
        self.text("timestampdiff(")?;
        self.text(&super::expression::unit_text(unit).to_ascii_uppercase())?;
        self.enclosed(",", from, ",")?;
        self.enclosed("", to, ")")
    }

    fn number_of_bytes(&mut self, bytes: &[u8]) -> Result {
        self.text("0x")?;
        bytes.iter().try_for_each(|byte| write!(self.out, "{byte:02x}"))
    }

    fn resolved_call(&mut self, call: &FunctionCall<'_>) -> Option<Result> {
        if call.name.database.is_some() {
            return None;
        }
        let name = call.name.name.name.to_ascii_lowercase();
        Some(match (name.as_str(), call.arguments) {
            ("isnull", [operand]) => self.is_test(false, operand, IsTest::Null),
            ("mod", [left, right]) => {
                self.enclosed("(", left, " % ").and_then(|()| self.enclosed("", right, ")"))
            }
            ("date", [operand]) => self.enclosed("cast(", operand, " as date)"),
            ("time", [operand]) => self.enclosed("cast(", operand, " as time)"),
            ("timestamp", [operand]) => self.enclosed("cast(", operand, " as datetime)"),
            ("instr", [text, part]) => {
                self.enclosed("locate(", part, ",").and_then(|()| self.enclosed("", text, ")"))
            }
            ("round", [operand]) => self.enclosed("round(", operand, ",0)"),
            ("bin", [operand]) => self.enclosed("conv(", operand, ",10,2)"),
            ("oct", [operand]) => self.enclosed("conv(", operand, ",10,8)"),
            ("adddate", [date, days]) => self.moved(date, " + ", days, IntervalUnit::Day),
            ("subdate", [date, days]) => self.moved(date, " - ", days, IntervalUnit::Day),
            _ => {
                let first = FIRST_NAMES.iter().find(|(other, _)| *other == name)?.1;
                self.text(first)
                    .and_then(|()| self.text("("))
                    .and_then(|()| self.exprs(call.arguments))
                    .and_then(|()| self.text(")"))
            }
        })
    }
}

fn logical_word(operator: LogicalOperator) -> &'static str {
    match operator {
        LogicalOperator::And => " and ",
        LogicalOperator::Or => " or ",
        LogicalOperator::Xor => " xor ",
    }
}

/// The comparison that is true where this one is false.
fn opposite(operator: BinaryOperator) -> Option<BinaryOperator> {
    use BinaryOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    Some(match operator {
        Equal => NotEqual,
        NotEqual => Equal,
        Less => GreaterOrEqual,
        GreaterOrEqual => Less,
        Greater => LessOrEqual,
        LessOrEqual => Greater,
        _ => return None,
    })
}

/// Whether the value is a truth value by itself (MySQL's boolean functions).
pub fn is_condition(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Boolean(_)
        | ExprKind::Logical { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. }
        | ExprKind::Between { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSubquery { .. }
        | ExprKind::Is { .. }
        | ExprKind::Quantified(_)
        | ExprKind::Exists(_) => true,
        ExprKind::Unary { operator, .. } => *operator == UnaryOperator::Not,
        ExprKind::Binary { operator, .. } => {
            operator.is_comparison()
                || matches!(operator, BinaryOperator::MemberOf | BinaryOperator::SoundsLike)
        }
        ExprKind::Function(call) => {
            call.name.database.is_none()
                && CONDITIONS.iter().any(|name| name.eq_ignore_ascii_case(call.name.name.name))
        }
        _ => false,
    }
}
