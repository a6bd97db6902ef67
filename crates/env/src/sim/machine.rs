//! The state of a simulated machine: the disk, operations in flight, timers, and the step that finishes one.
//!
//! Invariant: nothing here runs engine code. Completions only mark tasks as runnable; the executor polls them.

use super::faults::{FaultEffect, Faults};
use super::file::{FileState, SECTOR_BYTES};
use super::namespace::{FileIndex, Namespace};
use super::options::SimOptions;
use super::rng::{Rng, mix};
use crate::{Completer, IoBuf, IoError, IoErrorKind, IoOp};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

/// 2026-01-01 00:00:00 UTC: where the wall clock of every simulated machine starts.
pub(super) const WALL_CLOCK_START_US: u64 = 1_767_225_600_000_000;
const OPERATION_US_MAX: usize = 100;

pub(super) struct Machine {
    pub(super) state: Mutex<MachineState>,
}

pub(super) struct MachineState {
    pub(super) rng: Rng,
    pub(super) options: SimOptions,
    pub(super) faults: Faults,
    pub(super) now_us: u64,
    pub(super) disk: DiskState,
    pending: Vec<Pending>,
    timers: BTreeMap<TimerKey, Arc<Mutex<Timer>>>,
    next_timer: u64,
    /// Operations that changed the disk.
    pub(super) changes: u64,
    pub(super) trace: u64,
    pub(super) crashed: bool,
}

#[derive(Clone, Default)]
pub(super) struct DiskState {
    pub(super) names: Namespace,
    pub(super) files: Vec<FileState>,
}

/// The deadline, and a number that makes equal deadlines distinct.
pub(super) type TimerKey = (u64, u64);

#[derive(Default)]
pub(super) struct Timer {
    pub(super) over: bool,
    pub(super) waker: Option<Waker>,
}

/// Changes the disk and reports; the fault, if any, is to be obeyed.
pub(super) type MetaWork = Box<dyn FnOnce(&mut MachineState, Option<IoErrorKind>) + Send>;

pub(super) struct Pending {
    pub(super) op: IoOp,
    pub(super) path: String,
    pub(super) work: Work,
    pub(super) completer: Completer,
}

pub(super) enum Work {
    Read {
        file: FileIndex,
        offset: u64,
        buffer: IoBuf,
    },
    /// `through`: durable at its end.
    Write {
        file: FileIndex,
        offset: u64,
        buffer: IoBuf,
        through: bool,
    },
    Sync {
        file: FileIndex,
        through: u64,
        all: bool,
    },
    Meta {
        changes: bool,
        work: MetaWork,
    },
}

impl MachineState {
    pub(super) fn new(seed: u64, options: SimOptions, disk: DiskState) -> Self {
        Self {
            rng: Rng::new(seed),
            faults: Faults::new(&options.faults),
            options,
            now_us: 0,
            disk,
            pending: Vec::new(),
            timers: BTreeMap::new(),
            next_timer: 0,
            changes: 0,
            trace: mix(seed),
            crashed: false,
        }
    }

    pub(super) fn note(&mut self, value: u64) {
        self.trace = mix(self.trace.rotate_left(5) ^ value);
    }

    pub(super) fn submit(&mut self, pending: Pending) {
        self.assert_no_overlap(&pending);
        self.pending.push(pending);
    }

    /// Overlapping operations are undefined on a real disk, so the simulation refuses them.
    fn assert_no_overlap(&self, new: &Pending) {
        let Some((file, range, writes)) = new.extent() else { return };
        for other in &self.pending {
            if let Some((other_file, other_range, other_writes)) = other.extent() {
                let overlap = range.start < other_range.end && other_range.start < range.end;
                let conflict = file == other_file && overlap && (writes || other_writes);
                assert!(!conflict, "two operations overlap in '{}': {range:?} and {other_range:?}", new.path);
            }
        }
    }

    pub(super) fn pending_count(&self) -> usize {
        self.pending.len()
    }

    /// Finishes one operation, chosen at random. Returns whether it changed the disk.
    pub(super) fn finish_one(&mut self) -> bool {
        debug_assert!(!self.pending.is_empty(), "an operation that finishes is in flight");
        debug_assert!(!self.crashed, "a machine that has stopped finishes nothing");
        let index = self.rng.below(self.pending.len());
        let changes = self.pending[index].changes();
        if changes && self.options.crash_at == Some(self.changes) {
            self.crashed = true;
            return false;
        }
        let pending = self.pending.swap_remove(index);
        if changes {
            self.changes += 1;
        }
        self.note(pending.fingerprint());
        let elapsed_us = 1 + self.rng.below(OPERATION_US_MAX) as u64;
        self.advance(elapsed_us);
        self.execute(pending);
        changes
    }

    fn execute(&mut self, pending: Pending) {
        let Pending { op, path, work, completer } = pending;
        let fault = self.faults.strike(op, &path);
        let error = |kind| Err(IoError::new(op, &*path, kind));
        match work {
            Work::Read { file, offset, mut buffer } => {
                let result = match fault {
                    Some(FaultEffect::Error(kind) | FaultEffect::Partial(kind)) => error(kind),
                    _ if self.disk.files[file.0].read(offset, buffer.as_mut_slice()) => Ok(()),
                    _ => error(IoErrorKind::EndOfFile),
                };
                if fault == Some(FaultEffect::FlippedRead) && !buffer.is_empty() {
                    let bit = self.rng.below(8 * buffer.len());
                    buffer.as_mut_slice()[bit / 8] ^= 1 << (bit % 8);
                }
                completer.complete(buffer, result);
            }
            Work::Write { file, offset, buffer, through } => {
                let result = match fault {
                    Some(FaultEffect::Error(kind)) => error(kind),
                    Some(FaultEffect::Partial(kind)) => {
                        let sectors = self.rng.below(buffer.len() / SECTOR_BYTES + 1);
                        self.disk.files[file.0].write(offset, &buffer.as_slice()[..sectors * SECTOR_BYTES]);
                        error(kind)
                    }
                    _ if self.fits(file, offset + buffer.len() as u64) => {
                        self.disk.files[file.0].write(offset, buffer.as_slice());
                        // It can fail like a sync, too: the bytes are there, and may be lost.
                        let strike = || self.faults.strike(IoOp::Sync, &path).and_then(FaultEffect::kind);
                        match through.then(strike) {
                            None => Ok(()),
                            Some(None) => {
                                self.disk.files[file.0].sync_last();
                                Ok(())
                            }
                            Some(Some(kind)) => {
                                self.disk.files[file.0].fail_sync();
                                error(kind)
                            }
                        }
                    }
                    _ => error(IoErrorKind::NoSpace),
                };
                completer.complete(buffer, result);
            }
            Work::Sync { file, through, all } => {
                let result = match fault {
                    Some(FaultEffect::Error(kind) | FaultEffect::Partial(kind)) => {
                        self.disk.files[file.0].fail_sync();
                        error(kind)
                    }
                    _ => {
                        self.disk.files[file.0].sync_through(through, all);
                        Ok(())
                    }
                };
                completer.complete(IoBuf::empty(), result);
            }
            Work::Meta { work, .. } => {
                let kind = fault.and_then(FaultEffect::kind);
                work(self, kind);
                completer.complete(IoBuf::empty(), Ok(()));
            }
        }
    }

    /// Whether the capacity allows a file to have `length` bytes.
    pub(super) fn fits(&self, file: FileIndex, length: u64) -> bool {
        let Some(capacity) = self.options.capacity_bytes else { return true };
        let others = self.disk.names.files().filter(|(_, index)| *index != file);
        let others: u64 = others.map(|(_, index)| self.disk.files[index.0].len()).sum();
        let own = self.disk.files[file.0].len();
        length <= own || others + length <= capacity
    }

    pub(super) fn add_timer(&mut self, us: u64) -> (TimerKey, Arc<Mutex<Timer>>) {
        let timer = Arc::new(Mutex::new(Timer::default()));
        let key = (self.now_us + us, self.next_timer);
        debug_assert!(!self.timers.contains_key(&key), "timers are told apart");
        self.timers.insert(key, timer.clone());
        self.next_timer += 1;
        (key, timer)
    }

    /// Forgets a timer whose sleep is over or given up.
    pub(super) fn remove_timer(&mut self, key: TimerKey) {
        self.timers.remove(&key);
    }

    pub(super) fn timer_count(&self) -> usize {
        self.timers.len()
    }

    /// Moves the clock to the next timer; false when there is none.
    pub(super) fn skip_to_timer(&mut self) -> bool {
        let Some(((deadline_us, _), _)) = self.timers.first_key_value() else { return false };
        let elapsed_us = deadline_us.saturating_sub(self.now_us);
        self.advance(elapsed_us);
        true
    }

    pub(super) fn advance(&mut self, us: u64) {
        self.now_us += us;
        while let Some(first) = self.timers.first_entry()
            && first.key().0 <= self.now_us
        {
            let timer = first.remove();
            let mut timer = timer.lock();
            debug_assert!(!timer.over, "a sleep ends once");
            timer.over = true;
            if let Some(waker) = timer.waker.take() {
                waker.wake();
            }
        }
    }

    /// The disk after a power cut now. The operations in flight may have had any effect.
    pub(super) fn crashed_disk(&self, rng: &mut Rng) -> DiskState {
        let mut disk = self.disk.clone();
        for (index, file) in disk.files.iter_mut().enumerate() {
            let mut in_flight: Vec<(u64, Vec<u8>)> = Vec::new();
            for pending in &self.pending {
                if let Work::Write { file, offset, buffer, .. } = &pending.work
                    && file.0 == index
                {
                    in_flight.push((*offset, buffer.as_slice().to_vec()));
                }
            }
            file.crash(&in_flight, rng, self.options.torn_sectors);
        }
        disk.names.crash(rng);
        disk
    }

    /// The disk after the process alone died: the kernel keeps what it was given.
    pub(super) fn killed_disk(&self, rng: &mut Rng) -> DiskState {
        let mut disk = self.disk.clone();
        for pending in &self.pending {
            if let Work::Write { file, offset, buffer, .. } = &pending.work
                && rng.chance(1, 2)
            {
                disk.files[file.0].write(*offset, buffer.as_slice());
            }
        }
        disk.files.iter_mut().for_each(FileState::kill);
        disk
    }

    /// Takes everything that holds engine objects, so that they can be dropped without the lock.
    pub(super) fn take_in_flight(&mut self) -> Vec<Pending> {
        self.timers.clear();
        std::mem::take(&mut self.pending)
    }
}

impl Pending {
    fn extent(&self) -> Option<(FileIndex, std::ops::Range<u64>, bool)> {
        match &self.work {
            Work::Read { file, offset, buffer } => {
                Some((*file, *offset..*offset + buffer.len() as u64, false))
            }
            Work::Write { file, offset, buffer, .. } => {
                Some((*file, *offset..*offset + buffer.len() as u64, true))
            }
            Work::Sync { .. } | Work::Meta { .. } => None,
        }
    }

    fn changes(&self) -> bool {
        match &self.work {
            Work::Read { .. } => false,
            Work::Write { .. } | Work::Sync { .. } => true,
            Work::Meta { changes, .. } => *changes,
        }
    }

    fn fingerprint(&self) -> u64 {
        let place = self.extent().map_or(0, |(file, range, _)| {
            (file.0 as u64) << 48 ^ range.start << 16 ^ (range.end - range.start)
        });
        let path =
            self.path.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        mix(place ^ path.rotate_left(32) ^ (self.op as u64) << 60)
    }
}
