//! The moments that texts among a statement's parameters are, converted at their first comparison instead of at each row.
//!
//! Literals of a statement are parameters of its kept plan, so `d >= '2024-01-01'` meets the text only when it runs.
//! Invariant: what is kept belongs to the parameters that the context has now; `EvalContext::set_parameters` begins anew.
//! Used by `evaluate` for comparisons.
use std::sync::OnceLock;

use datum::DateTime;

/// Parameters beyond these are converted each time.
const KEPT_MAX: usize = 8;

/// `None` within is a text whose conversion has something to tell, which it does each time.
#[derive(Default)]
pub(crate) struct ParameterMoments([OnceLock<Option<DateTime>>; KEPT_MAX]);

impl ParameterMoments {
    /// Other parameters follow.
    pub(crate) fn renew(&mut self) {
        self.0.iter_mut().for_each(|kept| {
            kept.take();
        });
    }

    /// That of the parameter `index`, by `convert` the first time.
    pub(crate) fn get(&self, index: usize, convert: impl FnOnce() -> Option<DateTime>) -> Option<DateTime> {
        match self.0.get(index) {
            Some(kept) => *kept.get_or_init(convert),
            None => convert(),
        }
    }
}

#[cfg(test)]
mod tests {
    use collation::CollationId;
    use datum::{ColumnType, DateTime, TypeKind, Value};

    use crate::build::BindContext;
    use crate::context::EvalContext;
    use crate::expr::Expr;
    use crate::operator::ComparisonOperator;

    #[test]
    fn other_parameters_are_other_moments() {
        let bind = BindContext::default();
        let column = Expr::column(0, ColumnType::new(TypeKind::DateTime { fsp: 0 }));
        let text = Expr::parameter(0, ColumnType::varchar(20, CollationId::UTF8MB4_0900_AI_CI));
        let equal = bind.compare(ComparisonOperator::Equal, column, text).unwrap();
        let row = [Value::DateTime(DateTime::parse(b"2024-02-03 04:05:06", false).unwrap().value)];
        let mut context = EvalContext::of_constants(&bind);
        for (text, is_equal) in
            [("2024-02-03 04:05:06", 1), ("2024-02-03 04:05:07", 0), ("20240203040506", 1)]
        {
            context.set_parameters(vec![Value::Bytes(text.into())]);
            for _ in 0..2 {
                assert_eq!(equal.eval(&row, &context).unwrap(), Value::Int(is_equal), "{text}");
            }
        }
    }
}
