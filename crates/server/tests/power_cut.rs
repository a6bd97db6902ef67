//! Power cuts at random moments under write load: nothing acknowledged is lost, nothing is half there.
//!
//! The server and the load run in a guest (`support/guest.rs`) with a fresh ext4 disk; what was acknowledged is written
//! down on the host. The power goes under load, during recovery from the last cut, or while the server stops; after each cut
//! the guest boots again, `evenkeel verify` looks at the data as the cut left it, the server recovers, and what it has is
//! compared with what was acknowledged. See `tests/power_cut/README.md`.

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use support::guest::{Guest, disk_in_the_guest, host_in_the_guest, make_disk, missing, say};
use support::journal::{
    Models, Random, Shape, compare, from_environment, lists_in, prepare, write_until_killed,
};
use support::{TestDirectory, TestServer, evenkeel};

/// More than the buffer pool holds.
const SHAPE: Shape = Shape { accounts: 40_000, padding: 200 };
/// As small as they can be, so that pages are written and the log goes round within a cycle.
const OPTIONS: &str = "--innodb-buffer-pool-size=5M,--innodb-redo-log-capacity=8M";
const DISK_BYTES: u64 = 256 << 20;
const CUTS_PER_DISK: u64 = 25;
/// Of those that must lose something. One cut may by chance take nothing.
const WEAK_DISKS_MAX: usize = 2;
const LOAD_MS_MAX: u64 = 2_500;
const STOP_MS_MAX: u64 = 300;
/// How long a guest may be silent: it has to boot, verify, recover and compare on a busy machine.
const SILENCE_MAX: Duration = Duration::from_secs(900);
/// What is written beside the load and never synced.
const UNSYNCED_CHUNK: usize = 64 << 10;
const UNSYNCED_MAX: u64 = 4 << 20;
const UNSYNCED_PAUSE: Duration = Duration::from_millis(20);

/// When the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Load,
    Recovery,
    Stop,
    /// Not at all: the guest stops the server, verifies once more, and is done.
    Never,
}

// --- in the guest ---

/// The load's part; nothing anywhere else.
#[test]
fn in_the_guest() {
    let Ok(moment) = std::env::var("CUT_MOMENT") else { return };
    let options = std::env::var("CUT_OPTIONS").expect("the host says which");
    let options: Vec<_> = options.split(',').collect();
    // Ends the line that the harness began: the host looks at the beginnings of lines.
    println!();
    let (disk, host) = (disk_in_the_guest(), host_in_the_guest());
    let lists = lists_in(&host);
    let directory = TestDirectory::kept(&disk);
    let is_prepared = host.join("prepared").exists();
    if is_prepared {
        look_at_unsynced(&disk, &host);
        verify(&directory);
    }
    say("recovering");
    let mut server = TestServer::start_in(directory, &options);
    say("recovered");
    if is_prepared {
        let finding = compare(&mut server.log_in(), &mut Models::default(), &lists, SHAPE);
        say(&format!("found {} {} {}", finding.transactions, finding.lost, finding.faults.len()));
        finding.faults.iter().take(10).for_each(|fault| say(&format!("fault {fault}")));
    } else {
        prepare(&mut server.log_in(), SHAPE);
        fs::write(host.join("prepared"), "").expect("writable");
    }
    if moment == "Stop" || moment == "Never" {
        say("stopping");
        let (status, _, directory) = server.terminate();
        assert!(status.success(), "the server ended with {status}");
        verify(&directory);
        say("stopped");
        server = TestServer::start_in(directory, &options);
    }
    let port = server.port;
    let mut random = Random(from_environment("CUT_SEED", 1));
    std::thread::scope(|scope| {
        scope.spawn(|| write_unsynced(&disk, &host));
        for (writer, list) in (0..).zip(&lists) {
            let seed = random.below(u64::MAX) | 1;
            scope.spawn(move || write_until_killed(port, writer, list, seed, SHAPE));
        }
        say("loading");
    });
    panic!("the server is gone:\n{}", server.log());
}

fn verify(directory: &TestDirectory) {
    let mut command = evenkeel(directory);
    let mut verify = std::process::Command::new(command.get_program());
    command.stdin(std::process::Stdio::null());
    verify.arg("verify").arg(directory.path().join("data"));
    let output = verify.output().expect("the program starts");
    match output.status.success() {
        true => say("verified"),
        false => say(&format!(
            "damaged {} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Data that nobody synced, to see that a cut takes it: how much there was is on the host.
fn write_unsynced(disk: &Path, host: &Path) {
    let mut file =
        OpenOptions::new().create(true).append(true).open(disk.join("unsynced")).expect("writable");
    let mut bytes = 0;
    while bytes < UNSYNCED_MAX {
        // A full disk is the load's matter.
        if file.write_all(&[b'u'; UNSYNCED_CHUNK]).is_err() {
            return;
        }
        bytes += UNSYNCED_CHUNK as u64;
        // The host's directory has a cache here too.
        let told = File::create(host.join("unsynced")).and_then(|mut file| {
            file.write_all(bytes.to_string().as_bytes())?;
            file.sync_data()
        });
        told.expect("writable");
        std::thread::sleep(UNSYNCED_PAUSE);
    }
}

fn look_at_unsynced(disk: &Path, host: &Path) {
    let written = fs::read_to_string(host.join("unsynced")).unwrap_or_default();
    let kept = fs::read(disk.join("unsynced")).unwrap_or_default();
    // Zeros are blocks that were promised and never written.
    let kept = kept.iter().filter(|byte| **byte == b'u').count();
    say(&format!("unsynced {} {kept}", written.trim().parse().unwrap_or(0)));
    let _ = fs::remove_file(disk.join("unsynced"));
    let _ = fs::remove_file(host.join("unsynced"));
}

// --- on the host ---

/// What a run came to.
#[derive(Debug, Default)]
struct Outcome {
    cuts: u64,
    /// By what the guest was about when the power went.
    cuts_during: std::collections::BTreeMap<String, u64>,
    transactions: u64,
    lost: u64,
    faults: u64,
    verified: u64,
    damaged: u64,
    unsynced_written: u64,
    unsynced_kept: u64,
    recovery_ms_max: u128,
    /// The words of what should not be.
    complaints: Vec<String>,
}

impl Outcome {
    fn hear(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers: Vec<u64> = rest.split(' ').filter_map(|number| number.parse().ok()).collect();
        match (word, numbers.as_slice()) {
            ("found", &[_, lost, faults]) => {
                self.lost += lost;
                self.faults += faults;
            }
            ("unsynced", &[written, kept]) => {
                self.unsynced_written += written;
                self.unsynced_kept += kept.min(written);
            }
            ("verified", _) => self.verified += 1,
            ("damaged", _) => self.damaged += 1,
            _ => {}
        }
        if ["broken:", "damaged", "fault"].contains(&word) {
            self.complaints.push(line.to_owned());
        }
    }

    fn is_sound(&self) -> bool {
        self.lost + self.faults + self.damaged == 0 && self.complaints.is_empty()
    }
}

/// One disk after the other, each through its cuts, until they are `cuts`; `journals` are gone through by turns.
struct Bench {
    random: Random,
    options: &'static str,
    /// Whether a run ends with the first thing that is wrong.
    is_strict: bool,
    outcome: Outcome,
}

const UNJOURNALLED: &str = "EVENKEEL_POWER_CUT_UNJOURNALLED";

/// Whether the file system has a journal. Disks without are for who asks for them: there fdatasync does less, see
/// tests/power_cut/README.md.
fn journals() -> &'static [bool] {
    match from_environment(UNJOURNALLED, 0) {
        0 => &[true],
        _ => &[true, false],
    }
}

impl Bench {
    fn new(options: &'static str, is_strict: bool) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
        let seed = from_environment("EVENKEEL_POWER_CUT_SEED", now | 1);
        println!("seed {seed}");
        Self { random: Random(seed), options, is_strict, outcome: Outcome::default() }
    }

    fn run(&mut self, cuts: u64) {
        let first = from_environment("EVENKEEL_POWER_CUT_FIRST", 0) as usize;
        for (disk, has_journal) in journals().iter().cycle().skip(first).enumerate() {
            // A small run still meets every kind.
            let here =
                CUTS_PER_DISK.min(cuts.div_ceil(journals().len() as u64)).min(cuts - self.outcome.cuts);
            if here == 0 {
                return;
            }
            self.wear_out_a_disk(disk, *has_journal, here);
        }
    }

    fn wear_out_a_disk(&mut self, number: usize, has_journal: bool, cuts: u64) {
        let directory = TestDirectory::new();
        let disk = directory.path().join("disk");
        make_disk(&disk, DISK_BYTES, has_journal);
        let mut recovery = Duration::from_millis(500);
        for cut in 0..=cuts {
            let moment = match self.random.below(10) {
                _ if cut == cuts => Moment::Never,
                0..=2 if cut > 0 => Moment::Recovery,
                3 if cut > 0 => Moment::Stop,
                _ => Moment::Load,
            };
            let during = self.boot_and_cut(&disk, directory.path(), moment, &mut recovery);
            let outcome = &mut self.outcome;
            if moment != Moment::Never {
                outcome.cuts += 1;
                let acknowledged = acknowledged_in(directory.path());
                println!(
                    "disk {number} (journal {has_journal}), cut {}: during {during}; {acknowledged} acknowledged, \
                     lost {}, faults {}, damaged {}; of {} unsynced bytes {} are there",
                    outcome.cuts,
                    outcome.lost,
                    outcome.faults,
                    outcome.damaged,
                    outcome.unsynced_written,
                    outcome.unsynced_kept
                );
                *outcome.cuts_during.entry(during).or_default() += 1;
            }
            if self.is_strict && !outcome.is_sound() {
                panic!("{outcome:#?}\nthe disk is kept: {}", keep(directory.path()).display());
            }
        }
        self.outcome.transactions += acknowledged_in(directory.path());
    }

    /// Answers what the guest was about in the end.
    fn boot_and_cut(&mut self, disk: &Path, host: &Path, moment: Moment, recovery: &mut Duration) -> String {
        let orders = [
            ("CUT_MOMENT", format!("{moment:?}")),
            ("CUT_OPTIONS", self.options.to_owned()),
            ("CUT_SEED", (self.random.below(u64::MAX) | 1).to_string()),
            ("EVENKEEL_PROGRAM", evenkeel(&TestDirectory::kept(host)).get_program().display().to_string()),
        ];
        let (until, wait_max) = match moment {
            Moment::Load => ("loading", Duration::from_millis(LOAD_MS_MAX)),
            Moment::Recovery => ("recovering", *recovery * 5 / 4),
            Moment::Stop => ("stopping", Duration::from_millis(STOP_MS_MAX)),
            Moment::Never => ("stopped", Duration::ZERO),
        };
        let wait = Duration::from_micros(self.random.below(wait_max.as_micros() as u64 + 1));
        let mut guest = Guest::boot(disk, None, host, &orders);
        let mut during = "boot".to_owned();
        let mut recovering = None;
        let mut cut_at = None;
        let broken = loop {
            let deadline = cut_at.unwrap_or_else(|| Instant::now() + SILENCE_MAX);
            let Some(line) = guest.line_until(deadline) else { break cut_at.is_none() };
            self.outcome.hear(&line);
            let word = line.split(' ').next().unwrap_or_default();
            match word {
                "broken:" => break true,
                "recovering" => recovering = Some(Instant::now()),
                "recovered" => {
                    let took = recovering.map_or(Duration::ZERO, |since| since.elapsed());
                    *recovery = took;
                    self.outcome.recovery_ms_max = self.outcome.recovery_ms_max.max(took.as_millis());
                }
                _ => {}
            }
            if ["recovering", "recovered", "found", "stopping", "stopped", "loading"].contains(&word) {
                word.clone_into(&mut during);
            }
            if word == until {
                cut_at = Some(Instant::now() + wait);
            }
        };
        if broken {
            let said = guest.said_last();
            guest.cut();
            panic!("the guest is at a loss after {during}; kept: {}\n{said}", keep(host).display());
        }
        for line in guest.cut() {
            self.outcome.hear(&line);
        }
        during
    }
}

fn acknowledged_in(host: &Path) -> u64 {
    lists_in(host).iter().map(|list| fs::metadata(list).map_or(0, |data| data.len())).sum()
}

/// Moves what a test would remove out of its way.
fn keep(directory: &Path) -> PathBuf {
    let kept = std::env::temp_dir().join(format!("evenkeel-power-cut-{}", std::process::id()));
    fs::rename(directory, &kept).map_or(directory.to_owned(), |()| kept)
}

fn is_absent() -> bool {
    let missing = missing(&[]);
    if let Some(program) = &missing {
        println!("skipped: {program} is not installed");
    }
    missing.is_some()
}

#[test]
fn nothing_acknowledged_is_lost() {
    if is_absent() {
        return;
    }
    let cuts = from_environment("EVENKEEL_POWER_CUTS", 8);
    let started = Instant::now();
    let mut bench = Bench::new(OPTIONS, true);
    bench.run(cuts);
    let outcome = bench.outcome;
    println!("{outcome:#?}");
    println!(
        "{cuts} power cuts, {} transactions, 0 lost, 0 half applied, in {:?}",
        outcome.transactions,
        started.elapsed()
    );
    assert!(outcome.transactions > cuts, "there was no load to speak of");
    assert!(outcome.verified >= cuts / 2, "the data were hardly looked at");
    assert!(outcome.unsynced_kept < outcome.unsynced_written, "cuts take nothing: they prove nothing");
}

/// The check itself: with acknowledgements before the log is on disk, cuts lose transactions and are caught at it.
#[test]
fn a_weaker_setting_is_caught() {
    if is_absent() {
        return;
    }
    const WEAK: &str =
        "--innodb-buffer-pool-size=5M,--innodb-redo-log-capacity=8M,--innodb-flush-log-at-trx-commit=0";
    let mut bench = Bench::new(WEAK, false);
    // One cut a disk: a load cannot go on where acknowledged transactions are missing.
    for disk in 0..WEAK_DISKS_MAX {
        if bench.outcome.lost == 0 {
            bench.wear_out_a_disk(disk, true, 1);
        }
    }
    let outcome = bench.outcome;
    println!("{outcome:#?}");
    assert!(outcome.lost > 0, "nothing was lost in {} cuts with the log not synced", outcome.cuts);
    assert_eq!(
        (outcome.faults, outcome.damaged),
        (0, 0),
        "what is lost is lost whole: {:?}",
        outcome.complaints
    );
}
