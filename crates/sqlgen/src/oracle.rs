//! What one server has to agree with itself about: the rows where a condition is true, false and NULL are all rows, and
//! indexes change none of them.
use mysql::Conn;

use crate::answer::{Answer, run};
use crate::expression::Expression;
use crate::random::Random;
use crate::table::Table;

/// Conditions for each table.
const CONDITIONS: usize = 100;
const DEPTH: usize = 2;

/// A condition that a server contradicts itself about.
#[derive(Clone, Debug)]
pub struct Contradiction {
    pub seed: u64,
    pub table: String,
    pub condition: String,
    pub problem: &'static str,
}

/// Asks the conditions of a seed; gives the contradictions and how many conditions had an answer.
pub fn check_seed(seed: u64, tested: &mut Conn) -> (Vec<Contradiction>, usize) {
    let mut random = Random::new(seed);
    let table = Table::new(&mut random);
    for statement in &table.statements {
        run(tested, statement);
    }
    let (mut found, mut count) = (Vec::new(), 0);
    for _ in 0..CONDITIONS {
        let condition = Expression::condition(&mut random, &table.columns, DEPTH);
        let Some(problem) = contradiction(&condition.sql(), tested) else { continue };
        count += 1;
        let Some(problem) = problem else { continue };
        let mut smallest = condition;
        while let Some(smaller) = smallest
            .smaller()
            .into_iter()
            .find(|smaller| contradiction(&smaller.sql(), tested).flatten().is_some())
        {
            smallest = smaller;
        }
        let definition = table.statements.get(1).cloned().unwrap_or_default();
        found.push(Contradiction { seed, table: definition, condition: smallest.sql(), problem });
    }
    (found, count)
}

/// `None` for a condition that the server refuses.
fn contradiction(condition: &str, tested: &mut Conn) -> Option<Option<&'static str>> {
    let mut rows = |query: String| match run(tested, &query) {
        Answer::Rows { rows, .. } => Some(rows),
        _ => None,
    };
    let all = rows("SELECT id FROM t".to_owned())?;
    let kept = rows(format!("SELECT id FROM t WHERE {condition}"))?;
    let mut parts = kept.clone();
    parts.extend(rows(format!("SELECT id FROM t WHERE NOT ({condition})"))?);
    parts.extend(rows(format!("SELECT id FROM t WHERE ({condition}) IS NULL"))?);
    parts.sort();
    if parts != all {
        return Some(Some("true, false and NULL are not all rows"));
    }
    let unindexed = rows(format!("SELECT id FROM t USE INDEX () WHERE {condition}"))?;
    if unindexed != kept {
        return Some(Some("an index changes the rows"));
    }
    let joined = format!("SELECT t.id FROM t JOIN (SELECT id k FROM t) u ON t.id = u.k WHERE {condition}");
    (rows(joined)? != kept).then_some(Some("a join changes the rows")).or(Some(None))
}
