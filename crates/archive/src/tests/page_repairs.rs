//! Single pages made again from backup files, the archive and the server's log: at random moments they are the pages that lie on disk, byte for
//! byte; and a database whose file is damaged under it, again and again, goes on as if nothing had happened.
use super::increments::{Made, make};
use super::*;
use engine::{CorruptPage, PageId, PageRepairer};
use env::BoxFuture;
use std::io::Cursor;
use std::sync::Weak;
use std::sync::atomic::AtomicU64;

const PAGE_BYTES: u64 = 4096;

fn seeds(default: u64) -> u64 {
    std::env::var("ARCHIVE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

async fn rebuilt(
    files: &[Vec<u8>],
    archive: Option<Arc<dyn env::Disk>>,
    engine: &Arc<Engine>,
    page: PageId,
    lsn: Option<u64>,
) -> Result<Vec<u8>, ArchiveError> {
    let open = |index: usize| BackupReader::open(Cursor::new(files[index].clone()), "file", None);
    let source = PageSource::Files(files.len(), &open);
    rebuild_page(source, archive, engine, page, lsn, &|_| Ok(())).await.map(|made| made.image)
}

async fn read(env: &Env, page: u64) -> Vec<u8> {
    let file = env.disk.open("data/pages.db", OpenOptions::existing()).await.unwrap();
    let (bytes, result) = file.read_at(page * PAGE_BYTES, env::IoBuf::zeroed(PAGE_BYTES as usize)).await;
    result.unwrap();
    bytes.as_slice().to_vec()
}

async fn page_count(env: &Env) -> u64 {
    env.disk.open("data/pages.db", OpenOptions::existing()).await.unwrap().len().await.unwrap() / PAGE_BYTES
}

/// Without what the store adds when it writes: checksum and epoch.
fn content(page: &[u8]) -> Vec<u8> {
    let mut content = page.to_vec();
    content[..4].fill(0);
    content[32..36].fill(0);
    content
}

#[test]
fn a_page_made_again_is_the_page_on_disk() {
    let (mut compared, mut older) = (0, 0);
    for seed in 0..seeds(6) {
        let world = World::new(900 + seed, SimOptions::default());
        let env = world.env();
        let run = async move {
            let random = SeededRandom::new(seed);
            let notes = Arc::new(Notes::default());
            let (engine, archive) = open(&env, &notes).await;
            let mut archive = archive.unwrap();
            let mut engine = engine;
            let mut chain: Vec<Made> = Vec::new();
            start_writer(&env, &engine, &notes, 100);
            for _ in 0..2 + random.below(3) {
                wait_for(&env, &notes, notes.count() + 50 + random.below(900) as u64).await;
                chain.push(make(&engine, &notes, chain.last(), None).await);
            }
            wait_for(&env, &notes, notes.count() + random.below(900) as u64).await;
            stop_writer(&env, &notes).await;
            if seed % 2 == 0 {
                archive.close().await.unwrap();
                engine.close().await.unwrap();
                let (again, of_again) = open(&env, &notes).await;
                (engine, archive) = (again, of_again.unwrap());
            } else {
                // The newest of the log is in the server's alone, and of pages only what was written home.
                engine.flush_log().await.unwrap();
            }
            let files: Vec<Vec<u8>> = chain.into_iter().map(|made| made.bytes).collect();
            let folder = archive.disk();
            let (mut compared, mut older) = (0, 0);
            for page in 3..page_count(&env).await {
                let on_disk = read(&env, page).await;
                if on_disk.iter().all(|byte| *byte == 0) {
                    continue;
                }
                let length = 1 + random.below(files.len());
                older += u64::from(length < files.len());
                let lsn = (seed % 2 == 1).then(|| u64::from_le_bytes(on_disk[16..24].try_into().unwrap()));
                let made = rebuilt(&files[..length], Some(folder.clone()), &engine, PageId(page), lsn).await;
                let made = made.unwrap_or_else(|error| panic!("seed {seed}, page {page}: {error}"));
                assert!(content(&made) == content(&on_disk), "seed {seed}, page {page} of {length} files");
                compared += 1;
            }
            engine.close().await.unwrap();
            (compared, older)
        };
        let (more, of_older) = world.block_on(run).unwrap();
        compared += more;
        older += of_older;
    }
    assert!(compared > 500 && older > 100, "{compared} pages, {older} from older backups");
}

/// What the program has, without threads.
struct Repairs {
    engine: Weak<Engine>,
    files: Vec<Vec<u8>>,
    archive: Arc<dyn env::Disk>,
    repaired: AtomicU64,
    faults: Mutex<Vec<String>>,
}

struct Repairer(Arc<Repairs>);

impl PageRepairer for Repairer {
    fn rebuild(&self, corrupt: CorruptPage, lsn: Option<u64>) -> BoxFuture<'static, Option<Vec<u8>>> {
        let repairs = self.0.clone();
        Box::pin(async move {
            let engine = repairs.engine.upgrade()?;
            let made =
                rebuilt(&repairs.files, Some(repairs.archive.clone()), &engine, corrupt.page, lsn).await;
            made.map_err(|error| repairs.faults.lock().push(format!("{corrupt}: {error}"))).ok()
        })
    }
    fn try_again(&self, _: PageId) {}
    fn note_result(&self, corrupt: CorruptPage, lsn: u64, result: Result<(), String>) {
        match result {
            Ok(()) => drop(self.0.repaired.fetch_add(1, Ordering::SeqCst)),
            Err(why) => self.0.faults.lock().push(format!("{corrupt} as of {lsn}: {why}")),
        }
    }
}

fn value(key: u64, round: u64) -> Vec<u8> {
    let mut noise = (key << 32 | round).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise as u8
    };
    std::iter::repeat_with(next).take(700).collect()
}

async fn put(engine: &Arc<Engine>, key: u64, round: u64) {
    let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadWrite);
    let (name, value) = (key.to_be_bytes(), value(key, round));
    let done = transaction.update(TreeId::CATALOG, &name, &value, WAIT).await;
    if done == Err(EngineError::NotFound) {
        transaction.insert(TreeId::CATALOG, &name, &value, Uniqueness::Key, WAIT).await.unwrap();
    } else {
        done.unwrap();
    }
    transaction.commit().await.unwrap();
}

async fn check(engine: &Arc<Engine>, key: u64, round: u64, seed: u64) {
    let mut reader = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
    let found = reader.get(TreeId::CATALOG, &key.to_be_bytes(), ReadMode::Snapshot).await;
    let found = found.unwrap_or_else(|error| panic!("seed {seed}, key {key}: {error}"));
    assert!(found == Some(value(key, round)), "seed {seed}, key {key}");
}

/// Flips a bit of a page that the database has written, under it.
async fn damage(env: &Env, random: &SeededRandom, count: u64) {
    const SECTOR: usize = 512;
    let page = 3 + random.below(count as usize - 3) as u64;
    let file = env.disk.open("data/pages.db", OpenOptions::existing()).await.unwrap();
    let at = page * PAGE_BYTES + (random.below(PAGE_BYTES as usize / SECTOR) * SECTOR) as u64;
    let (bytes, result) = file.read_at(at, env::IoBuf::zeroed(SECTOR)).await;
    result.unwrap();
    let mut bytes = bytes.as_slice().to_vec();
    bytes[random.below(SECTOR)] ^= 1 << random.below(8);
    file.write_at(at, env::IoBuf::copy_of(&bytes)).await.1.unwrap();
}

#[test]
fn a_database_whose_file_decays_under_it_goes_on() {
    const KEYS: u64 = 4000;
    let mut repaired = 0;
    for seed in 0..seeds(4) {
        let world = World::new(700 + seed, SimOptions::default());
        let env = world.env();
        let run = async move {
            let random = SeededRandom::new(seed);
            let notes = Arc::new(Notes::default());
            let (engine, archive) = open(&env, &notes).await;
            let mut rounds = vec![0; KEYS as usize];
            for key in 0..KEYS {
                put(&engine, key, 0).await;
            }
            let full = make(&engine, &notes, None, None).await;
            let change = |random: &SeededRandom, rounds: &mut Vec<u64>| {
                let key = random.below(KEYS as usize);
                rounds[key] += 1;
                (key as u64, rounds[key])
            };
            for _ in 0..1000 {
                let (key, round) = change(&random, &mut rounds);
                put(&engine, key, round).await;
            }
            let increment = make(&engine, &notes, Some(&full), None).await;
            let repairs = Arc::new(Repairs {
                engine: Arc::downgrade(&engine),
                files: vec![full.bytes, increment.bytes],
                archive: archive.unwrap().disk(),
                repaired: AtomicU64::new(0),
                faults: Mutex::default(),
            });
            engine.set_page_repairer(Arc::new(Repairer(repairs.clone())));
            let count = page_count(&env).await;
            for step in 0..1500 {
                if step % 30 == 0 {
                    damage(&env, &random, count).await;
                }
                let (key, round) = change(&random, &mut rounds);
                put(&engine, key, round).await;
                let key = random.below(KEYS as usize);
                check(&engine, key as u64, rounds[key], seed).await;
            }
            for key in 0..KEYS {
                check(&engine, key, rounds[key as usize], seed).await;
            }
            assert_eq!(*repairs.faults.lock(), Vec::<String>::new(), "seed {seed}");
            engine.verify().await.unwrap();
            engine.close().await.unwrap();
            repairs.repaired.load(Ordering::SeqCst)
        };
        repaired += world.block_on(run).unwrap();
    }
    assert!(repaired > 20, "{repaired} pages were repaired");
}
