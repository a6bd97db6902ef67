//! CASE and everything whose result has the common type of several expressions (IF, COALESCE, UNION columns).
use collation::Charset;
use datum::{ColumnType, SqlError, TypeKind, Value};

use super::comparison::{CASE, as_members};
use super::in_list::{is_text, is_time};
use super::merge::{Merging, bytes_max, merged_type, string_type};
use super::{BindContext, Wanted, boolean};
use crate::collations::{Purpose, illegal_mix};
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};
use crate::operator::ComparisonOperator;

impl BindContext {
    /// The common type of expressions that become one value; texts agree on a collation.
    pub fn unified_type(
        &self,
        operation: &str,
        exprs: &mut [Expr],
        merging: Merging,
    ) -> Result<ExprType, SqlError> {
        let types: Vec<&ColumnType> = exprs.iter().map(|expr| &expr.ty.column).collect();
        let merged = merged_type(&types, merging);
        let is_text = matches!(merged.kind, TypeKind::VarChar | TypeKind::Char);
        if !is_text && !merged.kind.is_large_object() {
            let is_document = merged.kind == TypeKind::Json;
            let strength = if is_document { Coercibility::Implicit } else { Coercibility::Numeric };
            return Ok(ExprType::new(merged, strength));
        }
        let bytes_max = exprs.iter().map(|expr| bytes_max(&expr.ty.column)).max().unwrap_or(0);
        for expr in exprs.iter_mut() {
            become_text(self, expr, merging)?;
        }
        // Columns of a set operation have to be comparable, and numbers among them take the texts' collation.
        let purpose = match merging {
            Merging::Value => Purpose::Result,
            Merging::Column => Purpose::Column,
        };
        let claim = self.aggregate_collations(operation, exprs, purpose);
        let claim = claim.map_err(|error| match merging {
            Merging::Value => error,
            Merging::Column => datum::error_code::ER_CANT_AGGREGATE_NCOLLATIONS.with(&[&operation]),
        })?;
        let (collation, coercibility) = match claim {
            (_, Coercibility::Numeric) => (self.connection_collation, Coercibility::Coercible),
            claim => claim,
        };
        let column = string_type(&merged, collation, bytes_max, merging);
        Ok(ExprType::new(ColumnType { nullable: merged.nullable, ..column }, coercibility))
    }

    /// Casts the expression where its values are of another kind than the type's.
    pub fn convert_to(&self, expr: Expr, ty: &ExprType) -> Result<Expr, SqlError> {
        let (column, target) = (&expr.ty.column, &ty.column);
        if column.kind == TypeKind::Year && target.kind.is_string() {
            // A year becomes text as a number does.
            let number = self.converted(expr, ColumnType::bigint());
            return self.convert(number, target.clone());
        }
        if target.kind == TypeKind::Binary {
            let is_full = column.kind == TypeKind::Binary && column.length == target.length;
            return if is_full { Ok(expr) } else { self.cast(expr, target.clone()) };
        }
        let same_kind = std::mem::discriminant(&column.kind) == std::mem::discriminant(&target.kind);
        let charsets = (column.collation.charset(), target.collation.charset());
        let both_text = column.kind.is_string()
            && target.kind.is_string()
            && (charsets.0 == charsets.1 || charsets.0 == Charset::Binary || charsets.1 == Charset::Binary);
        let integers = column.kind.is_integer() && target.kind.is_integer();
        let fits = both_text
            || (integers && column.unsigned == target.unsigned)
            || (same_kind
                && !column.kind.is_string()
                && column.unsigned == target.unsigned
                && is_as_exact(column, target));
        if fits || column.kind == TypeKind::Null { Ok(expr) } else { self.convert(expr, target.clone()) }
    }

    /// As `convert_to`, for the branches of CASE: exact numbers keep their own digits after the point there, as
    /// MySQL shows `IF(a, 1, 2.5)` as 1.
    fn convert_branch(&self, expr: Expr, ty: &ExprType) -> Result<Expr, SqlError> {
        let is_exact = |kind: &TypeKind| kind.is_integer() || matches!(kind, TypeKind::Decimal { .. });
        if matches!(ty.column.kind, TypeKind::Decimal { .. }) && is_exact(&expr.ty.column.kind) {
            return Ok(Expr { kind: ExprKind::Relabel(Box::new(expr)), ty: ty.clone() });
        }
        // A statement's own CAST is the value itself, not a conversion to the common type.
        let casts = casts(&expr);
        let converted = self.convert_to(expr, ty)?;
        let is_made = self::casts(&converted) > casts;
        Ok(match converted.kind {
            ExprKind::Cast(own) if is_made && !ty.column.kind.is_string() => {
                Expr { kind: ExprKind::Branch(own), ty: converted.ty }
            }
            kind => Expr { kind, ty: converted.ty },
        })
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
        let (mut candidates, mut results): (Vec<Expr>, Vec<Expr>) = whens.into_iter().unzip();
        let mut operand = operand;
        if let Some(operand) = &mut operand {
            self.align_texts("case", operand, &mut candidates)?;
        }
        let all = match (&operand, candidates.as_slice()) {
            (Some(operand), [first, second]) => vec![operand.clone(), first.clone(), second.clone()],
            _ => Vec::new(),
        };
        let has_many = candidates.len() > 1;
        // The message tells of all operands.
        let told = |error: SqlError| match () {
            () if !has_many || !error.is(&datum::error_code::ER_CANT_AGGREGATE_2COLLATIONS) => error,
            () if all.is_empty() => datum::error_code::ER_CANT_AGGREGATE_NCOLLATIONS.with(&[&"case"]),
            () => illegal_mix("case", &all),
        };
        for condition in candidates {
            conditions.push(match &operand {
                Some(operand) => self.candidate(operand.clone(), condition).map_err(told)?,
                // Here `false` is no truth, though it is where documents stand for conditions elsewhere.
                None if condition.ty.column.kind == TypeKind::Json => {
                    self.convert(condition, ColumnType::double())?
                }
                None => condition,
            });
        }
        let has_otherwise = otherwise.is_some();
        results.extend(otherwise);
        self.derive_together(&mut results);
        let given: Vec<Option<Expr>> =
            results.iter().map(|result| result.ty.column.is_hex_literal().then(|| result.clone())).collect();
        let mut ty = self.unified_type("case", &mut results, Merging::Value)?;
        ty.column.nullable |= !has_otherwise;
        let mut results: Vec<Expr> =
            results.into_iter().map(|result| self.convert_branch(result, &ty)).collect::<Result<_, _>>()?;
        // A number in hexadecimal stays one where a number is wanted of the text that it becomes here.
        for (result, given) in results.iter_mut().zip(given) {
            if let Some(given) = given.filter(|_| !result.ty.column.is_hex_literal()) {
                result.kind = ExprKind::Branch(Box::new(given));
            }
        }
        let otherwise = if has_otherwise { results.pop().map(Box::new) } else { None };
        let whens = conditions.into_iter().zip(results).collect();
        Ok(Expr { kind: ExprKind::Case { operand: None, whens, otherwise }, ty })
    }

    /// The comparison of a CASE's operand with a candidate: documents are compared by their text, or as numbers with
    /// numbers.
    fn candidate(&self, mut operand: Expr, mut candidate: Expr) -> Result<Expr, SqlError> {
        let is_document = |expr: &Expr| expr.ty.column.kind == TypeKind::Json;
        if is_document(&operand) || is_document(&candidate) {
            let is_number = operand.ty.column.kind.is_numeric() || candidate.ty.column.kind.is_numeric();
            for expr in [&mut operand, &mut candidate].into_iter().filter(|expr| is_document(expr)) {
                let document = std::mem::replace(expr, Expr::null());
                *expr = match is_number {
                    true => self.convert(document, ColumnType::double())?,
                    false => {
                        let mut document = document;
                        crate::call::infer::cast_text(self, &mut document)?;
                        document
                    }
                };
            }
        }
        // A text operand meets moments as texts.
        if is_text(&operand) && candidate.ty.column.kind.has_date() {
            crate::call::infer::cast_text(self, &mut candidate)?;
        }
        if is_time(&operand) {
            self.become_time(&mut candidate)?;
            if is_text(&candidate) {
                let sides = (Box::new(operand), Box::new(candidate));
                let mode = datum::CompareMode::Time;
                return Ok(boolean(
                    ExprKind::Compare(ComparisonOperator::Equal, mode, sides.0, sides.1),
                    true,
                ));
            }
        }
        let mut comparison = self.equals_one(CASE, operand, candidate)?;
        if let ExprKind::Compare(_, mode, ..) = &mut comparison.kind {
            *mode = as_members(*mode);
        }
        Ok(comparison)
    }

    /// IF(condition, then, otherwise).
    pub(super) fn if_function(&self, arguments: Vec<Expr>) -> Result<Expr, SqlError> {
        let [mut condition, then, otherwise] = <[Expr; 3]>::try_from(arguments)
            .map_err(|_| datum::error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&"if"]))?;
        self.expect_number(&mut condition, Wanted::Integer)?;
        self.case(None, vec![(condition, then)], Some(otherwise))
    }

    /// NULLIF(a, b): NULL when equal, else a. A constant beside a column is what the column would store of it.
    pub(super) fn nullif(&self, arguments: Vec<Expr>) -> Result<Expr, SqlError> {
        let [mut left, mut right] = <[Expr; 2]>::try_from(arguments)
            .map_err(|_| datum::error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&"nullif"]))?;
        self.derive_pair(&mut left, &mut right);
        self.meet_computed(&mut left, &right)?;
        self.become_nullified(&mut left, &right);
        self.become_of_column(&right, &mut left)?;
        let equal = self.compare_for("nullif", ComparisonOperator::Equal, left.clone(), right)?;
        let mut ty = left.ty.clone();
        (ty.column.nullable, ty.is_truth) = (true, false);
        if ty.column.kind == TypeKind::Year {
            ty.column = ColumnType::chosen_year();
        }
        // A text literal that is compared with bytes is bytes.
        let is_constant = matches!(left.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
        let is_of_bytes = matches!(
            &equal.kind,
            ExprKind::Compare(_, datum::CompareMode::Text(collation::CollationId::BINARY), ..)
        );
        let is_text = left.ty.column.kind.is_string() && !left.ty.column.is_hex_literal();
        if is_constant && is_of_bytes && is_text {
            let column =
                crate::call::infer::text_column(bytes_max(&ty.column), collation::CollationId::BINARY);
            ty.column = ColumnType { nullable: true, ..column };
            left = Expr { kind: ExprKind::Relabel(Box::new(left)), ty: ty.clone() };
        }
        // A number in hexadecimal is bytes here, and itself where arithmetic or a comparison wants a number.
        if left.ty.column.is_hex_literal() {
            (ty.column.unsigned, ty.column.zerofill) = (false, false);
        }
        // A member is its text, and its number where one is wanted.
        if left.ty.column.kind.has_members() {
            become_text(self, &mut left, Merging::Value)?;
            let column = ColumnType { kind: TypeKind::Char, ..left.ty.column.clone() };
            ty = ExprType::new(ColumnType { nullable: true, ..column }, left.ty.coercibility);
            left.ty.column.kind = TypeKind::Char;
        }
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

/// Makes a value text; one that is chosen remembers what it was.
fn become_text(bind: &BindContext, expr: &mut Expr, merging: Merging) -> Result<(), SqlError> {
    let is_string = expr.ty.column.kind.is_string();
    crate::call::infer::cast_text(bind, expr)?;
    let is_chosen = merging == Merging::Value && !is_string;
    if is_chosen && matches!(expr.kind, ExprKind::Cast(_)) {
        let old = std::mem::replace(expr, Expr::null());
        let ExprKind::Cast(own) = old.kind else { unreachable!("it is a conversion") };
        *expr = Expr { kind: ExprKind::Branch(own), ty: old.ty };
    }
    Ok(())
}

/// How many conversions the expression's value is given by, one around the other.
fn casts(expr: &Expr) -> usize {
    let mut count = 0;
    let mut expr = expr;
    while let ExprKind::Cast(own) = &expr.kind {
        (count, expr) = (count + 1, own);
    }
    count
}

/// Whether a value of the one type is one of the other type of the same kind.
fn is_as_exact(column: &ColumnType, target: &ColumnType) -> bool {
    match (&column.kind, &target.kind) {
        (TypeKind::Decimal { scale: a, .. }, TypeKind::Decimal { scale: b, .. }) => a == b,
        // What differs is how they are shown, which is the common type's business.
        (TypeKind::Enum(_) | TypeKind::Set(_), _) => column.kind == target.kind,
        _ => true,
    }
}
