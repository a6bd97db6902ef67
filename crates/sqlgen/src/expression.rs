//! Random expressions as trees of text, so that a part of one is one as well.
use mysql::Value;

use crate::random::Random;

/// A text with places for operands, written as `{}`.
#[derive(Clone, Debug)]
pub struct Expression {
    template: &'static str,
    /// What a leaf is: a column or literal; empty for others.
    leaf: String,
    pub operands: Vec<Expression>,
}

/// Values: their types depend on the operands'.
const VALUES: &[&str] = &[
    "({} + {})",
    "({} - {})",
    "({} * {})",
    "({} / {})",
    "({} DIV {})",
    "({} % {})",
    "(- {})",
    "({} & {})",
    "(~ {})",
    "IF({}, {}, {})",
    "IFNULL({}, {})",
    "NULLIF({}, {})",
    "COALESCE({}, {}, {})",
    "GREATEST({}, {})",
    "LEAST({}, {})",
    "CASE WHEN {} THEN {} ELSE {} END",
    "CASE {} WHEN {} THEN {} WHEN {} THEN {} END",
    "CONCAT({}, {})",
    "CONCAT_WS(',', {}, {})",
    "UPPER({})",
    "LEFT({}, 2)",
    "REPLACE({}, 'a', {})",
    "TRIM({})",
    "LPAD({}, 6, {})",
    "CAST({} AS CHAR)",
    "CAST({} AS CHAR(2))",
    "CAST({} AS BINARY)",
    "CAST({} AS BINARY(4))",
    "BINARY {}",
    "CAST({} AS SIGNED)",
    "CAST({} AS UNSIGNED)",
    "CAST({} AS DECIMAL(12,2))",
    "CAST({} AS DOUBLE)",
    "CAST({} AS DATE)",
    "CAST({} AS DATETIME(2))",
    "CAST({} AS TIME)",
    "ABS({})",
    "ROUND({})",
    "FLOOR({})",
    "LENGTH({})",
    "HEX({})",
    "LOCATE({}, {})",
    "FIELD({}, {}, {})",
    "STRCMP({}, {})",
    "({} = {})",
    "({} <=> {})",
    "({} COLLATE utf8mb4_bin)",
];

/// Conditions.
const CONDITIONS: &[&str] = &[
    "{} = {}",
    "{} <> {}",
    "{} < {}",
    "{} >= {}",
    "{} <=> {}",
    "{} IN ({}, {})",
    "{} NOT IN ({}, {})",
    "{} BETWEEN {} AND {}",
    "{} LIKE {}",
    "{} IS NULL",
    "({} = {}) AND ({} > {})",
    "({} < {}) OR ({} = {})",
    "NOT ({} = {})",
    "{} IN (SELECT {} FROM t x)",
    "{} NOT IN (SELECT {} FROM t x)",
    "{}",
];

const LITERALS: &[&str] = &[
    "0",
    "1",
    "-1",
    "10",
    "1.5",
    "2.50",
    "1e1",
    "9007199254740993",
    "18446744073709551615",
    "'a'",
    "'A'",
    "''",
    "'10'",
    "'1x'",
    "'2020-01-01'",
    "'2020-01-01 10:11:12.5'",
    "'10:11:12'",
    "x'41'",
    "DATE'2020-01-01'",
    "NULL",
    "TRUE",
    "TIME'10:11:12'",
    "_binary'a'",
    "20200101",
    "2020",
];

impl Expression {
    pub fn value(random: &mut Random, columns: &[String], depth: usize) -> Expression {
        if depth == 0 || random.one_in(3) {
            let leaf = match random.one_in(3) {
                true => (*random.pick(LITERALS)).to_owned(),
                false => random.pick(columns).clone(),
            };
            return Expression { template: "", leaf, operands: Vec::new() };
        }
        let template = random.pick(VALUES);
        Expression::of(template, random, columns, depth - 1)
    }

    pub fn condition(random: &mut Random, columns: &[String], depth: usize) -> Expression {
        let template = random.pick(CONDITIONS);
        Expression::of(template, random, columns, depth)
    }

    pub fn leaf(leaf: String) -> Expression {
        Expression { template: "", leaf, operands: Vec::new() }
    }

    /// A template with its operands; a place may tell what belongs there: `{K}`.
    pub fn node(template: &'static str, operands: Vec<Expression>) -> Expression {
        Expression { template, leaf: String::new(), operands }
    }

    fn of(template: &'static str, random: &mut Random, columns: &[String], depth: usize) -> Expression {
        let operands = (0..template.matches("{}").count()).map(|_| Expression::value(random, columns, depth));
        Expression { template, leaf: String::new(), operands: operands.collect() }
    }

    pub fn sql(&self) -> String {
        let mut sql = String::new();
        let mut rest = self.template;
        for operand in &self.operands {
            let Some((before, after)) = rest.split_once('{') else { break };
            sql.push_str(before);
            sql.push_str(&operand.sql());
            rest = after.split_once('}').map_or("", |(_, after)| after);
        }
        sql + rest + &self.leaf
    }

    /// The same with markers for numbers and texts, whose values are put into the list.
    pub fn marked(&self, values: &mut Vec<Value>) -> String {
        if self.template.is_empty() {
            let Some(value) = marked_value(&self.leaf) else { return self.leaf.clone() };
            values.push(value);
            return "?".to_owned();
        }
        let mut sql = String::new();
        let mut rest = self.template;
        for operand in &self.operands {
            let Some((before, after)) = rest.split_once('{') else { break };
            sql.push_str(before);
            sql.push_str(&operand.marked(values));
            rest = after.split_once('}').map_or("", |(_, after)| after);
        }
        sql + rest
    }

    /// The same with one operand replaced by one of its own operands: each is smaller.
    pub fn smaller(&self) -> Vec<Expression> {
        let mut all = Vec::new();
        for (place, operand) in self.operands.iter().enumerate() {
            let candidates = operand.operands.iter().cloned().chain(operand.smaller());
            all.extend(candidates.map(|candidate| {
                let mut copy = self.clone();
                copy.operands[place] = candidate;
                copy
            }));
        }
        all
    }
}

fn marked_value(literal: &str) -> Option<Value> {
    if let Ok(number) = literal.parse::<i64>() {
        return Some(Value::Int(number));
    }
    let text = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(Value::Bytes(text.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_expression_are_smaller() {
        let columns = vec!["c0".to_owned(), "c1".to_owned()];
        let mut random = Random::new(3);
        for _ in 0..200 {
            let expression = Expression::condition(&mut random, &columns, 2);
            assert!(!expression.sql().contains("{}"), "{}", expression.sql());
            let shorter = expression.smaller();
            assert!(shorter.iter().all(|part| !part.sql().contains("{}")));
        }
    }
}
