//! Asks a server which connections wait for a lock and for whom.
//!
//! Invariant: a connection counts as waiting only when the server says so; no time limit decides it.

use std::collections::{BTreeMap, BTreeSet};

use mysql::Conn;
use mysql::prelude::Queryable;

/// Who waits for whom by thread. MySQL names the thread that made the blocking lock, and that can be the waiter itself:
/// it makes the lock of a row that another transaction has just inserted explicit.
const ROW_WAITS: &str = "SELECT waiter.PROCESSLIST_ID, blocker.PROCESSLIST_ID \
     FROM performance_schema.data_lock_waits AS held \
     JOIN performance_schema.threads AS waiter ON waiter.THREAD_ID = held.REQUESTING_THREAD_ID \
     LEFT JOIN performance_schema.threads AS blocker ON blocker.THREAD_ID = held.BLOCKING_THREAD_ID";
/// So where there is `data_locks` the blocker is who made the transaction's table lock.
const ROW_WAITS_BY_TRANSACTION: &str = "SELECT waiter.PROCESSLIST_ID, blocker.PROCESSLIST_ID \
     FROM performance_schema.data_lock_waits AS held \
     JOIN performance_schema.threads AS waiter ON waiter.THREAD_ID = held.REQUESTING_THREAD_ID \
     LEFT JOIN performance_schema.data_locks AS owned \
       ON owned.ENGINE_TRANSACTION_ID = held.BLOCKING_ENGINE_TRANSACTION_ID AND owned.LOCK_TYPE = 'TABLE' \
     LEFT JOIN performance_schema.threads AS blocker ON blocker.THREAD_ID = owned.THREAD_ID";
const OTHER_WAITS: &str = "SELECT PROCESSLIST_ID FROM performance_schema.threads \
     WHERE PROCESSLIST_STATE LIKE 'Waiting for %lock%'";

const LOOKS: u32 = 2;
const LOOKS_WHERE_LATE: u32 = 15;

/// A connection that watches the others.
pub struct Observer {
    client: Conn,
    row_waits: &'static str,
    /// MySQL shows a wait for a metadata lock until the waiter has woken up, which is some time after the grant.
    tells_late: bool,
}

impl Observer {
    pub fn new(mut client: Conn) -> Observer {
        let has_locks = client.query_drop("SELECT 1 FROM performance_schema.data_locks LIMIT 1").is_ok();
        let row_waits = if has_locks { ROW_WAITS_BY_TRANSACTION } else { ROW_WAITS };
        Observer { client, row_waits, tells_late: has_locks }
    }

    /// How many looks in a row have to agree before they are believed.
    pub fn looks_needed(&self, waits: &Waits) -> u32 {
        let untold = waits.edges.values().any(BTreeSet::is_empty);
        if self.tells_late && untold { LOOKS_WHERE_LATE } else { LOOKS }
    }

    pub fn ask(&mut self) -> Result<Waits, mysql::Error> {
        let mut waits = Waits::default();
        for (waiter, blocker) in self.client.query::<(Option<u32>, Option<u32>), _>(self.row_waits)? {
            let Some(waiter) = waiter else { continue };
            let blockers = waits.edges.entry(waiter).or_default();
            blockers.extend(blocker.filter(|blocker| *blocker != waiter));
        }
        for waiter in self.client.query::<Option<u32>, _>(OTHER_WAITS)?.into_iter().flatten() {
            waits.edges.entry(waiter).or_default();
        }
        Ok(waits)
    }
}

/// The waits of one moment: each waiting connection with those it waits for, as far as the server tells.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Waits {
    edges: BTreeMap<u32, BTreeSet<u32>>,
}

impl Waits {
    pub fn waits(&self, connection: u32) -> bool {
        self.edges.contains_key(&connection)
    }

    pub fn blockers(&self, connection: u32) -> impl Iterator<Item = u32> {
        self.edges.get(&connection).into_iter().flatten().copied()
    }

    /// What concerns these connections alone.
    pub fn of(&self, connections: &[u32]) -> Waits {
        let own = self.edges.iter().filter(|(waiter, _)| connections.contains(waiter));
        Waits { edges: own.map(|(waiter, blockers)| (*waiter, blockers.clone())).collect() }
    }

    /// True while a deadlock is not resolved: from some connection the waits lead back to it.
    pub fn has_cycle(&self) -> bool {
        self.edges.keys().any(|start| {
            let mut to_visit: Vec<u32> = self.blockers(*start).collect();
            let mut visited = BTreeSet::new();
            while let Some(connection) = to_visit.pop() {
                if connection == *start {
                    return true;
                }
                if visited.insert(connection) {
                    to_visit.extend(self.blockers(connection));
                }
            }
            false
        })
    }
}
