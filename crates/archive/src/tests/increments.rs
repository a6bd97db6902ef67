//! Backups in files on the simulated machine: a full one and its increments, made beside a writer and across starts and crashes, give
//! what was committed at their ends and, with the archive, at moments behind them. What does not belong together or is damaged is named.
use super::*;
use engine::{BackupBase, BackupHead, BackupOptions, BackupRecord};
use std::io::Cursor;

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef\n";

/// A backup file, and what it is.
pub(super) struct Made {
    pub bytes: Vec<u8>,
    pub head: BackupHead,
    /// What was counted when it was begun and when it had ended.
    pub counts: (u64, u64),
    pub to_lsn: u64,
    pub pages: usize,
}

pub(super) async fn make(
    engine: &Arc<Engine>,
    notes: &Notes,
    base: Option<&Made>,
    key: Option<&BackupKey>,
) -> Made {
    let base = base.map(|base| BackupBase::parse(&base.head.token()).unwrap());
    let options = BackupOptions { base, bytes_per_second: 0 };
    let before = notes.count();
    let mut stream = engine.stream_backup(options, Arc::default()).await.unwrap();
    let mut writer = BackupWriter::begin(Vec::new(), Some(1), key).unwrap();
    let (mut to_lsn, mut pages) = (0, 0);
    while let Some(record) = stream.next().await.unwrap() {
        match &record {
            BackupRecord::End(end) => to_lsn = end.to_lsn,
            BackupRecord::Pages { ids, .. } => pages += ids.len(),
            _ => {}
        }
        writer.add(&record.encode(), matches!(record, BackupRecord::End(_))).unwrap();
    }
    let head = *stream.head();
    // One that is being committed may be in it.
    let counts = (before, notes.count() + 1);
    Made { bytes: writer.finish().unwrap(), head, counts, to_lsn, pages }
}

fn reader(bytes: &[u8], name: &str) -> Result<BackupReader<Cursor<Vec<u8>>>, ArchiveError> {
    BackupReader::open(Cursor::new(bytes.to_vec()), name, None)
}

async fn restored_chain(env: &Env, chain: &[&Made], until: Until, name: &str) -> Result<u64, ArchiveError> {
    let names = chain.iter().enumerate().map(|(number, made)| (format!("file {number}"), made));
    let files = names.map(|(name, made)| reader(&made.bytes, &name)).collect::<Result<Vec<_>, _>>()?;
    let archive = inside(env, "archive").await.disk;
    let target = inside(env, name).await;
    restore_chain(files, Some(archive), target.disk.clone(), until, &|_| Ok(())).await?;
    Ok(state_of(&target).await)
}

/// Without what the archive has behind the backup.
pub(super) async fn end_of_chain(env: &Env, chain: &[&Made], name: &str) -> u64 {
    let files = chain.iter().map(|made| reader(&made.bytes, name).unwrap()).collect();
    let target = inside(env, name).await;
    restore_chain(files, None, target.disk.clone(), Until::End, &|_| Ok(())).await.unwrap();
    state_of(&target).await
}

/// One life of the server with a backup in the middle.
async fn life(env: &Env, notes: &Arc<Notes>, base: Option<&Made>, closes: bool) -> Made {
    let (engine, archive) = open(env, notes).await;
    start_writer(env, &engine, notes, 500);
    wait_for(env, notes, notes.count() + 60).await;
    let made = make(&engine, notes, base, None).await;
    wait_for(env, notes, notes.count() + 60).await;
    stop_writer(env, notes).await;
    if closes {
        archive.unwrap().close().await.unwrap();
        engine.close().await.unwrap();
    }
    made
}

#[test]
fn a_full_backup_and_its_increments_give_what_was_committed() {
    let notes = Arc::new(Notes::default());
    let mut world = World::new(41, SimOptions::default());
    let mut chain: Vec<Made> = Vec::new();
    for round in 0..9 {
        let env = world.env();
        let last = chain.pop();
        let made = {
            let notes = notes.clone();
            async move {
                let made = life(&env, &notes, last.as_ref(), round % 3 != 1).await;
                (last, made)
            }
        };
        let (last, made) = world.block_on(made).unwrap();
        chain.extend(last);
        assert!(round == 0 || made.head.is_partial, "round {round}: the changes are known");
        chain.push(made);
        if round % 3 == 1 {
            // The process ends in the middle.
            world = world.kill(SimOptions::default());
        }
    }
    let env = world.env();
    let check = async move {
        for length in 1..=chain.len() {
            let part: Vec<&Made> = chain[..length].iter().collect();
            let last = part[length - 1];
            let found = end_of_chain(&env, &part, &format!("chain-{length}")).await;
            assert!((last.counts.0..=last.counts.1).contains(&found), "{length}: {found} {:?}", last.counts);
        }
        let states = notes.states.lock().clone();
        let all: Vec<&Made> = chain.iter().collect();
        for length in [1, 4, 9] {
            let from = states.partition_point(|state| state.lsn < all[length - 1].to_lsn);
            for index in [from, from + 7, states.len() - 1] {
                let until = Until::Lsn(states[index].lsn);
                let found =
                    restored_chain(&env, &all[..length], until, &format!("at-{length}-{index}")).await;
                assert_eq!(found, Ok(index as u64 + 1), "{length} files");
            }
        }
        let early = restored_chain(&env, &all, Until::Lsn(all[8].to_lsn - 1), "early").await;
        assert!(
            matches!(&early, Err(ArchiveError::TooNew(what)) if what.contains("leave it out")),
            "{early:?}"
        );
    };
    world.block_on(check).unwrap();
}

#[test]
fn an_increment_has_what_has_changed_and_no_more() {
    let world = World::new(42, SimOptions::default());
    let env = world.env();
    let run = async move {
        let notes = Arc::new(Notes::default());
        let (engine, _archive) = open(&env, &notes).await;
        for _ in 0..700 {
            write(&env, &engine, &notes).await;
        }
        engine.close().await.unwrap();
        let engine = Engine::open(env.clone(), options()).await.unwrap();
        let full = make(&engine, &notes, None, None).await;
        for _ in 0..10 {
            write(&env, &engine, &notes).await;
        }
        engine.close().await.unwrap();
        let engine = Engine::open(env.clone(), options()).await.unwrap();
        let increment = make(&engine, &notes, Some(&full), None).await;
        assert!(full.pages > 150 && increment.pages < 40, "{} and {}", full.pages, increment.pages);
        assert_eq!(increment.head.pages_total, increment.pages as u64, "no other was read");
        // Nothing is known of a map that is gone: then it has all.
        engine.close().await.unwrap();
        env.disk.remove("data/changes.db").await.unwrap();
        let engine = Engine::open(env.clone(), options()).await.unwrap();
        let all = make(&engine, &notes, Some(&increment), None).await;
        assert!(!all.head.is_partial && all.pages >= full.pages);
        let found = end_of_chain(&env, &[&full, &increment, &all], "chain").await;
        assert_eq!(found, notes.count());
    };
    world.block_on(run).unwrap();
}

#[test]
fn what_does_not_belong_together_is_said() {
    let world = World::new(43, SimOptions::default());
    let env = world.env();
    let run = async move {
        let notes = Arc::new(Notes::default());
        let (engine, _archive) = open(&env, &notes).await;
        write(&env, &engine, &notes).await;
        let full = make(&engine, &notes, None, None).await;
        let one = make(&engine, &notes, Some(&full), None).await;
        let two = make(&engine, &notes, Some(&one), None).await;
        let env_of_other = inside(&env, "other").await;
        let other = Engine::open(env_of_other, options()).await.unwrap();
        let foreign = make(&other, &Notes::default(), None, None).await;
        let base = BackupBase::parse(&full.head.token());
        let refused = other.stream_backup(BackupOptions { base, bytes_per_second: 0 }, Arc::default()).await;
        assert!(refused.err().unwrap().to_string().contains("another server"));
        let foreign_increment = make(&other, &Notes::default(), Some(&foreign), None).await;
        let cases: [(&[&Made], &str); 6] = [
            (&[&one], "begin with the full backup"),
            (&[&full, &two], "is missing"),
            (&[&full, &two, &one], "the order is wrong"),
            (&[&full, &one, &one], "the order is wrong"),
            (&[&full, &foreign_increment], "of another server"),
            (&[&full, &foreign], "no increment"),
        ];
        for (number, (chain, expected)) in cases.into_iter().enumerate() {
            let result = restored_chain(&env, chain, Until::End, &format!("wrong-{number}")).await;
            assert!(
                matches!(&result, Err(ArchiveError::Unfit(what)) if what.contains(expected)),
                "{result:?}"
            );
        }
    };
    world.block_on(run).unwrap();
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_backup_file_is_named() {
    let world = World::new(44, SimOptions::default());
    let env = world.env();
    let run = async move {
        let notes = Arc::new(Notes::default());
        let (engine, _archive) = open(&env, &notes).await;
        for _ in 0..50 {
            write(&env, &engine, &notes).await;
        }
        let key = BackupKey::new(KEY).unwrap();
        let wrong_key = BackupKey::new(&[7; 40]).unwrap();
        assert!(BackupKey::new(&KEY[..31]).is_none());
        let plain = make(&engine, &notes, None, None).await;
        let sealed = make(&engine, &notes, None, Some(&key)).await;
        let unfit = |bytes: &[u8], key: Option<&BackupKey>| {
            let opened = BackupReader::open(Cursor::new(bytes.to_vec()), "it", key);
            opened.err().unwrap().to_string()
        };
        assert!(unfit(&sealed.bytes, None).contains("is encrypted: give its key"));
        assert!(unfit(&sealed.bytes, Some(&wrong_key)).contains("another key"));
        assert!(unfit(&plain.bytes, Some(&key)).contains("not encrypted"));
        assert!(unfit(b"something else", None).contains("no backup file"));
        for (made, key) in [(&plain, None), (&sealed, Some(&key))] {
            let look = |bytes: Vec<u8>| match BackupReader::open(Cursor::new(bytes), "it", key) {
                Ok(file) => check_backup(file, &|_| ()).faults,
                Err(error) => vec![error.to_string()],
            };
            assert_eq!(look(made.bytes.clone()), Vec::<String>::new());
            let random = SeededRandom::new(5);
            for _ in 0..40 {
                let mut bytes = made.bytes.clone();
                bytes[random.below(made.bytes.len())] ^= 1 << random.below(8);
                let faults = look(bytes);
                assert!(faults.len() == 1 && faults[0].contains("it "), "{faults:?}");
                let cut = random.below(made.bytes.len());
                let faults = look(made.bytes[..cut].to_vec());
                let is_named = faults[0].contains("truncated") || cut < 64;
                assert!(faults.len() == 1 && is_named, "cut at {cut}: {faults:?}");
            }
        }
        // A sealed file says nothing of what is in it.
        let has = |made: &Made, text: &[u8]| made.bytes.windows(text.len()).any(|part| part == text);
        assert!(!has(&sealed, b"counter"));
    };
    world.block_on(run).unwrap();
}
