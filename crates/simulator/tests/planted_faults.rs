//! The simulator finds planted faults: a small store on the log passes, and each of its broken variants fails.

use env::Env;
use env::sync::{Mutex, WaitQueue};
use simulator::{Refusal, Rows, RunOptions, Subject, Table, WorkloadOptions, run_fault, run_seed};
use std::collections::BTreeMap;
use std::sync::Arc;
use wal::{Lsn, Priority, Wal, WalError, WalGroup, WalOptions, WalReader};

type Place = (Table, Vec<u8>);
type Map = BTreeMap<Place, Vec<u8>>;

const SOUND: u8 = 0;
const ACKNOWLEDGES_EARLY: u8 = 1;
const SPLITS_TRANSACTIONS: u8 = 2;
const KEEPS_ROLLED_BACK: u8 = 3;
const FORGETS_A_DELETE: u8 = 4;
const CUTS_THE_LOG_SHORT: u8 = 5;

const PUT: u8 = 1;
const DELETE: u8 = 2;

/// A map in memory whose changes are logged at commit. One transaction at a time, so it is easily right.
struct LogStore<const FAULT: u8> {
    wal: Wal,
    map: Mutex<Map>,
    next_table: Mutex<u64>,
    busy: Mutex<bool>,
    turns: WaitQueue,
}

struct Turn<const FAULT: u8> {
    store: Arc<LogStore<FAULT>>,
    mine: bool,
    /// What to log, and what to restore on rollback.
    changes: Vec<(u8, Table, Vec<u8>, Vec<u8>)>,
    undo: Vec<(Place, Option<Vec<u8>>)>,
}

impl<const FAULT: u8> Turn<FAULT> {
    async fn take(&mut self) {
        while !self.mine {
            let waiter = self.store.turns.register();
            self.mine = !std::mem::replace(&mut *self.store.busy.lock(), true);
            if self.mine {
                return;
            }
            waiter.await;
        }
    }

    fn change(&mut self, kind: u8, table: Table, key: &[u8], value: &[u8]) {
        let place = (table, key.to_vec());
        let mut map = self.store.map.lock();
        let before = if kind == PUT { map.insert(place.clone(), value.to_vec()) } else { map.remove(&place) };
        drop(map);
        self.undo.push((place, before));
        self.changes.push((kind, table, key.to_vec(), value.to_vec()));
    }

    fn undo_to(&mut self, keep: usize) {
        let mut map = self.store.map.lock();
        while self.undo.len() > keep {
            let (place, before) = self.undo.pop().unwrap();
            match before {
                Some(value) => map.insert(place, value),
                None => map.remove(&place),
            };
            if FAULT != KEEPS_ROLLED_BACK {
                self.changes.pop();
            }
        }
    }

    fn exists(&self, table: Table, key: &[u8]) -> bool {
        self.store.map.lock().contains_key(&(table, key.to_vec()))
    }
}

impl<const FAULT: u8> Drop for Turn<FAULT> {
    fn drop(&mut self) {
        if self.mine {
            self.undo_to(0);
            *self.store.busy.lock() = false;
            self.store.turns.wake_all();
        }
    }
}

fn encode(table: Table, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = table.0.to_le_bytes().to_vec();
    bytes.extend((key.len() as u32).to_le_bytes());
    bytes.extend(key);
    bytes.extend(value);
    bytes
}

fn decode(bytes: &[u8]) -> (Table, Vec<u8>, Vec<u8>) {
    let table = Table(u64::from_le_bytes(bytes[..8].try_into().unwrap()));
    let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    (table, bytes[12..12 + length].to_vec(), bytes[12 + length..].to_vec())
}

impl<const FAULT: u8> Subject for LogStore<FAULT> {
    type Transaction = Turn<FAULT>;
    type Prepared = Turn<FAULT>;
    const PREPARES: bool = false;

    async fn prepare(transaction: Turn<FAULT>, _: u64) -> Result<Turn<FAULT>, Refusal> {
        Ok(transaction)
    }

    async fn decide(prepared: Turn<FAULT>, commit: bool) -> Result<(), Refusal> {
        if commit { Self::commit(prepared).await } else { Self::rollback(prepared).await }
    }

    fn recovered(self: &Arc<Self>) -> Vec<(u64, Turn<FAULT>)> {
        Vec::new()
    }

    async fn open(env: Env) -> Result<Arc<Self>, String> {
        let options = WalOptions::with_capacity(8 << 20);
        let mut map = Map::new();
        // A file beside the log says that its creation was complete.
        let created = env.disk.open("created", env::OpenOptions::existing()).await.is_ok();
        let wal = if created {
            let mut reader =
                WalReader::open(&env, "wal", Lsn::ZERO, Lsn::ZERO).await.map_err(|e| e.to_string())?;
            let mut groups = Vec::new();
            while let Some(group) = reader.next_group().await.map_err(|e: WalError| e.to_string())? {
                groups.push(group.records().map(|(_, r)| (r.kind, decode(r.payload))).collect::<Vec<_>>());
            }
            if FAULT == CUTS_THE_LOG_SHORT {
                groups.pop();
            }
            for (kind, (table, key, value)) in groups.into_iter().flatten() {
                if kind == PUT {
                    map.insert((table, key), value);
                } else {
                    map.remove(&(table, key));
                }
            }
            Wal::resume(&env, options, reader.into_tail()).await.map_err(|e| e.to_string())?
        } else {
            let wal = Wal::create(&env, options).await.map_err(|e| e.to_string())?;
            env.disk.open("created", env::OpenOptions::create()).await.map_err(|e| e.to_string())?;
            env.disk.sync_dir("").await.map_err(|e| e.to_string())?;
            wal
        };
        let next_table = map.keys().map(|(table, _)| table.0).max().unwrap_or(1).max(1000) + 1;
        Ok(Arc::new(Self {
            wal,
            map: Mutex::new(map),
            next_table: Mutex::new(next_table),
            busy: Mutex::new(false),
            turns: WaitQueue::new(),
        }))
    }

    fn begin(self: &Arc<Self>, _: u64) -> Turn<FAULT> {
        Turn { store: self.clone(), mine: false, changes: Vec::new(), undo: Vec::new() }
    }

    fn begin_statement(_: &mut Turn<FAULT>) {}

    async fn insert(turn: &mut Turn<FAULT>, table: Table, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        turn.take().await;
        if turn.exists(table, key) {
            return Err(Refusal::Mismatch);
        }
        turn.change(PUT, table, key, value);
        Ok(())
    }

    async fn update(turn: &mut Turn<FAULT>, table: Table, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        turn.take().await;
        if !turn.exists(table, key) {
            return Err(Refusal::Mismatch);
        }
        turn.change(PUT, table, key, value);
        Ok(())
    }

    async fn delete(turn: &mut Turn<FAULT>, table: Table, key: &[u8]) -> Result<(), Refusal> {
        turn.take().await;
        if !turn.exists(table, key) {
            return Err(Refusal::Mismatch);
        }
        turn.change(DELETE, table, key, b"");
        Ok(())
    }

    async fn get(
        turn: &mut Turn<FAULT>,
        table: Table,
        key: &[u8],
        _: bool,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        turn.take().await;
        Ok(turn.store.map.lock().get(&(table, key.to_vec())).cloned())
    }

    async fn scan(turn: &mut Turn<FAULT>, table: Table, _: bool) -> Result<Rows, Refusal> {
        turn.take().await;
        let map = turn.store.map.lock();
        let rows = map.range((table, Vec::new())..(Table(table.0 + 1), Vec::new()));
        Ok(rows.map(|((_, key), value)| (key.clone(), value.clone())).collect())
    }

    async fn create_table(turn: &mut Turn<FAULT>) -> Result<Table, Refusal> {
        turn.take().await;
        let mut next = turn.store.next_table.lock();
        *next += 1;
        Ok(Table(*next))
    }

    async fn drop_table(turn: &mut Turn<FAULT>, table: Table) -> Result<(), Refusal> {
        for (key, _) in Self::scan(turn, table, true).await? {
            Self::delete(turn, table, &key).await?;
        }
        Ok(())
    }

    fn savepoint(turn: &Turn<FAULT>) -> u64 {
        turn.undo.len() as u64
    }

    async fn rollback_to(turn: &mut Turn<FAULT>, savepoint: u64) -> Result<(), Refusal> {
        turn.undo_to(savepoint as usize);
        Ok(())
    }

    async fn commit(mut turn: Turn<FAULT>) -> Result<(), Refusal> {
        let fatal = |error: wal::AppendError| match error {
            wal::AppendError::NoSpace => Refusal::Transaction,
            error => Refusal::Fatal(error.to_string()),
        };
        let mut group = WalGroup::new();
        let mut end = Lsn::ZERO;
        let changes = std::mem::take(&mut turn.changes);
        for (index, (kind, table, key, value)) in changes.iter().enumerate() {
            if FAULT == FORGETS_A_DELETE && *kind == DELETE {
                continue;
            }
            group.push(*kind, 0, &encode(*table, key, value));
            if FAULT == SPLITS_TRANSACTIONS && index + 1 < changes.len() {
                turn.store.wal.wait_for_space(group.encoded_len(), Priority::Normal).await.map_err(fatal)?;
                let lsns = turn.store.wal.append(&group).map_err(fatal)?;
                turn.store.wal.wait_durable(lsns.end).await.map_err(|error| fatal(error.into()))?;
                group.clear();
            }
        }
        if !group.is_empty() {
            turn.store.wal.wait_for_space(group.encoded_len(), Priority::Normal).await.map_err(fatal)?;
            end = turn.store.wal.append(&group).map_err(fatal)?.end;
        }
        if FAULT != ACKNOWLEDGES_EARLY {
            turn.store.wal.wait_durable(end).await.map_err(|error| fatal(error.into()))?;
        }
        turn.undo.clear();
        Ok(())
    }

    async fn rollback(mut turn: Turn<FAULT>) -> Result<(), Refusal> {
        turn.undo_to(0);
        Ok(())
    }

    async fn close(&self) -> Result<(), String> {
        self.wal.close().await.map_err(|error| error.to_string())
    }

    async fn verify(&self) -> Result<(), String> {
        Ok(())
    }
}

fn options(seed: u64) -> RunOptions {
    let workload = WorkloadOptions { transactions: 60, ..WorkloadOptions::default() };
    RunOptions { workload, ..RunOptions::new(seed) }
}

/// How many of a few seeds end in a violation.
fn violations<const FAULT: u8>() -> usize {
    (0..4).filter(|seed| run_seed::<LogStore<FAULT>>(&options(*seed)).is_err()).count()
}

#[test]
fn a_sound_store_passes_and_runs_repeat_themselves() {
    for seed in 0..4 {
        let report =
            run_seed::<LogStore<SOUND>>(&options(seed)).unwrap_or_else(|violation| panic!("{violation}"));
        assert!(report.crash_points > 50 && report.recovery_crashes > 0 && report.commits > 20, "{report:?}");
        assert_eq!(run_seed::<LogStore<SOUND>>(&options(seed)), Ok(report));
    }
}

#[test]
fn broken_stores_are_found_out() {
    assert!(violations::<ACKNOWLEDGES_EARLY>() > 0, "acknowledges early");
    assert!(violations::<SPLITS_TRANSACTIONS>() > 0, "splits transactions");
    assert!(violations::<KEEPS_ROLLED_BACK>() > 0, "keeps what was rolled back");
    assert!(violations::<FORGETS_A_DELETE>() > 0, "forgets a delete");
    assert!(violations::<CUTS_THE_LOG_SHORT>() > 0, "cuts the log short");
}

#[test]
fn a_sound_store_survives_errors_and_full_disks() {
    for seed in 0..4 {
        for fault in 0..16 {
            let result = run_fault::<LogStore<SOUND>>(&options(seed), fault);
            result.unwrap_or_else(|violation| panic!("{violation}"));
        }
    }
}

#[test]
fn a_violation_repeats_at_its_crash_point_alone() {
    let violation = (0..4)
        .find_map(|seed| run_seed::<LogStore<SPLITS_TRANSACTIONS>>(&options(seed)).err())
        .expect("the fault shows within a few seeds");
    let point = violation.crash_point.expect("it shows in what a crash left");
    let replay = format!("-p simulator -- --seed {} --crash-point {point}", violation.seed);
    assert!(violation.to_string().ends_with(&replay), "{violation}");
    let again = RunOptions { crash_point: violation.crash_point, ..options(violation.seed) };
    assert_eq!(run_seed::<LogStore<SPLITS_TRANSACTIONS>>(&again), Err(violation));
}
