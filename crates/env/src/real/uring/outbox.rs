//! `Outbox`: short messages to a socket by the thread's ring, one at a time.
//!
//! What the tasks of a thread post leaves in one system call, at the end of their turn. Sent one by one, each
//! message would cost a return to user mode, and there the kernel lets the client run that the message has woken: for
//! short answers to many clients those switches are a sixth of the processor's time.
//!
//! Invariants: a message on the ring owns its bytes and a handle of its socket until the kernel has done with it, so neither
//! memory nor descriptor is used again too early; the next message is taken only when the one before has left whole, so
//! bytes keep their order. A socket that takes only a part of a message leaves the rest to whoever posted it.

use super::CURRENT;
use io_uring::{opcode, squeue, types};
use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Longer messages are better sent at once: a copy of them costs more than a system call.
pub(super) const MESSAGE_BYTES_MAX: usize = 4096;

/// The messages of one socket.
pub struct Outbox {
    socket: Rc<dyn AsFd>,
    standing: Rc<RefCell<Standing>>,
}

/// Where the last message is.
enum Standing {
    /// It has left.
    Idle,
    OnRing {
        waker: Option<Waker>,
        /// Whoever waits wants to know of any end; else only of one that leaves a rest.
        wants_any_end: bool,
    },
    /// These bytes of it have not left.
    Rest(Vec<u8>),
}

/// A message on the ring.
pub(super) struct Posted {
    socket: Rc<dyn AsFd>,
    bytes: Vec<u8>,
    standing: Rc<RefCell<Standing>>,
}

impl Outbox {
    pub fn new(socket: Rc<dyn AsFd>) -> Self {
        Self { socket, standing: Rc::new(RefCell::new(Standing::Idle)) }
    }

    /// Takes a message; false when it is too long, the one before has not left, or this thread has no ring or too much on
    /// it: then the caller sends it.
    pub fn post(&self, message: &[u8]) -> bool {
        if message.len() > MESSAGE_BYTES_MAX || !self.is_idle() {
            return false;
        }
        let posted = CURRENT.with_borrow(|current| {
            let mut state = current.as_ref()?.borrow_mut();
            let mut bytes = state.take_message_buffer()?;
            bytes.extend_from_slice(message);
            let (socket, standing) = (self.socket.clone(), self.standing.clone());
            debug_assert!(
                matches!(*standing.borrow(), Standing::Idle),
                "one message of a socket is on the ring at a time"
            );
            *standing.borrow_mut() = Standing::OnRing { waker: None, wants_any_end: false };
            state.post(Posted { socket, bytes, standing });
            Some(())
        });
        posted.is_some()
    }

    /// Whether everything that was posted has left.
    pub fn is_idle(&self) -> bool {
        matches!(*self.standing.borrow(), Standing::Idle)
    }

    /// Ready when no message is on the ring, with what it has left behind, which is then the caller's to send.
    pub fn poll_end(&self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut standing = self.standing.borrow_mut();
        if standing.keep_waker(context, true) {
            return Poll::Pending;
        }
        match std::mem::replace(&mut *standing, Standing::Idle) {
            Standing::Rest(rest) => Poll::Ready(rest),
            Standing::Idle | Standing::OnRing { .. } => Poll::Ready(Vec::new()),
        }
    }

    /// Ready when a message has left a rest behind: `poll_end` gives it. The end of one that leaves whole wakes nobody.
    pub fn poll_rest(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut standing = self.standing.borrow_mut();
        standing.keep_waker(context, false);
        if matches!(*standing, Standing::Rest(_)) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Standing {
    /// Whether there is an end to wait for.
    fn keep_waker(&mut self, context: &Context<'_>, for_any_end: bool) -> bool {
        let Self::OnRing { waker, wants_any_end } = self else { return false };
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
        *wants_any_end = for_any_end;
        true
    }
}

impl Posted {
    /// Valid for as long as the message is neither changed nor dropped.
    pub(super) fn entry(&self) -> squeue::Entry {
        let descriptor = types::Fd(self.socket.as_fd().as_raw_fd());
        // A full socket answers at once: a message that the kernel keeps until there is room would hold up a worker's end.
        opcode::Send::new(descriptor, self.bytes.as_ptr(), self.bytes.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
            .build()
    }

    /// What the kernel says: the number of bytes that it took, or an error, which whoever sends the rest will meet again.
    /// Gives the buffer back, and whom to wake.
    pub(super) fn end(self, result: i32) -> (Vec<u8>, Option<Waker>) {
        let sent = usize::try_from(result).unwrap_or(0);
        let rest = &self.bytes[sent..];
        debug_assert!(
            matches!(*self.standing.borrow(), Standing::OnRing { .. }),
            "a message that ends was on the ring"
        );
        let next = if rest.is_empty() { Standing::Idle } else { Standing::Rest(rest.to_vec()) };
        let is_whole = rest.is_empty();
        let waker = match self.standing.replace(next) {
            Standing::OnRing { waker, wants_any_end } => waker.filter(|_| wants_any_end || !is_whole),
            Standing::Idle | Standing::Rest(_) => None,
        };
        (self.bytes, waker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::uring::Reactor;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    /// An outbox and the other end of its socket, and the thread's ring, if there can be one.
    fn pair() -> Option<(Reactor, Outbox, UnixStream)> {
        let reactor = Reactor::new(4).ok()?;
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        Some((reactor, Outbox::new(Rc::new(near)), far))
    }

    fn drive(reactor: &Reactor) {
        while reactor.in_flight() > 0 {
            reactor.submit();
            reactor.reap();
        }
    }

    fn end(outbox: &Outbox) -> Poll<Vec<u8>> {
        outbox.poll_end(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn messages_leave_in_order_one_at_a_time() {
        let Some((reactor, outbox, mut far)) = pair() else { return };
        for message in [&b"first"[..], b"second", b"third"] {
            assert!(outbox.post(message));
            assert!(!outbox.post(b"too early") && !outbox.is_idle());
            assert!(end(&outbox).is_pending());
            drive(&reactor);
            assert_eq!(end(&outbox), Poll::Ready(Vec::new()));
        }
        drop(outbox);
        let mut received = String::new();
        far.read_to_string(&mut received).unwrap();
        assert_eq!(received, "firstsecondthird");
    }

    #[test]
    fn what_does_not_fit_into_the_socket_is_given_back() {
        let Some((reactor, outbox, mut far)) = pair() else { return };
        let mut sent = Vec::new();
        let rest = loop {
            let message: Vec<u8> = (0..MESSAGE_BYTES_MAX).map(|at| (sent.len() + at) as u8 ^ 0x55).collect();
            assert!(outbox.post(&message));
            drive(&reactor);
            sent.extend_from_slice(&message);
            if !outbox.is_idle() {
                let context = &mut Context::from_waker(Waker::noop());
                assert!(outbox.poll_rest(context).is_ready());
                assert!(!outbox.post(b"not before the rest"));
                let Poll::Ready(rest) = outbox.poll_end(context) else { panic!("it has ended") };
                break rest;
            }
        };
        assert!(!rest.is_empty() && outbox.is_idle());
        let mut received = vec![0; sent.len() - rest.len()];
        far.read_exact(&mut received).unwrap();
        received.extend_from_slice(&rest);
        assert_eq!(received, sent);
    }

    #[test]
    fn a_message_keeps_its_socket_open_and_a_closed_one_gives_it_back() {
        let Some((reactor, outbox, mut far)) = pair() else { return };
        assert!(outbox.post(b"last words"));
        drop(outbox);
        drive(&reactor);
        let mut received = String::new();
        far.read_to_string(&mut received).unwrap();
        assert_eq!(received, "last words");
        let (near, far) = UnixStream::pair().unwrap();
        drop(far);
        let outbox = Outbox::new(Rc::new(near));
        assert!(outbox.post(b"to nobody"));
        drop(reactor);
        assert_eq!(end(&outbox), Poll::Ready(b"to nobody".to_vec()));
    }

    #[test]
    fn only_a_rest_wakes_whoever_waits_for_a_rest() {
        struct Flag(std::sync::atomic::AtomicBool);
        impl std::task::Wake for Flag {
            fn wake(self: std::sync::Arc<Self>) {
                self.0.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        let Some((reactor, outbox, _far)) = pair() else { return };
        let flag = std::sync::Arc::new(Flag(false.into()));
        let was_woken = || flag.0.swap(false, std::sync::atomic::Ordering::Relaxed);
        let waker = Waker::from(flag.clone());
        let mut context = Context::from_waker(&waker);
        while outbox.is_idle() {
            assert!(!was_woken());
            assert!(outbox.post(&[7; MESSAGE_BYTES_MAX]));
            assert!(outbox.poll_rest(&mut context).is_pending());
            drive(&reactor);
        }
        assert!(was_woken());
    }

    #[test]
    fn without_a_ring_nothing_is_taken() {
        let (near, _far) = UnixStream::pair().unwrap();
        let outbox = Outbox::new(Rc::new(near));
        assert!(!outbox.post(b"message") && outbox.is_idle());
    }
}
