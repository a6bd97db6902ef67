//! Which collation wins when texts meet, by the rules of MySQL's manual, "Collation Coercibility in Expressions".
//!
//! Two implicit collations of one character set that differ give its `_bin` collation, which a function's result may
//! have, but which nothing can be compared in: error 1267. Callers: comparison, CASE, the text functions and UNION,
//! while a statement is bound.
use collation::{Charset, CollationId};
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};

use crate::build::{BindContext, Reading};
use crate::expr::{Coercibility, Expr, ExprKind};

/// A collation with what binds it.
pub(crate) type Claim = (CollationId, Coercibility);

/// What the common collation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The text of a result. Numbers among the texts count as the connection's.
    Result,
    /// Comparing: there has to be a collation that binds.
    Comparison,
    /// A column of a set operation: what is mixed takes the collation of what is not.
    Column,
    /// LIKE, which takes what is mixed already.
    Pattern,
}

impl BindContext {
    /// The common collation of text operands, which they carry afterwards: they are converted to its character set where
    /// theirs differs. `operation` names the function or operator in errors 1267, 1270 and 1271.
    pub(crate) fn aggregate_collations(
        &self,
        operation: &str,
        exprs: &mut [Expr],
        purpose: Purpose,
    ) -> Result<Claim, SqlError> {
        let claims = exprs.iter().map(|expr| (expr.ty.collation(), expr.ty.coercibility));
        let winner = common_claim(claims, purpose).ok_or_else(|| illegal_mix(operation, exprs))?;
        let (collation, coercibility) = match winner {
            (_, Coercibility::Numeric) if purpose == Purpose::Result => {
                (self.connection_collation, Coercibility::Coercible)
            }
            winner => winner,
        };
        for position in 0..exprs.len() {
            if !self.carry(&mut exprs[position], collation)? {
                return Err(illegal_mix(operation, exprs));
            }
            // What was mixed is compared as the others are.
            if exprs[position].ty.coercibility == Coercibility::NoCollation {
                exprs[position].ty.coercibility = coercibility;
            }
        }
        Ok((collation, coercibility))
    }

    /// Error 1267 for a text by which a window cannot be ordered, as it has no collation.
    pub fn check_ordered(&self, expr: &Expr) -> Result<(), SqlError> {
        match expr.ty.coercibility {
            Coercibility::NoCollation => Err(illegal_mix("", &[expr, expr])),
            _ => Ok(()),
        }
    }

    /// Brings texts into the character set of the one that a function is about, whose collation they are compared in
    /// however theirs bind. Error 3854, here or when it is evaluated, for text that the character set lacks.
    pub fn follow(&self, primary: CollationId, others: &mut [Expr]) -> Result<(), SqlError> {
        others.iter_mut().try_for_each(|other| self.convert_strictly(other, primary))
    }

    /// Makes an operand text of the character set, or error 3854 where it cannot be.
    fn convert_strictly(&self, expr: &mut Expr, collation: CollationId) -> Result<(), SqlError> {
        let (own, wanted) = (expr.ty.collation().charset(), collation.charset());
        if own == wanted || wanted == Charset::Binary || expr.ty.column.kind == TypeKind::Null {
            return self.carry(expr, collation).map(|_| ());
        }
        if let Some(Value::Bytes(text)) = self.peek(expr) {
            if let Err(error) = strictly_converted(&text, own, wanted) {
                self.decide_by(expr);
                return Err(error);
            }
            let column = ColumnType { collation, ..expr.ty.column.clone() };
            let coercibility = expr.ty.coercibility;
            match own == Charset::Binary {
                true => expr.ty.column = ColumnType { unsigned: false, zerofill: false, ..column },
                false => _ = self.read_as(expr, Reading::Recoded { from: own, to: wanted }, column),
            }
            expr.ty.coercibility = coercibility;
            return Ok(());
        }
        if own != Charset::Binary && holds(wanted, own) {
            return self.carry(expr, collation).map(|_| ());
        }
        let column = ColumnType { collation, ..expr.ty.column.clone() };
        let coercibility = expr.ty.coercibility;
        let text = std::mem::replace(expr, Expr::null());
        *expr = self.call(STRICT_CONVERSION, vec![text])?;
        (expr.ty.column, expr.ty.coercibility) = (column, coercibility);
        Ok(())
    }

    /// Gives an operand the collation; false when its text may have characters that the character set lacks.
    fn carry(&self, expr: &mut Expr, collation: CollationId) -> Result<bool, SqlError> {
        let (own, wanted) = (expr.ty.collation().charset(), collation.charset());
        if own == Charset::Binary && wanted != own && expr.ty.column.kind.is_string() {
            return self.convert_strictly(expr, collation).map(|()| true);
        }
        let is_convertible = own != wanted && own != Charset::Binary && wanted != Charset::Binary;
        if !is_convertible {
            // What makes its text by its type, as CAST does, keeps that type.
            let is_made = own != wanted && !is_read(expr);
            if is_made {
                let ty = expr.ty.clone();
                let made = std::mem::replace(expr, Expr::null());
                *expr = Expr { kind: ExprKind::Relabel(Box::new(made)), ty };
            }
            expr.ty.column.collation = collation;
            return Ok(true);
        }
        if let Some(Value::Bytes(text)) = self.peek(expr) {
            if own.convert_to(wanted, &text).is_lossy {
                self.decide_by(expr);
                return Ok(false);
            }
            let column = ColumnType { collation, ..expr.ty.column.clone() };
            let coercibility = expr.ty.coercibility;
            if self.read_as(expr, Reading::Recoded { from: own, to: wanted }, column) {
                expr.ty.coercibility = coercibility;
                return Ok(true);
            }
        }
        if !holds(wanted, own) && expr.ty.coercibility < Coercibility::Coercible {
            return Ok(false);
        }
        let coercibility = expr.ty.coercibility;
        let target = ColumnType { collation, ..expr.ty.column.clone() };
        *expr = self.convert(std::mem::replace(expr, Expr::null()), target)?;
        expr.ty.coercibility = coercibility;
        Ok(true)
    }
}

/// The name of the conversion that fails with error 3854; no call can have it.
pub const STRICT_CONVERSION: &str = "convert strictly";

/// The text in another character set. Bytes of no character set must be a text of it.
pub fn strictly_converted(text: &[u8], from: Charset, to: Charset) -> Result<Vec<u8>, SqlError> {
    let fails = || {
        let shown = text.iter().fold(String::new(), |mut shown, byte| {
            match byte {
                b' '..=b'~' => shown.push(char::from(*byte)),
                _ => shown.push_str(&format!("\\x{byte:02X}")),
            }
            shown
        });
        error_code::ER_CANNOT_CONVERT_STRING.with(&[&shown, &from.name(), &to.name()])
    };
    if from == Charset::Binary {
        let is_whole = to.valid_prefix_length(text) == text.len();
        return if is_whole { Ok(text.to_vec()) } else { Err(fails()) };
    }
    let converted = from.convert_to(to, text);
    if converted.is_lossy { Err(fails()) } else { Ok(converted.bytes) }
}

/// The claim that wins over all of them, or `None` when none may.
pub(crate) fn common_claim(claims: impl Iterator<Item = Claim>, purpose: Purpose) -> Option<Claim> {
    let mut winner: Option<Claim> = None;
    // What cannot be combined may still be settled by a later explicit collation.
    let mut is_open = false;
    // Two collations that bind alike met last. Together they bind as each did, until another one of that strength comes.
    let mut is_mixed = false;
    let mut was_mixed = false;
    // Operands that are mixed themselves have not met another collation yet.
    let mut is_unsettled = false;
    let mut are_all_mixed = false;
    for claim in claims {
        let Some(so_far) = winner else {
            winner = Some(claim);
            continue;
        };
        if claim.1 == Coercibility::Explicit {
            was_mixed = false;
        }
        are_all_mixed = so_far.1 == Coercibility::NoCollation && claim.1 == Coercibility::NoCollation;
        is_unsettled = so_far.0 == claim.0 && (is_unsettled || so_far.1 == Coercibility::NoCollation);
        let replaces = is_mixed && claim.1 == so_far.1 && claim.0 != so_far.0;
        winner = Some(match stronger(so_far, claim) {
            _ if replaces && claim.0.charset() == so_far.0.charset() => {
                is_mixed = false;
                claim
            }
            Combined::Claim(claim) => {
                is_mixed &= claim == so_far;
                claim
            }
            Combined::Mixed(collation) => {
                (is_mixed, was_mixed) = (true, true);
                (collation, so_far.1)
            }
            Combined::Open => {
                is_open = true;
                (CollationId::BINARY, Coercibility::NoCollation)
            }
            Combined::Illegal => return None,
        });
    }
    let mut winner = winner.unwrap_or((CollationId::BINARY, Coercibility::Ignorable));
    if is_mixed {
        winner.1 = Coercibility::NoCollation;
    }
    let is_open = is_open && winner.1 != Coercibility::Explicit;
    let is_refused = match purpose {
        Purpose::Result => false,
        Purpose::Comparison => was_mixed || is_unsettled,
        Purpose::Column => was_mixed || are_all_mixed,
        Purpose::Pattern => was_mixed,
    };
    (!is_open && !is_refused).then_some(winner)
}

enum Combined {
    Claim(Claim),
    /// Two collations of one character set that bind alike.
    Mixed(CollationId),
    /// Neither character set holds the other.
    Open,
    /// Two explicit collations.
    Illegal,
}

fn stronger(left: Claim, right: Claim) -> Combined {
    let (left_charset, right_charset) = (left.0.charset(), right.0.charset());
    if left_charset == right_charset {
        return same_charset(left, right);
    }
    if left_charset == Charset::Binary {
        return Combined::Claim(if left.1 <= right.1 { left } else { right });
    }
    if right_charset == Charset::Binary {
        return Combined::Claim(if right.1 <= left.1 { right } else { left });
    }
    let yields = |weak: Claim, strong: Claim| {
        is_superset(strong, weak) || (strong.1 < weak.1 && weak.1 >= Coercibility::SystemConstant)
    };
    match () {
        () if is_superset(left, right) => Combined::Claim(left),
        () if is_superset(right, left) => Combined::Claim(right),
        () if yields(right, left) => Combined::Claim(left),
        () if yields(left, right) => Combined::Claim(right),
        () => Combined::Open,
    }
}

fn same_charset(left: Claim, right: Claim) -> Combined {
    if left.1 != right.1 {
        return Combined::Claim(if left.1 < right.1 { left } else { right });
    }
    if left.0 == right.0 {
        return Combined::Claim(left);
    }
    if left.1 == Coercibility::Explicit {
        return Combined::Illegal;
    }
    let is_binary = |claim: Claim| claim.0.name().ends_with("_bin");
    match () {
        () if is_binary(left) => Combined::Claim(left),
        () if is_binary(right) => Combined::Claim(right),
        () => Combined::Mixed(left.0.charset().binary_collation()),
    }
}

/// Whether texts of the weaker claim go into the character set of the stronger one without loss.
fn is_superset(strong: Claim, weak: Claim) -> bool {
    let (outer, inner) = (strong.0.charset(), weak.0.charset());
    let holds_more = outer == Charset::Utf8mb4 && inner == Charset::Utf8mb3;
    let is_stronger = strong.1 < weak.1;
    if outer.is_unicode() && (is_stronger || (strong.1 == weak.1 && (!inner.is_unicode() || holds_more))) {
        return true;
    }
    inner == Charset::Ascii && outer != Charset::Ascii && strong.1 <= weak.1
}

/// Whether every character of `inner` exists in `outer`.
fn holds(outer: Charset, inner: Charset) -> bool {
    outer == inner || outer.is_unicode() || inner == Charset::Ascii
}

/// Whether evaluating only reads a value.
fn is_read(expr: &Expr) -> bool {
    use ExprKind::{Column, Literal, Parameter, Slot, UserVariable};
    matches!(expr.kind, Column(_) | Literal(_) | Parameter(_) | Slot(_) | UserVariable(_))
}

pub(crate) fn illegal_mix<E: std::borrow::Borrow<Expr>>(operation: &str, exprs: &[E]) -> SqlError {
    let types = exprs.iter().map(|expr| &expr.borrow().ty);
    let shown: Vec<(&str, &str)> = types.map(|ty| (ty.collation().name(), ty.coercibility.word())).collect();
    match shown[..] {
        [a, b] => error_code::ER_CANT_AGGREGATE_2COLLATIONS.with(&[&a.0, &a.1, &b.0, &b.1, &operation]),
        [a, b, c] => {
            error_code::ER_CANT_AGGREGATE_3COLLATIONS.with(&[&a.0, &a.1, &b.0, &b.1, &c.0, &c.1, &operation])
        }
        _ => error_code::ER_CANT_AGGREGATE_NCOLLATIONS.with(&[&operation]),
    }
}

impl Coercibility {
    /// The word that error 1267 shows.
    fn word(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::NoCollation => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SystemConstant => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "NULL",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_the_manual() {
        use Coercibility::{Coercible, Explicit, Implicit, NoCollation};
        let ai_ci = CollationId::UTF8MB4_0900_AI_CI;
        let general = CollationId::UTF8MB4_GENERAL_CI;
        let bin = CollationId::UTF8MB4_BIN;
        let latin1 = CollationId::LATIN1_SWEDISH_CI;
        let result = |claims: &[Claim]| common_claim(claims.iter().copied(), Purpose::Result);
        let compared = |claims: &[Claim]| common_claim(claims.iter().copied(), Purpose::Comparison);
        assert_eq!(result(&[(latin1, Implicit), (ai_ci, Coercible)]), Some((latin1, Implicit)));
        assert_eq!(result(&[(latin1, Implicit), (ai_ci, Implicit)]), Some((ai_ci, Implicit)));
        assert_eq!(result(&[(bin, Implicit), (ai_ci, Implicit)]), Some((bin, Implicit)));
        assert_eq!(result(&[(bin, Explicit), (ai_ci, Explicit)]), None);
        assert_eq!(result(&[(ai_ci, Implicit), (general, Implicit)]), Some((bin, NoCollation)));
        assert_eq!(compared(&[(ai_ci, Implicit), (general, Implicit)]), None);
        assert_eq!(compared(&[(bin, NoCollation), (bin, Implicit)]), None);
        assert_eq!(compared(&[(bin, NoCollation), (latin1, Implicit)]), Some((latin1, Implicit)));
        let column = |claims: &[Claim]| common_claim(claims.iter().copied(), Purpose::Column);
        assert_eq!(column(&[(bin, NoCollation), (bin, Implicit)]), Some((bin, Implicit)));
        assert_eq!(column(&[(bin, NoCollation), (bin, NoCollation)]), None);
        assert_eq!(
            compared(&[(ai_ci, Implicit), (general, Implicit), (general, Explicit)]),
            Some((general, Explicit))
        );
        assert_eq!(result(&[(ai_ci, Implicit), (CollationId::BINARY, Coercible)]), Some((ai_ci, Implicit)));
    }
}
