//! Random statements whose parts fit together: joins, subqueries, groups, set operations, windows, changes of rows.
//!
//! The values that meet are of one family of types, so that differences are of the statement and not of conversions, which
//! `expression` makes. Invariant: the rows of a statement do not depend on the order in which a server reads them. A change
//! of rows is followed by a look at the table and taken back. Called by `compare`.
use crate::expression::Expression;
use crate::random::Random;
use crate::table::{Family, Table};

/// What is asked: one statement, or a change that is looked at and rolled back.
#[derive(Clone, Debug)]
pub struct Statement {
    pub root: Expression,
    pub is_change: bool,
}

const COMPARISONS: &[&str] = &[
    "{} = {}",
    "{} <> {}",
    "{} < {}",
    "{} >= {}",
    "{} <=> {}",
    "{} IN ({}, {})",
    "{} NOT IN ({}, {})",
    "{} BETWEEN {} AND {}",
    "{} IS NULL",
    "{} IS NOT NULL",
    "({}, {}) = ({}, {})",
];

const CONNECTIVES: &[&str] =
    &["({} AND {})", "({} OR {})", "NOT ({})", "({} XOR {})", "({}) IS TRUE", "({}) IS NOT FALSE"];

const NUMBERS: &[&str] = &[
    "({} + {})",
    "({} - {})",
    "({} * {})",
    "({} / {})",
    "({} DIV {})",
    "ABS({})",
    "COALESCE({}, {})",
    "IFNULL({}, {})",
    "NULLIF({}, {})",
    "GREATEST({}, {})",
    "SIGN({})",
];
const TEXTS: &[&str] = &[
    "CONCAT({}, {})",
    "UPPER({})",
    "LEFT({}, 2)",
    "COALESCE({}, {})",
    "TRIM({})",
    "REPLACE({}, 'a', 'bb')",
    "SUBSTR({}, 2)",
    "REVERSE({})",
    "RPAD({}, 4, 'x')",
];
const MOMENTS: &[&str] =
    &["DATE_ADD({}, INTERVAL 1 DAY)", "COALESCE({}, {})", "DATE({})", "GREATEST({}, {})", "LAST_DAY({})"];
const DOCUMENTS: &[&str] = &[
    "JSON_EXTRACT({}, '$.a')",
    "JSON_EXTRACT({}, '$[0]')",
    "JSON_ARRAY({}, {})",
    "JSON_OBJECT('k', {})",
    "COALESCE({}, {})",
    "JSON_MERGE_PATCH({}, {})",
];

/// How tables are joined; the conditions are over what stands before them.
const JOINS: &[&str] = &[
    "t JOIN t u ON {}",
    "t LEFT JOIN t u ON {}",
    "t RIGHT JOIN t u ON {}",
    "t JOIN t u ON {} AND {}",
    "t LEFT JOIN (t u JOIN t w ON u.id = w.id) ON {}",
    "t LEFT JOIN (SELECT * FROM t x WHERE x.id > 1) u ON {}",
    "t, LATERAL (SELECT * FROM t x WHERE x.id <= t.id) u WHERE {}",
    "t JOIN t u USING (id) WHERE {}",
    "t LEFT JOIN t u ON {} LEFT JOIN t w ON w.id = u.id",
    "(SELECT DISTINCT * FROM t) t JOIN t u ON {}",
];

const AGGREGATES: &[&str] = &[
    "COUNT({})",
    "COUNT(DISTINCT {})",
    "MIN({})",
    "MAX({})",
    "SUM({})",
    "AVG({})",
    "BIT_XOR({})",
    "GROUP_CONCAT(DISTINCT LENGTH({}) ORDER BY 1)",
    "STD({})",
];

const WINDOWS: &[&str] = &[
    "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY id)",
    "RANK() OVER (ORDER BY {})",
    "DENSE_RANK() OVER (ORDER BY {} DESC)",
    "LAG({}) OVER (ORDER BY id)",
    "LEAD({}, 2) OVER (ORDER BY id DESC)",
    "FIRST_VALUE({}) OVER (PARTITION BY id % 2 ORDER BY id)",
    "LAST_VALUE({}) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "NTH_VALUE({}, 2) OVER (ORDER BY id)",
    "COUNT({}) OVER (ORDER BY id ROWS 2 PRECEDING)",
    "MAX({}) OVER (PARTITION BY id % 2)",
    "MIN({}) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "SUM({}) OVER (PARTITION BY id % 3 ORDER BY id)",
    "AVG({}) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "CUME_DIST() OVER (ORDER BY {})",
    "NTILE(2) OVER (PARTITION BY {} ORDER BY id)",
];

const CHANGES: &[&str] = &[
    "UPDATE t SET {K} = {} WHERE {C}",
    "UPDATE IGNORE t SET {K} = {} WHERE {C}",
    "UPDATE t SET {K} = {}, {K} = {} ORDER BY id LIMIT 3",
    "UPDATE t JOIN t u ON t.id = u.id + 1 SET t.{K} = {} WHERE {C}",
    "DELETE FROM t WHERE {C}",
    "DELETE FROM t WHERE {C} ORDER BY id LIMIT 2",
    "DELETE t FROM t JOIN (SELECT * FROM t) u ON t.id = u.id WHERE {C}",
    "INSERT INTO t (id, {K}) SELECT id + 10, {} FROM t WHERE {C}",
    "INSERT IGNORE INTO t (id, {K}) SELECT id + 3, {} FROM t ORDER BY id",
    "INSERT INTO t (id, {K}) VALUES (1, {L}), (20, {L}) ON DUPLICATE KEY UPDATE {K} = {}",
    "REPLACE INTO t (id, {K}) SELECT id + 2, {} FROM t ORDER BY id",
];

/// Which tables the parts may name.
type Names<'n> = &'n [&'n str];

/// Makes the statements of one table.
pub struct Maker<'m> {
    pub random: &'m mut Random,
    pub table: &'m Table,
}

impl Maker<'_> {
    pub fn statement(&mut self) -> Statement {
        let (root, is_change) = match self.random.below(8) {
            0 | 1 => (self.join(), false),
            2 => (self.groups(), false),
            3 => (self.set_operation(), false),
            4 => (self.windows(), false),
            5 => (self.ordered(), false),
            6 => (self.common_table(), false),
            _ => (self.change(), true),
        };
        Statement { root, is_change }
    }

    fn family(&mut self) -> Family {
        let families = &self.table.families;
        *self.random.pick(families)
    }

    /// A column of the family, or a literal where the table has none.
    fn column(&mut self, names: Names<'_>, family: Family) -> Expression {
        let table = self.table;
        let columns: Vec<&String> = table
            .columns
            .iter()
            .zip(&table.families)
            .filter(|(_, own)| **own == family)
            .map(|(column, _)| column)
            .collect();
        if columns.is_empty() {
            return self.literal(family);
        }
        let name = *self.random.pick(names);
        Expression::leaf(format!("{name}.{}", self.random.pick(&columns)))
    }

    fn literal(&mut self, family: Family) -> Expression {
        Expression::leaf((*self.random.pick(family.literals())).to_owned())
    }

    fn value(&mut self, names: Names<'_>, family: Family, depth: usize) -> Expression {
        if depth == 0 || self.random.one_in(2) {
            return match self.random.one_in(4) {
                true => self.literal(family),
                false => self.column(names, family),
            };
        }
        if self.random.one_in(8) {
            let parts = vec![
                self.condition(names, depth - 1),
                self.value(names, family, 0),
                self.value(names, family, 0),
            ];
            return Expression::node("CASE WHEN {} THEN {} ELSE {} END", parts);
        }
        if self.random.one_in(8) {
            let parts = vec![self.column(&["x"], family), self.column(names, family)];
            let template = "(SELECT MAX({}) FROM t x WHERE x.id < 3 OR {} IS NULL)";
            return Expression::node(template, parts);
        }
        let templates = match family {
            Family::Number => NUMBERS,
            Family::Text | Family::Bytes => TEXTS,
            Family::Moment => MOMENTS,
            Family::Document => DOCUMENTS,
            Family::Time => &["COALESCE({}, {})", "GREATEST({}, {})"],
        };
        let template = *self.random.pick(templates);
        self.fill(template, names, family, depth - 1)
    }

    /// One of the templates with its parts.
    fn among(&mut self, templates: &[&'static str], parts: Vec<Expression>) -> Expression {
        let template = *self.random.pick(templates);
        Expression::node(template, parts)
    }

    fn fill(&mut self, template: &'static str, names: Names<'_>, family: Family, depth: usize) -> Expression {
        let count = template.matches("{}").count();
        let parts = (0..count).map(|_| self.value(names, family, depth)).collect();
        Expression::node(template, parts)
    }

    fn condition(&mut self, names: Names<'_>, depth: usize) -> Expression {
        let family = self.family();
        match self.random.below(if depth == 0 { 4 } else { 9 }) {
            4 | 5 => {
                let template = *self.random.pick(CONNECTIVES);
                let count = template.matches("{}").count();
                let parts = (0..count).map(|_| self.condition(names, depth - 1)).collect();
                Expression::node(template, parts)
            }
            6 => {
                let parts = vec![
                    self.value(names, family, 0),
                    self.column(&["x"], family),
                    self.condition(&["x"], depth - 1),
                ];
                let templates = &[
                    "{} IN (SELECT {} FROM t x WHERE {})",
                    "{} NOT IN (SELECT {} FROM t x WHERE {})",
                    "{} > ALL (SELECT {} FROM t x WHERE {})",
                    "{} <= ANY (SELECT {} FROM t x WHERE {})",
                ];
                self.among(templates, parts)
            }
            7 => {
                let outer = names[0];
                let parts = vec![
                    self.column(&["x"], family),
                    self.column(&[outer], family),
                    self.condition(&["x"], depth - 1),
                ];
                let templates = &[
                    "EXISTS (SELECT 1 FROM t x WHERE {} = {} AND {})",
                    "NOT EXISTS (SELECT 1 FROM t x WHERE {} > {} OR {})",
                    "(SELECT COUNT(*) FROM t x WHERE {} = {} AND {}) > 1",
                ];
                self.among(templates, parts)
            }
            _ => {
                let template = *self.random.pick(COMPARISONS);
                self.fill(template, names, family, depth.min(1))
            }
        }
    }

    fn joined(&mut self) -> Expression {
        let template = *self.random.pick(JOINS);
        let count = template.matches("{}").count();
        let parts = (0..count).map(|_| self.condition(&["t", "u"], 1)).collect();
        Expression::node(template, parts)
    }

    fn join(&mut self) -> Expression {
        let family = self.family();
        let joined = self.joined();
        if joined.sql().contains(" WHERE ") {
            let parts = vec![self.value(&["t", "u"], family, 1), joined];
            return Expression::node("SELECT t.id, u.id AS uid, {} AS v FROM {}", parts);
        }
        let parts = vec![self.value(&["t", "u"], family, 1), joined, self.condition(&["t", "u"], 2)];
        Expression::node("SELECT t.id, u.id, {} FROM {} WHERE {}", parts)
    }

    /// Values of texts that are equal in their collation are told by the first of their rows.
    fn groups(&mut self) -> Expression {
        let (key, family) = (self.family(), self.family());
        let template = *self.random.pick(AGGREGATES);
        let call = |maker: &mut Self| maker.fill(template, &["t"], family, 1);
        let (aggregate, other) = (call(self), call(self));
        let grouped: &[&'static str] = &[
            "SELECT MIN(t.id), COUNT(*), {} FROM t WHERE {} GROUP BY {}",
            "SELECT MIN(t.id), COUNT(*), {} FROM t WHERE {} GROUP BY {} WITH ROLLUP",
            "SELECT MIN(t.id), {} a FROM t WHERE {} GROUP BY {} HAVING a IS NOT NULL",
            "SELECT COUNT(*), {} FROM t WHERE {} GROUP BY {}, t.id % 2 HAVING COUNT(*) > 0",
        ];
        if self.random.one_in(4) {
            let parts = vec![aggregate, other, self.condition(&["t"], 2)];
            return Expression::node("SELECT {}, {} FROM t WHERE {}", parts);
        }
        let parts = vec![aggregate, self.condition(&["t"], 1), self.value(&["t"], key, 1)];
        self.among(grouped, parts)
    }

    fn set_operation(&mut self) -> Expression {
        let family = self.family();
        let templates: &[&'static str] = &[
            "SELECT id, {} FROM t WHERE {} UNION SELECT id, {} FROM t u WHERE {}",
            "SELECT id, {} FROM t WHERE {} UNION ALL SELECT id, {} FROM t u WHERE {}",
            "SELECT id, {} FROM t WHERE {} EXCEPT SELECT id, {} FROM t u WHERE {}",
            "SELECT id, {} FROM t WHERE {} INTERSECT SELECT id, {} FROM t u WHERE {}",
            "SELECT id, {} FROM t WHERE {} EXCEPT ALL SELECT id, {} FROM t u WHERE {}",
            "SELECT MAX(i) FROM (SELECT id i, {} FROM t WHERE {} UNION SELECT id, {} FROM t u WHERE {}) d",
        ];
        let parts = vec![
            self.value(&["t"], family, 1),
            self.condition(&["t"], 1),
            self.value(&["u"], family, 1),
            self.condition(&["u"], 1),
        ];
        self.among(templates, parts)
    }

    fn windows(&mut self) -> Expression {
        let (first, second) = (self.family(), self.family());
        let (one, two) = (*self.random.pick(WINDOWS), *self.random.pick(WINDOWS));
        let parts = vec![
            self.fill(one, &["t"], first, 0),
            self.fill(two, &["t"], second, 1),
            self.condition(&["t"], 1),
        ];
        Expression::node("SELECT id, {}, {} FROM t WHERE {}", parts)
    }

    fn ordered(&mut self) -> Expression {
        let (family, key) = (self.family(), self.family());
        let templates = &[
            "SELECT id, {} FROM t WHERE {} ORDER BY {}, id LIMIT 3",
            "SELECT id, {} FROM t WHERE {} ORDER BY {} DESC, id LIMIT 2 OFFSET 1",
            "SELECT DISTINCT id, {} FROM t WHERE {} ORDER BY id, {} LIMIT 4",
            "SELECT id, {} FROM t WHERE {} AND id IN (SELECT id FROM (SELECT id FROM t ORDER BY {}, id LIMIT 3) d)",
        ];
        let parts = vec![self.value(&["t"], family, 2), self.condition(&["t"], 2), self.column(&["t"], key)];
        self.among(templates, parts)
    }

    fn common_table(&mut self) -> Expression {
        let family = self.family();
        let templates = &[
            "WITH q AS (SELECT id, {} v FROM t WHERE {}) SELECT a.id, b.id FROM q a JOIN q b ON a.v = b.v AND a.id <= b.id",
            "WITH q AS (SELECT id, {} v FROM t WHERE {}) SELECT a.id, (SELECT COUNT(*) FROM q b WHERE b.v <=> a.v) FROM q a",
            "SELECT t.id, d.v FROM t LEFT JOIN (SELECT id, {} v FROM t WHERE {}) d ON t.id = d.id",
            "SELECT d.n, COUNT(*) FROM (SELECT {} IS NULL n, id FROM t WHERE {}) d GROUP BY d.n",
            "WITH RECURSIVE q (n, v) AS (SELECT 0, {} FROM t WHERE id = 1 AND {} UNION ALL SELECT n + 1, v FROM q WHERE n < 3) SELECT * FROM q",
        ];
        let parts = vec![self.value(&["t"], family, 1), self.condition(&["t"], 1)];
        self.among(templates, parts)
    }

    /// The column that is written is part of the text, which is made for each table.
    fn change(&mut self) -> Expression {
        let template = *self.random.pick(CHANGES);
        let place = self.random.below(self.table.columns.len());
        let (column, family) = (self.table.columns[place].clone(), self.table.families[place]);
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            let (hole, length) = match &rest[at..at + 2] {
                "{}" => (self.value(&["t"], family, 1), 2),
                "{K" => (Expression::leaf(column.clone()), 3),
                "{L" => (self.literal(family), 3),
                _ => (self.condition(&["t"], 1), 3),
            };
            parts.push(hole);
            rest = &rest[at + length..];
        }
        Expression::node(template, parts)
    }
}
