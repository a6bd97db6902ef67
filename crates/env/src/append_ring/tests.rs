//! `AppendRing` with real threads, and with threads that an explorer runs by turns in thousands of orders.
//!
//! Invariant that is tested: what is taken, piece after piece, is exactly what was appended, each byte in its place.
//! The explorer knows no orders of memory but that of the turns. Those are argued beside the code, and Miri, which lets loads see
//! old values and knows what happened before what, runs the tests with real threads (the explorer's it cannot run).

use super::*;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Mutex;

thread_local! {
    /// Whether this thread runs the turns of an exploration.
    static EXPLORING: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn point() {
    if EXPLORING.get() {
        shuttle::sync::atomic::AtomicBool::new(false).load(Ordering::SeqCst);
    }
}

pub(super) fn yield_now() {
    if EXPLORING.get() { shuttle::thread::yield_now() } else { std::thread::yield_now() }
}

const HEAD: usize = 4;

/// The pieces that were taken, by their starts.
#[derive(Default)]
struct Stream(BTreeMap<u64, Vec<u8>>);

/// Opens and closes, as the caller's lock lets one thread do at a time.
struct Opener {
    ring: Arc<AppendRing>,
    open_start: u64,
    closed: Vec<(u64, ClosedPiece)>,
}

impl Opener {
    fn new(ring: &Arc<AppendRing>) -> Opener {
        Opener { ring: ring.clone(), open_start: 0, closed: Vec::new() }
    }

    fn close(&mut self) {
        self.closed.extend(self.ring.close().map(|piece| (self.open_start, piece)));
    }

    /// A piece of `capacity` with a first place for `text`.
    fn open(&mut self, capacity: usize, text: &[u8]) -> u64 {
        self.close();
        self.open_start = self.ring.end().next_multiple_of(8);
        // It holds an older piece, as reused memory does.
        let mut buffer = IoBuf::zeroed(capacity);
        buffer.as_mut_slice().fill(b'.');
        self.ring.open(buffer, self.open_start, HEAD, text.len(), |_, place| place.copy_from_slice(text))
    }

    fn take(&mut self, stream: &mut Stream) {
        for (start, piece) in self.closed.drain(..) {
            let used = piece.used();
            let bytes = piece.take().as_slice()[..used].to_vec();
            assert!(stream.0.insert(start, bytes).is_none());
        }
    }
}

fn append(ring: &AppendRing, text: &[u8]) -> Option<u64> {
    ring.append(text.len(), |_, place| place.copy_from_slice(text))
}

/// Every text is where its appender was told, and there is nothing else.
fn check(stream: &Stream, appended: &BTreeMap<u64, Vec<u8>>) {
    let mut expected = appended.iter();
    for (start, bytes) in &stream.0 {
        let mut at = HEAD;
        while at < bytes.len() {
            let (position, text) = expected.next().expect("nothing is there that nobody appended");
            assert_eq!(*position, start + at as u64);
            assert_eq!(&bytes[at..at + text.len()], text);
            at += text.len();
        }
        assert_eq!(at, bytes.len());
    }
    assert_eq!(expected.next(), None, "everything that was appended is there");
}

#[test]
fn places_follow_each_other_until_the_piece_is_full_or_closed() {
    let ring = AppendRing::new(100);
    assert_eq!((ring.end(), append(&ring, b"x")), (100, None));
    assert!(ring.close().is_none());
    let mut opener = Opener::new(&ring);
    assert_eq!(opener.open(20, b"first"), 104 + 4);
    assert_eq!(append(&ring, b"second"), Some(113));
    assert_eq!(append(&ring, b"toolong"), None);
    assert_eq!(append(&ring, b"last!"), Some(119));
    assert_eq!((append(&ring, b"x"), ring.end()), (None, 124));
    opener.close();
    assert_eq!((append(&ring, b"y"), ring.end()), (None, 124));
    let mut stream = Stream::default();
    opener.take(&mut stream);
    assert_eq!(stream.0[&104], b"....firstsecondlast!");
}

#[test]
fn a_piece_is_opened_while_earlier_ones_wait_to_be_taken() {
    let ring = AppendRing::new(0);
    let mut opener = Opener::new(&ring);
    let mut stream = Stream::default();
    let mut appended = BTreeMap::new();
    for round in 0..3 * PIECES_MAX {
        assert_eq!(ring.is_full(), round > 0 && round % PIECES_MAX == 0);
        if ring.is_full() {
            opener.close();
            opener.take(&mut stream);
        }
        appended.insert(opener.open(16, &[round as u8; 6]), vec![round as u8; 6]);
    }
    opener.close();
    // Dropping one is taking it.
    let (start, dropped) = opener.closed.pop().unwrap();
    drop(dropped);
    appended.remove(&(start + HEAD as u64));
    opener.take(&mut stream);
    check(&stream, &appended);
    assert!(!ring.is_full());
}

#[test]
#[should_panic(expected = "one piece is open at a time")]
fn two_pieces_are_not_open() {
    let ring = AppendRing::new(0);
    ring.open(IoBuf::zeroed(16), 0, 0, 1, |_, _| ());
    ring.open(IoBuf::zeroed(16), 16, 0, 1, |_, _| ());
}

#[test]
#[should_panic(expected = "positions grow")]
fn positions_do_not_go_back() {
    AppendRing::new(10).open(IoBuf::zeroed(16), 8, 1, 1, |_, _| ());
}

#[test]
fn threads_lose_nothing_and_overwrite_nothing() {
    const THREADS: u8 = 4;
    const APPENDS: usize = if cfg!(miri) { 40 } else { 20_000 };
    let ring = AppendRing::new(0);
    let opener = Mutex::new((Opener::new(&ring), Stream::default()));
    let appended = Mutex::new(BTreeMap::new());
    let work = |thread: u8| {
        let mut mine = Vec::new();
        for number in 0..APPENDS {
            let text = vec![thread * 50 + (number % 50) as u8; 1 + (number * 7 + thread as usize) % 60];
            let position = append(&ring, &text).unwrap_or_else(|| {
                let mut guard = opener.lock().unwrap();
                let (opener, stream) = &mut *guard;
                append(&ring, &text).unwrap_or_else(|| {
                    if ring.is_full() || number % 5 == 0 {
                        opener.close();
                        opener.take(stream);
                    }
                    opener.open(64 + number % 3000, &text)
                })
            });
            assert!(ring.end() >= position + text.len() as u64);
            mine.push((position, text));
        }
        appended.lock().unwrap().extend(mine);
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
    let (mut opener, mut stream) = opener.into_inner().unwrap();
    opener.close();
    opener.take(&mut stream);
    let appended = appended.into_inner().unwrap();
    assert_eq!(appended.len(), THREADS as usize * APPENDS);
    check(&stream, &appended);
}

/// Three appenders, of which any may have to open a piece, and one thread that closes and takes.
fn race() {
    EXPLORING.set(true);
    let ring = AppendRing::new(0);
    let opener = Arc::new(shuttle::sync::Mutex::new(Opener::new(&ring)));
    let appended = Arc::new(Mutex::new(BTreeMap::new()));
    let appender = |name: u8| {
        let (ring, opener, appended) = (ring.clone(), opener.clone(), appended.clone());
        move || {
            for number in 0..3 {
                let text = [name; 3].map(|byte| byte + number);
                let position = append(&ring, &text).unwrap_or_else(|| {
                    let mut opener = opener.lock().unwrap();
                    // Room for two in most, so that pieces fill up.
                    append(&ring, &text).unwrap_or_else(|| opener.open(HEAD + 4 + number as usize * 2, &text))
                });
                assert!(ring.end() >= position + 3);
                assert!(appended.lock().unwrap().insert(position, text.to_vec()).is_none());
            }
        }
    };
    let taker = {
        let opener = opener.clone();
        move || {
            let mut stream = Stream::default();
            for _ in 0..3 {
                let mut guard = opener.lock().unwrap();
                guard.close();
                let mut taken =
                    Opener { closed: std::mem::take(&mut guard.closed), ..Opener::new(&guard.ring) };
                drop(guard);
                // Without the lock, beside an opener that fills the slots anew.
                taken.take(&mut stream);
            }
            stream
        }
    };
    let appenders = [b'a', b'k', b'u'].map(|name| shuttle::thread::spawn(appender(name)));
    let taker = shuttle::thread::spawn(taker);
    appenders.into_iter().for_each(|appender| appender.join().unwrap());
    let mut stream = taker.join().unwrap();
    let mut opener = opener.lock().unwrap();
    opener.close();
    opener.take(&mut stream);
    let appended = appended.lock().unwrap();
    assert_eq!(appended.len(), 9);
    check(&stream, &appended);
}

fn explore(scheduler: impl Scheduler + 'static) {
    shuttle::Runner::new(scheduler, shuttle::Config::new()).run(race);
    EXPLORING.set(false);
}

/// How many schedules; more with EVENKEEL_SCHEDULES.
fn schedules() -> usize {
    let wanted = std::env::var("EVENKEEL_SCHEDULES").ok();
    wanted.map_or(3000, |text| text.parse().expect("EVENKEEL_SCHEDULES is a number"))
}

#[test]
#[cfg_attr(miri, ignore = "the explorer switches stacks")]
fn random_schedules_lose_nothing() {
    explore(RandomScheduler::new_from_seed(1, schedules()));
}

#[test]
#[cfg_attr(miri, ignore = "the explorer switches stacks")]
fn schedules_with_few_switches_lose_nothing() {
    explore(PctScheduler::new_from_seed(2, 4, schedules()));
}
