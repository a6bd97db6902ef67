//! Commits that nobody has waited for yet: they become durable behind the applier, as many with one flush as there are by then.
//!
//! Invariant: they are settled in their order; an error is told once and ends the applier.
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use engine::{EngineError, UnsettledCommit};

/// More than these are waited for.
const UNSETTLED_MAX: usize = 4096;

type Running = Pin<Box<dyn Future<Output = Result<(), EngineError>>>>;

#[derive(Default)]
pub struct Settling {
    waiting: VecDeque<UnsettledCommit>,
    running: Option<Running>,
}

impl Settling {
    /// Ready when all are settled.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), EngineError>> {
        loop {
            if self.running.is_none() {
                if self.waiting.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                let batch = std::mem::take(&mut self.waiting);
                self.running = Some(Box::pin(async move {
                    for commit in batch {
                        commit.settle().await?;
                    }
                    Ok(())
                }));
            }
            let Some(running) = &mut self.running else { continue };
            match running.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(result) => {
                    self.running = None;
                    result?;
                }
            }
        }
    }

    /// Adds a commit, and lets the others go on.
    pub async fn add(&mut self, commit: UnsettledCommit) -> Result<(), EngineError> {
        self.waiting.push_back(commit);
        if self.waiting.len() >= UNSETTLED_MAX {
            return self.all().await;
        }
        poll_fn(|context| match self.poll(context) {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => Poll::Ready(Ok(())),
        })
        .await
    }

    /// Waits for all of them.
    pub async fn all(&mut self) -> Result<(), EngineError> {
        poll_fn(|context| self.poll(context)).await
    }
}
