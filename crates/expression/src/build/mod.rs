//! Constructors of bound expressions: type inference, collation aggregation and implicit conversions.
//!
//! Operands keep their own types: evaluation converts values by the operand's and the node's type, so conversions
//! become `Cast` nodes only where a value changes its kind for good (CASE branches, function arguments).
use std::cell::RefCell;

use collation::{Charset, CollationId};
use datum::{ColumnType, Condition, SqlError, SqlMode, TypeKind, Value};

use crate::call::{Functions, NoFunctions};
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};

mod alternatives;
mod arithmetic;
mod between;
mod call;
mod cast;
mod comparison;
mod conditional;
mod constants;
mod in_list;
mod logic;
mod marker_moments;
mod marker_refusals;
mod marker_wants;
mod markers;
mod merge;
mod reading;
mod temporal;
mod through;
mod wanted;
pub use temporal::moment_text;
pub(crate) use through::{is_mixed, is_silent};

pub(crate) use arithmetic::digits_of_bytes;
pub use arithmetic::{double, is_bit_string};
pub use markers::Markers;
pub use merge::Merging;
pub use merge::{bytes_max, shown_width};
pub use reading::fraction_digits;
pub use reading::{KnownValues, ReadParameter, Reading};
pub(crate) use wanted::Wanted;

/// What binding needs to know of the session.
#[derive(Clone, Debug)]
pub struct BindContext {
    pub sql_mode: SqlMode,
    /// `collation_connection`: of literals, and of numbers turned into text.
    pub connection_collation: CollationId,
    /// The character set in which the statement's text is read, and the one in which the client has sent it.
    pub text_charset: Charset,
    pub client_charset: Charset,
    pub division_precision_increment: u8,
    pub max_allowed_packet: u64,
    /// Values of the statement's parameters, where they are known while it is bound.
    pub known: KnownValues,
    /// The `?` markers, where parameters are such.
    pub markers: Markers,
    /// The functions that can be called by name.
    pub functions: &'static dyn Functions,
    /// What is warned about a statement each time it runs, whatever its rows.
    pub conditions: RefCell<Vec<Condition>>,
}

impl Default for BindContext {
    fn default() -> BindContext {
        BindContext {
            sql_mode: SqlMode::DEFAULT,
            connection_collation: CollationId::UTF8MB4_0900_AI_CI,
            text_charset: Charset::Utf8mb4,
            client_charset: Charset::Utf8mb4,
            division_precision_increment: 4,
            max_allowed_packet: 64 * 1024 * 1024,
            known: KnownValues::default(),
            markers: Markers::default(),
            functions: &NoFunctions,
            conditions: RefCell::default(),
        }
    }
}

impl Expr {
    /// A literal of the statement. Text literals have the connection's collation and yield to columns.
    pub fn literal(value: Value, column: ColumnType) -> Expr {
        let coercibility =
            if column.kind.is_string() { Coercibility::Coercible } else { Coercibility::Numeric };
        Expr { kind: ExprKind::Literal(value), ty: ExprType::new(column, coercibility) }
    }

    /// x'..', 0x.. and b'..': a binary string that is a BIGINT UNSIGNED where numbers are wanted. The unsigned flag
    /// of its type, which no other string has, says so (MySQL shows it in result metadata as well).
    pub fn hex_literal(bytes: &[u8]) -> Expr {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let column = ColumnType { unsigned: true, ..ColumnType::varbinary(length).not_null() };
        Expr::literal(Value::bytes(bytes), column)
    }

    /// b'..': as a number it has a sign.
    pub fn bit_literal(bytes: &[u8]) -> Expr {
        let mut literal = Expr::hex_literal(bytes);
        literal.ty.column.zerofill = true;
        literal
    }

    pub fn null() -> Expr {
        let column = ColumnType::new(TypeKind::Null);
        Expr { kind: ExprKind::Literal(Value::Null), ty: ExprType::new(column, Coercibility::Ignorable) }
    }

    pub fn int(number: i64) -> Expr {
        Expr::literal(Value::Int(number), ColumnType::bigint().not_null())
    }

    /// TRUE and FALSE.
    pub fn truth_literal(value: bool) -> Expr {
        let column = ColumnType { length: 1, ..ColumnType::bigint().not_null() };
        Expr::literal(Value::Int(i64::from(value)), column).as_truth()
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

impl BindContext {
    pub fn warn(&self, warning: SqlError) {
        self.conditions.borrow_mut().push(warning.into_warning());
    }

    /// A quoted text: it becomes one of the connection's character set.
    pub fn text_literal(&self, text: &[u8]) -> Expr {
        let charset = self.connection_collation.charset();
        let text = self.text_charset.convert_to(charset, text).bytes;
        let length = u32::try_from(charset.character_count(&text)).unwrap_or(u32::MAX);
        Expr::literal(Value::bytes(text), ColumnType::varchar(length, self.connection_collation).not_null())
    }

    /// The bytes that the client has sent for a quoted text, which is what an introducer speaks of.
    pub fn as_sent(&self, text: &[u8]) -> Vec<u8> {
        self.text_charset.convert_to(self.client_charset, text).bytes
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

/// A numeric result that may be NULL when an operand may.
fn numeric(kind: ExprKind, column: ColumnType, operands_nullable: bool) -> Expr {
    let column = ColumnType { nullable: operands_nullable || column.nullable, ..column };
    Expr { kind, ty: ExprType::new(column, Coercibility::Numeric) }
}

/// MySQL's booleans: BIGINT shown one digit wide.
fn boolean(kind: ExprKind, nullable: bool) -> Expr {
    let column = ColumnType { length: 1, nullable, ..ColumnType::bigint() };
    Expr { kind, ty: ExprType::new(column, Coercibility::Numeric) }.as_truth()
}
