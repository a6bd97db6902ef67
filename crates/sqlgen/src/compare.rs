//! The queries of one seed on both servers, and the smallest one that differs.
use mysql::Conn;

use crate::answer::{Answer, run};
use crate::expression::Expression;
use crate::random::Random;
use crate::table::Table;

/// A query that two servers answer differently.
#[derive(Clone, Debug)]
pub struct Difference {
    pub seed: u64,
    /// What makes the table.
    pub statements: Vec<String>,
    pub query: String,
    /// The part of the query that was cut down.
    pub expression: String,
    pub reference: Answer,
    pub tested: Answer,
}

/// Queries for each table.
pub const QUERIES: usize = 100;
const DEPTH: usize = 2;

/// Runs all queries of a seed; the differences are cut down.
pub fn compare_seed(seed: u64, reference: &mut Conn, tested: &mut Conn) -> Vec<Difference> {
    let mut random = Random::new(seed);
    let table = Table::new(&mut random);
    for statement in &table.statements {
        let answers = (run(reference, statement), run(tested, statement));
        if answers.0 != answers.1 {
            return vec![Difference {
                seed,
                statements: table.statements.clone(),
                query: statement.clone(),
                expression: statement.clone(),
                reference: answers.0,
                tested: answers.1,
            }];
        }
    }
    let mut differences = Vec::new();
    for _ in 0..QUERIES {
        let shape = *random.pick(SHAPES);
        let expression = match shape.is_condition {
            true => Expression::condition(&mut random, &table.columns, DEPTH),
            false => Expression::value(&mut random, &table.columns, DEPTH),
        };
        let mut ask = |expression: &Expression| {
            let query = shape.text.replace("{}", &expression.sql());
            let answers = (run(reference, &query), run(tested, &query));
            (answers.0 != answers.1).then_some((query, answers))
        };
        let Some((mut query, mut answers)) = ask(&expression) else { continue };
        let mut smallest = expression;
        while let Some((smaller, found)) =
            smallest.smaller().into_iter().find_map(|smaller| ask(&smaller).map(|found| (smaller, found)))
        {
            smallest = smaller;
            (query, answers) = found;
        }
        let statements = table.statements.clone();
        let expression = smallest.sql();
        let (reference, tested) = answers;
        differences.push(Difference { seed, statements, query, expression, reference, tested });
    }
    differences
}

#[derive(Clone, Copy)]
struct Shape {
    text: &'static str,
    is_condition: bool,
}

const SHAPES: &[Shape] = &[
    Shape { text: "SELECT id, {} FROM t", is_condition: false },
    Shape { text: "SELECT id FROM t WHERE {}", is_condition: true },
    Shape {
        text: "SELECT t.id, u.id FROM t JOIN (SELECT id FROM t WHERE {}) u ON t.id = u.id",
        is_condition: true,
    },
    Shape { text: "SELECT {} v, COUNT(*) FROM t GROUP BY v", is_condition: false },
    Shape { text: "SELECT MAX({}) FROM t", is_condition: false },
    Shape { text: "SELECT v, HEX(v) FROM (SELECT {} v FROM t UNION ALL SELECT 'u') d", is_condition: false },
    Shape { text: "SELECT DISTINCT {} FROM t", is_condition: false },
];
