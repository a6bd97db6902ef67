//! Statements that need temporary files, and how these fail and fill up.
//!
//! Invariant: each unit is one statement. One that its files fail has done nothing and succeeds when it is asked again: the
//! faults do not last. Called by the rehearsal for the texts and by the performance for the faults.

use super::statements::Texts;
use crate::ddl::databases::SPILLS_DATABASE as S;
use env::sim::{Fault, FaultEffect, SeededRandom};
use env::{IoErrorKind, IoOp};
use instance::Instance;
use std::sync::Arc;

/// So little memory that a few hundred rows do not fit.
pub const SETTINGS: &str = "SET sort_buffer_size = 32768, tmp_table_size = 1024, join_buffer_size = 128";
/// More than faults of one seed.
pub const ATTEMPTS_MAX: usize = 6;
/// Statements for each change of definitions: they write more.
const UNITS_ONE_IN: usize = 3;
const ROWS: usize = 240;
const FAULTS: usize = 3;

/// What the session asks, `units` being the number of changes of definitions.
pub fn texts(random: &SeededRandom, units: usize) -> Vec<Texts> {
    let rows = (0..ROWS).map(|id| format!("({id}, {}, REPEAT('{:03}', 60))", id % 23, id * 7 % ROWS));
    let rows = rows.collect::<Vec<_>>().join(", ");
    let first = [
        format!("CREATE DATABASE {S}"),
        format!("CREATE TABLE {S}.r (id INT PRIMARY KEY, a INT, b VARCHAR(200))"),
        format!("REPLACE INTO {S}.r VALUES {rows}"),
    ];
    let later = (0..(units / UNITS_ONE_IN).max(2)).map(|number| statement(random, number));
    first.into_iter().chain(later).map(|text| vec![text]).collect()
}

fn statement(random: &SeededRandom, number: usize) -> String {
    let bound = random.below(ROWS);
    match random.below(7) {
        0 => format!("SELECT id, a, LEFT(b, 6) FROM {S}.r ORDER BY b DESC, id"),
        1 => format!("SELECT LEFT(b, 6), COUNT(*), MAX(id) FROM {S}.r GROUP BY b ORDER BY b"),
        2 => format!("CREATE TABLE {S}.k{number} AS SELECT DISTINCT b, a FROM {S}.r"),
        3 => format!(
            "CREATE TABLE {S}.k{number} (KEY (b)) SELECT id, b FROM {S}.r ORDER BY b, id LIMIT {bound}"
        ),
        4 => format!("REPLACE INTO {S}.r SELECT MIN(id), {number}, b FROM {S}.r GROUP BY b"),
        5 => format!(
            "REPLACE INTO {S}.r SELECT /*+ HASH_JOIN(x, y) */ x.id + {bound}, y.a, x.b FROM {S}.r x JOIN {S}.r y ON x.b = y.b \
             ORDER BY x.b, x.id, y.id"
        ),
        _ => format!("UPDATE {S}.r SET a = a + 1 WHERE id > {bound} ORDER BY b DESC, id LIMIT 150"),
    }
}

/// Half of the seeds have temporary files that fail a few times, each in another way.
pub fn faults(seed: u64) -> Vec<Fault> {
    if !seed.is_multiple_of(2) {
        return Vec::new();
    }
    let random = SeededRandom::new(seed ^ 0x5b111);
    let fault = |_| {
        let op = [IoOp::Write, IoOp::Write, IoOp::Read, IoOp::Open][random.below(4)];
        let kind = [IoErrorKind::Os(5), IoErrorKind::NoSpace][random.below(2)];
        let effect = [FaultEffect::Error(kind), FaultEffect::Partial(kind)][random.below(2)];
        Fault {
            op: Some(op),
            path: "#evenkeel-temporary".into(),
            after: random.below(30) as u64,
            sticky: false,
            effect,
        }
    };
    (0..FAULTS).map(fault).collect()
}

/// A third of the seeds have little room for temporary files, until a statement has failed for it.
pub fn limit_space(server: &Arc<Instance>, seed: u64) {
    if seed.is_multiple_of(3) {
        server.temporary().set_limit(seed % 5 * 16_384);
    }
}

/// Whether a statement was answered that its temporary files fail.
pub fn is_failure(answer: &str) -> bool {
    ["ERROR 1114 ", "ERROR 1024 ", "ERROR 1026 "].iter().any(|start| answer.starts_with(start))
}
