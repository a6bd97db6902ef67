//! Functions as text.
use super::Restorer;
use super::expression::unit_text;
use crate::ast::{
    Aggregate, AggregateKind, CharFunction, Expr, ExprKind, FrameBound, FrameUnit, FullTextMatch,
    FullTextModifier, FunctionCall, JsonBehaviour, JsonValue, Literal, LiteralValue, NullTreatment, Trim,
    TrimSide, WeightString, WindowCall, WindowFrame, WindowFunction, WindowName, WindowSpecification,
};
use crate::lexer::Keyword;
use std::fmt::Result;

impl Restorer<'_, '_, '_> {
    /// Expressions that look like calls.
    pub fn function(&mut self, kind: &ExprKind<'_>) -> Result {
        match kind {
            ExprKind::Function(call) => self.call(call),
            ExprKind::Aggregate(aggregate) => self.aggregate(aggregate),
            ExprKind::Window(call) => self.window_call(call),
            ExprKind::Trim(trim) => self.trim(trim),
            ExprKind::Char(function) => self.char_function(function),
            ExprKind::WeightString(function) => self.weight_string(function),
            ExprKind::Match(full_text) => self.full_text_match(full_text),
            ExprKind::JsonValue(value) => self.json_value(value),
            ExprKind::Cast { operand, target } => {
                self.text("cast(")?;
                self.expr(operand)?;
                self.text(" as ")?;
                self.cast_type(target)?;
                self.text(")")
            }
            ExprKind::ConvertUsing { operand, charset } => {
                self.text("convert(")?;
                self.expr(operand)?;
                self.text(" using ")?;
                self.word(charset.name)?;
                self.text(")")
            }
            ExprKind::Extract { unit, operand } => {
                self.text("extract(")?;
                self.text(unit_text(*unit))?;
                self.text(" from ")?;
                self.expr(operand)?;
                self.text(")")
            }
            ExprKind::TimestampAdd { unit, amount: first, date: second }
            | ExprKind::TimestampDiff { unit, from: first, to: second } => {
                let is_add = matches!(kind, ExprKind::TimestampAdd { .. });
                self.text(if is_add { "timestampadd(" } else { "timestampdiff(" })?;
                self.text(unit_text(*unit))?;
                self.text(",")?;
                self.expr(first)?;
                self.text(",")?;
                self.expr(second)?;
                self.text(")")
            }
            ExprKind::GetFormat { of, format } => {
                self.text("get_format(")?;
                self.text(of)?;
                self.text(",")?;
                self.expr(format)?;
                self.text(")")
            }
            other => unreachable!("{other:?} is no function"),
        }
    }

    fn call(&mut self, call: &FunctionCall<'_>) -> Result {
        if let Some(database) = call.name.database {
            self.name(database.name)?;
            self.text(".")?;
            self.name(call.name.name.name)?;
        } else if needs_quotes(call) {
            self.name(call.name.name.name)?;
        } else {
            self.text(&call.name.name.name.to_ascii_lowercase())?;
        }
        self.text("(")?;
        for (index, argument) in call.arguments.iter().enumerate() {
            if index > 0 {
                self.text(",")?;
            }
            self.expr(argument)?;
            if let Some(Some(alias)) = call.aliases.get(index) {
                self.alias(alias.name)?;
            }
        }
        self.text(")")
    }

    fn aggregate(&mut self, aggregate: &Aggregate<'_>) -> Result {
        self.text(&aggregate.name.name.to_ascii_lowercase())?;
        self.text("(")?;
        if aggregate.kind == AggregateKind::CountAll && self.view().is_none() {
            self.text("*")?;
        }
        if aggregate.distinct {
            self.text("distinct ")?;
        }
        if self.view().is_some() && aggregate.kind == AggregateKind::CountAll {
            return self.view_count(aggregate);
        }
        self.exprs(aggregate.arguments)?;
        self.aggregate_order(aggregate.order_by)?;
        if let Some(separator) = aggregate.separator {
            self.text(" separator ")?;
            self.plain_literal(&separator)?;
        } else if self.view().is_some() && aggregate.kind == AggregateKind::GroupConcat {
            self.text(" separator ','")?;
        }
        self.text(")")?;
        match &aggregate.over {
            Some(over) => self.over(over),
            None => Ok(()),
        }
    }

    fn window_call(&mut self, call: &WindowCall<'_>) -> Result {
        self.text(match call.function {
            WindowFunction::RowNumber => "row_number",
            WindowFunction::Rank => "rank",
            WindowFunction::DenseRank => "dense_rank",
            WindowFunction::PercentRank => "percent_rank",
            WindowFunction::CumulativeDistribution => "cume_dist",
            WindowFunction::NthTile => "ntile",
            WindowFunction::Lag => "lag",
            WindowFunction::Lead => "lead",
            WindowFunction::FirstValue => "first_value",
            WindowFunction::LastValue => "last_value",
            WindowFunction::NthValue => "nth_value",
        })?;
        self.text("(")?;
        self.exprs(call.arguments)?;
        self.text(")")?;
        if call.from_last {
            self.text(" from last")?;
        }
        match call.nulls {
            Some(NullTreatment::Respect) => self.text(" respect nulls")?,
            Some(NullTreatment::Ignore) => self.text(" ignore nulls")?,
            None => {}
        }
        self.over(&call.over)
    }

    pub fn over(&mut self, over: &WindowName<'_>) -> Result {
        self.text(if self.view().is_some() { " OVER " } else { " over " })?;
        match over {
            WindowName::Named(name) => self.name(name.name),
            WindowName::Inline(specification) => self.window_specification(specification),
        }
    }

    pub fn window_specification(&mut self, specification: &WindowSpecification<'_>) -> Result {
        if self.view().is_some() {
            return self.view_window(specification);
        }
        self.text("(")?;
        if let Some(base) = specification.base {
            self.name(base.name)?;
        }
        if !specification.partition_by.is_empty() {
            self.text(" partition by ")?;
            self.exprs(specification.partition_by)?;
        }
        self.order_by(specification.order_by)?;
        if let Some(frame) = &specification.frame {
            self.frame(frame)?;
        }
        self.text(")")
    }

    fn frame(&mut self, frame: &WindowFrame<'_>) -> Result {
        self.text(match frame.unit {
            FrameUnit::Rows => " rows ",
            FrameUnit::Range => " range ",
            FrameUnit::Groups => " groups ",
        })?;
        let Some(end) = &frame.end else { return self.frame_bound(&frame.start) };
        self.text("between ")?;
        self.frame_bound(&frame.start)?;
        self.text(" and ")?;
        self.frame_bound(end)
    }

    fn frame_bound(&mut self, bound: &FrameBound<'_>) -> Result {
        let (amount, unit, word) = match bound {
            FrameBound::CurrentRow => return self.text("current row"),
            FrameBound::UnboundedPreceding => return self.text("unbounded preceding"),
            FrameBound::UnboundedFollowing => return self.text("unbounded following"),
            FrameBound::Preceding { amount, unit } => (amount, unit, " preceding"),
            FrameBound::Following { amount, unit } => (amount, unit, " following"),
        };
        if unit.is_some() {
            self.text("interval ")?;
        }
        self.expr(amount)?;
        if let Some(unit) = unit {
            self.text(" ")?;
            self.text(unit_text(*unit))?;
        }
        self.text(word)
    }

    fn trim(&mut self, trim: &Trim<'_>) -> Result {
        self.text(match trim.side {
            TrimSide::Leading => "trim(leading ",
            TrimSide::Trailing => "trim(trailing ",
            TrimSide::Both if trim.remove.is_some() => "trim(both ",
            TrimSide::Both => "trim(",
        })?;
        if let Some(remove) = &trim.remove {
            self.expr(remove)?;
            self.text(" ")?;
        }
        if trim.remove.is_some() || trim.side != TrimSide::Both {
            self.text("from ")?;
        }
        self.expr(&trim.operand)?;
        self.text(")")
    }

    fn char_function(&mut self, function: &CharFunction<'_>) -> Result {
        self.text("char(")?;
        self.exprs(function.arguments)?;
        if let Some(charset) = function.charset {
            self.text(" using ")?;
            self.word(charset.name)?;
        }
        self.text(")")
    }

    fn weight_string(&mut self, function: &WeightString<'_>) -> Result {
        self.text("weight_string(")?;
        self.expr(&function.operand)?;
        if let Some(cast) = &function.cast {
            self.text(" as ")?;
            self.cast_type(cast)?;
        }
        for number in function.measure.iter().flatten() {
            self.text(&format!(",{number}"))?;
        }
        self.text(")")
    }

    fn full_text_match(&mut self, full_text: &FullTextMatch<'_>) -> Result {
        self.text("(match ")?;
        self.separated(",", full_text.columns, |restorer, column| restorer.column(column))?;
        self.text(" against (")?;
        self.expr(&full_text.against)?;
        self.text(match full_text.modifier {
            FullTextModifier::NaturalLanguage => "",
            FullTextModifier::Boolean => " in boolean mode",
            FullTextModifier::QueryExpansion => " with query expansion",
        })?;
        self.text("))")
    }

    fn json_value(&mut self, value: &JsonValue<'_>) -> Result {
        self.text("json_value(")?;
        self.expr(&value.document)?;
        self.text(", ")?;
        self.plain_literal(&value.path)?;
        if let Some(returning) = &value.returning {
            self.text(" returning ")?;
            self.cast_type(returning)?;
        }
        self.json_behaviours(value.on_empty, value.on_error)?;
        self.text(")")
    }

    pub fn json_behaviours(
        &mut self,
        on_empty: Option<JsonBehaviour<'_>>,
        on_error: Option<JsonBehaviour<'_>>,
    ) -> Result {
        for (behaviour, when) in [(on_empty, " on empty"), (on_error, " on error")] {
            match behaviour {
                None => continue,
                Some(JsonBehaviour::Null) => self.text(" null")?,
                Some(JsonBehaviour::Error) => self.text(" error")?,
                Some(JsonBehaviour::Default(literal)) => {
                    self.text(" default ")?;
                    self.plain_literal(&literal)?;
                }
            }
            self.text(when)?;
        }
        Ok(())
    }
}

/// Whether a function's name without quotes would be read as something else than a plain call: no word at all, a
/// reserved word, or a function with a grammar of its own.
fn needs_quotes(call: &FunctionCall<'_>) -> bool {
    use Keyword as K;
    let name = call.name.name.name;
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$');
    if !is_word || name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let keyword = Keyword::of(name.as_bytes());
    match keyword {
        K::CurrentDate | K::CurrentUser | K::UtcDate | K::Curdate => !call.arguments.is_empty(),
        K::CurrentTimestamp
        | K::CurrentTime
        | K::Localtime
        | K::Localtimestamp
        | K::UtcTime
        | K::UtcTimestamp
        | K::Curtime
        | K::Now
        | K::Sysdate => !matches!(
            call.arguments,
            [] | [Expr { kind: ExprKind::Literal(Literal { value: LiteralValue::Integer(_), .. }), .. }]
        ),
        K::Mid | K::Substr | K::Substring => {
            !matches!(call.arguments.len(), 2 | 3) || !call.aliases.is_empty()
        }
        K::Interval => call.arguments.len() < 2 || !call.aliases.is_empty(),
        K::Database
        | K::Grouping
        | K::If
        | K::Insert
        | K::Left
        | K::Mod
        | K::Repeat
        | K::Replace
        | K::Right
        | K::Schema => false,
        K::AnyValue
        | K::Avg
        | K::Char
        | K::Convert
        | K::GetFormat
        | K::JsonValue
        | K::Timestampadd
        | K::Timestampdiff
        | K::WeightString => true,
        keyword => keyword.is_reserved() || keyword.is_function_name(),
    }
}
