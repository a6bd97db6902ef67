//! Commits wait for replicas: hidden or not, until enough of them have confirmed or the time is over, and not for ever.
use super::*;
use engine::HoldPoint;
use std::sync::atomic::AtomicBool;

const TIMEOUT_MS: u64 = 2_000;

pub(super) const DISABLED: SemiSyncSettings = SemiSyncSettings {
    is_enabled: false,
    timeout_ms: TIMEOUT_MS,
    replicas: 1,
    waits_without: true,
    point: HoldPoint::BeforeSeen,
};
const ENABLED: SemiSyncSettings = SemiSyncSettings { is_enabled: true, ..DISABLED };

struct Bench {
    env: Env,
    engine: Arc<Engine>,
    log: Arc<BinaryLog>,
    settings: Arc<Mutex<SemiSyncSettings>>,
    commits: AtomicU64,
}

impl Bench {
    async fn open(env: Env, settings: SemiSyncSettings) -> Bench {
        let settings = Arc::new(Mutex::new(settings));
        let (engine, log) = open_with(&env, settings.clone()).await;
        log.semi_sync_changed();
        Bench { env, engine, log, settings, commits: AtomicU64::new(0) }
    }

    fn set(&self, change: impl FnOnce(&mut SemiSyncSettings)) {
        change(&mut self.settings.lock());
        self.log.semi_sync_changed();
    }

    /// Begins the next commit; the answer is set when it is answered.
    async fn commit(&self) -> Arc<AtomicBool> {
        let count = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        let mut transaction = self.engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
        transaction.set_events(Said::new(0, count, 100));
        let row = count.to_be_bytes();
        let done = match count {
            1 => transaction.insert(TreeId::CATALOG, &key(0), &row, Uniqueness::Key, WAIT).await,
            _ => transaction.update(TreeId::CATALOG, &key(0), &row, WAIT).await,
        };
        done.expect("a change");
        let is_answered = Arc::new(AtomicBool::new(false));
        let answered = is_answered.clone();
        let work = async move {
            transaction.commit().await.expect("a commit");
            answered.store(true, Ordering::SeqCst);
        };
        self.env.spawner.spawn("commit", Box::pin(work));
        self.rest(100).await;
        is_answered
    }

    async fn rest(&self, ms: u64) {
        self.env.clock.sleep(ms * 1000).await;
    }

    async fn seen(&self) -> u64 {
        committed(&self.engine).await[&0]
    }

    /// A replica that reads to the end: what it is asked to confirm.
    async fn read(&self, replica: &SemiSyncReplica) -> Vec<(String, u64)> {
        let mut stream =
            EventStream::open(self.log.clone(), StreamOptions::default()).await.expect("a stream");
        let mut asked = Vec::new();
        loop {
            let events = stream.next().await.expect("events");
            if events.is_empty() {
                replica.has_caught_up();
                return asked;
            }
            for event in events {
                if event.ends_at > 0 && replica.asks_at(stream.file_number(), event.ends_at) {
                    asked.push((stream.file_name(), event.ends_at));
                }
            }
        }
    }
}

fn run(work: impl AsyncFnOnce(Env) -> Bench + 'static) {
    let world = World::new(3, SimOptions::default());
    let env = world.env();
    let work = async move {
        let bench = work(env).await;
        bench.log.close().await.expect("the log closes");
        bench.engine.close().await.expect("the engine closes");
    };
    world.block_on(work).unwrap();
}

fn is(answered: &Arc<AtomicBool>) -> bool {
    answered.load(Ordering::SeqCst)
}

#[test]
fn a_commit_is_hidden_until_it_is_confirmed() {
    run(async |env| {
        let bench = Bench::open(env, ENABLED).await;
        let replica = bench.log.semi_sync_replica(2);
        let (first, second) = (bench.commit().await, bench.commit().await);
        assert!(!is(&first) && !is(&second) && bench.seen().await == 0);
        let asked = bench.read(&replica).await;
        assert_eq!(asked.len(), 2, "each transaction's end is asked for, and nothing else");
        replica.confirm(&asked[0].0, asked[0].1);
        bench.rest(10).await;
        assert!(is(&first) && !is(&second) && bench.seen().await == 1);
        replica.confirm(&asked[1].0, asked[1].1);
        bench.rest(10).await;
        assert!(is(&second) && bench.seen().await == 2);
        let figures = bench.log.semi_sync_figures();
        assert!(figures.is_on && figures.waiting == 0 && figures.asked == 2 && figures.clients == 1);
        assert_eq!((figures.confirmed, figures.unconfirmed, figures.timeouts), (2, 0, 0));
        assert!(figures.waited_us > 100_000, "{figures:?}");
        bench
    });
}

#[test]
fn nobody_waits_longer_than_the_time_and_then_until_a_replica_has_caught_up() {
    run(async |env| {
        let bench = Bench::open(env, ENABLED).await;
        let first = bench.commit().await;
        bench.rest(TIMEOUT_MS - 300).await;
        let second = bench.commit().await;
        assert!(!is(&first) && bench.log.semi_sync_figures().is_on);
        bench.rest(300).await;
        assert!(is(&first) && is(&second) && bench.seen().await == 2);
        let figures = bench.log.semi_sync_figures();
        assert!(!figures.is_on && figures.timeouts == 1 && figures.unconfirmed == 2);
        assert!(is(&bench.commit().await), "nothing waits any more");
        assert_eq!(bench.log.semi_sync_figures().unconfirmed, 3);
        let replica = bench.log.semi_sync_replica(2);
        assert_eq!(bench.read(&replica).await, [], "nobody waits for these");
        assert!(bench.log.semi_sync_figures().is_on);
        let waits = bench.commit().await;
        assert!(!is(&waits));
        bench.set(|settings| settings.is_enabled = false);
        bench.rest(10).await;
        assert!(is(&waits), "whoever switches it off lets everybody go on");
        assert!(is(&bench.commit().await));
        bench.set(|settings| settings.is_enabled = true);
        assert!(!is(&bench.commit().await), "and on again");
        bench
    });
}

#[test]
fn after_commit_others_see_it_at_once() {
    run(async |env| {
        let settings = SemiSyncSettings { point: HoldPoint::BeforeAnswer, ..ENABLED };
        let bench = Bench::open(env, settings).await;
        let replica = bench.log.semi_sync_replica(2);
        let first = bench.commit().await;
        assert!(!is(&first) && bench.seen().await == 1);
        bench.set(|settings| settings.point = HoldPoint::BeforeSeen);
        bench.rest(10).await;
        assert!(is(&first), "what has been seen is not hidden");
        let second = bench.commit().await;
        assert!(!is(&second) && bench.seen().await == 1);
        let asked = bench.read(&replica).await;
        let (file, position) = asked.last().expect("the second is asked for");
        replica.confirm(file, *position);
        bench.rest(10).await;
        assert!(is(&second) && bench.seen().await == 2);
        bench
    });
}

#[test]
fn as_many_replicas_confirm_as_are_wanted() {
    run(async |env| {
        let settings = SemiSyncSettings { replicas: 2, waits_without: false, ..ENABLED };
        let bench = Bench::open(env, settings).await;
        assert!(is(&bench.commit().await), "too few replicas are there");
        let replicas = [2, 3].map(|id| bench.log.semi_sync_replica(id));
        let again = bench.log.semi_sync_replica(3);
        bench.read(&replicas[0]).await;
        assert!(bench.log.semi_sync_figures().is_on);
        let commit = bench.commit().await;
        let asked = bench.read(&replicas[0]).await;
        let [(file, position)] = &asked[..] else { panic!("{asked:?}") };
        replicas[1].confirm(file, *position);
        again.confirm(file, *position);
        replicas[0].confirm(file, *position - 1);
        replicas[0].confirm("binlog.000099", *position);
        bench.rest(10).await;
        assert!(!is(&commit), "one replica has it, told twice");
        replicas[0].confirm(file, *position);
        bench.rest(10).await;
        assert!(is(&commit));
        drop(again);
        let waits = bench.commit().await;
        assert!(!is(&waits));
        drop(replicas);
        bench.rest(10).await;
        assert!(is(&waits), "there are too few again");
        bench
    });
}
