//! Which collation wins when texts meet, by the rules of MySQL's manual, "Collation Coercibility in Expressions".
//!
//! Callers: comparison, CASE and the text functions, while a statement is bound.
use collation::{Charset, CollationId};
use datum::{ColumnType, SqlError, error_code};

use crate::build::BindContext;
use crate::expr::{Coercibility, Expr};

type Claim = (CollationId, Coercibility);

impl BindContext {
    /// The common collation of text operands, which are converted to its character set where theirs differs.
    /// `operation` names the function or operator in errors 1267, 1270 and 1271.
    pub(crate) fn aggregate_collations(
        &self,
        operation: &str,
        exprs: &mut [Expr],
    ) -> Result<Claim, SqlError> {
        let mut winner: Option<Claim> = None;
        for expr in exprs.iter() {
            let claim = (expr.ty.collation(), expr.ty.coercibility);
            if claim.1 == Coercibility::Ignorable {
                continue;
            }
            winner = Some(match winner {
                None => claim,
                Some(winner) => stronger(winner, claim).ok_or_else(|| illegal_mix(operation, exprs))?,
            });
        }
        let (collation, coercibility) =
            winner.unwrap_or((self.connection_collation, Coercibility::Ignorable));
        for expr in exprs.iter_mut() {
            let own = expr.ty.collation().charset();
            let convertible = own != Charset::Binary && collation.charset() != Charset::Binary;
            if own != collation.charset() && convertible {
                let coercibility = expr.ty.coercibility;
                let target = ColumnType { collation, ..expr.ty.column.clone() };
                *expr = self.convert(std::mem::replace(expr, Expr::null()), target)?;
                expr.ty.coercibility = coercibility;
            }
        }
        Ok((collation, coercibility))
    }
}

/// The claim that wins, or `None` when neither may.
fn stronger(left: Claim, right: Claim) -> Option<Claim> {
    let (weak, strong) = if left.1 < right.1 { (right, left) } else { (left, right) };
    if left.0 == right.0 {
        return Some(strong);
    }
    let binary = |claim: &Claim| claim.0 == CollationId::BINARY;
    if strong.1 < weak.1 {
        // A weaker text is converted, unless it is stored text that the winner's character set cannot hold.
        let loses_characters =
            weak.1 <= Coercibility::Implicit && !holds(strong.0.charset(), weak.0.charset());
        if binary(&weak) && strong.1 != Coercibility::Explicit {
            return Some(weak);
        }
        return if loses_characters { None } else { Some(strong) };
    }
    if strong.1 == Coercibility::Explicit {
        return None;
    }
    if binary(&strong) || binary(&weak) {
        return Some((CollationId::BINARY, strong.1));
    }
    match (strong.0.charset(), weak.0.charset()) {
        (a, b) if a == b => {
            let bin = a.binary_collation();
            (strong.0 == bin || weak.0 == bin).then_some((bin, strong.1))
        }
        (a, b) if holds(a, b) => Some(strong),
        (a, b) if holds(b, a) => Some(weak),
        _ => None,
    }
}

/// Whether every character of `inner` exists in `outer`.
fn holds(outer: Charset, inner: Charset) -> bool {
    use Charset::{Ascii, Binary, Utf8mb3, Utf8mb4};
    outer == inner
        || matches!((outer, inner), (Utf8mb4, _) | (Binary, _) | (_, Ascii))
        || (outer == Utf8mb3 && inner != Utf8mb4)
}

fn illegal_mix(operation: &str, exprs: &[Expr]) -> SqlError {
    let shown: Vec<(&str, &str)> =
        exprs.iter().map(|expr| (expr.ty.collation().name(), expr.ty.coercibility.word())).collect();
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
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_the_manual() {
        use Coercibility::{Coercible, Explicit, Implicit};
        let ai_ci = CollationId::UTF8MB4_0900_AI_CI;
        let bin = CollationId::UTF8MB4_BIN;
        let latin1 = CollationId::LATIN1_SWEDISH_CI;
        assert_eq!(stronger((latin1, Implicit), (ai_ci, Coercible)), Some((latin1, Implicit)));
        assert_eq!(stronger((latin1, Implicit), (ai_ci, Implicit)), Some((ai_ci, Implicit)));
        assert_eq!(stronger((bin, Implicit), (ai_ci, Implicit)), Some((bin, Implicit)));
        assert_eq!(stronger((bin, Explicit), (ai_ci, Explicit)), None);
        assert_eq!(stronger((ai_ci, Implicit), (CollationId::UTF8MB4_GENERAL_CI, Implicit)), None);
        assert_eq!(
            stronger((ai_ci, Implicit), (CollationId::BINARY, Coercible)),
            Some((CollationId::BINARY, Coercible))
        );
    }
}
