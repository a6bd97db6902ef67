//! Function calls by name.
use datum::{SqlError, TypeKind, error_code};

use super::BindContext;
use crate::expr::{Expr, ExprKind};
use crate::operator::{ArithmeticOperator, TruthTest};

impl BindContext {
    /// Any function of the registry, by name in any case. Error 1305 when there is none, 1582 for a wrong count.
    pub fn call(&self, name: &str, arguments: Vec<Expr>) -> Result<Expr, SqlError> {
        let lower = name.to_ascii_lowercase();
        match (lower.as_str(), arguments.len()) {
            ("if", _) => return self.if_function(arguments),
            ("nullif", _) => return self.nullif(arguments),
            ("isnull", 1) => {
                let operand = arguments.into_iter().next().expect("one argument");
                return self.truth_test(TruthTest::Null, operand);
            }
            ("isnull", _) => return Err(error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&name])),
            ("mod", 2) => {
                let mut arguments = arguments.into_iter();
                let left = arguments.next().expect("two arguments");
                let right = arguments.next().expect("two arguments");
                return self.arithmetic(ArithmeticOperator::Modulo, left, right);
            }
            _ => {}
        }
        let Some(function) = self.functions.by_name(&lower) else {
            return Err(error_code::ER_SP_DOES_NOT_EXIST.with(&[&"FUNCTION", &name]));
        };
        let count = u8::try_from(arguments.len()).unwrap_or(u8::MAX);
        if !(function.arguments_min..=function.arguments_max).contains(&count) {
            return Err(error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&name]));
        }
        let mut arguments = arguments;
        self.expect_arguments(function.name, &mut arguments)?;
        let nullable = self.functions.nullable(self, function.name, &arguments);
        let mut ty = (function.infer)(self, function.name, &mut arguments)?;
        if ty.column.kind == TypeKind::LongLong && ty.column.length == 0 {
            ty.column.length = self.functions.width_of(function.name).unwrap_or(0);
        }
        if let Some(nullable) = nullable {
            ty.column.nullable = nullable;
        }
        Ok(Expr { kind: ExprKind::Call(function, arguments), ty })
    }
}
