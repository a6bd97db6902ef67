//! Waiting for a client's next command: for bytes, a KILL, or the end of its patience; and waiting for a command beside
//! a client that may go.
//!
//! Invariants: waiting costs no wake-ups but one per idle timeout; the timer is set once and re-armed only when
//! it fires too early, so a busy connection never touches the timer wheel. A command that never waits costs nothing here.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use instance::{KillKind, KillSwitch};
use tokio::time::{Instant, Sleep};

use super::client::Client;
use super::stream::Stream;

pub(super) enum Wake {
    Bytes,
    /// The response has not left whole.
    Unsent,
    /// The client closed, or the network did.
    Gone,
    Killed,
    TimedOut,
}

/// The timer of one connection.
pub(super) struct IdleTimer {
    sleep: Pin<Box<Sleep>>,
    limit: Duration,
}

impl IdleTimer {
    pub(super) fn new(limit: Duration) -> Self {
        Self { sleep: Box::pin(tokio::time::sleep(limit)), limit }
    }

    /// A shorter limit must take effect at once; a longer one when the timer fires.
    pub(super) fn set_limit(&mut self, limit: Duration) {
        if limit < self.limit {
            self.sleep.as_mut().reset(Instant::now() + limit);
        }
        self.limit = limit;
    }
}

pub(super) async fn wait_for_bytes(client: &mut Client, kill: &KillSwitch, timer: &mut IdleTimer) -> Wake {
    let mut killed = std::pin::pin!(kill.connection_killed());
    let mut waiting_since = None;
    poll_fn(|context| {
        let Client { stream, protocol, .. } = client;
        match stream.get_mut().poll_read_with(context, |bytes| protocol.feed(bytes)) {
            Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Wake::Gone),
            Poll::Ready(Ok(_)) => return Poll::Ready(Wake::Bytes),
            Poll::Pending => {}
        }
        if stream.get_mut().poll_unsent(context).is_ready() {
            return Poll::Ready(Wake::Unsent);
        }
        let since = match waiting_since {
            Some(since) => since,
            None => {
                client.return_buffer();
                *waiting_since.insert(Instant::now())
            }
        };
        if kill.state() == Some(KillKind::Connection) || killed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Wake::Killed);
        }
        while timer.sleep.as_mut().poll(context).is_ready() {
            let deadline = since + timer.limit;
            if deadline <= Instant::now() {
                return Poll::Ready(Wake::TimedOut);
            }
            timer.sleep.as_mut().reset(deadline);
        }
        Poll::Pending
    })
    .await
}

/// Runs a command, and kills its session when the client goes meanwhile: nobody waits for the answer, but others may
/// wait for what the session has locked.
pub(super) async fn unless_gone<T>(
    mut command: Pin<&mut impl Future<Output = T>>,
    stream: &RefCell<Stream>,
    kill: &KillSwitch,
) -> T {
    let mut is_gone = false;
    poll_fn(|context| {
        if let Poll::Ready(answer) = command.as_mut().poll(context) {
            return Poll::Ready(answer);
        }
        if !is_gone && stream.borrow().poll_closed(context).is_ready() {
            is_gone = true;
            // Wakes this task, if the command waits for something that a KILL ends.
            kill.kill(KillKind::Connection);
        }
        Poll::Pending
    })
    .await
}
