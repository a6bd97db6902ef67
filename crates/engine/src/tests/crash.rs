//! A mixed workload of several clients on a machine that stops at some operation on the disk, again and
//! again, also during recovery; afterwards a model says what must and what may be there.

use super::*;
use crate::PreparedTransaction;
use env::Env;
use env::sim::{Outcome, SeededRandom};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const CLIENTS: u8 = 3;

/// The rows of a client's tables; the table's name is two bytes, the client's number first.
type Tables = BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>;

/// What a client knows: acknowledged work, and what the commit under way would make of it.
#[derive(Default, Clone)]
struct Model {
    acknowledged: Tables,
    uncertain: Option<Tables>,
    prepared: Option<Branch>,
    marks: Marks,
}

/// The marks of a client's trees.
#[derive(Default, Clone)]
struct Marks {
    /// The highest that was asked for.
    asked: BTreeMap<TreeId, u128>,
    /// By writes that are done.
    written: BTreeMap<TreeId, u128>,
    /// Durable.
    certain: BTreeMap<TreeId, u128>,
}

/// A transaction that its client has prepared, or wants to.
#[derive(Clone)]
struct Branch {
    tables: Tables,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asked,
    /// Acknowledged.
    Prepared,
    /// The decision was asked for.
    Committing,
    RollingBack,
}

type Models = Arc<Vec<Mutex<Model>>>;

struct Client {
    engine: Arc<Engine>,
    models: Models,
    number: u8,
    random: SeededRandom,
}

impl Client {
    async fn work(self, transactions: usize) {
        for _ in 0..transactions {
            let mut tables = self.model().lock().acknowledged.clone();
            let mut transaction = repeatable(&self.engine);
            let changes = if self.random.below(8) == 0 { 80 } else { 1 + self.random.below(8) };
            for _ in 0..changes {
                let savepoint = transaction.savepoint();
                let before = tables.clone();
                let polls = if self.random.below(4) == 0 { self.random.below(4) } else { usize::MAX };
                let done = cut_off(self.change(&mut transaction, &mut tables), polls).await;
                if done.is_none() || self.random.below(6) == 0 {
                    transaction.rollback_to(savepoint).await.expect("rollback to savepoint");
                    tables = before;
                }
            }
            match self.random.below(10) {
                0 => transaction.rollback().await.expect("rollback"),
                1 => drop(transaction),
                2 | 3 => {
                    if !self.prepare(transaction, tables).await {
                        return;
                    }
                }
                _ => {
                    let certain = {
                        let mut model = self.model().lock();
                        model.uncertain = Some(tables.clone());
                        // A commit of nothing makes nothing durable.
                        let durable = transaction.has_changes().then_some(&model.marks.written);
                        durable.unwrap_or(&model.marks.certain).clone()
                    };
                    transaction.commit().await.expect("commit");
                    let mut model = self.model().lock();
                    let marks = Marks { certain, ..std::mem::take(&mut model.marks) };
                    *model = Model { acknowledged: tables, marks, ..Model::default() };
                }
            }
        }
    }

    /// Prepares and decides. False when it stays prepared: then the client can do no more in this life.
    async fn prepare(&self, transaction: Transaction, tables: Tables) -> bool {
        self.model().lock().prepared = Some(Branch { tables, stage: Stage::Asked });
        let prepared = match transaction.prepare(&[self.number]).await {
            Ok(prepared) => prepared,
            Err(EngineError::NotPreparable) => {
                self.model().lock().prepared = None;
                return true;
            }
            Err(error) => panic!("prepare: {error}"),
        };
        if !prepared.trees().is_empty() {
            self.model().lock().prepared.as_mut().expect("it was set").stage = Stage::Prepared;
        }
        PREPARED.fetch_add(1, Ordering::SeqCst);
        match self.random.below(4) {
            0 => return false,
            1 => self.engine.env.clock.sleep(self.random.below(20_000) as u64).await,
            _ => {}
        }
        decide(prepared, self.model(), self.random.below(2) == 0).await;
        true
    }

    fn model(&self) -> &Mutex<Model> {
        &self.models[usize::from(self.number)]
    }

    async fn change(&self, transaction: &mut Transaction, tables: &mut Tables) {
        let name = vec![self.number, self.random.below(2) as u8];
        let tree = transaction.get(CATALOG, &name, EXCLUSIVE).await.expect("catalog");
        assert_eq!(tree.is_some(), tables.contains_key(&name));
        let Some(tree) = tree else {
            let tree = transaction.create_tree().await.expect("create");
            let id = tree.0.to_be_bytes();
            transaction.insert(CATALOG, &name, &id, Uniqueness::Key, WAIT).await.expect("insert name");
            tables.insert(name, BTreeMap::new());
            return;
        };
        let tree = TreeId(u64::from_be_bytes(tree.try_into().expect("eight bytes")));
        if self.random.below(25) == 0 {
            transaction.drop_tree(tree).await.expect("drop");
            transaction.delete(CATALOG, &name, WAIT).await.expect("delete name");
            tables.remove(&name);
            return;
        }
        let rows = tables.get_mut(&name).expect("checked above");
        self.change_row(transaction, tree, rows).await;
    }

    async fn change_row(
        &self,
        transaction: &mut Transaction,
        tree: TreeId,
        rows: &mut BTreeMap<Vec<u8>, Vec<u8>>,
    ) {
        let key = vec![b'k', self.random.below(40) as u8];
        let length = match self.random.below(12) {
            0 => 1500 + self.random.below(3000),
            1 => 50_000 + self.random.below(30_000),
            _ => self.random.below(300),
        };
        let value = vec![self.random.below(256) as u8; length];
        let exists = rows.contains_key(&key);
        let mark = (self.random.below(2) == 0).then(|| self.ask_for_mark(tree));
        if let Some(mark) = mark {
            transaction.raise_mark(tree, mark);
        }
        if !exists {
            transaction.insert(tree, &key, &value, Uniqueness::Key, WAIT).await.expect("insert");
            rows.insert(key, value);
        } else if self.random.below(3) == 0 {
            transaction.delete(tree, &key, WAIT).await.expect("delete");
            rows.remove(&key);
        } else {
            transaction.update(tree, &key, &value, WAIT).await.expect("update");
            rows.insert(key, value);
        }
        if let Some(mark) = mark {
            self.model().lock().marks.written.insert(tree, mark);
        }
    }

    fn ask_for_mark(&self, tree: TreeId) -> u128 {
        let mut model = self.model().lock();
        let asked = model.marks.asked.entry(tree).or_default();
        *asked += 1 + self.random.below(300) as u128;
        *asked
    }
}

async fn decide(mut prepared: PreparedTransaction, model: &Mutex<Model>, commits: bool) {
    let stage = if commits { Stage::Committing } else { Stage::RollingBack };
    let tables = {
        let mut model = model.lock();
        let branch = model.prepared.as_mut().expect("it is prepared");
        branch.stage = stage;
        branch.tables.clone()
    };
    if commits {
        prepared.commit().await.expect("commit")
    } else {
        prepared.rollback().await.expect("rollback")
    }
    let mut model = model.lock();
    model.prepared = None;
    if commits {
        model.acknowledged = tables;
    }
}

/// What the start has found prepared, by client; and what became of the transactions that it has not found.
fn find_prepared(engine: &Arc<Engine>, models: &Models) -> BTreeMap<u8, PreparedTransaction> {
    let recovered = engine.take_recovered().into_iter();
    let found: BTreeMap<u8, PreparedTransaction> =
        recovered.map(|prepared| (prepared.xid()[0], prepared)).collect();
    for (client, model) in models.iter().enumerate() {
        let mut model = model.lock();
        let is_there = found.contains_key(&(client as u8));
        match model.prepared.clone() {
            None => assert!(!is_there, "client {client}: a transaction is prepared that has ended"),
            Some(_) if is_there => {
                RECOVERED.fetch_add(1, Ordering::SeqCst);
            }
            Some(branch) => {
                assert!(branch.stage != Stage::Prepared, "client {client}: a prepared transaction is lost");
                if branch.stage == Stage::Committing {
                    model.acknowledged = branch.tables;
                }
                model.prepared = None;
            }
        }
    }
    found
}

async fn contents(engine: &Arc<Engine>, client: u8) -> Tables {
    let mut reader = repeatable(engine);
    let mut tables = Tables::new();
    let names = scan(&mut reader, CATALOG, KeyRange::prefix(&[client])).await;
    for (name, tree) in names {
        let tree = TreeId(u64::from_be_bytes(tree.try_into().expect("eight bytes")));
        let rows = scan(&mut reader, tree, KeyRange::all()).await;
        tables.insert(name, rows);
    }
    tables
}

/// Each tree has at least the mark that is known to be durable, and from now on the one that it has now.
async fn check_marks(engine: &Arc<Engine>, models: &Models) {
    let mut reader = repeatable(engine);
    for (client, model) in models.iter().enumerate() {
        let names = scan(&mut reader, CATALOG, KeyRange::prefix(&[client as u8])).await;
        let mut model = model.lock();
        let marks = &mut model.marks;
        let mut found = BTreeMap::new();
        for tree in names.into_values() {
            let tree = TreeId(u64::from_be_bytes(tree.try_into().expect("eight bytes")));
            let mark = engine.mark(tree);
            let of = |marks: &BTreeMap<TreeId, u128>| marks.get(&tree).copied().unwrap_or_default();
            let (certain, asked) = (of(&marks.certain), of(&marks.asked));
            assert!(certain <= mark && mark <= asked, "{tree:?}: {certain} <= {mark} <= {asked}");
            found.insert(tree, mark);
        }
        (marks.certain, marks.written) = (found.clone(), found);
    }
}

async fn scan(reader: &mut Transaction, tree: TreeId, range: KeyRange) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut cursor = reader.scan(tree, range, Direction::Forward, ReadMode::Snapshot);
    let mut batch = EntryBatch::default();
    while cursor.next_batch(reader, 7, &mut batch).await.expect("scan") {}
    batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Opens the database, compares it with the models, decides about prepared transactions and, unless clients shall begin
/// while the last life is still being undone, checks that no page is lost. Answers also the clients whose transactions
/// stay prepared.
async fn open_and_check(env: &Env, models: &Models, scale: &Scale, seed: u64) -> (Arc<Engine>, Vec<u8>) {
    let random = SeededRandom::new(seed);
    let waits = seed.is_multiple_of(3);
    let undo_memory_bytes = scale.undo_memory_bytes;
    let options = EngineOptions { buffer_pool_bytes: scale.pool_bytes, undo_memory_bytes, ..options() };
    let engine = Engine::open(env.clone(), options).await.expect("open");
    let prepared = find_prepared(&engine, models);
    check_contents(&engine, models).await;
    check_marks(&engine, models).await;
    let mut undecided = Vec::new();
    for (client, prepared) in prepared {
        match random.below(4) {
            0 => undecided.push(client),
            choice => decide(prepared, &models[usize::from(client)], choice == 1).await,
        }
    }
    check_contents(&engine, models).await;
    if !waits {
        return (engine, undecided);
    }
    engine.finish_background().await;
    let report = engine.verify().await.expect("verify");
    // An undecided transaction owns the long values that it has replaced.
    if undecided.is_empty() {
        assert_eq!(report.other_pages, report.long_value_pages, "pages are lost: {report:?}");
    }
    (engine, undecided)
}

async fn check_contents(engine: &Arc<Engine>, models: &Models) {
    for (client, model) in models.iter().enumerate() {
        let found = contents(engine, client as u8).await;
        let mut model = model.lock();
        let uncertain = model.uncertain.take();
        if uncertain.as_ref() == Some(&found) {
            model.acknowledged = found;
        } else {
            assert!(model.acknowledged == found, "client {client}: acknowledged work is lost or changed");
        }
    }
}

async fn life(env: Env, models: Models, scale: Scale, seed: u64) {
    let (engine, undecided) = open_and_check(&env, &models, &scale, seed).await;
    let able: Vec<u8> = (0..CLIENTS).filter(|number| !undecided.contains(number)).collect();
    let working = Arc::new(AtomicUsize::new(able.len()));
    for number in able {
        let random = SeededRandom::new(seed * 10 + u64::from(number));
        let client = Client { engine: engine.clone(), models: models.clone(), number, random };
        let working = working.clone();
        let work = async move {
            client.work(scale.transactions).await;
            working.fetch_sub(1, Ordering::SeqCst);
        };
        env.spawner.spawn("client", Box::pin(work));
    }
    while working.load(Ordering::SeqCst) > 0 {
        env.clock.sleep(10_000).await;
    }
    engine.close().await.expect("close");
    FORWARDS.fetch_add(engine.stats().undo_forwards, Ordering::SeqCst);
    SPILLED.fetch_add(engine.stats.spilled_changes.load(Ordering::SeqCst), Ordering::SeqCst);
}

/// Over all seeds, to see that the case is met.
static FORWARDS: AtomicU64 = AtomicU64::new(0);
static SPILLED: AtomicU64 = AtomicU64::new(0);
static PREPARED: AtomicU64 = AtomicU64::new(0);
static RECOVERED: AtomicU64 = AtomicU64::new(0);

/// How much happens in a life.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// The machine stops at one of this many operations.
    operations: usize,
    /// Of each client.
    transactions: usize,
    pool_bytes: u64,
    /// 0: as much as is usual.
    undo_memory_bytes: u64,
}

/// From crashes at start-up to lives in which pages are evicted and the log is reused.
const SCALES: [Scale; 4] = [
    Scale { operations: 40, transactions: 8, pool_bytes: 2 << 20, undo_memory_bytes: 0 },
    Scale { operations: 120, transactions: 8, pool_bytes: 1 << 20, undo_memory_bytes: 0 },
    Scale { operations: 500, transactions: 20, pool_bytes: 512 << 10, undo_memory_bytes: 0 },
    Scale { operations: 3000, transactions: 60, pool_bytes: 512 << 10, undo_memory_bytes: 0 },
];

/// Lives one after the other on the same disk; each may be cut off, recovery too.
fn run(seed: u64) {
    let models: Models = Arc::new((0..CLIENTS).map(|_| Mutex::default()).collect());
    let random = SeededRandom::new(seed);
    let mut scale = SCALES[random.below(SCALES.len())];
    if seed.is_multiple_of(2) {
        // So little that nearly every transaction spills.
        scale.undo_memory_bytes = [1, 2_000, 8_000][random.below(3)];
    }
    let crash_at = || {
        let at = random.below(scale.operations) as u64;
        SimOptions { crash_at: Some(at), ..SimOptions::default() }
    };
    let mut world = World::new(seed, crash_at());
    for number in 0..6 {
        let work = life(world.env(), models.clone(), scale, seed * 31 + number);
        if let Outcome::Stalled = world.block_on(work) {
            panic!("seed {seed}: stalled");
        }
        world = world.crash(if number == 4 { SimOptions::default() } else { crash_at() });
    }
}

#[test]
fn nothing_acknowledged_is_lost_wherever_the_machine_stops() {
    let seeds = run_seeds(30, run);
    let (forwards, spilled) = (FORWARDS.load(Ordering::SeqCst), SPILLED.load(Ordering::SeqCst));
    eprintln!("{seeds} seeds, old transactions forwarded {forwards} times, {spilled} changes spilled");
    assert!(seeds == 1 || spilled > 0, "no seed meets a spill");
    let (prepared, recovered) = (PREPARED.load(Ordering::SeqCst), RECOVERED.load(Ordering::SeqCst));
    eprintln!("{prepared} transactions prepared, {recovered} found prepared by a start");
    assert!(seeds == 1 || recovered > 0, "no seed finds a prepared transaction");
}
