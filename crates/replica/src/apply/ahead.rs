//! Has the pages read that waiting events will change, before the applier comes to them.
//!
//! Invariant: it is a hint. No change and no lock depends on it, and whatever goes wrong is left to the applier to tell. A table is
//! looked at under its metadata lock, and passed over where that is not free. What is asked for ahead of the applier
//! is bounded by bytes of events (`replica_read_ahead_size`) and by a part of the pool, so pages are still there when they
//! are needed. Runs beside the applier, on its task (decision 0071).
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use binlog::{Checksum, Event, Rows, TableMap, event_type, split_event};
use catalog::{LockMode, LockName, LockOwner};
use datum::{SqlError, Value};
use engine::TreeId;
use instance::Instance;
use instance::replication::Channel;
use table::ReadyTable;

use super::applier::event_error;
use super::columns::Columns;
use super::find::{index_key, row_key, unique_indexes};

/// The part of the pool that may be asked for ahead.
const POOL_SHARE: u64 = 8;
/// Tables that are remembered with their columns.
const TABLES_MAX: usize = 256;

/// How much may be asked for ahead of the applier.
#[derive(Clone, Copy)]
struct Limits {
    /// Of events.
    bytes: usize,
    /// That were not in memory.
    pages: u64,
}

struct Ahead {
    instance: Arc<Instance>,
    channel: Arc<Channel>,
    owner: LockOwner,
    /// The number of the event that is looked at next.
    next: u64,
    /// Events for which pages were asked for: number, bytes, pages.
    asked: VecDeque<(u64, usize, u64)>,
    bytes: usize,
    pages: u64,
    /// What the TABLE_MAPs before an event say.
    mapped: HashMap<u64, TableMap>,
    known: Vec<(Columns, ReadyTable)>,
}

/// Reads ahead until it is dropped.
pub(super) async fn read_ahead(instance: Arc<Instance>, channel: Arc<Channel>) -> Infallible {
    let owner = LockOwner(u64::from(instance.next_connection_id().0));
    let mut ahead = Ahead {
        instance,
        channel,
        owner,
        next: 0,
        asked: VecDeque::new(),
        bytes: 0,
        pages: 0,
        mapped: HashMap::new(),
        known: Vec::new(),
    };
    loop {
        let channel = ahead.channel.clone();
        let mut news = pin!(channel.relay.news());
        let limits = ahead.limits();
        while let Some(event) = ahead.next_event(limits) {
            ahead.ask(&event).await;
            env::yield_now().await;
        }
        // The applier makes room without news, in the same task.
        let (first, is_full) = (channel.relay.first(), ahead.is_full(limits));
        poll_fn(|context| {
            let has_room = is_full && channel.relay.first() != first;
            if has_room { Poll::Ready(()) } else { news.as_mut().poll(context) }
        })
        .await;
    }
}

impl Ahead {
    fn limits(&self) -> Limits {
        let size = self.instance.globals.by_name("replica_read_ahead_size").as_unsigned();
        Limits {
            bytes: usize::try_from(size).unwrap_or(usize::MAX),
            pages: self.instance.engine().stats().pool_pages_total / POOL_SHARE,
        }
    }

    fn is_full(&self, limits: Limits) -> bool {
        self.bytes >= limits.bytes || self.pages >= limits.pages
    }

    /// What the applier has come to is not ahead any more.
    fn pass(&mut self) {
        let first = self.channel.relay.first();
        while let Some((number, bytes, pages)) = self.asked.front().copied()
            && number < first
        {
            self.asked.pop_front();
            self.bytes -= bytes;
            self.pages -= pages;
        }
    }

    /// The next event that says something of rows. `None`: there is none, or enough was asked for.
    fn next_event(&mut self, limits: Limits) -> Option<Vec<u8>> {
        self.pass();
        loop {
            if self.is_full(limits) {
                return None;
            }
            let look = |number: u64, event: &[u8]| {
                let raw = split_event(event, Checksum::None).ok();
                let is_of_rows = raw.is_some_and(|raw| is_of_rows(raw.header.event_type));
                (number, event.len(), is_of_rows.then(|| event.to_vec()))
            };
            let (number, bytes, event) = self.channel.relay.look(self.next, look)?;
            self.next = number + 1;
            self.bytes += bytes;
            self.asked.push_back((number, bytes, 0));
            if event.is_some() {
                return event;
            }
        }
    }

    /// Asks for what an event's rows will need.
    async fn ask(&mut self, event: &[u8]) {
        let decoded = split_event(event, Checksum::None).and_then(|raw| Event::decode(&raw));
        match decoded {
            Ok(Event::TableMap(map)) => {
                if self.mapped.len() >= TABLES_MAX {
                    self.mapped.clear();
                }
                self.mapped.insert(map.table_id, map);
            }
            Ok(Event::Rows(rows)) => self.ask_for_rows(&rows).await,
            _ => {}
        }
    }

    async fn ask_for_rows(&mut self, rows: &Rows) {
        let Some(map) = self.mapped.get(&rows.header.table_id) else { return };
        let name = LockName::Table(map.database.as_str().into(), map.table.as_str().into());
        let locks = self.instance.catalog().locks().clone();
        let Some(_lock) = locks.try_acquire(self.owner, &name, LockMode::Shared) else { return };
        let Some(known) = self.known_table(rows.header.table_id).await else { return };
        let (columns, table) = &self.known[known];
        for (tree, mut keys) in keys_of(columns, table, rows) {
            keys.sort_unstable();
            keys.dedup();
            let mut left = keys.as_slice();
            while !left.is_empty() {
                let asked = self.instance.engine().expect_rows(tree, left.iter().map(Vec::as_slice)).await;
                let Ok(expected) = asked else { return };
                if let Some((_, _, pages)) = self.asked.back_mut() {
                    *pages += expected.absent as u64;
                    self.pages += expected.absent as u64;
                }
                left = &left[expected.keys.clamp(1, left.len())..];
            }
        }
    }

    /// The place among `known` of the table that an identifier of events means.
    async fn known_table(&mut self, table_id: u64) -> Option<usize> {
        let map = self.mapped.get(&table_id)?;
        let handle = self.instance.catalog().require_table(&map.database, &map.table).ok()?;
        let is_it = |(columns, table): &(Columns, ReadyTable)| {
            columns.source == *map && Arc::ptr_eq(table.definition(), handle.definition())
        };
        if let Some(place) = self.known.iter().position(is_it) {
            return Some(place);
        }
        let columns = Columns::new(map.clone(), handle.definition().clone()).ok()?;
        let table = handle.ready(self.instance.engine()).await.ok()?;
        if self.known.len() >= TABLES_MAX {
            self.known.clear();
        }
        self.known.push((columns, table));
        Some(self.known.len() - 1)
    }
}

fn is_of_rows(kind: u8) -> bool {
    matches!(
        kind,
        event_type::TABLE_MAP | event_type::WRITE_ROWS | event_type::UPDATE_ROWS | event_type::DELETE_ROWS
    )
}

/// The keys that the rows of an event are looked up by, each with its tree: those that the row is found by, and of a new
/// row those that have to be free. Of an event that cannot be read, those before the fault.
fn keys_of(columns: &Columns, table: &ReadyTable, rows: &Rows) -> HashMap<TreeId, Vec<Vec<u8>>> {
    let mut keys = HashMap::new();
    for change in rows.changes(&columns.map) {
        let added = change.map_err(|error| event_error(&error)).and_then(|change| {
            let is_new = change.before.is_none();
            let image = columns.placed(change.before.or(change.after).unwrap_or_default())?;
            add_keys(table, &image, is_new, &mut keys)
        });
        if added.is_err() {
            break;
        }
    }
    keys
}

fn add_keys(
    table: &ReadyTable,
    image: &[Option<Value>],
    is_new: bool,
    keys: &mut HashMap<TreeId, Vec<Vec<u8>>>,
) -> Result<(), SqlError> {
    let layout = table.layout();
    let mut add = |tree, key| keys.entry(tree).or_default().push(key);
    let row_key = row_key(table, image)?;
    // The row is found by its clustered key, else by the first unique one.
    let others = match (is_new, &row_key) {
        (true, _) => usize::MAX,
        (false, Some(_)) => 0,
        (false, None) => 1,
    };
    if let Some(key) = row_key {
        add(layout.tree, key);
    }
    let is_other = |index: &usize| !layout.indexes[*index].clustered && !layout.indexes[*index].multi_valued;
    for index in unique_indexes(table, image).filter(is_other).take(others) {
        add(layout.indexes[index].tree, index_key(table, index, image)?);
    }
    Ok(())
}
