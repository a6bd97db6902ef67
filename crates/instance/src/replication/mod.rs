//! Replication as the server knows it: its channels, what each is to do, what it does, and what it has applied.
//!
//! Invariant: a channel's receiver and applier are tasks of the program, at most one of each at one time; statements only say what
//! is wanted, and wait for it. What is applied changes only with a commit that stores it.
mod applied;
mod filter;
mod filters;
mod relay;
mod settings;
mod skipped;
mod status;
mod until;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use binlog::{Gtid, GtidSet, MariaDbPosition};
use env::sync::WaitQueue;
use parking_lot::Mutex;

use crate::user_locks::UserLocks;

pub use applied::Applied;
pub use filter::{FilterKind, FilterOrigin, FilterRule, FilterValue};
pub use filters::{FilterOption, Filters};
pub use relay::{Relay, Relayed};
pub use settings::SourceSettings;
pub use skipped::SkippedErrors;
pub use status::{AppliedTransaction, ChannelStatus, Failure, ReceiverState};
pub use until::Until;

/// The two tasks of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Receiver,
    Applier,
}

impl Part {
    pub const BOTH: [Part; 2] = [Part::Receiver, Part::Applier];

    fn place(self) -> usize {
        usize::from(self == Part::Applier)
    }
}

/// What a task is to do, and whether there is one.
#[derive(Clone, Copy, Default)]
struct Task {
    is_wanted: bool,
    is_running: bool,
}

/// One source.
#[derive(Default)]
pub struct Channel {
    pub name: String,
    pub settings: Mutex<SourceSettings>,
    applied: Mutex<Applied>,
    /// The length of its stored form.
    stored_bytes: Mutex<Option<usize>>,
    pub relay: Relay,
    pub status: Mutex<ChannelStatus>,
    /// Of the last start of the applier.
    pub until: Mutex<Until>,
    /// They change only while there is no applier.
    pub filters: Mutex<Filters>,
    /// See `Replication::progress`.
    progress: Arc<WaitQueue>,
    tasks: Mutex<[Task; 2]>,
}

impl Channel {
    pub fn applied(&self) -> Applied {
        self.applied.lock().clone()
    }

    /// Whether a transaction of the source has been committed here: the one of this identifier, or whichever ends at this place.
    pub fn has_applied(&self, gtid: Option<Gtid>, (file, position): (&str, u64)) -> bool {
        let applied = self.applied.lock();
        gtid.is_some_and(|gtid| applied.executed.contains(gtid))
            || until::is_at((&applied.file, applied.position), (file, position))
    }

    pub fn stored_bytes(&self) -> Option<usize> {
        *self.stored_bytes.lock()
    }

    /// It has been committed, in so many bytes.
    pub fn set_applied(&self, applied: Applied, stored_bytes: Option<usize>) {
        *self.applied.lock() = applied;
        *self.stored_bytes.lock() = stored_bytes;
        self.progress.wake_all();
    }

    pub fn is_wanted(&self, part: Part) -> bool {
        self.tasks.lock()[part.place()].is_wanted
    }

    pub fn is_running(&self, part: Part) -> bool {
        self.tasks.lock()[part.place()].is_running
    }

    pub fn runs(&self) -> bool {
        Part::BOTH.iter().any(|part| self.is_running(*part))
    }

    /// Asks a task to end.
    pub fn stop(&self, part: Part) {
        self.tasks.lock()[part.place()].is_wanted = false;
        self.relay.wake();
    }

    /// A task has ended.
    pub fn ended(&self, part: Part) {
        self.tasks.lock()[part.place()] = Task::default();
        self.relay.wake();
        self.progress.wake_all();
    }

    /// Until the task has ended.
    pub async fn wait_for_end(&self, part: Part) {
        loop {
            let news = self.relay.news();
            if !self.is_running(part) {
                return;
            }
            news.await;
        }
    }
}

type Starter = Box<dyn Fn(Arc<Channel>, Part) + Send + Sync>;

/// All channels.
#[derive(Default)]
pub struct Replication {
    channels: Mutex<BTreeMap<String, Arc<Channel>>>,
    /// What came by channels that are gone, by their names.
    detached: Mutex<BTreeMap<String, GtidSet>>,
    /// Woken when a channel has applied something, and when an applier ends.
    pub progress: Arc<WaitQueue>,
    /// Identifiers that sessions have taken for their transactions.
    pub owned: UserLocks,
    /// The filters that new channels begin with.
    pub filters: Mutex<Filters>,
    starter: OnceLock<Starter>,
}

impl Replication {
    /// From what is stored; `None` if it is damaged.
    pub fn load(channels: &[(String, Vec<u8>)], applied: &[(String, Vec<u8>)]) -> Option<Replication> {
        let replication = Replication::default();
        for (name, bytes) in channels {
            let channel = replication.add(name);
            *channel.settings.lock() = SourceSettings::decode(bytes)?;
            if let Some((_, bytes)) = applied.iter().find(|(of, _)| of == name) {
                channel.set_applied(Applied::decode(bytes)?, Some(bytes.len()));
            }
        }
        for (name, bytes) in applied.iter().filter(|(name, _)| replication.channel(name).is_none()) {
            replication.detach(name, &Applied::decode(bytes)?.executed);
        }
        Some(replication)
    }

    /// Says how tasks are started; once.
    pub fn set_starter(&self, starter: impl Fn(Arc<Channel>, Part) + Send + Sync + 'static) {
        let _ = self.starter.set(Box::new(starter));
    }

    pub fn channel(&self, name: &str) -> Option<Arc<Channel>> {
        self.channels.lock().get(&name.to_lowercase()).cloned()
    }

    pub fn channels(&self) -> Vec<Arc<Channel>> {
        self.channels.lock().values().cloned().collect()
    }

    /// The channel of the name, new if there is none.
    pub fn add(&self, name: &str) -> Arc<Channel> {
        let mut channels = self.channels.lock();
        let new = || {
            let filters = Mutex::new(self.filters.lock().copied());
            let progress = self.progress.clone();
            Arc::new(Channel { name: name.to_owned(), filters, progress, ..Channel::default() })
        };
        channels.entry(name.to_lowercase()).or_insert_with(new).clone()
    }

    pub fn remove(&self, name: &str) {
        if let Some(channel) = self.channels.lock().remove(&name.to_lowercase()) {
            self.detach(&channel.name, &channel.applied().executed);
        }
    }

    fn detach(&self, name: &str, executed: &GtidSet) {
        self.detached.lock().entry(name.to_owned()).or_default().add_all(executed);
    }

    /// The names of channels that are gone, of which is stored what came by them.
    pub fn detached_names(&self) -> Vec<String> {
        self.detached.lock().keys().cloned().collect()
    }

    /// What came by channels that are gone does not count any more.
    pub fn forget_detached(&self) {
        self.detached.lock().clear();
    }

    /// Takes the filters of options over, before any task has started; answers the channels among them that do not exist.
    pub fn filter_by_options(&self, options: Vec<FilterOption>) -> Vec<String> {
        let (of_channels, of_all): (Vec<_>, Vec<_>) =
            options.into_iter().partition(|option| option.channel.is_some());
        let mut filters = Filters::default();
        for FilterOption { kind, value, .. } in of_all {
            filters.add(kind, FilterOrigin::Options, value);
        }
        *self.filters.lock() = filters.clone();
        self.channels().iter().for_each(|channel| *channel.filters.lock() = filters.copied());
        let mut unknown = Vec::new();
        for FilterOption { kind, channel: name, value } in of_channels {
            let name = name.unwrap_or_default();
            match self.channel(&name) {
                Some(channel) => channel.filters.lock().add(kind, FilterOrigin::OptionsForChannel, value),
                None => unknown.push(name),
            }
        }
        unknown.dedup();
        unknown
    }

    /// Starts a task; false if it runs already.
    pub fn start(&self, channel: &Arc<Channel>, part: Part) -> bool {
        let Some(starter) = self.starter.get() else { return false };
        {
            let mut tasks = channel.tasks.lock();
            let task = &mut tasks[part.place()];
            if task.is_running {
                return false;
            }
            *task = Task { is_wanted: true, is_running: true };
        }
        channel.status.lock().forget_failure(part);
        starter(channel.clone(), part);
        true
    }

    /// How far all channels of MariaDB sources have come.
    pub fn domains(&self) -> MariaDbPosition {
        let mut all = MariaDbPosition::default();
        self.channels().iter().for_each(|channel| all.add_all(&channel.applied.lock().domains));
        all
    }

    /// What has come by all channels.
    pub fn executed(&self) -> GtidSet {
        let mut all = GtidSet::new();
        self.detached.lock().values().for_each(|executed| all.add_all(executed));
        self.channels().iter().for_each(|channel| all.add_all(&channel.applied.lock().executed));
        all
    }
}
