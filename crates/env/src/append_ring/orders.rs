//! `AppendRing` under loom: a few steps of two or three threads in every order, with every value that the orders of
//! memory let a load see.
//!
//! Invariant that is tested: who takes a piece sees all bytes of its places, who uses a slot again comes after the piece
//! that was there, and who sees an end sees what was done before the append behind it. loom tells of an access of a
//! cell that is not ordered with another; for the bytes of places, which it does not see, a cell each stands beside.

use super::*;
use loom::thread::{JoinHandle, spawn};
use std::ops::Range;
use std::sync::Mutex;

/// A cell beside each byte of the stream.
struct Beside(Vec<UnsafeCell<u8>>);

impl Beside {
    fn write(&self, position: u64, value: u8) {
        // SAFETY: loom stops the test if this is not the only access.
        self.0[position as usize].with_mut(|cell| unsafe { *cell = value });
    }

    fn read(&self, position: u64) -> u8 {
        // SAFETY: as above.
        self.0[position as usize].with(|cell| unsafe { *cell })
    }
}

struct Scene {
    ring: Arc<AppendRing>,
    beside: Beside,
    /// One for each appender: what it did before it appended.
    before: Beside,
    /// Each piece from its start to where places may end; loom does not see it, so it puts nothing in order.
    pieces: Mutex<Vec<Range<u64>>>,
}

const STREAM_BYTES: usize = 16;

impl Scene {
    fn new() -> Arc<Scene> {
        let cells = |count| Beside((0..count).map(|_| UnsafeCell::new(0)).collect());
        let (beside, before) = (cells(STREAM_BYTES), cells(4));
        Arc::new(Scene { ring: AppendRing::new(0), beside, before, pieces: Mutex::new(Vec::new()) })
    }

    /// A piece of `capacity` bytes at the end of the stream, with a first place of one byte.
    fn open(&self, capacity: usize, name: u8) {
        let start = self.ring.end();
        self.pieces.lock().unwrap().push(start..start + capacity as u64);
        self.ring
            .open(IoBuf::zeroed(capacity), start, 0, 1, |position, place| self.fill(position, place, name));
    }

    fn append(&self, name: u8) -> Option<u64> {
        self.ring.append(1, |position, place| self.fill(position, place, name))
    }

    fn fill(&self, position: u64, place: &mut [u8], name: u8) {
        assert!(
            self.pieces.lock().unwrap().iter().any(|piece| piece.contains(&position)),
            "a place beyond its piece"
        );
        place[0] = name;
        self.beside.write(position, name);
    }

    /// With the start of the piece.
    fn close(&self) -> (u64, ClosedPiece) {
        let piece = self.ring.close().expect("it is open");
        let mut pieces = self.pieces.lock().unwrap();
        let range = pieces.last_mut().expect("it was opened");
        range.end = range.start + piece.used() as u64;
        (range.start, piece)
    }

    /// The piece's bytes, which are all there.
    fn take(&self, (start, piece): (u64, ClosedPiece)) -> Vec<u8> {
        let used = piece.used();
        let bytes = piece.take().as_slice()[..used].to_vec();
        for (position, byte) in (start..).zip(&bytes) {
            assert_eq!(self.beside.read(position), *byte);
            assert_ne!(*byte, 0);
        }
        bytes
    }
}

/// A thread of the model. What each does first is nothing: loom does not look at orders in which others go before that.
fn thread<T: 'static>(scene: &Arc<Scene>, work: impl FnOnce(&Scene) -> T + 'static) -> JoinHandle<T> {
    let scene = scene.clone();
    spawn(move || {
        AtomicBool::new(false).load(Ordering::Relaxed);
        work(&scene)
    })
}

fn appender(scene: &Arc<Scene>, name: u8) -> JoinHandle<Option<u64>> {
    thread(scene, move |scene| {
        scene.before.write(name as u64, name);
        scene.append(name)
    })
}

#[test]
fn who_takes_a_piece_sees_what_two_have_appended() {
    loom::model(|| {
        let scene = Scene::new();
        scene.open(4, 3);
        let appenders = [1, 2].map(|name| appender(&scene, name));
        let taker = thread(&scene, |scene| scene.take(scene.close()));
        let places = appenders.map(|appender| appender.join().expect("it ends"));
        let bytes = taker.join().expect("it ends");
        assert_eq!(bytes.len(), 1 + places.iter().flatten().count());
        for (name, place) in [1, 2].into_iter().zip(places) {
            assert!(place.is_none_or(|place| bytes[place as usize] == name));
        }
    });
}

/// The end itself, as flushers read it, and the end of a closed piece.
#[test]
fn who_sees_an_end_sees_what_was_done_before() {
    loom::model(|| {
        let scene = Scene::new();
        scene.open(4, 3);
        let look = |scene: &Scene, end: u64| {
            if end == 2 {
                assert_eq!(scene.before.read(1), 1);
            }
        };
        let threads = [
            thread(&scene, move |scene| look(scene, scene.ring.end())),
            thread(&scene, move |scene| {
                let piece = scene.ring.close().expect("it is open");
                look(scene, piece.used() as u64);
            }),
        ];
        appender(&scene, 1).join().expect("it ends");
        threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    });
}

/// Only the ring's own orders stand between who opens a piece, who takes the one that was in its slot, and who appends.
#[test]
fn a_slot_is_used_again_after_its_piece_was_taken() {
    loom::model(|| {
        let scene = Scene::new();
        // The first has room that the later ones have not.
        scene.open(4, 3);
        let appender = appender(&scene, 1);
        let first = scene.close();
        let taker = thread(&scene, |scene| scene.take(first));
        let opener = thread(&scene, |scene| {
            let pieces = [1, 2].map(|capacity| {
                scene.ring.wait_for_slot();
                scene.open(capacity, 2);
                scene.close()
            });
            pieces.map(|piece| scene.take(piece).len()).iter().sum::<usize>()
        });
        let bytes = taker.join().expect("it ends").len() + opener.join().expect("it ends");
        let appended = appender.join().expect("it ends");
        assert_eq!(bytes, 3 + usize::from(appended.is_some()));
    });
}
