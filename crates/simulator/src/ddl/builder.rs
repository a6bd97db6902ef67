//! A third session, which changes the tables whose rows another one changes: indexes are built and tables are copied beside
//! writers, with crashes at every moment of it.
//!
//! What it leaves is no part of the states that are compared (`without_builds`); whether indexes and rows agree is the
//! structure's check.

use super::server::Client;
use crate::ddl::databases::ROWS_DATABASE;
use env::Env;
use instance::Instance;
use std::cell::Cell;
use std::sync::Arc;

/// Part of every name that it gives.
const MARK: &str = "beside";
/// What a definition says of the key whose order it changes.
const KEY: &str = "PRIMARY KEY (";
/// Between two statements, so that tables come into being.
const PAUSE_US: u64 = 2_000;

const CHANGES: [&str; 24] = [
    "ALTER TABLE @.x ADD INDEX beside (a, id), ALGORITHM=INPLACE, LOCK=NONE",
    "ALTER TABLE @.y FORCE, LOCK=NONE",
    "ALTER TABLE @.x ADD COLUMN beside_c INT DEFAULT 3 INVISIBLE",
    "ALTER TABLE @.y ADD UNIQUE INDEX beside (b(20), id)",
    "ALTER TABLE @.x MODIFY beside_c BIGINT INVISIBLE",
    "ALTER TABLE @.x DROP INDEX beside, ADD INDEX beside_2 (beside_c, b)",
    "ALTER TABLE @.y DROP PRIMARY KEY, ADD PRIMARY KEY (id DESC), LOCK=NONE",
    "ALTER TABLE @.x DROP PRIMARY KEY, ADD PRIMARY KEY (id DESC), MODIFY beside_c VARCHAR(9) INVISIBLE",
    "ALTER TABLE @.y ADD COLUMN beside_v BIGINT AS (a + 1) VIRTUAL INVISIBLE, LOCK=NONE",
    "ALTER TABLE @.x ADD CONSTRAINT beside_f FOREIGN KEY (a) REFERENCES @.beside_parents (id)",
    "ALTER TABLE @.y ADD CONSTRAINT beside_k CHECK (a BETWEEN 0 AND 400), ADD CONSTRAINT beside_l CHECK (id >= 0)",
    "OPTIMIZE TABLE @.x",
    "ALTER TABLE @.y ADD CONSTRAINT beside_f2 FOREIGN KEY (a) REFERENCES @.beside_parents (id)",
    "ALTER TABLE @.x DROP FOREIGN KEY beside_f, ADD CONSTRAINT beside_m CHECK (b <> '')",
    "ALTER TABLE @.y ADD INDEX beside_3 (beside_v, b(9)), ALGORITHM=INPLACE, LOCK=NONE",
    "ALTER TABLE @.y DROP INDEX beside, ADD INDEX beside_2 (b), FORCE",
    "ALTER TABLE @.x DROP INDEX beside_2",
    "ALTER TABLE @.x DROP COLUMN beside_c",
    "ALTER TABLE @.y DROP CHECK beside_k, DROP CHECK beside_l, DROP FOREIGN KEY beside_f2",
    "ALTER TABLE @.x DROP CHECK beside_m",
    "ALTER TABLE @.y DROP INDEX beside_3, DROP COLUMN beside_v, ALGORITHM=INSTANT",
    "ALTER TABLE @.x DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
    "ALTER TABLE @.y DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
    "ALTER TABLE @.y DROP INDEX beside_2",
];

/// What a change is refused with when an earlier one did not find its table.
const EXPECTED: [&str; 6] = [
    "Unknown database",
    "Unknown column",
    "Failed to open the referenced table",
    "doesn't exist",
    "check that column/key exists",
    "is not found in the table",
];

/// Changes definitions until the others are done, at most `count` times, beginning with the change that `first` says.
pub async fn build_beside(
    env: &Env,
    server: &Arc<Instance>,
    (first, count): (usize, usize),
    done: &Cell<bool>,
) -> Result<(), String> {
    let mut client = Client::connect(server);
    for change in CHANGES.iter().cycle().skip(first % CHANGES.len()).take(count) {
        if done.get() {
            break;
        }
        let text = change.replace('@', ROWS_DATABASE);
        let answer = client.query(&text).await;
        if answer.is_error && !EXPECTED.iter().any(|expected| answer.end.contains(expected)) {
            return Err(format!("{text}: {}", answer.end));
        }
        env.clock.sleep(PAUSE_US).await;
    }
    Ok(())
}

/// A line of a state as it would be without such changes; `None`: it would not be there.
pub fn without_builds(line: &str) -> Option<String> {
    let stays = |part: &&str| !part.contains(MARK) && !part.contains(KEY);
    let kept: Vec<&str> = line.lines().filter(stays).map(|part| part.trim_end_matches(',')).collect();
    (!kept.is_empty()).then(|| kept.join("\n"))
}
