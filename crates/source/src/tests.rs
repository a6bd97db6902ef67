//! The binary log on a machine that stops at some operation on the disk: it equals the commits at every such point, and what
//! a reader has seen before is there again in the same bytes.
mod semi_sync;

use crate::*;
use binlog::{
    Checksum, CommitPackage, Event, EventHeader, FileOfEvents, GtidChoice, Query, ServerUuid, event_type,
    split_event, write_event,
};
use engine::{
    AccessMode, Engine, EngineError, EngineOptions, EventFile, EventSource, Isolation, ReadMode, Transaction,
    TreeId, Uniqueness, WaitPolicy,
};
use env::sim::{Outcome, SeededRandom, SimOptions, World};
use env::{BoxFuture, Env};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const CLIENTS: u8 = 3;
/// What a large transaction says besides.
const FILLERS: u64 = 10;
const FILLER_BYTES: usize = 40_000;
const WAIT: WaitPolicy = WaitPolicy::Wait { timeout_us: 1_000_000 };

/// An event that says which commit of which client it is, and others that only take room.
struct Said {
    package: Option<CommitPackage>,
    /// The events go to a file.
    is_large: bool,
}

impl Said {
    fn nothing() -> Box<Said> {
        Box::new(Said { package: None, is_large: false })
    }

    fn new(client: u8, count: u64, filler: usize) -> Box<Said> {
        let mut sql = vec![client];
        sql.extend_from_slice(&count.to_be_bytes());
        sql.resize(9 + filler, b'x');
        let (mut body, mut events) = (Vec::new(), Vec::new());
        Event::Query(Query { sql, ..Query::default() }).encode(&mut body);
        let header = EventHeader { event_type: event_type::QUERY, ..EventHeader::default() };
        write_event(&header, &body, Checksum::None, &mut events);
        let package = CommitPackage {
            gtid: GtidChoice::Automatic,
            has_statements: false,
            ends_in_xid: true,
            timestamp: count as u32,
            server_id: 1,
            immediate_commit_us: count,
            original_commit_us: count,
            immediate_version: 90_700,
            original_version: 90_700,
            keys: Some(vec![u64::from(client), 1000 + count % 7]),
            events,
            file: None,
        };
        Box::new(Said { package: Some(package), is_large: false })
    }

    /// Its events are a file, longer than what is copied at once.
    fn large(client: u8, count: u64) -> Box<Said> {
        let mut said = Said::new(client, count, 100);
        let package = said.package.as_mut().expect("it says something");
        let header = EventHeader { event_type: event_type::ROWS_QUERY, ..EventHeader::default() };
        for _ in 0..FILLERS {
            write_event(&header, &[b'y'; FILLER_BYTES], Checksum::None, &mut package.events);
        }
        said.is_large = true;
        said
    }

    async fn write(&mut self, engine: &Engine) -> Result<EventFile, EngineError> {
        let package = self.package.as_mut().expect("it says something");
        let count = 1 + FILLERS;
        let mut writer = engine.create_event_file().await?;
        for piece in std::mem::take(&mut package.events).chunks(300_000) {
            writer.append(piece).await?;
        }
        let file = writer.finish().await?;
        package.file = Some(FileOfEvents { number: file.number(), bytes: file.bytes(), count });
        Ok(file)
    }
}

impl EventSource for Said {
    fn undone_to(&mut self, _: u64) {}
    fn write_file<'a>(
        &'a mut self,
        engine: &'a Engine,
    ) -> Option<BoxFuture<'a, Result<EventFile, EngineError>>> {
        self.is_large.then(|| Box::pin(self.write(engine)) as BoxFuture<'a, _>)
    }
    fn finish(&mut self, _: Option<&EventFile>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.package.iter().for_each(|package| package.encode(&mut bytes));
        bytes
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// What outlives a crash: acknowledged commits by client, and the events that a reader has got.
#[derive(Default)]
struct Known {
    acknowledged: BTreeMap<u8, u64>,
    read: Vec<Vec<u8>>,
}

async fn open(env: &Env) -> (Arc<Engine>, Arc<BinaryLog>) {
    open_with(env, Arc::new(Mutex::new(semi_sync::DISABLED))).await
}

async fn open_with(env: &Env, semi_sync: Arc<Mutex<SemiSyncSettings>>) -> (Arc<Engine>, Arc<BinaryLog>) {
    let position = load_position(env).await.expect("a position or none");
    let options = EngineOptions {
        page_size_bytes: 4096,
        buffer_pool_bytes: 1 << 20,
        redo_capacity_bytes: 4 << 20,
        keep_log_from: position.map(|position| position.log_from),
        ..EngineOptions::default()
    };
    let engine = Engine::open(env.clone(), options).await.expect("open");
    let config = BinaryLogConfig {
        base: "binlog".into(),
        server_uuid: ServerUuid([7; 16]),
        server_version: "9.7.0-test".into(),
        checksum: Checksum::Crc32,
        databases: Arc::default(),
        now_s: || 1,
        live: Box::new(move || LiveSettings {
            server_id: 1,
            file_bytes_max: 20_000,
            dependency_keys_max: 1000,
            expire_seconds: 0,
            semi_sync: *semi_sync.lock(),
        }),
    };
    let log = BinaryLog::open(env.clone(), engine.clone(), config).await.expect("the binary log opens");
    (engine, log)
}

/// All events of transactions, in order.
async fn read_all(log: &Arc<BinaryLog>) -> Vec<Vec<u8>> {
    let mut stream = EventStream::open(log.clone(), StreamOptions::default()).await.expect("a stream");
    let mut all = Vec::new();
    loop {
        let events = stream.next().await.expect("events");
        if events.is_empty() {
            return all;
        }
        for StreamedEvent { bytes: event, .. } in events {
            let raw = split_event(&event, Checksum::Crc32).expect("a sound event");
            if matches!(raw.header.event_type, event_type::GTID | event_type::QUERY | event_type::XID) {
                all.push(event);
            }
        }
    }
}

fn key(client: u8) -> [u8; 2] {
    [b'c', client]
}

/// How often each client has committed, by its row.
async fn committed(engine: &Arc<Engine>) -> BTreeMap<u8, u64> {
    let mut reader = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
    let mut counts = BTreeMap::new();
    for client in 0..CLIENTS {
        let row = reader.get(TreeId::CATALOG, &key(client), ReadMode::Snapshot).await.expect("a read");
        let count = row.map_or(0, |row| u64::from_be_bytes(row[..8].try_into().expect("eight bytes")));
        counts.insert(client, count);
    }
    reader.commit().await.expect("the end of a read");
    counts
}

async fn check(engine: &Arc<Engine>, log: &Arc<BinaryLog>, known: &Mutex<Known>) {
    let events = read_all(log).await;
    let mut said: BTreeMap<u8, u64> = (0..CLIENTS).map(|client| (client, 0)).collect();
    for event in &events {
        let raw = split_event(event, Checksum::Crc32).expect("a sound event");
        if let Event::Query(query) = Event::decode(&raw).expect("an event") {
            let count = u64::from_be_bytes(query.sql[1..9].try_into().expect("eight bytes"));
            let last = said.get_mut(&query.sql[0]).expect("a client");
            *last += 1;
            assert_eq!(count, *last, "client {}: each commit once and in order", query.sql[0]);
        }
    }
    assert_eq!(said, committed(engine).await, "the log equals the commits");
    assert_eq!(
        log.executed().intervals().map(|(_, _, end)| end - 1).sum::<u64>(),
        said.values().sum::<u64>()
    );
    let known = known.lock();
    for (client, count) in &known.acknowledged {
        assert!(said[client] >= *count, "client {client}: acknowledged commits are lost");
    }
    assert!(events.len() >= known.read.len(), "events that were read are gone");
    assert!(
        events.iter().zip(&known.read).all(|(now, before)| now == before),
        "events are others than before"
    );
}

async fn client(
    engine: Arc<Engine>,
    known: Arc<Mutex<Known>>,
    number: u8,
    commits: u64,
    random: SeededRandom,
) {
    let mut count = committed(&engine).await[&number];
    for _ in 0..commits {
        count += 1;
        let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
        // Some events do not fit beside the commit's record.
        let filler = match random.below(20) {
            0 => 900_000,
            1..4 => 90_000,
            _ => random.below(600),
        };
        let said =
            if random.below(12) == 0 { Said::large(number, count) } else { Said::new(number, count, filler) };
        transaction.set_events(said);
        let row = count.to_be_bytes();
        let done = match count {
            1 => transaction.insert(TreeId::CATALOG, &key(number), &row, Uniqueness::Key, WAIT).await,
            _ => transaction.update(TreeId::CATALOG, &key(number), &row, WAIT).await,
        };
        done.expect("a change");
        if random.below(8) == 0 {
            transaction.rollback().await.expect("a rollback");
            count -= 1;
            continue;
        }
        end(transaction, number, count).await;
        known.lock().acknowledged.insert(number, count);
    }
}

/// Commits, at once or after it was prepared: the events are logged with either step.
async fn end(mut transaction: Transaction, number: u8, count: u64) {
    match count % 6 {
        0 => {
            let mut prepared = transaction.prepare(b"logged").await.expect("a preparation");
            prepared.commit().await.expect("a decision");
        }
        1 => {
            transaction.set_events(Said::nothing());
            let said = [&[number][..], &count.to_be_bytes()].concat();
            let mut prepared = transaction.prepare(&said).await.expect("a preparation");
            prepared.set_events(Said::new(number, count, 100));
            prepared.commit().await.expect("a decision");
        }
        _ => transaction.commit().await.expect("a commit"),
    }
}

/// What was prepared before a crash is committed, and said if it has not been.
async fn decide(engine: &Arc<Engine>) {
    for mut prepared in engine.take_recovered() {
        if let Some((number, count)) = prepared.xid().split_first().filter(|(_, count)| count.len() == 8) {
            let count = u64::from_be_bytes(count.try_into().expect("eight bytes"));
            prepared.set_events(Said::new(*number, count, 100));
        }
        prepared.commit().await.expect("a decision");
    }
}

async fn life(env: Env, known: Arc<Mutex<Known>>, seed: u64, commits: u64) {
    let (engine, log) = open(&env).await;
    decide(&engine).await;
    log.catch_up().await.expect("the decisions are written");
    check(&engine, &log, &known).await;
    let working = Arc::new(AtomicUsize::new(usize::from(CLIENTS)));
    for number in 0..CLIENTS {
        let random = SeededRandom::new(seed * 10 + u64::from(number));
        let (work, working) =
            (client(engine.clone(), known.clone(), number, commits, random), working.clone());
        let work = async move {
            work.await;
            working.fetch_sub(1, Ordering::SeqCst);
        };
        env.spawner.spawn("client", Box::pin(work));
    }
    let random = SeededRandom::new(seed);
    while working.load(Ordering::SeqCst) > 0 {
        env.clock.sleep(3_000).await;
        known.lock().read = read_all(&log).await;
        if random.below(20) == 0 {
            log.rotate().await.expect("a new file");
        }
    }
    log.catch_up().await.expect("everything is written");
    check(&engine, &log, &known).await;
    log.close().await.expect("the log closes");
    assert_eq!(env.disk.list("events").await.unwrap_or_default(), Vec::<String>::new(), "a file stays");
    engine.close().await.expect("the engine closes");
    LIVES.fetch_add(1, Ordering::SeqCst);
}

/// Lives that were not cut off, over all seeds.
static LIVES: AtomicU64 = AtomicU64::new(0);

fn run(seed: u64) {
    let known = Arc::new(Mutex::new(Known::default()));
    let random = SeededRandom::new(seed);
    let operations = [60, 200, 1000][random.below(3)];
    let options = |last: bool| {
        let crash_at = (!last).then(|| random.below(operations) as u64);
        SimOptions { crash_at, ..SimOptions::default() }
    };
    let mut world = World::new(seed, options(false));
    for number in 0..6 {
        let work = life(world.env(), known.clone(), seed * 31 + number, 30);
        if let Outcome::Stalled = world.block_on(work) {
            panic!("seed {seed}: stalled");
        }
        let next = options(number == 4);
        world = if random.below(3) == 0 { world.kill(next) } else { world.crash(next) };
    }
}

#[test]
fn the_binary_log_equals_the_commits_wherever_the_machine_stops() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("EVENKEEL_BINLOG_FIRST_SEED").unwrap_or(0);
    let seeds = number("EVENKEEL_BINLOG_SEEDS").unwrap_or(30);
    for seed in first..first + seeds {
        if std::panic::catch_unwind(|| run(seed)).is_err() {
            panic!("seed {seed}");
        }
    }
    assert!(LIVES.load(Ordering::SeqCst) > 0, "no life came to its end");
}

/// Between the last commit and the checkpoint of an orderly end a segment of the log ended, and was used again.
#[test]
fn an_orderly_end_keeps_the_log_that_the_next_start_reads() {
    run(113);
}

#[test]
fn a_reader_begins_where_its_transactions_end() {
    let world = World::new(5, SimOptions::default());
    let env = world.env();
    let work = async move {
        let (engine, log) = open(&env).await;
        let known = Arc::new(Mutex::new(Known::default()));
        client(engine.clone(), known, 0, 20, SeededRandom::new(1)).await;
        log.rotate().await.expect("a new file");
        client(engine.clone(), Arc::default(), 0, 10, SeededRandom::new(2)).await;
        log.catch_up().await.expect("everything is written");
        let all = read_all(&log).await;
        let first = log.files()[0].number;
        let executed = log.executed();
        for until in [0, 1, 7, 20, 25] {
            let mut has = binlog::GtidSet::new();
            if until > 0 {
                has.add_interval(log.server_uuid(), 1, until + 1);
            }
            let options = StreamOptions { executed: Some(has.clone()), ..StreamOptions::default() };
            let mut stream = EventStream::open(log.clone(), options).await.expect("a stream");
            let mut numbers = Vec::new();
            loop {
                let events = stream.next().await.expect("events");
                if events.is_empty() {
                    break;
                }
                for StreamedEvent { bytes: event, .. } in events {
                    let raw = split_event(&event, Checksum::Crc32).expect("a sound event");
                    if let Ok(Event::Gtid(event)) = Event::decode(&raw) {
                        numbers.extend(event.gtid.map(|gtid| gtid.number));
                    }
                }
            }
            let mut wanted = executed.clone();
            wanted.remove_all(&has);
            let wanted: Vec<u64> = wanted.intervals().flat_map(|(_, first, end)| first..end).collect();
            assert_eq!(numbers, wanted, "from {until}");
        }
        assert!(!all.is_empty());
        let last = log.files().last().map_or(first, |file| file.number);
        log.purge_before(last).await.expect("a purge");
        assert_eq!(log.files().len(), 1);
        let options = StreamOptions { executed: Some(binlog::GtidSet::new()), ..StreamOptions::default() };
        assert_eq!(EventStream::open(log.clone(), options).await.err(), Some(SourceError::Purged));
        log.reset(1).await.expect("a reset");
        assert!(log.executed().is_empty());
        log.close().await.expect("the log closes");
        engine.close().await.expect("the engine closes");
    };
    world.block_on(work).unwrap();
}
