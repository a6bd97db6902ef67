//! Expressions as text.
use super::Restorer;
use crate::ast::{
    BinaryOperator, Case, CastTarget, CastType, ColumnReference, Expr, ExprKind, IntervalUnit, IsTest,
    LogicalOperator, ObjectName, Quantifier, SystemVariable, TemporalKind, TypeName, UnaryOperator,
    VariableScope,
};
use std::fmt::Result;

impl Restorer<'_, '_, '_> {
    pub fn expr(&mut self, expr: &Expr<'_>) -> Result {
        if self.options.resolved
            && let Some(done) = self.resolved(expr)
        {
            return done;
        }
        match &expr.kind {
            ExprKind::Null => self.text("NULL"),
            ExprKind::Boolean(true) => self.text("true"),
            ExprKind::Boolean(false) => self.text("false"),
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Temporal { kind, literal } => {
                self.text(match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::Timestamp => "TIMESTAMP",
                })?;
                self.plain_literal(literal)
            }
            ExprKind::Parameter(_) | ExprKind::Local(_) => self.text("?"),
            ExprKind::Column(column) => self.column(column),
            ExprKind::UserVariable(variable) => {
                self.text("@")?;
                self.name(variable.name)
            }
            ExprKind::SystemVariable(variable) => self.system_variable(variable),
            ExprKind::AssignVariable { variable, value } => {
                self.text("(@")?;
                self.name(variable.name)?;
                self.text(":=")?;
                self.expr(value)?;
                self.text(")")
            }
            ExprKind::DefaultValue => self.text("default"),
            ExprKind::DefaultOf(column) => self.column_call("default", column),
            ExprKind::ValuesOf(column) => self.column_call("values", column),
            ExprKind::Subquery(query) => self.subquery(query),
            ExprKind::Exists(query) => {
                self.text("exists")?;
                self.subquery(query)
            }
            ExprKind::Row(members) => {
                self.text("(")?;
                self.exprs(members)?;
                self.text(")")
            }
            ExprKind::Case(case) => self.case(case),
            ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Logical { .. }
            | ExprKind::Collate { .. }
            | ExprKind::JsonExtract(_)
            | ExprKind::DateArithmetic(_) => self.operator(&expr.kind),
            ExprKind::Like { .. }
            | ExprKind::Regexp { .. }
            | ExprKind::Between { .. }
            | ExprKind::InList { .. }
            | ExprKind::InSubquery { .. }
            | ExprKind::Is { .. }
            | ExprKind::Quantified(_) => {
                self.text("(")?;
                self.predicate(&expr.kind)?;
                self.text(")")
            }
            other => self.function(other),
        }
    }

    pub fn column(&mut self, column: &ColumnReference<'_>) -> Result {
        if let Some(done) = self.view_column(column.name) {
            return done;
        }
        let is_bare = self.options.resolved && self.view().is_none();
        if let Some(qualifier) = column.qualifier.filter(|_| !is_bare) {
            self.object_name(qualifier)?;
            self.text(".")?;
        }
        self.name(column.name)
    }

    pub fn object_name(&mut self, name: &ObjectName<'_>) -> Result {
        if let Some(database) = name.database {
            self.database(database.name)?;
        }
        self.name(name.name.name)
    }

    fn column_call(&mut self, function: &str, column: &ColumnReference<'_>) -> Result {
        self.text(function)?;
        self.text("(")?;
        self.column(column)?;
        self.text(")")
    }

    fn system_variable(&mut self, variable: &SystemVariable<'_>) -> Result {
        self.text("@@")?;
        self.text(match variable.scope {
            VariableScope::Unspecified => "",
            VariableScope::Session => "session.",
            VariableScope::Global => "global.",
            VariableScope::Persist => "persist.",
            VariableScope::PersistOnly => "persist_only.",
        })?;
        if let Some(instance) = variable.instance {
            self.name(instance.name)?;
            self.text(".")?;
        }
        self.name(variable.name.name)
    }

    fn case(&mut self, case: &Case<'_>) -> Result {
        self.text("(case")?;
        if let Some(operand) = case.operand {
            self.text(" ")?;
            self.expr(operand)?;
        }
        for branch in case.branches {
            self.text(" when ")?;
            self.expr(&branch.when)?;
            self.text(" then ")?;
            self.expr(&branch.then)?;
        }
        if let Some(otherwise) = case.otherwise {
            self.text(" else ")?;
            self.expr(otherwise)?;
        }
        self.text(" end)")
    }

    /// Operators, in parentheses.
    fn operator(&mut self, kind: &ExprKind<'_>) -> Result {
        self.text("(")?;
        match kind {
            ExprKind::Unary { operator, operand } => {
                self.text(match operator {
                    UnaryOperator::Not => "not ",
                    UnaryOperator::Minus => "- ",
                    UnaryOperator::Plus => "+ ",
                    UnaryOperator::BitNot => "~",
                    UnaryOperator::Binary => "binary ",
                })?;
                self.expr(operand)?;
            }
            ExprKind::Binary { operator: BinaryOperator::MemberOf, left, right } => {
                self.expr(left)?;
                self.text(" member of (")?;
                self.expr(right)?;
                self.text(")")?;
            }
            ExprKind::Binary { operator, left, right } => {
                self.expr(left)?;
                self.text(" ")?;
                self.text(operator_text(*operator))?;
                self.text(" ")?;
                self.expr(right)?;
            }
            ExprKind::Logical { operator, operands } => {
                let word = match operator {
                    LogicalOperator::And => " and ",
                    LogicalOperator::Or => " or ",
                    LogicalOperator::Xor => " xor ",
                };
                self.separated(word, operands, |restorer, operand| restorer.expr(operand))?;
            }
            ExprKind::Collate { operand, collation } => {
                self.expr(operand)?;
                self.text(" collate ")?;
                self.name(collation.name)?;
            }
            ExprKind::JsonExtract(extract) => {
                self.expr(&extract.column)?;
                self.text(if extract.unquote { "->>" } else { "->" })?;
                self.plain_literal(&extract.path)?;
            }
            ExprKind::DateArithmetic(arithmetic) => {
                self.expr(&arithmetic.date)?;
                self.text(if arithmetic.subtract { " - interval " } else { " + interval " })?;
                self.expr(&arithmetic.amount)?;
                self.text(" ")?;
                self.text(unit_text(arithmetic.unit))?;
            }
            other => unreachable!("{other:?} is no operator"),
        }
        self.text(")")
    }

    fn predicate(&mut self, kind: &ExprKind<'_>) -> Result {
        let negation = |negated: bool| if negated { " not " } else { " " };
        match kind {
            ExprKind::Like { negated, operand, pattern, escape } => {
                self.expr(operand)?;
                self.text(negation(*negated))?;
                self.text("like ")?;
                self.expr(pattern)?;
                if let Some(escape) = escape {
                    self.text(" escape ")?;
                    self.expr(escape)?;
                }
                Ok(())
            }
            ExprKind::Regexp { negated, operand, pattern } => {
                self.expr(operand)?;
                self.text(negation(*negated))?;
                self.text("regexp ")?;
                self.expr(pattern)
            }
            ExprKind::Between { negated, operand, low, high } => {
                self.expr(operand)?;
                self.text(negation(*negated))?;
                self.text("between ")?;
                self.expr(low)?;
                self.text(" and ")?;
                self.expr(high)
            }
            ExprKind::InList { negated, operand, list } => {
                self.expr(operand)?;
                self.text(negation(*negated))?;
                self.text("in (")?;
                self.exprs(list)?;
                self.text(")")
            }
            ExprKind::InSubquery { negated, operand, query } => {
                self.expr(operand)?;
                self.text(negation(*negated))?;
                self.text("in ")?;
                self.subquery(query)
            }
            ExprKind::Is { negated, operand, test } => {
                self.expr(operand)?;
                self.text(" is")?;
                self.text(negation(*negated))?;
                self.text(match test {
                    IsTest::Null => "null",
                    IsTest::True => "true",
                    IsTest::False => "false",
                    IsTest::Unknown => "unknown",
                })
            }
            ExprKind::Quantified(quantified) => {
                self.expr(quantified.left)?;
                self.text(" ")?;
                self.text(operator_text(quantified.operator))?;
                self.text(if quantified.quantifier == Quantifier::Any { " any " } else { " all " })?;
                self.subquery(quantified.query)
            }
            other => unreachable!("{other:?} is no predicate"),
        }
    }

    /// A type as CAST and RETURNING have it.
    pub fn cast_type(&mut self, cast: &CastType<'_>) -> Result {
        self.text(match cast.target {
            CastTarget::Signed => "signed",
            CastTarget::Unsigned => "unsigned",
            CastTarget::Char => "char",
            CastTarget::NationalChar => "nchar",
            CastTarget::Binary => "binary",
            CastTarget::Date => "date",
            CastTarget::Time => "time",
            CastTarget::DateTime => "datetime",
            CastTarget::Year => "year",
            CastTarget::Decimal => "decimal",
            CastTarget::Float => "float",
            CastTarget::Double => "double",
            CastTarget::Json => "json",
            CastTarget::Geometry(name) => geometry_text(name),
        })?;
        match (cast.length, cast.decimals) {
            (Some(length), Some(decimals)) => write!(self.out, "({length},{decimals})")?,
            (Some(length), None) => write!(self.out, "({length})")?,
            _ => {}
        }
        if let Some(charset) = cast.charset {
            self.text(" charset ")?;
            self.word(charset.name)?;
        }
        if cast.binary {
            self.text(" binary")?;
        }
        if cast.array {
            self.text(" array")?;
        }
        Ok(())
    }
}

pub fn operator_text(operator: BinaryOperator) -> &'static str {
    use BinaryOperator::*;
    match operator {
        Add => "+",
        Subtract => "-",
        Multiply => "*",
        Divide => "/",
        IntegerDivide => "DIV",
        Modulo => "%",
        BitAnd => "&",
        BitOr => "|",
        BitXor => "^",
        ShiftLeft => "<<",
        ShiftRight => ">>",
        Equal => "=",
        NullSafeEqual => "<=>",
        NotEqual => "<>",
        Less => "<",
        LessOrEqual => "<=",
        Greater => ">",
        GreaterOrEqual => ">=",
        Concat => "||",
        SoundsLike => "sounds like",
        MemberOf => "member of",
    }
}

pub fn unit_text(unit: IntervalUnit) -> &'static str {
    use IntervalUnit::*;
    match unit {
        Microsecond => "microsecond",
        Second => "second",
        Minute => "minute",
        Hour => "hour",
        Day => "day",
        Week => "week",
        Month => "month",
        Quarter => "quarter",
        Year => "year",
        SecondMicrosecond => "second_microsecond",
        MinuteMicrosecond => "minute_microsecond",
        MinuteSecond => "minute_second",
        HourMicrosecond => "hour_microsecond",
        HourSecond => "hour_second",
        HourMinute => "hour_minute",
        DayMicrosecond => "day_microsecond",
        DaySecond => "day_second",
        DayMinute => "day_minute",
        DayHour => "day_hour",
        YearMonth => "year_month",
    }
}

fn geometry_text(name: TypeName) -> &'static str {
    match name {
        TypeName::Point => "point",
        TypeName::LineString => "linestring",
        TypeName::Polygon => "polygon",
        TypeName::MultiPoint => "multipoint",
        TypeName::MultiLineString => "multilinestring",
        TypeName::MultiPolygon => "multipolygon",
        TypeName::GeometryCollection => "geometrycollection",
        _ => "geometry",
    }
}
