//! Values that programs compute: of variables, tables and functions, some of them out of range or of another type.
use super::scope::{Kind, Scope};
use crate::random::Random;

pub fn of_kind(random: &mut Random, scope: &Scope, kind: Kind, depth: usize) -> String {
    match kind {
        Kind::Integer => integer(random, scope, depth),
        Kind::Text => text(random, scope, depth),
        Kind::Decimal => decimal(random, scope, depth),
    }
}

pub fn integer(random: &mut Random, scope: &Scope, depth: usize) -> String {
    if depth == 0 || random.one_in(3) {
        if let (false, Some(variable)) = (random.one_in(3), scope.variable(random, Kind::Integer)) {
            return variable.to_owned();
        }
        return (*random.pick(&["0", "1", "2", "3", "7", "-1", "100", "NULL", "2147483647", "'5'", "@u"]))
            .to_owned();
    }
    let inner = |random: &mut Random| integer(random, scope, depth - 1);
    match random.below(15) {
        0 => format!("({} + {})", inner(random), inner(random)),
        1 => format!("({} - {})", inner(random), inner(random)),
        2 => format!("({} * {})", inner(random), inner(random)),
        3 => format!("({} DIV {})", inner(random), inner(random)),
        4 => format!("({} % 3)", inner(random)),
        5 => format!("COALESCE({}, {})", inner(random), inner(random)),
        6 => format!("IF({}, {}, {})", condition(random, scope, depth - 1), inner(random), inner(random)),
        7 => format!("CHAR_LENGTH({})", text(random, scope, depth - 1)),
        8 => "(SELECT COUNT(*) FROM t)".to_owned(),
        9 => format!("(SELECT MAX(a) FROM t WHERE id < {})", inner(random)),
        10 => "ROW_COUNT()".to_owned(),
        11 | 12 if !scope.functions.is_empty() => {
            format!("{}({})", random.pick(&scope.functions), inner(random))
        }
        13 => text(random, scope, depth - 1),
        _ => format!("GREATEST({}, {})", inner(random), inner(random)),
    }
}

pub fn text(random: &mut Random, scope: &Scope, depth: usize) -> String {
    if depth == 0 || random.one_in(3) {
        if let (false, Some(variable)) = (random.one_in(3), scope.variable(random, Kind::Text)) {
            return variable.to_owned();
        }
        return (*random.pick(&["'a'", "'bcd'", "''", "'12'", "'x y z'", "NULL", "'longer than ten'"]))
            .to_owned();
    }
    match random.below(6) {
        0 => format!("CONCAT({}, {})", text(random, scope, depth - 1), integer(random, scope, depth - 1)),
        1 => format!("UPPER({})", text(random, scope, depth - 1)),
        2 => format!("LEFT({}, {})", text(random, scope, depth - 1), integer(random, scope, depth - 1)),
        3 => format!("COALESCE({}, '-')", text(random, scope, depth - 1)),
        4 => format!("(SELECT MIN(b) FROM t WHERE id > {})", integer(random, scope, depth - 1)),
        _ => format!("IF({}, {}, 'no')", condition(random, scope, depth - 1), text(random, scope, depth - 1)),
    }
}

fn decimal(random: &mut Random, scope: &Scope, depth: usize) -> String {
    if depth == 0 || random.one_in(3) {
        if let (false, Some(variable)) = (random.one_in(3), scope.variable(random, Kind::Decimal)) {
            return variable.to_owned();
        }
        return (*random.pick(&["1.5", "-2.25", "0.005", "99999.99", "NULL", "'1.234'"])).to_owned();
    }
    match random.below(4) {
        0 => format!("({} + {})", decimal(random, scope, depth - 1), integer(random, scope, depth - 1)),
        1 => format!("({} / {})", decimal(random, scope, depth - 1), integer(random, scope, depth - 1)),
        2 => format!("ROUND({}, 1)", decimal(random, scope, depth - 1)),
        _ => format!("(SELECT SUM(c) FROM t WHERE id <> {})", integer(random, scope, depth - 1)),
    }
}

pub fn condition(random: &mut Random, scope: &Scope, depth: usize) -> String {
    let shallow = depth.saturating_sub(1);
    let (left, right) = (integer(random, scope, shallow), integer(random, scope, shallow));
    match random.below(7) {
        0 => format!("{left} IS NULL"),
        1 => format!("{} LIKE '%a%'", text(random, scope, shallow)),
        2 => format!("EXISTS (SELECT 1 FROM t WHERE a = {left})"),
        3 if depth > 0 => {
            format!("({} OR {})", condition(random, scope, shallow), condition(random, scope, shallow))
        }
        4 => left,
        _ => format!("{left} {} {right}", random.pick(&["=", "<", ">=", "<>", "<=>"])),
    }
}
