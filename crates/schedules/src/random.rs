//! Random schedules from a seed: two or three sessions over one small table with every kind of key, so that they meet.
//!
//! Statements name their index where a cost model would have a choice, since an access path decides what is locked.

use crate::schedule::{Action, Schedule, Step, level};

/// SplitMix64: the same numbers for the same seed on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, u INT, k INT, v INT, UNIQUE KEY u (u), KEY k (k))";
const ROWS: &str = "INSERT INTO t VALUES (10, 10, 10, 1), (20, 20, 10, 2), (30, 30, 20, 3), (40, 40, 30, 4)";
const LEVELS: [&str; 4] = ["RU", "RC", "RR", "S"];

/// The schedule of a seed.
pub fn random_schedule(seed: u64) -> Schedule {
    let mut random = Random(seed);
    let mut schedule = Schedule {
        name: format!("random {seed}"),
        setup: vec![TABLE.to_owned(), ROWS.to_owned()],
        ..Schedule::default()
    };
    let levels = if random.one_in(4) { None } else { Some(random.pick(&LEVELS)) };
    let sessions = if random.one_in(3) { 3 } else { 2 };
    let mut left: Vec<(usize, Vec<String>)> = (1..=sessions)
        .map(|session| {
            let level = levels.unwrap_or_else(|| random.pick(&LEVELS));
            (session, session_steps(&mut random, level))
        })
        .collect();
    while !left.is_empty() {
        let index = random.below(left.len() as u64) as usize;
        let (session, steps) = &mut left[index];
        schedule.steps.push(Step { session: *session, action: Action::Query(steps.remove(0)) });
        if steps.is_empty() {
            left.remove(index);
        }
    }
    schedule
}

/// What one session does: a transaction or two, or statements of their own.
fn session_steps(random: &mut Random, short_level: &str) -> Vec<String> {
    let level = level(short_level).expect("a known level");
    let mut steps = vec![format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")];
    let has_transaction = !random.one_in(5);
    if has_transaction {
        steps.push("BEGIN".to_owned());
    }
    let mut has_savepoint = false;
    for _ in 0..2 + random.below(3) {
        if has_transaction && random.one_in(12) {
            steps.push(if has_savepoint { "ROLLBACK TO p" } else { "SAVEPOINT p" }.to_owned());
            has_savepoint = true;
        } else {
            steps.push(statement(random));
        }
    }
    if has_transaction {
        steps.push(if random.one_in(4) { "ROLLBACK" } else { "COMMIT" }.to_owned());
    }
    steps
}

fn statement(random: &mut Random) -> String {
    match random.below(12) {
        0 | 1 => format!("SELECT * FROM t{} ORDER BY id", condition(random)),
        2..=4 => {
            let lock = random.pick(&["FOR UPDATE", "FOR UPDATE", "FOR SHARE", "FOR SHARE"]);
            let how = random.pick(&["", "", "", "", " NOWAIT", " SKIP LOCKED"]);
            format!("SELECT * FROM t{} {lock}{how}", condition(random))
        }
        5 | 6 => {
            let change = change(random);
            let condition = condition(random);
            match condition.split_once(" WHERE ") {
                Some((index, condition)) => format!("UPDATE t{index} SET {change} WHERE {condition}"),
                None => format!("UPDATE t SET {change}"),
            }
        }
        7 | 8 => {
            let condition = condition(random);
            match condition.strip_prefix(" WHERE ") {
                Some(plain) => format!("DELETE FROM t WHERE {plain}"),
                None => format!("DELETE t FROM t{condition}"),
            }
        }
        9 => format!("INSERT INTO t VALUES ({})", row(random)),
        10 => format!("REPLACE INTO t VALUES ({})", row(random)),
        _ => match random.below(3) {
            0 => format!("INSERT IGNORE INTO t VALUES ({})", row(random)),
            _ => format!("INSERT INTO t VALUES ({}) ON DUPLICATE KEY UPDATE {}", row(random), change(random)),
        },
    }
}

fn row(random: &mut Random) -> String {
    let keys = [5, 10, 15, 20, 25, 30, 35, 40, 45];
    let id = random.pick(&keys);
    // Mostly the unique value that belongs to the id, sometimes one that belongs to another.
    let unique = if random.one_in(3) { random.pick(&keys) } else { id };
    format!("{id}, {unique}, {}, 9", random.pick(&[5, 10, 15, 20, 25, 30, 35]))
}

fn change(random: &mut Random) -> String {
    match random.below(6) {
        0 => format!("k = {}", random.pick(&[5, 10, 20, 25, 30])),
        1 => format!("u = {}", random.pick(&[5, 10, 20, 25, 30, 45])),
        2 => "v = 7".to_owned(),
        _ => "v = v + 10".to_owned(),
    }
}

/// ` WHERE ..` with a forced index where there is a choice.
fn condition(random: &mut Random) -> String {
    let key = random.pick(&[10, 20, 20, 30, 40, 15, 25, 45]);
    let second = random.pick(&[10, 10, 20, 20, 30, 15, 25]);
    let high = key + random.pick(&[5, 10, 15]);
    match random.below(16) {
        0..=4 => format!(" WHERE id = {key}"),
        5 | 6 => format!(" WHERE u = {key}"),
        7 | 8 => format!(" FORCE INDEX (k) WHERE k = {second}"),
        9 => format!(" FORCE INDEX (PRIMARY) WHERE id BETWEEN {key} AND {high}"),
        10 => format!(" FORCE INDEX (PRIMARY) WHERE id > {key}"),
        11 => format!(" FORCE INDEX (PRIMARY) WHERE id < {key}"),
        12 => format!(" FORCE INDEX (u) WHERE u > {key}"),
        13 => format!(" FORCE INDEX (k) WHERE k >= {second}"),
        14 => format!(" WHERE v = {}", 1 + random.below(4)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_schedule() {
        assert_eq!(random_schedule(7), random_schedule(7));
        assert_ne!(random_schedule(7).steps, random_schedule(8).steps);
        for seed in 0..200 {
            let schedule = random_schedule(seed);
            assert!((2..=3).contains(&schedule.session_count()), "seed {seed}");
        }
    }
}
