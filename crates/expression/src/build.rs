//! Constructors of bound expressions: type inference, collation aggregation and implicit conversions.
use collation::{Charset, CollationId};
use datum::{ColumnType, SqlError, SqlMode, TypeKind, Value};

use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::interval::IntervalUnit;
use crate::operator::{ArithmeticOperator, BitOperator, ComparisonOperator, TruthTest};

/// What binding needs to know of the session.
#[derive(Clone, Debug)]
pub struct BindContext {
    pub sql_mode: SqlMode,
    /// `collation_connection`: of literals, and of numbers turned into text.
    pub connection_collation: CollationId,
    pub division_precision_increment: u8,
    pub max_allowed_packet: u64,
}

impl Default for BindContext {
    fn default() -> BindContext {
        BindContext {
            sql_mode: SqlMode::DEFAULT,
            connection_collation: CollationId::UTF8MB4_0900_AI_CI,
            division_precision_increment: 4,
            max_allowed_packet: 64 * 1024 * 1024,
        }
    }
}

impl Expr {
    /// A literal of the statement. Text literals have the connection's collation and yield to columns.
    pub fn literal(value: Value, column: ColumnType) -> Expr {
        Expr { kind: ExprKind::Literal(value), ty: ExprType::new(column, Coercibility::Coercible) }
    }

    pub fn null() -> Expr {
        let column = ColumnType::new(TypeKind::Null);
        Expr { kind: ExprKind::Literal(Value::Null), ty: ExprType::new(column, Coercibility::Ignorable) }
    }

    pub fn int(number: i64) -> Expr {
        Expr::literal(Value::Int(number), ColumnType::bigint().not_null())
    }

    pub fn column(index: usize, column: ColumnType) -> Expr {
        Expr { kind: ExprKind::Column(index), ty: ExprType::new(column, Coercibility::Implicit) }
    }

    pub fn parameter(index: usize, column: ColumnType) -> Expr {
        Expr { kind: ExprKind::Parameter(index), ty: ExprType::new(column, Coercibility::Coercible) }
    }

    pub fn slot(index: usize, column: ColumnType) -> Expr {
        Expr { kind: ExprKind::Slot(index), ty: ExprType::new(column, Coercibility::Implicit) }
    }
}

fn pending(what: &str) -> Result<Expr, SqlError> {
    Err(datum::error_code::ER_NOT_SUPPORTED_YET.with(&[&what]))
}

#[expect(unused_variables, reason = "signatures first")]
impl BindContext {
    pub fn text_literal(&self, text: &[u8]) -> Expr {
        let column = ColumnType::varchar(text.len() as u32, self.connection_collation).not_null();
        Expr::literal(Value::bytes(text), column)
    }

    pub fn compare(&self, operator: ComparisonOperator, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        pending(operator.symbol())
    }

    pub fn arithmetic(
        &self,
        operator: ArithmeticOperator,
        left: Expr,
        right: Expr,
    ) -> Result<Expr, SqlError> {
        pending(operator.symbol())
    }

    pub fn negate(&self, operand: Expr) -> Result<Expr, SqlError> {
        pending("-")
    }

    pub fn bit(&self, operator: BitOperator, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        pending(operator.symbol())
    }

    pub fn bit_not(&self, operand: Expr) -> Result<Expr, SqlError> {
        pending("~")
    }

    pub fn and(&self, operands: Vec<Expr>) -> Result<Expr, SqlError> {
        pending("and")
    }

    pub fn or(&self, operands: Vec<Expr>) -> Result<Expr, SqlError> {
        pending("or")
    }

    pub fn xor(&self, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        pending("xor")
    }

    pub fn not(&self, operand: Expr) -> Result<Expr, SqlError> {
        pending("not")
    }

    pub fn truth_test(&self, test: TruthTest, operand: Expr) -> Result<Expr, SqlError> {
        pending(test.text())
    }

    pub fn in_list(&self, negated: bool, operand: Expr, list: Vec<Expr>) -> Result<Expr, SqlError> {
        pending("in")
    }

    pub fn between(&self, negated: bool, operand: Expr, low: Expr, high: Expr) -> Result<Expr, SqlError> {
        pending("between")
    }

    /// `escape` is `None` for the default backslash (no escape under NO_BACKSLASH_ESCAPES).
    pub fn like(
        &self,
        negated: bool,
        operand: Expr,
        pattern: Expr,
        escape: Option<Expr>,
    ) -> Result<Expr, SqlError> {
        pending("like")
    }

    /// `CASE operand WHEN ..` compares with `=`; without operand the conditions are truth values.
    pub fn case(
        &self,
        operand: Option<Expr>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Expr>,
    ) -> Result<Expr, SqlError> {
        pending("case")
    }

    /// CAST(expr AS type) and implicit conversions.
    pub fn cast(&self, operand: Expr, target: ColumnType) -> Result<Expr, SqlError> {
        pending("cast")
    }

    /// CONVERT(expr USING charset).
    pub fn convert_using(&self, operand: Expr, charset: Charset) -> Result<Expr, SqlError> {
        pending("convert")
    }

    /// `expr COLLATE name`.
    pub fn collate(&self, operand: Expr, collation: CollationId) -> Result<Expr, SqlError> {
        pending("collate")
    }

    /// `date ± INTERVAL amount unit`, DATE_ADD, DATE_SUB, ADDDATE, SUBDATE.
    pub fn date_add(
        &self,
        date: Expr,
        amount: Expr,
        unit: IntervalUnit,
        subtract: bool,
    ) -> Result<Expr, SqlError> {
        pending("interval")
    }

    /// EXTRACT(unit FROM expr).
    pub fn extract(&self, unit: IntervalUnit, operand: Expr) -> Result<Expr, SqlError> {
        pending("extract")
    }

    /// TIMESTAMPADD(unit, amount, date).
    pub fn timestamp_add(&self, unit: IntervalUnit, amount: Expr, date: Expr) -> Result<Expr, SqlError> {
        self.date_add(date, amount, unit, false)
    }

    /// TIMESTAMPDIFF(unit, from, to).
    pub fn timestamp_diff(&self, unit: IntervalUnit, from: Expr, to: Expr) -> Result<Expr, SqlError> {
        pending("timestampdiff")
    }

    /// Any function of the registry, by name in any case. Error 1305 when there is none, 1582 for a wrong count.
    pub fn call(&self, name: &str, arguments: Vec<Expr>) -> Result<Expr, SqlError> {
        pending(name)
    }

    pub fn user_variable(&self, name: &str, column: ColumnType) -> Expr {
        let ty = ExprType::new(column, Coercibility::Implicit);
        Expr { kind: ExprKind::UserVariable(name.to_lowercase().into()), ty }
    }

    /// `@name := value`.
    pub fn set_user_variable(&self, name: &str, value: Expr) -> Expr {
        let ty = ExprType::new(value.ty.column.clone(), Coercibility::Implicit);
        Expr { kind: ExprKind::SetUserVariable(name.to_lowercase().into(), Box::new(value)), ty }
    }
}
