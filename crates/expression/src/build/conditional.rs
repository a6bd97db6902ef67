//! CASE and everything whose result has the common type of several expressions (IF, COALESCE, UNION columns).
use datum::{ColumnType, PRECISION_MAX, SCALE_MAX, SqlError, TypeKind, Value};

use super::BindContext;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::functions::{characters_max, text_column};
use crate::operator::ComparisonOperator;

/// The type that holds the values of both without loss, text of the given collation aside.
pub(crate) fn unified_column(left: &ColumnType, right: &ColumnType) -> ColumnType {
    use TypeKind as K;
    let nullable = left.nullable || right.nullable;
    let column = match (&left.kind, &right.kind) {
        (K::Null, _) => right.clone(),
        (_, K::Null) => left.clone(),
        (a, b) if a == b && left.unsigned == right.unsigned && !a.is_string() => left.clone(),
        (a, b) if a.is_numeric() && b.is_numeric() => unified_number(left, right),
        (K::Date, K::Date) => left.clone(),
        (K::Time { fsp: a }, K::Time { fsp: b }) => ColumnType::new(K::Time { fsp: (*a).max(*b) }),
        (a, b) if a.is_temporal() && b.is_temporal() && *a != K::Year && *b != K::Year => {
            ColumnType::new(K::DateTime { fsp: a.fsp().max(b.fsp()) })
        }
        (K::Json, K::Json) => left.clone(),
        _ => {
            let length = characters_max(left).max(characters_max(right));
            let collation = if left.kind.is_string() { left.collation } else { right.collation };
            text_column(length, collation)
        }
    };
    ColumnType { nullable, ..column }
}

fn unified_number(left: &ColumnType, right: &ColumnType) -> ColumnType {
    let is_double = |column: &ColumnType| column.kind.is_floating();
    if is_double(left) || is_double(right) {
        return ColumnType::double();
    }
    let digits = |column: &ColumnType| match column.kind {
        TypeKind::Decimal { precision, scale } => (precision - scale, scale),
        TypeKind::Tiny => (3, 0),
        TypeKind::Short => (5, 0),
        TypeKind::Int24 => (8, 0),
        TypeKind::Long => (10, 0),
        _ if column.unsigned => (20, 0),
        _ => (19, 0),
    };
    let ((i1, s1), (i2, s2)) = (digits(left), digits(right));
    let exact = |column: &ColumnType| matches!(column.kind, TypeKind::Decimal { .. });
    if exact(left) || exact(right) || (left.unsigned != right.unsigned && i1.max(i2) >= 19) {
        let scale = s1.max(s2).min(SCALE_MAX);
        return ColumnType::decimal((i1.max(i2) + scale).min(PRECISION_MAX), scale);
    }
    let both_unsigned = left.unsigned && right.unsigned;
    if both_unsigned { ColumnType::bigint_unsigned() } else { ColumnType::bigint() }
}

impl BindContext {
    /// The common type of expressions that become one column; texts agree on a collation.
    pub fn unified_type(&self, operation: &str, exprs: &mut [Expr]) -> Result<ExprType, SqlError> {
        let mut types = exprs.iter().map(|expr| expr.ty.column.clone());
        let first = types.next().unwrap_or_else(|| ColumnType::new(TypeKind::Null));
        let column = types.fold(first, |left, right| unified_column(&left, &right));
        if !column.kind.is_string() {
            return Ok(ExprType::new(column, Coercibility::Numeric));
        }
        for expr in exprs.iter_mut() {
            crate::functions::cast_text(self, expr)?;
        }
        let (collation, coercibility) = self.aggregate_collations(operation, exprs)?;
        let nullable = column.nullable;
        let column = text_column(characters_max(&column), collation);
        Ok(ExprType::new(ColumnType { nullable, ..column }, coercibility))
    }

    /// Casts the expression where its values are of another kind than the type's.
    pub fn convert_to(&self, expr: Expr, ty: &ExprType) -> Result<Expr, SqlError> {
        let column = &expr.ty.column;
        let same_kind = std::mem::discriminant(&column.kind) == std::mem::discriminant(&ty.column.kind);
        let both_text = column.kind.is_string() && ty.column.kind.is_string();
        let integers = column.kind.is_integer() && ty.column.kind.is_integer();
        let fits = both_text
            || (integers && column.unsigned == ty.column.unsigned)
            || (same_kind && *column == ty.column);
        if fits || column.kind == TypeKind::Null { Ok(expr) } else { self.convert(expr, ty.column.clone()) }
    }

    /// As `convert_to`, for the branches of CASE: exact numbers keep their own digits after the point there, as
    /// MySQL shows `IF(a, 1, 2.5)` as 1.
    fn convert_branch(&self, expr: Expr, ty: &ExprType) -> Result<Expr, SqlError> {
        let is_exact = |kind: &TypeKind| kind.is_integer() || matches!(kind, TypeKind::Decimal { .. });
        if matches!(ty.column.kind, TypeKind::Decimal { .. }) && is_exact(&expr.ty.column.kind) {
            return Ok(Expr { kind: ExprKind::Relabel(Box::new(expr)), ty: ty.clone() });
        }
        self.convert_to(expr, ty)
    }

    /// As `case`, for an operand that may have another value each time it is evaluated, as RAND() has.
    pub fn case_of_volatile(
        &self,
        operand: Expr,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Expr>,
    ) -> Result<Expr, SqlError> {
        let stand_in = Expr { kind: ExprKind::CaseOperand, ty: operand.ty.clone() };
        let mut case = self.case(Some(stand_in), whens, otherwise)?;
        if let ExprKind::Case { operand: kept, .. } = &mut case.kind {
            *kept = Some(Box::new(operand));
        }
        Ok(case)
    }

    /// `CASE operand WHEN ..` compares with `=`; without operand the conditions are truth values.
    pub fn case(
        &self,
        operand: Option<Expr>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Expr>,
    ) -> Result<Expr, SqlError> {
        let mut conditions = Vec::with_capacity(whens.len());
        let mut results = Vec::with_capacity(whens.len() + 1);
        for (condition, result) in whens {
            conditions.push(match &operand {
                Some(operand) => self.compare(ComparisonOperator::Equal, operand.clone(), condition)?,
                // Here `false` is no truth, though it is where documents stand for conditions elsewhere.
                None if condition.ty.column.kind == TypeKind::Json => {
                    self.convert(condition, ColumnType::double())?
                }
                None => condition,
            });
            results.push(result);
        }
        let has_otherwise = otherwise.is_some();
        results.extend(otherwise);
        let mut ty = self.unified_type("case", &mut results)?;
        ty.column.nullable |= !has_otherwise;
        let mut results: Vec<Expr> =
            results.into_iter().map(|result| self.convert_branch(result, &ty)).collect::<Result<_, _>>()?;
        let otherwise = if has_otherwise { results.pop().map(Box::new) } else { None };
        let whens = conditions.into_iter().zip(results).collect();
        Ok(Expr { kind: ExprKind::Case { operand: None, whens, otherwise }, ty })
    }

    /// IF(condition, then, otherwise).
    pub(super) fn if_function(&self, arguments: Vec<Expr>) -> Result<Expr, SqlError> {
        let [condition, then, otherwise] = <[Expr; 3]>::try_from(arguments)
            .map_err(|_| datum::error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&"if"]))?;
        self.case(None, vec![(condition, then)], Some(otherwise))
    }

    /// NULLIF(a, b): NULL when equal, else a.
    pub(super) fn nullif(&self, arguments: Vec<Expr>) -> Result<Expr, SqlError> {
        let [left, right] = <[Expr; 2]>::try_from(arguments)
            .map_err(|_| datum::error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&"nullif"]))?;
        let equal = self.compare(ComparisonOperator::Equal, left.clone(), right)?;
        let mut ty = left.ty.clone();
        (ty.column.nullable, ty.is_truth) = (true, false);
        let nothing = Expr { kind: ExprKind::Literal(Value::Null), ty: ty.clone() };
        Ok(Expr {
            kind: ExprKind::Case {
                operand: None,
                whens: vec![(equal, nothing)],
                otherwise: Some(Box::new(left)),
            },
            ty,
        })
    }
}
