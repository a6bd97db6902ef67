//! The thread that asks a store for those who must not wait themselves: one piece of work after the other.
//!
//! Invariant: what nobody waits for any more when its turn comes is not done. Used by `folder`.
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use env::{BoxFuture, IoBuf, SyncCompletion, sync_completion};
use parking_lot::Mutex;

use crate::store::{Failure, Store};

type Work = Box<dyn FnOnce(&mut Store) + Send>;

pub(crate) struct Turns {
    sender: Sender<Work>,
}

/// What came out; taken once.
type Outcome<T> = Arc<Mutex<Option<Result<T, Failure>>>>;

impl Turns {
    pub fn start(mut store: Store) -> std::io::Result<Turns> {
        let (sender, receiver) = channel::<Work>();
        let run = move || {
            while let Ok(work) = receiver.recv() {
                work(&mut store);
            }
        };
        std::thread::Builder::new().name("objects".into()).spawn(run)?;
        Ok(Turns { sender })
    }

    /// For work that tells by itself what came out.
    pub fn send(&self, work: impl FnOnce(&mut Store) + Send + 'static) {
        // The thread is there as long as this is.
        let _ = self.sender.send(Box::new(work));
    }

    /// Has it done when its turn comes.
    pub fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Failure>> {
        let outcome: Outcome<T> = Arc::default();
        let (completer, done) = sync_completion();
        let waiting = Arc::downgrade(&outcome);
        let turn = move |store: &mut Store| {
            let Some(outcome) = waiting.upgrade() else { return };
            *outcome.lock() = Some(work(store));
            drop(outcome);
            completer.complete(IoBuf::empty(), Ok(()));
        };
        let ended = || Failure::Away("the thread that asks the store has ended".into());
        let done: Option<SyncCompletion> = self.sender.send(Box::new(turn)).is_ok().then_some(done);
        Box::pin(async move {
            match done {
                // It is completed without an error.
                Some(done) => drop(done.await),
                None => return Err(ended()),
            }
            let outcome = outcome.lock().take();
            outcome.unwrap_or_else(|| Err(ended()))
        })
    }
}
