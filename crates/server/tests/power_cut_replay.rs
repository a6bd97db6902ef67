//! Power cuts between any two writes of a disk: every state that a cut could have left can be made from a log of the writes.
//!
//! One load runs in a guest whose disk logs each write (`support/write_log.rs`); marks in the log say what had been
//! acknowledged so far. Then, on the host, disks are made as they were behind entries of the log, with parts of what had not
//! been flushed left out or torn; on each the server recovers and is compared with what was acknowledged at the last mark
//! before. EVENKEEL_REPLAY_STATES sets how many states (24). Needs root, for loop mounts.

mod support;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use support::guest::{Guest, disk_in_the_guest, host_in_the_guest, make_disk, missing, say, tool};
use support::journal::{
    Finding, Models, Random, Shape, compare, from_environment, lists_in, prepare, write_until_killed,
};
use support::write_log::WriteLog;
use support::{TestDirectory, TestServer, evenkeel};

const SHAPE: Shape = Shape { accounts: 10_000, padding: 200 };
/// Pages are written and read again all the time, and so is the log.
const OPTIONS: [&str; 2] = ["--innodb-buffer-pool-size=5M", "--innodb-redo-log-capacity=8M"];
/// Nothing is flushed for the sake of pages, or because it is time.
const LAZY_OPTIONS: [&str; 3] =
    ["--innodb-buffer-pool-size=32M", "--innodb-redo-log-capacity=32M", "--innodb-flush-log-at-timeout=1000"];
const DISK_BYTES: u64 = 128 << 20;
/// Sparse: as much as a load could write.
const LOG_BYTES: u64 = 8 << 30;
const MARKS: u64 = 60;
const SILENCE_MAX: Duration = Duration::from_secs(900);

/// The load's part; nothing anywhere else.
#[test]
fn in_the_guest() {
    let Ok(options) = std::env::var("CUT_OPTIONS") else { return };
    let flush = std::env::var("CUT_FLUSH").expect("the host says how");
    let host = host_in_the_guest();
    let lists = lists_in(&host);
    let options: Vec<_> = options.split(',').collect();
    let server = TestServer::start_in(TestDirectory::kept(&disk_in_the_guest()), &options);
    let mut client = server.log_in();
    // Durable in any case: only what is on the lists may be missing afterwards.
    prepare(&mut client, SHAPE);
    let flush = format!("SET GLOBAL innodb_flush_log_at_trx_commit = {flush}");
    client.execute(&flush).expect("the option is known");
    let mut random = Random(from_environment("CUT_SEED", 1));
    let port = server.port;
    std::thread::scope(|scope| {
        for (writer, list) in (0..).zip(&lists) {
            let seed = random.below(u64::MAX) | 1;
            scope.spawn(move || write_until_killed(port, writer, list, seed, SHAPE));
        }
        for mark in 1.. {
            // First what was acknowledged, then the mark: the mark never says too much.
            let counts: Vec<_> = lists.iter().map(|list| length(list).to_string()).collect();
            let marked =
                Command::new("dmsetup").args(["message", "log", "0", "mark", &counts.join(".")]).status();
            assert!(marked.is_ok_and(|status| status.success()), "no mark");
            say(&format!("marked {mark}"));
        }
    });
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |data| data.len())
}

/// A mounted disk; it is unmounted in the end.
struct Mount(PathBuf);

impl Mount {
    fn new(disk: &Path, at: &Path) -> Self {
        fs::create_dir_all(at).expect("writable");
        let mended = tool("e2fsck").args(["-fy"]).arg(disk).output().expect("e2fsck was found");
        assert!(mended.status.code().is_some_and(|code| code <= 2), "e2fsck: {mended:?}");
        let status = tool("mount").args(["-o", "loop"]).arg(disk).arg(at).status().expect("mount exists");
        assert!(status.success(), "the disk cannot be mounted");
        Self(at.to_owned())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = tool("umount").arg(&self.0).status();
    }
}

/// A load in a guest: leaves the disk as it was before, the log, and the lists in `host`.
/// With `flush` 1 each commit is flushed before its answer.
fn record(host: &Path, options: &[&str], flush: &str, seed: u64) {
    let (disk, before, log) = (host.join("disk"), host.join("before"), host.join("log"));
    // Without a journal, ext4 does not flush the disk at an fdatasync that changes no inode.
    make_disk(&disk, DISK_BYTES, true);
    fs::copy(&disk, &before).expect("there is room");
    File::create(&log).and_then(|file| file.set_len(LOG_BYTES)).expect("a log can be made");
    let orders = [
        // The kernel's command line is parted at spaces.
        ("CUT_OPTIONS", options.join(",")),
        ("CUT_FLUSH", flush.to_owned()),
        ("CUT_SEED", seed.to_string()),
        ("EVENKEEL_PROGRAM", evenkeel(&TestDirectory::kept(host)).get_program().display().to_string()),
    ];
    let mut guest = Guest::boot(&disk, Some(&log), host, &orders);
    loop {
        let line = guest.line_until(Instant::now() + SILENCE_MAX);
        let line = line.unwrap_or_else(|| panic!("the guest is silent:\n{}", guest.said_last()));
        assert!(!line.starts_with("broken"), "{line}:\n{}", guest.said_last());
        if line == format!("marked {MARKS}") {
            break;
        }
    }
    guest.cut();
}

/// What was acknowledged at the last mark up to `index`.
fn acknowledged(log: &WriteLog, index: usize) -> Option<Vec<u64>> {
    let mark = log.entries[..=index].iter().rev().find_map(|entry| entry.mark.as_ref())?;
    Some(mark.split('.').map(|count| count.parse().expect("a count")).collect())
}

/// Recovers on one state, and compares.
fn recover(host: &Path, disk: &Path, acknowledged: &[u64]) -> Finding {
    let mount = Mount::new(disk, &host.join("mount"));
    let lists_directory = TestDirectory::new();
    let lists = lists_in(lists_directory.path());
    for (list, count) in lists.iter().zip(acknowledged) {
        fs::write(list, ".".repeat(*count as usize)).expect("writable");
    }
    let directory = TestDirectory::kept(&mount.0);
    let program = evenkeel(&directory).get_program().to_owned();
    let verify =
        Command::new(program).arg("verify").arg(mount.0.join("data")).output().expect("the program starts");
    let server = TestServer::start_in(directory, &OPTIONS);
    let mut finding = compare(&mut server.log_in(), &mut Models::default(), &lists, SHAPE);
    // Several of a writer's transactions may have been acknowledged since the mark.
    finding.faults.retain(|fault| !fault.contains("were acknowledged"));
    if !verify.status.success() {
        finding.faults.push(format!("verify: {verify:?}"));
    }
    server.kill_nine();
    finding
}

/// What became of one load's states.
#[derive(Default)]
struct Outcome {
    states: u64,
    /// Of them, those in which something acknowledged was lost.
    losses: u64,
    /// Unflushed writes that were left out or torn.
    left_out: usize,
    /// At the last state.
    acknowledged: u64,
}

/// How many states are looked at.
#[derive(Clone, Copy)]
struct Effort {
    states_max: u64,
    /// One that has lost something is enough.
    stops_at_loss: bool,
}

/// Makes states of a recorded load and recovers each; only losses are borne here. A load can be examined once: on the way
/// `before` becomes what it was behind the last state.
fn examine(host: &Path, effort: Effort, random: &mut Random) -> Outcome {
    let log = WriteLog::open(&host.join("log"));
    let first = log.entries.iter().position(|entry| entry.mark.is_some()).expect("there are marks");
    let behind_marks = (log.entries.len() - first) as u64;
    let mut points: Vec<_> =
        (0..effort.states_max).map(|_| first + random.below(behind_marks) as usize).collect();
    points.sort_unstable();
    let rolling = OpenOptions::new().write(true).open(host.join("before")).expect("it is there");
    let mut outcome = Outcome::default();
    let mut applied = 0;
    for point in points {
        let unsure = log.first_unsure(point).max(applied);
        log.apply(applied..unsure, &rolling);
        applied = unsure;
        let disk = host.join("state");
        fs::copy(host.join("before"), &disk).expect("there is room");
        let state = OpenOptions::new().write(true).open(&disk).expect("just made");
        outcome.left_out += log.apply_in_part(applied..point + 1, &state, random);
        drop(state);
        let acknowledged = acknowledged(&log, point).expect("points are behind the first mark");
        let finding = recover(host, &disk, &acknowledged);
        assert!(finding.faults.is_empty(), "behind write {point}: {finding:?}");
        outcome.states += 1;
        outcome.losses += u64::from(finding.lost > 0);
        outcome.acknowledged = acknowledged.iter().sum();
        if effort.stops_at_loss && outcome.losses > 0 {
            break;
        }
    }
    outcome
}

fn is_absent() -> bool {
    let may_mount = fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0);
    let has_modules = Path::new("/usr/lib/uml/modules").is_dir();
    let missing = missing(&["dmsetup", "modprobe", "blockdev"])
        .or((!may_mount).then(|| "root".to_owned()))
        .or((!has_modules).then(|| "the guest's modules".to_owned()));
    if let Some(what) = &missing {
        println!("skipped: {what} is missing");
    }
    missing.is_some()
}

fn random() -> Random {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let seed = from_environment("EVENKEEL_REPLAY_SEED", now | 1);
    println!("seed {seed}");
    Random(seed)
}

#[test]
fn no_write_is_needed_that_was_not_flushed() {
    if is_absent() {
        return;
    }
    let states = from_environment("EVENKEEL_REPLAY_STATES", 24);
    let mut random = random();
    let started = Instant::now();
    let host = TestDirectory::new();
    record(host.path(), &OPTIONS, "1", random.below(u64::MAX) | 1);
    let effort = Effort { states_max: states, stops_at_loss: false };
    let outcome = examine(host.path(), effort, &mut random);
    println!(
        "{} states, {} unflushed writes left out or torn, {} acknowledged at the last",
        outcome.states, outcome.left_out, outcome.acknowledged
    );
    assert_eq!(outcome.losses, 0, "acknowledged transactions are lost");
    assert!(outcome.acknowledged > 0, "there was no load to speak of");
    println!("{states} states, 0 lost, 0 half applied, in {:?}", started.elapsed());
}

/// The check itself: commits that are written and not flushed survive a kill, but not a disk with a cache. A state may by
/// chance have all of them.
#[test]
fn a_missing_flush_is_caught() {
    if is_absent() {
        return;
    }
    let mut random = random();
    let host = TestDirectory::new();
    record(host.path(), &LAZY_OPTIONS, "2", random.below(u64::MAX) | 1);
    let effort = Effort { states_max: 24, stops_at_loss: true };
    let outcome = examine(host.path(), effort, &mut random);
    println!("without flushes: {} of {} states lost something acknowledged", outcome.losses, outcome.states);
    assert!(outcome.losses > 0, "nothing was lost without flushes");
}
