//! The dispatch over all kinds of expressions.
use crate::bind::type_name::charset_named;
use crate::binder::Binder;
use crate::block::Clause;
use crate::walk;
use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind, error_code};
use expression::{ArithmeticOperator, BitOperator, Expr, TruthTest};
use parser::ast::{self, ExprKind as Kind};

impl<'p> Binder<'p> {
    /// Binds an expression that stands for one value; a row is error 1241.
    pub fn bind(&mut self, expr: &ast::Expr<'p>) -> Result<Expr, SqlError> {
        match expr.kind {
            Kind::Null => Ok(Expr::null()),
            Kind::Boolean(truth) => Ok(Expr::truth_literal(truth)),
            Kind::Literal(literal) => self.bind_literal(&literal),
            Kind::Temporal { kind, literal } => self.bind_temporal(kind, &literal),
            Kind::Parameter(index) => {
                self.refuse_in_view()?;
                Ok(self.bind_parameter(index.0 as usize))
            }
            Kind::Local(local) => Ok(self.bind_local(&local)),
            Kind::Column(reference) => self.bind_column(&reference),
            Kind::UserVariable(name) => self.bind_user_variable(name.name),
            Kind::SystemVariable(variable) => self.bind_system_variable(variable),
            Kind::Unary { operator, operand } => self.bind_unary(operator, operand),
            Kind::Binary { operator, left, right } => self.bind_binary(operator, left, right),
            Kind::Logical { operator, operands } => self.bind_logical(operator, operands),
            Kind::InList { negated, operand, list } => self.bind_in_list(negated, operand, list),
            Kind::Is { negated, operand, test } => self.bind_is(negated, operand, test),
            Kind::InSubquery { .. } | Kind::Quantified(_) | Kind::Exists(_) | Kind::Subquery(_) => {
                self.bind_subquery_expr(expr)
            }
            Kind::Row(_) => Err(error_code::ER_OPERAND_COLUMNS.with(&[&1])),
            Kind::Case(case) => self.bind_case(case),
            Kind::Cast { operand, target } => self.bind_cast(operand, target),
            Kind::AssignVariable { .. }
            | Kind::Like { .. }
            | Kind::Regexp { .. }
            | Kind::Between { .. }
            | Kind::ConvertUsing { .. }
            | Kind::Collate { .. } => self.bind_apart(expr),
            Kind::Aggregate(aggregate) => self.bind_aggregate(aggregate),
            Kind::Window(call) => self.bind_window_call(call),
            Kind::DefaultValue => Err(error_code::ER_WRONG_USAGE.with(&[&"DEFAULT", &"expression"])),
            Kind::DefaultOf(reference) => self.bind_default_of(&reference),
            Kind::ValuesOf(reference) => self.bind_values_of(&reference),
            _ => self.bind_special_function(expr),
        }
    }

    /// What needs room, apart from `bind`, whose frame is on the stack once for each level of an expression.
    #[inline(never)]
    fn bind_apart(&mut self, expr: &ast::Expr<'p>) -> Result<Expr, SqlError> {
        match expr.kind {
            Kind::AssignVariable { variable, value } => {
                self.refuse_in_view()?;
                self.shareable = false;
                self.conditions.push(setting_is_deprecated());
                let value = self.bind(value)?;
                self.assigns_variables = true;
                Ok(self.context.bind.set_user_variable(variable.name, value))
            }
            Kind::Like { negated, operand, pattern, escape } => {
                let (operand, pattern) = (self.bind(operand)?, self.bind(pattern)?);
                let escape = escape.map(|escape| self.bind(escape)).transpose()?;
                self.context.bind.like(negated, operand, pattern, escape)
            }
            Kind::Regexp { negated, operand, pattern } => {
                let arguments = vec![self.bind(operand)?, self.bind(pattern)?];
                let matched = self.context.bind.call("regexp_like", arguments)?;
                if negated { self.context.bind.not(matched) } else { Ok(matched) }
            }
            Kind::Between { negated, operand, low, high } => {
                let (operand, low, high) = (self.bind(operand)?, self.bind(low)?, self.bind(high)?);
                self.context.bind.between(negated, operand, low, high)
            }
            Kind::ConvertUsing { operand, charset } => {
                let operand = self.bind(operand)?;
                let charset = charset_named(charset.name)?;
                self.context.bind.convert_using(operand, charset)
            }
            Kind::Collate { operand, collation } => {
                let operand = self.bind(operand)?;
                let Some(collation) = CollationId::by_name(collation.name) else {
                    return Err(error_code::ER_UNKNOWN_COLLATION.with(&[&collation.name]));
                };
                self.context.bind.collate(operand, collation)
            }
            _ => self.bind_special_function(expr),
        }
    }

    #[inline(never)]
    fn bind_cast(&mut self, operand: &ast::Expr<'p>, target: &ast::CastType<'_>) -> Result<Expr, SqlError> {
        let operand = self.bind(operand)?;
        let target = super::cast_type(target, self.context.bind.connection_collation)?;
        let shown = cast_name(&target);
        let mut cast = self.context.bind.cast(operand, target)?;
        cast.ty.name = shown.map(Into::into);
        Ok(cast)
    }

    pub fn bind_all(&mut self, list: &[ast::Expr<'p>]) -> Result<Vec<Expr>, SqlError> {
        list.iter().map(|expr| self.bind(expr)).collect()
    }

    fn bind_user_variable(&mut self, name: &str) -> Result<Expr, SqlError> {
        self.refuse_in_view()?;
        let key = name.to_lowercase();
        let column_type = self.context.session.user_variable_type(&key);
        // The type is the session's business: whoever keeps the plan compares it before each execution.
        if !self.user_variables.iter().any(|(known, _)| *known == key) {
            self.user_variables.push((key, column_type.clone()));
        }
        let unset = || ColumnType::new(TypeKind::LongBlob);
        Ok(self.context.bind.user_variable(name, column_type.unwrap_or_else(unset)))
    }

    fn bind_system_variable(&mut self, variable: &ast::SystemVariable<'_>) -> Result<Expr, SqlError> {
        self.refuse_in_view()?;
        self.shareable = false;
        let name = match variable.instance {
            Some(instance) => format!("{}.{}", instance.name, variable.name.name),
            None => variable.name.name.to_owned(),
        };
        let (value, column_type) = self.context.session.system_variable(variable.scope, &name)?;
        Ok(Expr::literal(value, column_type))
    }

    fn bind_unary(
        &mut self,
        operator: ast::UnaryOperator,
        operand: &ast::Expr<'p>,
    ) -> Result<Expr, SqlError> {
        if operator == ast::UnaryOperator::Minus
            && let Kind::Literal(literal) = operand.kind
            && let ast::LiteralValue::Integer(number) = literal.value
            && self.context.literals == crate::context::Literals::Inline
            && number == 1 << 63
        {
            return Ok(Expr::int(i64::MIN));
        }
        let operand = self.bind(operand)?;
        let bind = &self.context.bind;
        match operator {
            ast::UnaryOperator::Not => bind.not(operand),
            ast::UnaryOperator::Minus => bind.negate(operand),
            ast::UnaryOperator::Plus => Ok(operand),
            ast::UnaryOperator::BitNot => bind.bit_not(operand),
            ast::UnaryOperator::Binary => {
                self.conditions.push(binary_is_deprecated());
                let bind = &self.context.bind;
                let as_long = u32::MAX;
                bind.cast(operand, ColumnType::varbinary(as_long))
            }
        }
    }

    fn bind_binary(
        &mut self,
        operator: ast::BinaryOperator,
        left: &ast::Expr<'p>,
        right: &ast::Expr<'p>,
    ) -> Result<Expr, SqlError> {
        if operator.is_comparison() {
            return self.bind_comparison(operator, left, right);
        }
        let left = self.bind(left)?;
        let right = self.bind(right)?;
        self.bind_operands(operator, left, right)
    }

    /// Apart for the sake of the stack, like `bind_apart`.
    #[inline(never)]
    fn bind_operands(
        &mut self,
        operator: ast::BinaryOperator,
        left: Expr,
        right: Expr,
    ) -> Result<Expr, SqlError> {
        use ast::BinaryOperator as Op;
        let bind = &self.context.bind;
        match operator {
            Op::Add => bind.arithmetic(ArithmeticOperator::Add, left, right),
            Op::Subtract => bind.arithmetic(ArithmeticOperator::Subtract, left, right),
            Op::Multiply => bind.arithmetic(ArithmeticOperator::Multiply, left, right),
            Op::Divide => bind.arithmetic(ArithmeticOperator::Divide, left, right),
            Op::IntegerDivide => bind.arithmetic(ArithmeticOperator::IntegerDivide, left, right),
            Op::Modulo => bind.arithmetic(ArithmeticOperator::Modulo, left, right),
            Op::BitAnd => bind.bit(BitOperator::And, left, right),
            Op::BitOr => bind.bit(BitOperator::Or, left, right),
            Op::BitXor => bind.bit(BitOperator::Xor, left, right),
            Op::ShiftLeft => bind.bit(BitOperator::ShiftLeft, left, right),
            Op::ShiftRight => bind.bit(BitOperator::ShiftRight, left, right),
            Op::Concat => bind.call("concat", vec![left, right]),
            Op::SoundsLike => {
                let left = bind.call("soundex", vec![left])?;
                let right = bind.call("soundex", vec![right])?;
                bind.compare(expression::ComparisonOperator::Equal, left, right)
            }
            Op::MemberOf => bind.call("member of", vec![left, right]),
            Op::Equal | Op::NullSafeEqual | Op::NotEqual | Op::Less => unreachable!("handled as comparisons"),
            Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual => unreachable!("handled as comparisons"),
        }
    }

    fn bind_logical(
        &mut self,
        operator: ast::LogicalOperator,
        operands: &[ast::Expr<'p>],
    ) -> Result<Expr, SqlError> {
        let in_list = self.blocks.last().is_some_and(|block| block.clause == Some(Clause::FieldList));
        let mut bound = match operands.split_first() {
            Some((first, others)) if in_list && operator != ast::LogicalOperator::Xor => {
                let mut bound = vec![self.bind(first)?];
                for other in others {
                    bound.push(self.bind_optional(other)?);
                }
                bound
            }
            _ => self.bind_all(operands)?,
        };
        let bind = &self.context.bind;
        match operator {
            ast::LogicalOperator::And => bind.and(bound),
            ast::LogicalOperator::Or => bind.or(bound),
            ast::LogicalOperator::Xor => {
                let first = bound.remove(0);
                bound.into_iter().try_fold(first, |left, right| bind.xor(left, right))
            }
        }
    }

    fn bind_is(
        &mut self,
        negated: bool,
        operand: &ast::Expr<'p>,
        test: ast::IsTest,
    ) -> Result<Expr, SqlError> {
        let operand = self.bind(operand)?;
        let test = match (test, negated) {
            (ast::IsTest::Null | ast::IsTest::Unknown, false) => TruthTest::Null,
            (ast::IsTest::Null | ast::IsTest::Unknown, true) => TruthTest::NotNull,
            (ast::IsTest::True, false) => TruthTest::True,
            (ast::IsTest::True, true) => TruthTest::NotTrue,
            (ast::IsTest::False, false) => TruthTest::False,
            (ast::IsTest::False, true) => TruthTest::NotFalse,
        };
        self.context.bind.truth_test(test, operand)
    }

    /// What is evaluated for some rows only: its subqueries do not run before they are wanted.
    pub fn bind_optional(&mut self, expr: &ast::Expr<'p>) -> Result<Expr, SqlError> {
        let Some(block) = self.blocks.last_mut() else { return self.bind(expr) };
        block.optional_depth += 1;
        let bound = self.bind(expr);
        self.block().optional_depth -= 1;
        bound
    }

    fn bind_case(&mut self, case: &ast::Case<'p>) -> Result<Expr, SqlError> {
        let operand = case.operand.map(|operand| self.bind(operand)).transpose()?;
        let mut whens = Vec::with_capacity(case.branches.len());
        for branch in case.branches {
            let when = self.bind(&branch.when)?;
            whens.push((when, self.bind_optional(&branch.then)?));
        }
        let otherwise = case.otherwise.map(|otherwise| self.bind_optional(otherwise)).transpose()?;
        match operand {
            Some(operand) if walk::any(&operand, &walk::is_volatile) => {
                self.context.bind.case_of_volatile(operand, whens, otherwise)
            }
            operand => self.context.bind.case(operand, whens, otherwise),
        }
    }
}

/// The target of a cast to an integer as error messages show it.
fn cast_name(target: &ColumnType) -> Option<&'static str> {
    match target.kind {
        TypeKind::LongLong if target.unsigned => Some("unsigned"),
        TypeKind::LongLong => Some("signed"),
        _ => None,
    }
}

fn setting_is_deprecated() -> datum::Condition {
    let message = "Setting user variables within expressions is deprecated and will be removed in a future release. \
                   Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.";
    datum::SqlError { message: message.to_owned(), ..error_code::ER_WARN_DEPRECATED_SYNTAX.with(&[&"", &""]) }
        .into_warning()
}

fn binary_is_deprecated() -> datum::Condition {
    datum::error_code::ER_WARN_DEPRECATED_SYNTAX.with(&[&"BINARY expr", &"CAST"]).into_warning()
}
