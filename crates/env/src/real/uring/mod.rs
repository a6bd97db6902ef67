//! One io_uring per worker thread: submits the reads, writes and syncs of that thread, and its short messages to clients
//! (`Outbox`), and reaps them.
//!
//! How a worker drives it (a tokio current-thread runtime, or any other loop):
//! 1. `Reactor::new` on the worker thread makes it the thread's current reactor.
//! 2. Wrap `fd()` for readiness. On readable: clear the readiness *first*, then `reap()`, else a completion
//!    that arrives in between is never announced again.
//! 3. Call `end_turn()` after each turn of the loop, so that the messages of its tasks share one system call.
//!
//! Invariants: the slab owns the file or socket, the buffer and the completer of each operation until its completion is
//! reaped; at most `in_flight_max` disk operations are in the kernel, the rest wait here, because submission blocks
//! the thread once the device's queue has no free tag; no waker runs while the state is borrowed.

mod disk;
mod outbox;

pub(super) use disk::{Kind, Operation};
pub use outbox::Outbox;

use crate::IoError;
use disk::Transfer;
use io_uring::{IoUring, Probe, opcode, squeue};
use outbox::{MESSAGE_BYTES_MAX, Posted};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::task::Waker;

thread_local! {
    static CURRENT: RefCell<Option<Rc<RefCell<State>>>> = const { RefCell::new(None) };
}

/// A submission queue that is longer than the in-flight limit never fills up.
const RING_ENTRIES: u32 = 256;
/// So many operations of the disk do not wait for the end of a turn: the device would get them in bursts and rest in between. Fewer
/// wait for the next, which spares a system call and a word to the device where there are many.
const SUBMIT_BATCH: usize = 8;
/// Messages on the ring at one time, so that their completions fit into its queue beside those of the disk.
const POSTED_MAX: usize = 256;

/// The thread's ring. Dropping it waits for the operations in flight.
pub struct Reactor {
    state: Rc<RefCell<State>>,
}

struct State {
    ring: IoUring,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Above the ring, first come first served.
    waiting: VecDeque<usize>,
    /// Of the disk.
    in_flight: usize,
    in_flight_max: usize,
    /// Messages.
    posted: usize,
    /// Those among them that have not been put onto the ring: they leave at the end of the turn, while operations of
    /// the disk go earlier.
    staged: Vec<usize>,
    /// Buffers for messages.
    spare_buffers: Vec<Vec<u8>>,
    /// Entries on the ring that the kernel has not seen.
    unsubmitted: usize,
}

enum Slot {
    Disk(Transfer),
    Message(Posted),
}

/// Puts the operation on the current thread's ring, or gives it back when the thread has none.
pub(super) fn submit_here(operation: Operation) -> Option<Operation> {
    CURRENT.with(|current| match &*current.borrow() {
        None => Some(operation),
        Some(state) => {
            state.borrow_mut().start(operation);
            None
        }
    })
}

impl Reactor {
    /// Makes a ring and installs it as this thread's current reactor. An error means that io_uring cannot be
    /// used here (forbidden, too old, no memory); the thread pool serves instead.
    pub fn new(in_flight_max: usize) -> io::Result<Self> {
        assert!((1..=RING_ENTRIES as usize).contains(&in_flight_max), "in-flight limit {in_flight_max}");
        let ring = build_ring()?;
        let state = State {
            ring,
            slots: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            in_flight: 0,
            in_flight_max,
            posted: 0,
            staged: Vec::new(),
            spare_buffers: Vec::new(),
            unsubmitted: 0,
        };
        let state = Rc::new(RefCell::new(state));
        CURRENT.with(|current| {
            let previous = current.borrow_mut().replace(state.clone());
            assert!(previous.is_none(), "a thread has one reactor");
        });
        Ok(Self { state })
    }

    /// Readable when completions can be reaped.
    pub fn fd(&self) -> RawFd {
        self.state.borrow().ring.as_raw_fd()
    }

    /// Hands pending operations to the kernel. Cheap when there are none.
    pub fn submit(&self) {
        self.state.borrow_mut().submit();
    }

    /// Completes what the kernel has finished; returns how many operations that were.
    pub fn reap(&self) -> usize {
        reap(&self.state)
    }

    /// Sleeps until an operation is complete, and completes what the kernel has finished. Some operation must be in flight.
    pub fn wait(&self) {
        self.wait_for(1);
    }

    /// The same until half of the operations that the kernel has are complete: for a thread that needs all of them, and
    /// that would otherwise be woken by each.
    pub fn wait_for_half(&self) {
        let in_kernel = self.state.borrow().in_flight;
        self.wait_for(in_kernel.div_ceil(2).max(1));
    }

    fn wait_for(&self, count: usize) {
        assert!(self.in_flight() > 0, "nothing would end the sleep");
        let result = self.state.borrow_mut().submit_and_wait(count);
        assert_transient(result);
        self.reap();
    }

    /// Operations that were started and are not complete.
    pub fn in_flight(&self) -> usize {
        let state = self.state.borrow();
        state.in_flight + state.waiting.len() + state.posted
    }

    /// Hands what the turn's tasks have begun to the kernel. Cheap when there is nothing.
    pub fn end_turn(&self) {
        self.submit();
        if self.state.borrow().posted > 0 {
            // As a rule the messages have left already.
            self.reap();
        }
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        CURRENT.with(|current| current.borrow_mut().take());
        while self.in_flight() > 0 {
            self.wait();
        }
    }
}

/// What did not end now is in flight still, and is waited for again.
fn assert_transient(result: io::Result<()>) {
    if let Err(error) = result {
        let transient = matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY));
        assert!(transient, "the ring lost its operations in flight: {error}");
    }
}

fn build_ring() -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_single_issuer().setup_coop_taskrun();
    let ring = match builder.build(RING_ENTRIES) {
        Ok(ring) => ring,
        // Kernels before 6.0 do not know the flags.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(RING_ENTRIES)?,
        Err(error) => return Err(error),
    };
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    let needed = [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE, opcode::Send::CODE];
    if needed.iter().all(|code| probe.is_supported(*code)) {
        Ok(ring)
    } else {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}

fn reap(state: &RefCell<State>) -> usize {
    let mut finished = Vec::new();
    let mut wakers = Vec::new();
    let mut count = 0;
    {
        let mut state = state.borrow_mut();
        while let Some((index, result)) = state.next_completion() {
            count += 1;
            match state.slots[index].take().expect("a completion has its operation") {
                Slot::Disk(transfer) => finished.extend(state.finish(index, transfer, result)),
                Slot::Message(posted) => {
                    let (mut buffer, waker) = posted.end(result);
                    buffer.clear();
                    state.spare_buffers.push(buffer);
                    debug_assert!(state.posted > 0, "each message on the ring is counted");
                    state.posted -= 1;
                    state.free.push(index);
                    wakers.extend(waker);
                }
            }
        }
        state.refill();
        state.submit_entries();
    }
    for (operation, result) in finished {
        operation.completer.complete(operation.buffer, result);
    }
    wakers.into_iter().for_each(Waker::wake);
    count
}

impl State {
    /// Takes an operation in.
    fn start(&mut self, operation: Operation) {
        let index = self.keep(Slot::Disk(Transfer::new(operation)));
        self.waiting.push_back(index);
        self.refill();
        if self.unsubmitted >= SUBMIT_BATCH {
            self.submit_entries();
        }
    }

    /// An empty buffer for a message, if another one may go onto the ring.
    fn take_message_buffer(&mut self) -> Option<Vec<u8>> {
        let may = self.posted < POSTED_MAX;
        may.then(|| self.spare_buffers.pop().unwrap_or_else(|| Vec::with_capacity(MESSAGE_BYTES_MAX)))
    }

    /// The same for a message, which waits for the end of the turn.
    fn post(&mut self, posted: Posted) {
        let index = self.keep(Slot::Message(posted));
        debug_assert!(self.posted < POSTED_MAX, "messages leave room for completions of the disk");
        self.posted += 1;
        self.staged.push(index);
    }

    fn keep(&mut self, slot: Slot) -> usize {
        match self.free.pop() {
            Some(index) => {
                debug_assert!(self.slots[index].is_none(), "a free slot is empty");
                self.slots[index] = Some(slot);
                index
            }
            None => {
                self.slots.push(Some(slot));
                self.slots.len() - 1
            }
        }
    }

    fn refill(&mut self) {
        while self.in_flight < self.in_flight_max {
            let Some(index) = self.waiting.pop_front() else { return };
            debug_assert!(
                matches!(self.slots[index], Some(Slot::Disk(_))),
                "what waits is an operation of the disk"
            );
            self.in_flight += 1;
            self.push(index);
        }
    }

    fn push(&mut self, index: usize) {
        let slot = self.slots[index].as_ref().expect("a queued index has an operation");
        let entry = slot.entry().user_data(index as u64);
        self.unsubmitted += 1;
        // SAFETY: the slab keeps the file or socket and the buffer of this entry alive and unmoved until its completion
        // has been reaped, and dropping the reactor waits for that.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.submit_entries();
        }
    }

    fn push_staged(&mut self) {
        let mut staged = std::mem::take(&mut self.staged);
        staged.drain(..).for_each(|index| self.push(index));
        self.staged = staged;
    }

    fn submit(&mut self) {
        self.push_staged();
        self.submit_entries();
    }

    /// The same without the messages that wait for the end of the turn.
    fn submit_entries(&mut self) {
        if self.unsubmitted == 0 {
            return;
        }
        match self.ring.submit() {
            Ok(count) => self.unsubmitted -= count.min(self.unsubmitted),
            Err(error) => {
                let transient =
                    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY));
                assert!(transient, "io_uring refuses its own queue: {error}");
            }
        }
    }

    fn submit_and_wait(&mut self, completions: usize) -> io::Result<()> {
        self.push_staged();
        let count = self.ring.submit_and_wait(completions)?;
        self.unsubmitted -= count.min(self.unsubmitted);
        Ok(())
    }

    fn next_completion(&mut self) -> Option<(usize, i32)> {
        let entry = self.ring.completion().next()?;
        Some((entry.user_data() as usize, entry.result()))
    }

    /// Handles the completion of a disk operation; None when it goes on.
    fn finish(
        &mut self,
        index: usize,
        mut transfer: Transfer,
        result: i32,
    ) -> Option<(Operation, Result<(), IoError>)> {
        debug_assert!(self.in_flight > 0, "each operation with the kernel is counted");
        self.in_flight -= 1;
        let progress = transfer.progress(result);
        let Some(outcome) = progress else {
            self.slots[index] = Some(Slot::Disk(transfer));
            self.waiting.push_front(index);
            return None;
        };
        debug_assert!(self.slots[index].is_none(), "a slot is free when its operation is over");
        self.free.push(index);
        Some((transfer.operation, outcome))
    }
}

impl Slot {
    fn entry(&self) -> squeue::Entry {
        match self {
            Self::Disk(transfer) => transfer.entry(),
            Self::Message(posted) => posted.entry(),
        }
    }
}
