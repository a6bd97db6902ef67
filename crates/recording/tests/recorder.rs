//! The recorder against a server that is slow, silent, gone and back with new counters.
//!
//! Invariant: what could not be asked is a gap with its times, and never a value. EVENKEEL_RECORDER_MINUTES=24 makes the
//! day a whole one: 86,400 samples, sixty each second.

mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use client::Dsn;
use recording::{Gap, RecordPlan, Recording, Unseen, now_ms, record};
use support::Orders;

/// Of one processor, for a sample each second.
const PROCESSOR_MAX: f64 = 0.01;

struct Run {
    recording: Recording,
    /// Processor seconds of the recorder.
    processor: f64,
    bytes: u64,
    seconds: f64,
    told: Vec<String>,
}

/// Records while `act` does something to the server.
fn run(name: &str, every: Duration, orders: &Arc<Orders>, act: impl FnOnce()) -> Run {
    let port = support::start(Arc::clone(orders));
    let path = std::env::temp_dir().join(format!("evenkeel-recorder-{name}-{}", std::process::id()));
    let dsn = Dsn::parse(&format!("mysql://root@127.0.0.1:{port}?ssl-mode=disabled")).unwrap();
    let plan = RecordPlan { dsn, path: path.clone(), time: None, every, device: None };
    let is_over = Arc::new(AtomicBool::new(false));
    let wish = Arc::clone(&is_over);
    let begin = Instant::now();
    let recorder = std::thread::spawn(move || {
        let mut told = Vec::new();
        let bytes = record(&plan, &|| wish.load(Relaxed), &mut |text| told.push(text.to_owned())).unwrap();
        (bytes, processor(), told)
    });
    act();
    is_over.store(true, Relaxed);
    let (bytes, processor, told) = recorder.join().unwrap();
    let seconds = begin.elapsed().as_secs_f64();
    let recording = read(path);
    Run { recording, processor, bytes, seconds, told }
}

fn read(path: PathBuf) -> Recording {
    let mut recording = Recording::default();
    recording.read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    recording
}

/// Seconds that this thread has run.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn gap_within(gaps: &[Gap], from: u64, until: u64) -> Option<&Gap> {
    gaps.iter().find(|gap| gap.at + 200 >= from && gap.at <= until)
}

#[test]
fn a_server_that_answers_late_leaves_a_gap_and_the_host_goes_on() {
    // A fifth of a second stands for one: the answer comes after five.
    let every = Duration::from_millis(200);
    let orders = Arc::new(Orders::default());
    let mut late = 0;
    let run = run("late", every, &orders, || {
        sleep(every * 6);
        late = now_ms();
        orders.delay.store(1000, Relaxed);
        sleep(every * 2);
        orders.delay.store(0, Relaxed);
        sleep(every * 12);
    });
    let recording = &run.recording;
    let gap = gap_within(&recording.gaps, late, late + 400).unwrap_or_else(|| panic!("{:?}", recording.gaps));
    assert!(gap.why.starts_with("no answer within 0.3"), "{gap:?}");
    assert!((700..1500).contains(&(gap.until - gap.at)), "{gap:?}");
    let inside =
        |times: &[u64]| times.iter().filter(|at| gap.at + 20 < **at && **at + 20 < gap.until).count();
    assert_eq!(inside(&recording.server_times), 0, "{gap:?} {:?}", recording.server_times);
    assert!(inside(&recording.host_times) >= 3, "{gap:?} {:?}", recording.host_times);
    assert_eq!(recording.headers.len(), 1, "the connection was kept");
}

#[test]
fn what_a_server_refuses_to_tell_is_said_once_and_kept() {
    let every = Duration::from_millis(100);
    let orders = Arc::new(Orders::default());
    let run = run("unseen", every, &orders, || {
        sleep(every * 5);
        // The same server comes back: there is nothing new to say.
        orders.is_gone.store(true, Relaxed);
        sleep(every * 5);
        orders.is_gone.store(false, Relaxed);
        sleep(every * 10);
    });
    let told = |what: &str| run.told.iter().filter(|text| text.contains(what)).count();
    assert_eq!(
        told("not recorded: transactions (ERROR 1064 (42000): no such thing here)"),
        1,
        "{:?}",
        run.told
    );
    assert_eq!(told("not recorded: counters"), 0, "{:?}", run.told);
    let last = run.recording.headers.last().unwrap();
    assert!(run.recording.headers.len() >= 2);
    let unseen = Unseen::all_of(&last["server"]);
    assert!(unseen.iter().any(|unseen| unseen.what == "waits for locks"), "{unseen:?}");
}

#[test]
fn a_day_at_sixty_times() {
    let minutes = std::env::var("EVENKEEL_RECORDER_MINUTES").ok().and_then(|text| text.parse().ok());
    let day = Duration::from_secs_f64(minutes.unwrap_or(0.1) * 60.0);
    let every = Duration::from_secs(1) / 60;
    let orders = Arc::new(Orders::default());
    let (mut slow, mut gone) = (0, 0);
    let run = run("day", every, &orders, || {
        sleep(day / 3);
        slow = now_ms();
        orders.delay.store(500, Relaxed);
        // So long that a question falls into it on a busy machine too.
        sleep(every * 30);
        orders.delay.store(0, Relaxed);
        sleep(day / 3);
        gone = now_ms();
        orders.is_gone.store(true, Relaxed);
        sleep(every * 30);
        orders.questions.store(0, Relaxed);
        orders.is_gone.store(false, Relaxed);
        sleep(day / 3);
    });
    let recording = &run.recording;
    let wanted = run.seconds * 60.0;
    let told = format!(
        "{} samples of the server and {} of the host of {wanted:.0}, {} gaps, {} bytes, {:.2} ms of processor each",
        recording.server_times.len(),
        recording.host_times.len(),
        recording.gaps.len(),
        run.bytes,
        1000.0 * run.processor / wanted
    );
    println!("{told}");
    assert!(gap_within(&recording.gaps, slow, slow + 500).is_some(), "{:?}", recording.gaps);
    let restart =
        gap_within(&recording.gaps, gone, gone + 300).unwrap_or_else(|| panic!("{:?}", recording.gaps));
    assert!(restart.until - restart.at >= 300, "{restart:?}");
    assert!(recording.headers.len() >= 2, "{told}");
    assert_eq!(recording.rate("Questions", gone - 100, restart.until + 200), None);
    // A busy machine may skip some, but a sample is never written twice or out of order.
    assert!(recording.server_times.len() as f64 > 0.1 * wanted, "{told}");
    assert!(recording.server_times.windows(2).all(|pair| pair[0] < pair[1]), "{told}");
    assert!(run.processor / wanted < PROCESSOR_MAX, "{told}");
}
