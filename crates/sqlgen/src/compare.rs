//! The queries of one seed on both servers, and the smallest one that differs.
use mysql::Conn;

use crate::answer::{Answer, run, run_change, run_prepared};
use crate::expression::Expression;
use crate::random::Random;
use crate::statement::Maker;
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

const SQL_MODES: &[&str] =
    &["DEFAULT", "DEFAULT", "''", "'NO_ZERO_DATE'", "'ONLY_FULL_GROUP_BY,PAD_CHAR_TO_FULL_LENGTH'"];

/// The table of a seed, and what sets the SQL mode that its queries are asked in.
pub fn begin(random: &mut Random) -> (Table, String) {
    let table = Table::new(random);
    let mode = format!("SET sql_mode = {}", random.pick(SQL_MODES));
    (table, mode)
}

/// Runs all queries of a seed; the differences are cut down.
pub fn compare_seed(seed: u64, reference: &mut Conn, tested: &mut Conn) -> Vec<Difference> {
    let mut random = Random::new(seed);
    let (table, mode) = begin(&mut random);
    for statement in std::iter::once(&mode).chain(&table.statements) {
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
    for number in 0..QUERIES {
        let question = Question::new(number, &mut random, &table);
        let Some((mut query, mut answers)) = question.ask(&question.root, reference, tested) else {
            continue;
        };
        let mut smallest = question.root.clone();
        while let Some((smaller, found)) = smallest
            .smaller()
            .into_iter()
            .find_map(|smaller| question.ask(&smaller, reference, tested).map(|found| (smaller, found)))
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

/// How a statement is sent.
#[derive(Clone, Copy)]
enum Way {
    Text,
    Prepared,
    Change,
}

/// What is asked, so that smaller parts of it can be asked the same way.
struct Question {
    root: Expression,
    /// The query around an expression; a whole statement stands alone.
    around: &'static str,
    way: Way,
}

type Answers = (Answer, Answer);

impl Question {
    /// Every second one is a whole statement, of these every second one is prepared.
    fn new(number: usize, random: &mut Random, table: &Table) -> Question {
        if number.is_multiple_of(2) {
            let statement = Maker { random, table }.statement();
            let way = match statement.is_change {
                true => Way::Change,
                false if number.is_multiple_of(4) => Way::Prepared,
                false => Way::Text,
            };
            return Question { root: statement.root, around: "{}", way };
        }
        let shape = *random.pick(SHAPES);
        let root = match shape.is_condition {
            true => Expression::condition(random, &table.columns, DEPTH),
            false => Expression::value(random, &table.columns, DEPTH),
        };
        Question { root, around: shape.text, way: Way::Text }
    }

    /// The statement and both answers, if they differ.
    fn ask(&self, root: &Expression, reference: &mut Conn, tested: &mut Conn) -> Option<(String, Answers)> {
        let query = self.around.replace("{}", &root.sql());
        let answers = match self.way {
            Way::Text => (run(reference, &query), run(tested, &query)),
            Way::Change => (run_change(reference, &query), run_change(tested, &query)),
            Way::Prepared => {
                let mut values = Vec::new();
                let marked = self.around.replace("{}", &root.marked(&mut values));
                (run_prepared(reference, &marked, &values), run_prepared(tested, &marked, &values))
            }
        };
        (answers.0 != answers.1).then_some((query, answers))
    }
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
