//! Bit rot, file by file: every kind of damage in every kind of file of a small database whose content is known.
//!
//! Unlike `decay`, which judges the store as a whole, this looks at each table by itself: one that can be read has
//! exactly its rows, whatever has become of the others, and what cannot be read can be dropped. The machine was either
//! stopped in order or killed with a transaction at work. After a kill, damage in the last chunk of the log is a torn
//! tail as far as anybody can tell: the last commit may be gone then, and nothing else.

use crate::run::{RunOptions, Violation, caught};
use crate::subject::{Refusal, Rows, Subject, Table};
use env::Random;
use env::sim::{Outcome, SECTOR_BYTES, SeededRandom, SimOptions, World};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

const TABLES: usize = 5;
const ROWS_PER_TABLE: usize = 60;
/// Transactions at the end whose loss is told from other wrong answers.
const LAST_COMMITS: usize = 4;
const BLOCK_BYTES: usize = 4096;
/// The damaged tables of one copy in so many are dropped, and the store is opened once more.
const DROPS_ONE_IN: usize = 4;

type State = BTreeMap<Table, Rows>;

/// What has become of the damages of one kind in the files of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RotCount {
    pub tried: u64,
    /// The store did not open, and said why.
    pub refused: u64,
    /// A table could not be read, or the check of the whole found it; the rest was right.
    pub noticed: u64,
    /// Everything was right: repaired, or nothing is stored there.
    pub harmless: u64,
    /// The last commit before a kill is gone: damage that looks like a torn tail.
    pub cut: u64,
    /// Older whole pages after a kill, where the store is known not to notice them all: see docs/decisions/0027.
    pub known_gap: u64,
}

/// Counts by what was damaged and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RotReport {
    pub counts: BTreeMap<(&'static str, &'static str), RotCount>,
}

impl RotReport {
    pub fn tried(&self) -> u64 {
        self.counts.values().map(|count| count.tried).sum()
    }

    pub fn add(&mut self, other: &Self) {
        for (kind, count) in &other.counts {
            let sum = self.counts.entry(*kind).or_default();
            sum.tried += count.tried;
            sum.refused += count.refused;
            sum.noticed += count.noticed;
            sum.harmless += count.harmless;
            sum.cut += count.cut;
            sum.known_gap += count.known_gap;
        }
    }
}

impl fmt::Display for RotReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = ("file", "damage", "tried", "refused", "noticed", "harmless", "cut", "known gap");
        let (file, damage, tried, refused, noticed, harmless, cut, gap) = title;
        writeln!(
            f,
            "{file:<30}{damage:<16}{tried:>9}{refused:>9}{noticed:>9}{harmless:>10}{cut:>7}{gap:>11}"
        )?;
        for ((file, damage), count) in &self.counts {
            let RotCount { tried, refused, noticed, harmless, cut, known_gap } = count;
            writeln!(
                f,
                "{file:<30}{damage:<16}{tried:>9}{refused:>9}{noticed:>9}{harmless:>10}{cut:>7}{known_gap:>11}"
            )?;
        }
        write!(f, "{} damages, no wrong answer", self.tried())
    }
}

/// A machine at rest, with what it was a while ago and what has to be found on it.
struct Rest {
    world: World,
    killed: bool,
    early: BTreeMap<String, Vec<u8>>,
    state: State,
    /// Before the last commit, and before those before it.
    previous: Vec<State>,
}

/// Damages `samples` copies of the files that one seed's database consists of.
pub fn run_rot<S: Subject>(options: &RunOptions, samples: u64) -> Result<RotReport, Violation> {
    let what = caught(|| {
        let mut report = RotReport::default();
        for killed in [false, true] {
            let rest = live::<S>(options.seed, killed)?;
            let random = SeededRandom::new(options.seed ^ 0x707 ^ u64::from(killed));
            for _ in 0..samples / 2 {
                sample::<S>(&rest, &random, &mut report)?;
            }
        }
        Ok(report)
    });
    let subject = " --rot 1000";
    what.map_err(|what| Violation { seed: options.seed, crash_point: None, fault: None, subject, what })
}

/// A short life whose end is known to the last row.
fn live<S: Subject>(seed: u64, killed: bool) -> Result<Rest, String> {
    let world = World::new(seed, SimOptions::default());
    let random = SeededRandom::new(seed ^ 0xa9e);
    let mut early = BTreeMap::new();
    let (env, machine) = (world.env(), &world);
    let early_files = &mut early;
    let outcome = world.block_on(async move {
        let subject = S::open(env).await?;
        let mut state = State::new();
        for _ in 0..TABLES {
            let mut transaction = subject.begin(1);
            let table = done(S::create_table(&mut transaction).await)?;
            done(S::commit(transaction).await)?;
            state.insert(table, Rows::new());
        }
        for _ in 0..TABLES * 3 {
            change::<S>(&subject, &mut state, &random, ROWS_PER_TABLE / 2).await?;
        }
        *early_files = files(machine);
        for _ in 0..TABLES * 2 {
            change::<S>(&subject, &mut state, &random, ROWS_PER_TABLE / 2).await?;
        }
        let mut previous = Vec::new();
        for _ in 0..LAST_COMMITS {
            previous.insert(0, state.clone());
            change::<S>(&subject, &mut state, &random, 3).await?;
        }
        if killed {
            // What it has changed must not be there afterwards.
            let mut loser = subject.begin(1);
            for (table, rows) in &state {
                for (key, _) in rows.iter().take(2) {
                    done(S::update(&mut loser, *table, key, b"never committed").await)?;
                }
            }
            std::mem::forget(loser);
        } else {
            subject.close().await?;
        }
        Ok::<_, String>((state, previous))
    });
    let Outcome::Done(lived) = outcome else { return Err("the workload hangs".into()) };
    let (state, previous) = lived?;
    Ok(Rest { world, killed, early, state, previous })
}

fn done<T>(result: Result<T, Refusal>) -> Result<T, String> {
    result.map_err(|refusal| format!("the sound store refuses: {refusal:?}"))
}

/// A transaction that changes rows of one table.
async fn change<S: Subject>(
    subject: &Arc<S>,
    state: &mut State,
    random: &SeededRandom,
    changes: usize,
) -> Result<(), String> {
    let tables: Vec<Table> = state.keys().copied().collect();
    let table = tables[random.below(tables.len())];
    let mut rows: BTreeMap<Vec<u8>, Vec<u8>> = state[&table].iter().cloned().collect();
    let mut transaction = subject.begin(1);
    for _ in 0..changes {
        let key = format!("key {:03}", random.below(ROWS_PER_TABLE)).into_bytes();
        let length = if random.below(24) == 0 { 9000 } else { 20 + random.below(200) };
        let value: Vec<u8> = (0..length).map(|_| random.u64() as u8).collect();
        match rows.entry(key) {
            Entry::Vacant(row) => {
                done(S::insert(&mut transaction, table, row.key(), &value).await)?;
                row.insert(value);
            }
            Entry::Occupied(row) if random.below(6) == 0 => {
                done(S::delete(&mut transaction, table, row.key()).await)?;
                row.remove();
            }
            Entry::Occupied(mut row) => {
                done(S::update(&mut transaction, table, row.key(), &value).await)?;
                row.insert(value);
            }
        }
    }
    done(S::commit(transaction).await)?;
    state.insert(table, rows.into_iter().collect());
    Ok(())
}

fn files(world: &World) -> BTreeMap<String, Vec<u8>> {
    let content = |path: String| world.content(&path).map(|bytes| (path, bytes));
    world.paths().into_iter().filter_map(content).collect()
}

/// What kind of file a path names.
fn kind_of(path: &str, killed: bool) -> &'static str {
    let kinds = [
        ("pages.db", "pages", "pages, killed"),
        ("doublewrite.db", "doublewrite", "doublewrite, killed"),
        ("versions.db", "versions", "versions, killed"),
        ("wal/", "log", "log, killed"),
    ];
    let kind = kinds.iter().find(|(part, ..)| path.contains(part));
    kind.map_or("other", |(_, stopped, after_kill)| if killed { after_kill } else { stopped })
}

/// Where the damage is and what it is.
struct Damage {
    path: String,
    name: &'static str,
    /// How many blocks it may have hit.
    blocks: usize,
    described: String,
}

fn sample<S: Subject>(rest: &Rest, random: &SeededRandom, report: &mut RotReport) -> Result<(), String> {
    let image = rest.world.kill_image(0, SimOptions::default());
    let Some(damage) = damage(&image, rest, random) else { return Ok(()) };
    let count = report.counts.entry((kind_of(&damage.path, rest.killed), damage.name)).or_default();
    count.tried += 1;
    let drops = random.below(DROPS_ONE_IN) == 0;
    let checked = caught(|| match image.block_on(check::<S>(&image, rest, drops)) {
        Outcome::Done(checked) => checked,
        Outcome::Crashed | Outcome::Stalled => Err("the damaged store hangs".into()),
    });
    // An older image that is sound in itself: after a kill it is noticed only if what came before it was known by then.
    let unnoticeable = rest.killed && damage.path.ends_with("pages.db") && damage.name.starts_with("older");
    match checked {
        Ok(Verdict::Refused) => count.refused += 1,
        Ok(Verdict::Noticed) => count.noticed += 1,
        Ok(Verdict::Harmless) => count.harmless += 1,
        Ok(Verdict::Cut { commits }) => {
            // Each commit has a chunk of its own, in one block at least.
            if !rest.killed || !damage.path.starts_with("wal/") || commits > damage.blocks {
                return Err(format!("{commits} commits are gone with {}", damage.described));
            }
            count.cut += 1;
        }
        Err(_) if unnoticeable => count.known_gap += 1,
        Err(what) => return Err(format!("{what} with {}", damage.described)),
    }
    Ok(())
}

enum Verdict {
    Refused,
    Noticed,
    Harmless,
    Cut { commits: usize },
}

/// Opens the store and looks at everything; a wrong answer is the error.
async fn check<S: Subject>(image: &World, rest: &Rest, drops: bool) -> Result<Verdict, String> {
    let Ok(subject) = S::open(image.env()).await else { return Ok(Verdict::Refused) };
    let mut damaged = Vec::new();
    let mut found = State::new();
    for table in rest.state.keys() {
        let mut reader = subject.begin(1);
        match S::scan(&mut reader, *table, false).await {
            Ok(rows) => {
                found.insert(*table, rows);
            }
            Err(_) => damaged.push(*table),
        }
    }
    let is_state = |state: &State| found.iter().all(|(table, rows)| *rows == state[table]);
    if !is_state(&rest.state) {
        return match rest.previous.iter().position(is_state) {
            Some(before) => Ok(Verdict::Cut { commits: before + 1 }),
            None => Err("a table has rows that it should not have".into()),
        };
    }
    let is_sound = subject.verify().await.is_ok();
    if drops && !damaged.is_empty() {
        drop_damaged::<S>(image, &subject, rest, &damaged).await?;
    }
    Ok(if damaged.is_empty() && is_sound { Verdict::Harmless } else { Verdict::Noticed })
}

/// The damaged tables can be dropped, and the others are still there after a restart.
async fn drop_damaged<S: Subject>(
    image: &World,
    subject: &Arc<S>,
    rest: &Rest,
    damaged: &[Table],
) -> Result<(), String> {
    let mut transaction = subject.begin(1);
    for table in damaged {
        S::drop_table(&mut transaction, *table).await.map_err(|refusal| format!("a drop: {refusal:?}"))?;
    }
    S::commit(transaction).await.map_err(|refusal| format!("the commit of a drop: {refusal:?}"))?;
    subject.close().await.map_err(|what| format!("the close after a drop: {what}"))?;
    let again = S::open(image.env()).await.map_err(|what| format!("the start after a drop: {what}"))?;
    for (table, rows) in rest.state.iter().filter(|(table, _)| !damaged.contains(table)) {
        let mut reader = again.begin(1);
        let found = S::scan(&mut reader, *table, false).await;
        let found = found.map_err(|refusal| format!("another table after a drop: {refusal:?}"))?;
        if found != *rows {
            return Err("another table has wrong rows after a drop".into());
        }
    }
    Ok(())
}

/// Damages one place; `None` if nothing has changed by it.
fn damage(world: &World, rest: &Rest, random: &SeededRandom) -> Option<Damage> {
    let files = files(world);
    let kinds: Vec<&'static str> = files.keys().map(|path| kind_of(path, rest.killed)).collect();
    let kind = kinds[random.below(kinds.len())];
    let paths: Vec<&String> = files.keys().filter(|path| kind_of(path, rest.killed) == kind).collect();
    let path = paths[random.below(paths.len())];
    let content = &files[path];
    let unit = [SECTOR_BYTES, BLOCK_BYTES, 2 * BLOCK_BYTES][random.below(3)];
    let start = pick(content, unit, random)?;
    let range = start..start + unit;
    let older = rest.early.get(path);
    let (name, place) = match random.below(16) {
        0 => {
            world.damage(path, |content| content[range.clone()].fill(0));
            ("zeroed", format!("{unit} bytes at {start}"))
        }
        1 => {
            let old = older?.get(range.clone())?;
            world.damage(path, |content| content[range.clone()].copy_from_slice(old));
            (
                if unit == SECTOR_BYTES { "stale sector" } else { "older page" },
                format!("{unit} bytes at {start}"),
            )
        }
        2 => {
            let other = pick(content, unit, random)?;
            world.damage(path, |content| {
                let kept = content[range.clone()].to_vec();
                content.copy_within(other..other + unit, start);
                content[other..other + unit].copy_from_slice(&kept);
            });
            ("swapped", format!("{unit} bytes at {start} and {other}"))
        }
        3 => {
            let other = pick(content, unit, random)?;
            world.damage(path, |content| content.copy_within(other..other + unit, start));
            ("misdirected", format!("{unit} bytes of {other} at {start}"))
        }
        4 => {
            world.damage(path, |content| content.truncate(start));
            ("truncated", format!("to {start} bytes"))
        }
        5 if random.below(4) == 0 && !(rest.killed && path.starts_with("wal/")) => {
            let old = older?.clone();
            world.damage(path, |content| *content = old);
            ("older file", "as a whole".to_owned())
        }
        6 => {
            let garbage: Vec<u8> = (0..unit).map(|_| random.u64() as u8).collect();
            world.damage(path, |content| content[range.clone()].copy_from_slice(&garbage));
            ("garbage", format!("{unit} bytes at {start}"))
        }
        _ => {
            let bit = start * 8 + random.below(unit * 8);
            world.flip_bit(path, bit);
            ("flipped bit", format!("number {bit}"))
        }
    };
    let changed = world.content(path).as_ref() != Some(content);
    let described = format!("'{path}' {name}: {place}");
    let blocks = match name {
        "flipped bit" => 1,
        "swapped" => 2 * unit.div_ceil(BLOCK_BYTES),
        _ => unit.div_ceil(BLOCK_BYTES),
    };
    changed.then(|| Damage { path: path.clone(), name, blocks, described })
}

/// A place in a file, mostly where something is written.
fn pick(content: &[u8], unit: usize, random: &SeededRandom) -> Option<usize> {
    let units = content.len() / unit;
    if units == 0 {
        return None;
    }
    for _ in 0..if random.below(10) == 0 { 1 } else { 64 } {
        let start = random.below(units) * unit;
        if content[start..start + unit].iter().any(|byte| *byte != 0) {
            return Some(start);
        }
    }
    Some(random.below(units) * unit)
}
