//! What the applier waits for: events, and the moment that SOURCE_DELAY sets. Commits that are on their way become durable
//! meanwhile, and a stop ends either wait.
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use binlog::{GtidEvent, RawEvent};
use datum::SqlError;
use instance::replication::Part;
use instance::unix_now_us;

use super::applier::{Applier, Stage};
use super::engine_failed;
use super::workers::Workers;

impl Applier {
    /// Until there are events, or a worker is done; what is committed becomes durable meanwhile.
    pub(super) async fn wait(&mut self) -> Result<(), SqlError> {
        let channel = self.channel.clone();
        let news = channel.relay.news();
        if !channel.relay.is_empty() || !channel.is_wanted(Part::Applier) {
            return Ok(());
        }
        {
            let mut status = channel.status.lock();
            status.applier_doing = "Replica has read all relay log; waiting for more updates";
            let is_idle = self.workers.as_ref().is_none_or(Workers::are_idle);
            if self.stage == Stage::Outside && is_idle {
                status.event_second = 0;
            }
        }
        let mut news = pin!(news);
        let (settling, workers) = (&mut self.settling, &mut self.workers);
        let mut done = None;
        poll_fn(|context| {
            if let Poll::Ready(Err(error)) = settling.poll(context) {
                return Poll::Ready(Err(engine_failed(error)));
            }
            if let Some(Poll::Ready(one)) = workers.as_mut().map(|workers| workers.poll(context)) {
                done = Some(one);
                return Poll::Ready(Ok(()));
            }
            news.as_mut().poll(context).map(|_| Ok(()))
        })
        .await?;
        match done {
            Some(done) => self.settle(done).await,
            None => Ok(()),
        }
    }

    /// SOURCE_DELAY: not before the moment of the commit and so much more.
    pub(super) async fn delay(&mut self, head: &GtidEvent, raw: &RawEvent<'_>) -> Result<(), SqlError> {
        loop {
            let delay = self.channel.settings.lock().delay;
            if delay == 0 || !self.channel.is_wanted(Part::Applier) {
                break;
            }
            let committed_us = match head.immediate_commit_us {
                0 => u64::from(raw.header.timestamp) * 1_000_000,
                us => us,
            };
            let due_us = committed_us + delay * 1_000_000;
            let now_us = unix_now_us();
            if now_us >= due_us {
                break;
            }
            {
                let mut status = self.channel.status.lock();
                status.applier_doing = "Waiting until SOURCE_DELAY seconds after source executed event";
                status.delayed_until = due_us / 1_000_000;
            }
            let channel = self.channel.clone();
            let news = channel.relay.news();
            let left = std::time::Duration::from_micros(due_us - now_us);
            let mut sleep = self.session.instance().timer().sleep(left);
            let mut news = pin!(news);
            let settling = &mut self.settling;
            poll_fn(|context| {
                if let Poll::Ready(Err(error)) = settling.poll(context) {
                    return Poll::Ready(Err(engine_failed(error)));
                }
                let is_over =
                    sleep.as_mut().poll(context).is_ready() || news.as_mut().poll(context).is_ready();
                if is_over { Poll::Ready(Ok(())) } else { Poll::Pending }
            })
            .await?;
        }
        self.channel.status.lock().delayed_until = 0;
        Ok(())
    }
}
