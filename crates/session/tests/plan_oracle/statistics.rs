//! Statistics that have nothing to do with the rows: they guide the planner and decide nothing else.
use crate::random::Random;
use instance::Instance;
use std::sync::Arc;
use table::{IndexStatistics, Statistics};

/// Tells the planner something of the table that is not so.
pub fn distort(server: &Arc<Instance>, database: &str, table: &str, random: &mut Random) {
    let handle = server.catalog().table(database, table).expect("the table is there");
    let Some(ready) = handle.if_ready() else { return };
    let any = |random: &mut Random| [0, 1, 3, 20, 200, 3_000, 100_000, 5_000_000][random.below(8) as usize];
    let rows = any(random);
    let mut indexes = Vec::new();
    for index in &handle.definition().indexes {
        let mut distinct = Vec::new();
        for _ in &index.parts {
            let before = distinct.last().copied().unwrap_or(1);
            distinct.push(any(random).clamp(before, rows.max(before)));
        }
        indexes.push(IndexStatistics {
            tree: index.tree,
            distinct,
            leaves: 1 + rows / 50,
            overflow_pages: 0,
            sampled: 20,
        });
    }
    let statistics = Statistics { rows, made_at: 1, indexes, columns: Vec::new() };
    handle.statistics().replace(Arc::new(statistics));
    ready.set_estimated_rows(rows);
}
