//! Functions, those with a syntax of their own included.
use crate::bind::type_name::charset_named;
use crate::binder::{Binder, not_supported};
use crate::block::{Block, Clause, SourceColumn};
use crate::error_codes::ER_DEFAULT_AS_VAL_GENERATED;
use crate::same_name::same_name;
use crate::walk::GROUPING_BASE;
use datum::{ColumnType, Condition, SqlError, error_code};
use expression::call::is_constant;
use expression::{Expr, IntervalUnit, JsonBehaviour};
use parser::ast::{self, ExprKind as Kind};
use schema::ColumnDefault;

impl<'p> Binder<'p> {
    pub fn bind_special_function(&mut self, expr: &ast::Expr<'p>) -> Result<Expr, SqlError> {
        match expr.kind {
            Kind::Function(call) => self.bind_function(call),
            Kind::DateArithmetic(arithmetic) => {
                let (date, amount) = (self.bind(&arithmetic.date)?, self.bind(&arithmetic.amount)?);
                let unit = interval_unit(arithmetic.unit);
                self.context.bind.date_add(date, amount, unit, arithmetic.subtract)
            }
            Kind::Extract { unit, operand } => {
                let operand = self.bind(operand)?;
                self.context.bind.extract(interval_unit(unit), operand)
            }
            Kind::TimestampAdd { unit, amount, date } => {
                let (amount, date) = (self.bind(amount)?, self.bind(date)?);
                self.context.bind.timestamp_add(interval_unit(unit), amount, date)
            }
            Kind::TimestampDiff { unit, from, to } => {
                let (from, to) = (self.bind(from)?, self.bind(to)?);
                self.context.bind.timestamp_diff(interval_unit(unit), from, to)
            }
            Kind::GetFormat { of, format } => {
                let arguments = vec![self.context.bind.text_literal(of.as_bytes()), self.bind(format)?];
                self.context.bind.call("get_format", arguments)
            }
            Kind::Trim(trim) => {
                let name = match trim.side {
                    ast::TrimSide::Both => "trim",
                    ast::TrimSide::Leading => "trim_leading",
                    ast::TrimSide::Trailing => "trim_trailing",
                };
                let mut arguments = vec![self.bind(&trim.operand)?];
                if let Some(remove) = &trim.remove {
                    arguments.push(self.bind(remove)?);
                }
                self.context.bind.call(name, arguments)
            }
            Kind::Char(function) => {
                let arguments = self.bind_all(function.arguments)?;
                let text = self.context.bind.call("char", arguments)?;
                match function.charset {
                    Some(charset) => self.context.bind.convert_using(text, charset_named(charset.name)?),
                    None => Ok(text),
                }
            }
            Kind::JsonExtract(extract) => {
                let path = self.bind_literal(&extract.path)?;
                let arguments = vec![self.bind(&extract.column)?, path];
                let value = self.context.bind.call("json_extract", arguments)?;
                if extract.unquote { self.context.bind.call("json_unquote", vec![value]) } else { Ok(value) }
            }
            Kind::WeightString(weight) => {
                let operand = self.bind(&weight.operand)?;
                let connection = self.context.bind.connection_collation;
                let target = weight.cast.map(|cast| super::cast_type(&cast, connection)).transpose()?;
                match weight.measure {
                    None => self.context.bind.weight_string(operand, target),
                    Some(measure) => self.context.bind.measured_weight_string(operand, measure),
                }
            }
            Kind::Match(_) => Err(not_supported("MATCH .. AGAINST")),
            Kind::JsonValue(call) => self.bind_json_value(call),
            _ => Err(not_supported("this expression")),
        }
    }

    fn bind_function(&mut self, call: &ast::FunctionCall<'p>) -> Result<Expr, SqlError> {
        let name = call.name.name.name;
        let is_built_in = || {
            let lower = name.to_ascii_lowercase();
            lower == "grouping" || functions::is_function(&lower)
        };
        if call.name.database.is_some() || !is_built_in() {
            if let Some(bound) = self.bind_stored_function(call)? {
                return Ok(bound);
            }
            let database = call.name.database.map(|name| name.name).or(self.context.current_database);
            if let Some(database) = database {
                let full = format!("{database}.{name}");
                return Err(error_code::ER_SP_DOES_NOT_EXIST.with(&[&"FUNCTION", &full]));
            }
        }
        if name.eq_ignore_ascii_case("grouping") && !call.arguments.is_empty() {
            return self.bind_grouping(call.arguments);
        }
        let is_choice = ["if", "ifnull", "coalesce"].iter().any(|choice| name.eq_ignore_ascii_case(choice));
        let arguments = match call.arguments.split_first() {
            Some((first, others)) if is_choice => {
                let mut arguments = vec![self.bind(first)?];
                for other in others {
                    arguments.push(self.bind_optional(other)?);
                }
                arguments
            }
            _ => self.bind_all(call.arguments)?,
        };
        // What belongs to one execution is provided by `EvalContext`, so the plan itself stays shareable.
        self.context.bind.call(name, arguments)
    }

    /// A call of a stored function; `None` when there is none of the name.
    fn bind_stored_function(&mut self, call: &ast::FunctionCall<'p>) -> Result<Option<Expr>, SqlError> {
        let name = call.name.name.name;
        let Some(database) = call.name.database.map(|name| name.name).or(self.context.current_database)
        else {
            return Ok(None);
        };
        let Some(function) = self.catalog.function(database, name)? else { return Ok(None) };
        if call.arguments.len() != function.parameter_count {
            let full = format!("{database}.{name}");
            let (expected, found) = (function.parameter_count, call.arguments.len());
            return Err(error_code::ER_SP_WRONG_NO_OF_ARGS.with(&[&"FUNCTION", &full, &expected, &found]));
        }
        let arguments = self.bind_all(call.arguments)?;
        if !self.functions.iter().any(|used| used.id == function.id) {
            let (database, name) = (database.to_owned(), name.to_owned());
            self.functions.push(plan::FunctionUse { id: function.id, database, name });
        }
        let is_constant = function.is_deterministic && arguments.iter().all(is_constant);
        // A condition's call of a deterministic function with constants is made once, before the rows are read: then its value
        // can be looked up in an index. Where it may not be asked for at all it stays where it is.
        let is_condition = |block: &Block| {
            block.optional_depth == 0 && matches!(block.clause, Some(Clause::Where | Clause::On))
        };
        let shown = (is_constant && self.blocks.last().is_some_and(is_condition)).then(|| {
            let arguments: Vec<String> = arguments.iter().map(|argument| argument.to_string()).collect();
            format!("{name}({})", arguments.join(","))
        });
        let value = expression::stored_call(function.id, arguments, function.returns);
        Ok(Some(match shown {
            Some(shown) => {
                let slot = self.new_slot();
                self.block().compute_once(slot, value, shown)
            }
            None => value,
        }))
    }

    /// GROUPING(..), which has a value once the rows are grouped.
    fn bind_grouping(&mut self, arguments: &[ast::Expr<'p>]) -> Result<Expr, SqlError> {
        const ARGUMENTS_MAX: usize = 62;
        let is_allowed = self.blocks.last().is_some_and(Block::allows_aggregates);
        if !is_allowed {
            return Err(error_code::ER_INVALID_GROUP_FUNC_USE.plain());
        }
        if arguments.len() > ARGUMENTS_MAX {
            return Err(not_supported("GROUPING of so many expressions"));
        }
        let arguments = self.bind_all(arguments)?;
        let block = self.block();
        if block.inside_aggregate {
            // No row is rolled up before it is grouped.
            return Ok(Expr::int(0));
        }
        block.groupings.push(arguments);
        Ok(Expr::slot(GROUPING_BASE + block.groupings.len() - 1, ColumnType::bigint().not_null()))
    }

    /// Without RETURNING the text, of at most 512 characters.
    fn bind_json_value(&mut self, call: &ast::JsonValue<'p>) -> Result<Expr, SqlError> {
        const TEXT_LENGTH: u32 = 512;
        let document = self.bind(&call.document)?;
        let path = self.bind_literal(&call.path)?;
        let utf8 = collation::CollationId::UTF8MB4_0900_BIN;
        let column = match call.returning {
            None => ColumnType::varchar(TEXT_LENGTH, utf8),
            Some(target) => {
                let column = super::cast_type(&target, utf8)?;
                let is_plain = column.is_text() && target.charset.is_none();
                if is_plain { ColumnType { collation: utf8, ..column } } else { column }
            }
        };
        let on_empty = self.json_behaviour(call.on_empty)?;
        let on_error = self.json_behaviour(call.on_error)?;
        self.context.bind.json_value(document, path, column, on_empty, on_error)
    }

    fn json_behaviour(
        &mut self,
        behaviour: Option<ast::JsonBehaviour<'p>>,
    ) -> Result<JsonBehaviour, SqlError> {
        Ok(match behaviour {
            None | Some(ast::JsonBehaviour::Null) => JsonBehaviour::Null,
            Some(ast::JsonBehaviour::Error) => JsonBehaviour::Error,
            Some(ast::JsonBehaviour::Default(literal)) => {
                JsonBehaviour::Default(self.bind_literal(&literal)?)
            }
        })
    }

    /// `DEFAULT(column)`
    pub fn bind_default_of(&mut self, reference: &ast::ColumnReference<'_>) -> Result<Expr, SqlError> {
        let database = reference.qualifier.and_then(|qualifier| qualifier.database).map(|name| name.name);
        let table = reference.qualifier.map(|qualifier| qualifier.name.name);
        let found = self.block().find_column(database, table, reference.name)?;
        let Some((source, column)) = found else {
            let clause = self.block().clause_text();
            return Err(error_code::ER_BAD_FIELD_ERROR.with(&[&reference.name, &clause]));
        };
        let depth = self.blocks.len() - 1;
        self.need_column(depth, source, column, plan::Rights::SELECT, false)?;
        let crate::block::SourceKind::Stored { table, .. } = &self.block().sources[source].kind else {
            return Err(not_supported("DEFAULT of a computed column"));
        };
        let column = table.columns[column].clone();
        match column.default {
            ColumnDefault::Value { value, .. } => Ok(Expr::literal(value, column.column_type)),
            ColumnDefault::Null => Ok(self
                .context
                .bind
                .cast(Expr::null(), ColumnType { nullable: true, ..column.column_type })?),
            ColumnDefault::None => Err(error_code::ER_NO_DEFAULT_FOR_FIELD.with(&[&column.name])),
            ColumnDefault::CurrentTimestamp { .. } => self.bind_current_timestamp(&column.column_type),
            ColumnDefault::Expression { .. } => Err(ER_DEFAULT_AS_VAL_GENERATED.plain()),
        }
    }

    /// `VALUES(column)`: outside of ON DUPLICATE KEY UPDATE it is NULL, as in MySQL.
    pub fn bind_values_of(&mut self, reference: &ast::ColumnReference<'_>) -> Result<Expr, SqlError> {
        let block = self.block();
        let new_row = block.new_row.and_then(|source| {
            let named = |column: &SourceColumn| same_name(&column.name, reference.name);
            Some((source, block.sources[0].columns.iter().position(named)?))
        });
        match new_row {
            Some((source, column)) => {
                let value = block.column_expr(source, column);
                let depth = self.blocks.len() - 1;
                self.need_column(depth, source, column, plan::Rights::SELECT, false)?;
                self.conditions.push(values_is_deprecated());
                Ok(value)
            }
            None => {
                // Checks that the column exists at all.
                self.bind_column(reference)?;
                Ok(Expr::null())
            }
        }
    }

    /// NOW with the column's fractional digits.
    pub fn bind_current_timestamp(&mut self, column_type: &ColumnType) -> Result<Expr, SqlError> {
        use datum::TypeKind::{DateTime, Timestamp};
        let arguments = match column_type.kind {
            DateTime { fsp } | Timestamp { fsp } if fsp > 0 => vec![Expr::int(i64::from(fsp))],
            _ => vec![],
        };
        self.context.bind.call("now", arguments)
    }
}

fn values_is_deprecated() -> Condition {
    let instead = "an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY \
                   UPDATE clause with alias.col";
    error_code::ER_WARN_DEPRECATED_SYNTAX.with(&[&"VALUES function", &instead]).into_warning()
}

pub fn interval_unit(unit: ast::IntervalUnit) -> IntervalUnit {
    use ast::IntervalUnit as From;
    match unit {
        From::Microsecond => IntervalUnit::Microsecond,
        From::Second => IntervalUnit::Second,
        From::Minute => IntervalUnit::Minute,
        From::Hour => IntervalUnit::Hour,
        From::Day => IntervalUnit::Day,
        From::Week => IntervalUnit::Week,
        From::Month => IntervalUnit::Month,
        From::Quarter => IntervalUnit::Quarter,
        From::Year => IntervalUnit::Year,
        From::SecondMicrosecond => IntervalUnit::SecondMicrosecond,
        From::MinuteMicrosecond => IntervalUnit::MinuteMicrosecond,
        From::MinuteSecond => IntervalUnit::MinuteSecond,
        From::HourMicrosecond => IntervalUnit::HourMicrosecond,
        From::HourSecond => IntervalUnit::HourSecond,
        From::HourMinute => IntervalUnit::HourMinute,
        From::DayMicrosecond => IntervalUnit::DayMicrosecond,
        From::DaySecond => IntervalUnit::DaySecond,
        From::DayMinute => IntervalUnit::DayMinute,
        From::DayHour => IntervalUnit::DayHour,
        From::YearMonth => IntervalUnit::YearMonth,
    }
}
