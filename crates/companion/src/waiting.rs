//! Who waits for whom: rows by the engine's tables, metadata locks by performance_schema, and where a server tells only
//! that a session waits, who can be meant.
//!
//! Invariant: a holder that is concluded and not told is shown with a question mark. Nothing is asked beyond one short
//! question as long as nobody waits. Used by `live`.

use std::collections::BTreeMap;

use client::Answer;
use recording::Sampler;

use crate::session::Session;
use crate::tables::{Table, one_line};

/// At most so many holders are named.
const NAMED_MAX: usize = 3;

const ROW_WAITS: [&str; 3] = [
    "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, r.trx_wait_started, NOW()), \
     COALESCE(r.trx_query, '') FROM performance_schema.data_lock_waits w \
     JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id \
     JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id LIMIT 1000",
    "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, r.trx_wait_started, NOW()), \
     COALESCE(r.trx_query, '') FROM information_schema.innodb_lock_waits w \
     JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id \
     JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id LIMIT 1000",
    "SELECT waiting_pid, blocking_pid, wait_age_secs, COALESCE(waiting_query, '') FROM sys.innodb_lock_waits LIMIT 1000",
];
/// Who waits for a row, where no table tells for whom.
const ROW_WAITERS: &str = "SELECT trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_wait_started, NOW()), \
    COALESCE(trx_query, '') FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' LIMIT 1000";
/// Whoever holds something is among them, the oldest first.
const TRANSACTIONS: &str = "SELECT trx_mysql_thread_id, trx_rows_locked FROM information_schema.innodb_trx \
    WHERE trx_state <> 'LOCK WAIT' ORDER BY trx_started LIMIT 1000";
/// Every lock on what somebody waits for.
const METADATA_LOCKS: &str = "SELECT l.object_type, CONCAT_WS('.', l.object_schema, l.object_name), l.lock_type, \
    l.lock_status, t.processlist_id FROM performance_schema.metadata_locks l \
    JOIN performance_schema.threads t ON t.thread_id = l.owner_thread_id \
    WHERE t.processlist_id IS NOT NULL AND EXISTS (SELECT 1 FROM performance_schema.metadata_locks w \
    WHERE w.lock_status = 'PENDING' AND w.object_type = l.object_type AND w.object_schema <=> l.object_schema \
    AND w.object_name <=> l.object_name) LIMIT 5000";

/// One session that waits.
#[derive(Debug, Clone, PartialEq)]
struct Wait {
    session: i64,
    holders: Vec<i64>,
    /// False: they are who can be meant.
    is_told: bool,
    seconds: f64,
    what: String,
    text: String,
}

/// A metadata lock, held or waited for.
#[derive(Debug, Clone)]
struct Lock {
    on: (String, String),
    kind: String,
    is_granted: bool,
    session: i64,
}

/// What a server can tell of waits.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The question about rows that it answers.
    rows: Option<&'static str>,
    /// Whether the account may see any of it.
    is_told: bool,
}

async fn ask(sampler: &mut Sampler, question: &str) -> client::Result<Option<Answer>> {
    match sampler.connection().ask(question).await {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_fatal() => Err(error),
        Err(_) => Ok(None),
    }
}

impl Waiting {
    /// Finds out what the server answers. Its tables of locks are there and empty when performance_schema is off.
    pub async fn of(sampler: &mut Sampler) -> client::Result<Self> {
        let is_on = sampler.has_performance_schema();
        let mut waiting = Self { rows: None, is_told: ask(sampler, ROW_WAITERS).await?.is_some() };
        for question in ROW_WAITS.into_iter().filter(|text| is_on || !text.contains("performance_schema")) {
            if ask(sampler, question).await?.is_some() {
                waiting.rows = Some(question);
                waiting.is_told = true;
                break;
            }
        }
        Ok(waiting)
    }

    /// The table of who waits for whom now.
    pub async fn table(&self, sampler: &mut Sampler, sessions: &[Session]) -> client::Result<Table> {
        let mut waits = self.row_waits(sampler).await?;
        let waiters: Vec<&Session> = sessions.iter().filter(|session| session.waits_for_metadata()).collect();
        if !waiters.is_empty() {
            let locks = ask(sampler, METADATA_LOCKS).await?;
            let locks = locks
                .map_or_else(Vec::new, |answer| (0..answer.rows()).map(|row| lock(&answer, row)).collect());
            waits.extend(waiters.into_iter().map(|session| metadata_wait(session, &locks)));
        }
        if waits.iter().any(|wait| wait.holders.is_empty()) {
            let open = ask(sampler, TRANSACTIONS).await?;
            let open: Vec<(i64, i64)> = open.map_or_else(Vec::new, |answer| {
                (0..answer.rows()).map(|row| (answer.cell(row, 0).int(), answer.cell(row, 1).int())).collect()
            });
            waits.iter_mut().for_each(|wait| conclude(wait, &open));
        }
        let doings = self.doings(sampler, &waits).await?;
        Ok(Table {
            title: "Who waits for whom".into(),
            none: if self.is_told {
                "nobody waits for a row or a table"
            } else {
                "not told: the account needs PROCESS, and SELECT on performance_schema"
            },
            head: vec![
                "session",
                "waits for",
                "seconds",
                "for a",
                "statement that waits <- what the other one does",
            ],
            rows: rows(waits, &doings),
        })
    }

    async fn row_waits(&self, sampler: &mut Sampler) -> client::Result<Vec<Wait>> {
        let mut waits: Vec<Wait> = Vec::new();
        let (question, has_holder) = self.rows.map_or((ROW_WAITERS, false), |question| (question, true));
        let Some(answer) = ask(sampler, question).await? else { return Ok(waits) };
        for row in 0..answer.rows() {
            let session = answer.cell(row, 0).int();
            let holder = has_holder.then(|| answer.cell(row, 1).int());
            // One that waits for several has a row for each.
            if let Some(known) = waits.iter_mut().find(|wait| wait.session == session) {
                known.holders.extend(holder.filter(|holder| !known.holders.contains(holder)));
                continue;
            }
            let at = if has_holder { 2 } else { 1 };
            waits.push(Wait {
                session,
                holders: holder.into_iter().collect(),
                is_told: has_holder,
                seconds: answer.cell(row, at).float(),
                what: "row".into(),
                text: one_line(&answer.cell(row, at + 1).text()),
            });
        }
        Ok(waits)
    }

    /// What the holders do.
    async fn doings(&self, sampler: &mut Sampler, waits: &[Wait]) -> client::Result<BTreeMap<i64, String>> {
        let mut ids: Vec<String> =
            waits.iter().flat_map(|wait| &wait.holders).take(200).map(i64::to_string).collect();
        ids.sort();
        ids.dedup();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let question = format!(
            "SELECT id, command, time, COALESCE(info, '') FROM information_schema.processlist WHERE id IN ({})",
            ids.join(", ")
        );
        let Some(answer) = ask(sampler, &question).await? else { return Ok(BTreeMap::new()) };
        let doing = |row| {
            let (command, text) = (answer.cell(row, 1).text(), one_line(&answer.cell(row, 3).text()));
            let doing = match command.as_str() {
                "Sleep" => format!("idle in its transaction for {} s", answer.cell(row, 2).int()),
                _ if text.is_empty() => command,
                _ => text,
            };
            (answer.cell(row, 0).int(), doing)
        };
        Ok((0..answer.rows()).map(doing).collect())
    }
}

fn lock(answer: &Answer, row: usize) -> Lock {
    Lock {
        on: (answer.cell(row, 0).text().to_lowercase(), answer.cell(row, 1).text()),
        kind: answer.cell(row, 2).text(),
        is_granted: answer.cell(row, 3).text() == "GRANTED",
        session: answer.cell(row, 4).int(),
    }
}

/// For whom a session waits, by the locks on what it wants: those who hold them, else those who were there first.
fn metadata_wait(session: &Session, locks: &[Lock]) -> Wait {
    let wanted = locks.iter().find(|lock| lock.session == session.id && !lock.is_granted);
    let mut holders = Vec::new();
    if let Some(wanted) = wanted {
        let others = || {
            locks.iter().filter(|lock| {
                lock.session != session.id && lock.on == wanted.on && conflict(&lock.kind, &wanted.kind)
            })
        };
        holders = others().filter(|lock| lock.is_granted).map(|lock| lock.session).collect();
        if holders.is_empty() {
            holders = others().map(|lock| lock.session).collect();
        }
        holders.sort_unstable();
        holders.dedup();
    }
    Wait {
        session: session.id,
        is_told: !holders.is_empty(),
        holders,
        seconds: session.seconds,
        what: wanted.map_or_else(|| "lock".to_owned(), |lock| lock.on.0.clone()),
        text: match wanted.filter(|lock| !lock.on.1.is_empty()) {
            Some(lock) => format!("{} ({})", one_line(&session.text), lock.on.1),
            None => format!("{} ({})", one_line(&session.text), session.state),
        },
    }
}

/// Whether two metadata locks exclude each other, as the manual's tables have it.
fn conflict(one: &str, other: &str) -> bool {
    let either = |kind: &str| (one == kind).then_some(other).or_else(|| (other == kind).then_some(one));
    if let Some(other) = either("INTENTION_EXCLUSIVE") {
        return other != "INTENTION_EXCLUSIVE";
    }
    if either("EXCLUSIVE").is_some() {
        return true;
    }
    if let Some(other) = either("SHARED_NO_READ_WRITE") {
        return !matches!(other, "SHARED" | "SHARED_HIGH_PRIO");
    }
    let writes = |kind: &str| matches!(kind, "SHARED_WRITE" | "SHARED_WRITE_LOW_PRIO");
    if let Some(other) = either("SHARED_NO_WRITE") {
        return writes(other) || matches!(other, "SHARED_UPGRADABLE" | "SHARED_NO_WRITE");
    }
    if let Some(other) = either("SHARED_READ_ONLY") {
        return writes(other);
    }
    one == "SHARED_UPGRADABLE" && other == "SHARED_UPGRADABLE"
}

/// Who can be meant by a wait without holders: those with a transaction, for a row those that have locked one.
fn conclude(wait: &mut Wait, open: &[(i64, i64)]) {
    if !wait.holders.is_empty() {
        return;
    }
    let can =
        |(session, locked): &&(i64, i64)| *session != wait.session && (wait.what != "row" || *locked > 0);
    wait.holders = open.iter().filter(can).map(|(session, _)| *session).collect();
}

fn rows(mut waits: Vec<Wait>, doings: &BTreeMap<i64, String>) -> Vec<Vec<String>> {
    waits
        .sort_by(|left, right| right.seconds.total_cmp(&left.seconds).then(left.session.cmp(&right.session)));
    let row = |wait: Wait| {
        let named: Vec<String> = wait.holders.iter().take(NAMED_MAX).map(i64::to_string).collect();
        let mut holders = named.join(if wait.is_told { "," } else { "|" });
        if wait.holders.len() > NAMED_MAX {
            holders.push_str(&format!("+{}", wait.holders.len() - NAMED_MAX));
        }
        if !wait.is_told {
            holders.push('?');
        }
        let doing = wait.holders.first().and_then(|holder| doings.get(holder));
        let text = match doing {
            Some(doing) => format!("{} <- {doing}", wait.text),
            None => wait.text,
        };
        vec![wait.session.to_string(), holders, format!("{:.0}", wait.seconds), wait.what, text]
    };
    waits.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(kind: &str, is_granted: bool, session: i64) -> Lock {
        Lock { on: ("table".into(), "t.a".into()), kind: kind.into(), is_granted, session }
    }

    fn waiter(id: i64, text: &str) -> Session {
        Session { id, state: "Waiting for table metadata lock".into(), text: text.into(), seconds: 4.0 }
    }

    #[test]
    fn locks_exclude_each_other_as_the_manual_says() {
        for (one, other, expected) in [
            ("SHARED_READ", "SHARED_WRITE", false),
            ("SHARED_READ", "EXCLUSIVE", true),
            ("SHARED_UPGRADABLE", "SHARED_WRITE", false),
            ("SHARED_UPGRADABLE", "SHARED_UPGRADABLE", true),
            ("SHARED_NO_WRITE", "SHARED_READ", false),
            ("SHARED_WRITE", "SHARED_NO_WRITE", true),
            ("SHARED_READ_ONLY", "SHARED_WRITE", true),
            ("SHARED_NO_READ_WRITE", "SHARED_READ", true),
            ("SHARED_NO_READ_WRITE", "SHARED_HIGH_PRIO", false),
            ("INTENTION_EXCLUSIVE", "SHARED", true),
            ("INTENTION_EXCLUSIVE", "INTENTION_EXCLUSIVE", false),
        ] {
            assert_eq!(conflict(one, other), expected, "{one} {other}");
            assert_eq!(conflict(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn a_reader_behind_an_alter_waits_for_it_and_the_alter_for_the_writers() {
        let locks = [
            held("SHARED_WRITE", true, 13),
            held("SHARED_WRITE", true, 14),
            held("SHARED_UPGRADABLE", true, 15),
            held("EXCLUSIVE", false, 15),
            held("SHARED_READ", false, 16),
        ];
        assert_eq!(metadata_wait(&waiter(15, "ALTER"), &locks).holders, [13, 14]);
        let reader = metadata_wait(&waiter(16, "SELECT"), &locks);
        assert_eq!((reader.holders.as_slice(), reader.is_told), (&[15][..], true));
    }

    #[test]
    fn a_holder_that_is_concluded_has_a_question_mark() {
        let mut wait = metadata_wait(&waiter(9, "ALTER TABLE a"), &[]);
        conclude(&mut wait, &[(7, 1), (9, 0), (8, 0)]);
        let doings = BTreeMap::from([(7, "idle in its transaction for 30 s".to_owned())]);
        let row = &rows(vec![wait], &doings)[0];
        assert_eq!(row[..4], ["9", "7|8?", "4", "lock"]);
        assert!(row[4].starts_with("ALTER TABLE a (Waiting") && row[4].ends_with("for 30 s"), "{}", row[4]);
        let mut row_wait = Wait { what: "row".into(), ..metadata_wait(&waiter(9, ""), &[]) };
        conclude(&mut row_wait, &[(7, 1), (8, 0)]);
        assert_eq!(row_wait.holders, [7], "who has locked no row keeps nobody from one");
    }
}
