//! One life of a store: clients with pages of their own, doing a little of everything.

use super::model::{Model, Version};
use crate::store::options::{PlantedStoreFault, StoreOptions};
use env::sim::SeededRandom;
use env::sync::{Event, Mutex};
use env::{Env, IoBuf};
use pagestore::{
    InPlaceStore, PageBatch, PageFault, PageId, PageKind, PageSize, PageStore, StoreError, TreeId, header,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Why an operation did not do what it should.
pub(super) enum Trouble {
    /// The store broke a promise.
    Wrong(String),
    /// The disk failed: no wonder if an error was injected.
    Failed(String),
}

impl Trouble {
    pub(super) fn new(what: &str, error: &StoreError) -> Self {
        let text = format!("{what}: {error}");
        if matches!(error, StoreError::Io(_)) { Self::Failed(text) } else { Self::Wrong(text) }
    }

    pub(super) fn into_text(self) -> String {
        match self {
            Self::Wrong(text) | Self::Failed(text) => text,
        }
    }
}

impl From<String> for Trouble {
    fn from(text: String) -> Self {
        Self::Wrong(text)
    }
}

const PAGE_BYTES: usize = PageSize::K4.bytes();

pub(super) struct Life {
    pub(super) store: Arc<InPlaceStore>,
    pub(super) model: Arc<Mutex<Model>>,
    pub(super) options: StoreOptions,
    pub(super) seed: u64,
    next_version: AtomicU64,
}

/// A page whose every byte follows from its id and version.
fn image(page: PageId, version: u64) -> Vec<u8> {
    let mut bytes = vec![version as u8 ^ page.0 as u8; PAGE_BYTES];
    header::format(&mut bytes, page, PageKind::Overflow, TreeId(7));
    header::set_lsn(&mut bytes, version);
    bytes
}

/// The version in a page, if the page is what was written under it.
fn version_of(page: PageId, bytes: &[u8]) -> Result<u64, String> {
    let version = header::lsn(bytes);
    let expected = image(page, version);
    let same = bytes[4..32] == expected[4..32] && bytes[40..] == expected[40..];
    if same { Ok(version) } else { Err(format!("page {page} holds what nobody wrote")) }
}

/// Space that was never written to reads as zeros.
fn is_empty(buffer: &IoBuf) -> bool {
    buffer.as_slice().iter().all(|byte| *byte == 0)
}

pub(super) async fn read(store: &InPlaceStore, page: u64) -> Result<Version, Trouble> {
    if page >= store.page_count() {
        return Ok(None);
    }
    let (buffer, result) = store.read(PageId(page), IoBuf::zeroed(PAGE_BYTES)).await;
    match result {
        Ok(()) => Ok(version_of(PageId(page), buffer.as_slice()).map(Some)?),
        Err(StoreError::Corrupt(corrupt)) if corrupt.fault == PageFault::Checksum && is_empty(&buffer) => {
            Ok(None)
        }
        Err(error) => Err(Trouble::new(&format!("page {page} cannot be read"), &error)),
    }
}

impl Life {
    pub(super) fn new(
        store: Arc<InPlaceStore>,
        model: Arc<Mutex<Model>>,
        options: StoreOptions,
        seed: u64,
        first_version: u64,
    ) -> Arc<Self> {
        Arc::new(Self { store, model, options, seed, next_version: AtomicU64::new(first_version) })
    }

    /// Runs all clients to their end.
    pub(super) async fn run(self: &Arc<Self>, env: &Env) {
        let clients = self.options.clients;
        let (left, done) = (Arc::new(AtomicUsize::new(clients)), Arc::new(Event::new()));
        for client in 0..clients {
            let (life, left, done) = (self.clone(), left.clone(), done.clone());
            let work = async move {
                if let Err(what) = life.work(client).await {
                    life.model.lock().complain(what);
                }
                if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    done.set();
                }
            };
            env.spawner.spawn("client", Box::pin(work));
        }
        done.wait().await;
    }

    async fn work(self: &Arc<Self>, client: usize) -> Result<(), String> {
        let random = SeededRandom::new(self.seed ^ (client as u64 + 1).rotate_left(40));
        for _ in 0..self.options.operations {
            match self.operate(&random, client).await {
                Err(Trouble::Failed(_)) if self.options.has_errors => {}
                Err(trouble) => return Err(trouble.into_text()),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    async fn operate(&self, random: &SeededRandom, client: usize) -> Result<(), Trouble> {
        match random.below(20) {
            0..=12 => self.write(random, client).await,
            13..=16 => self.read_one(random, client).await,
            17 => self.read_several(random, client).await,
            18 if client == 0 => self.write_record().await,
            19 if client == 0 => self.extend(random).await,
            19 if client == 1 => self.close().await,
            _ => Ok(()),
        }
    }

    /// One operation at a time may touch a page, so each client has its own.
    fn own_pages(&self, client: usize) -> Vec<u64> {
        let each = self.options.pages / self.options.clients;
        (client * each..(client + 1) * each).map(|number| self.options.page(number as u64)).collect()
    }

    /// Different pages of the client, in order of their ids.
    fn pick(&self, random: &SeededRandom, client: usize, count: usize) -> Vec<u64> {
        let own = self.own_pages(client);
        let mut pages = Vec::new();
        while pages.len() < count {
            let page = own[random.below(own.len())];
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
        pages.sort_unstable();
        pages
    }

    async fn read_one(&self, random: &SeededRandom, client: usize) -> Result<(), Trouble> {
        let page = self.pick(random, client, 1)[0];
        match read(&self.store, page).await {
            Ok(found) => Ok(self.model.lock().expect(page, found)?),
            // A write that failed half way has torn the page, and only an opening brings it back.
            Err(Trouble::Wrong(what)) if self.options.has_errors => Err(Trouble::Failed(what)),
            Err(trouble) => Err(trouble),
        }
    }

    async fn write(&self, random: &SeededRandom, client: usize) -> Result<(), Trouble> {
        let count = if random.below(8) == 0 { 9 } else { 1 + random.below(5) };
        let pages = self.pick(random, client, count);
        let version = self.next_version.fetch_add(1, Ordering::SeqCst);
        let mut batch = PageBatch::new(PageSize::K4, count);
        for page in &pages {
            if *page < self.store.page_count() {
                batch.push(PageId(*page), &image(PageId(*page), version));
                self.model.lock().ask(*page, version);
            }
        }
        let pages = batch.pages().to_vec();
        let acknowledge = || {
            let mut model = self.model.lock();
            pages.iter().for_each(|page| model.acknowledge(page.0, version));
        };
        if self.options.fault == PlantedStoreFault::AcknowledgesEarly {
            acknowledge();
        }
        let written = self.store.write_batch(batch).await;
        written.map_err(|error| Trouble::new("a batch failed", &error))?;
        acknowledge();
        Ok(())
    }

    /// Neighbours with one call.
    async fn read_several(&self, random: &SeededRandom, client: usize) -> Result<(), Trouble> {
        let own = self.own_pages(client);
        let first = random.below(own.len());
        let pages: Vec<PageId> = own[first..].iter().take(6).map(|page| PageId(*page)).collect();
        let found = self.store.read_many(&pages).await;
        for (page, image) in pages.into_iter().zip(found) {
            let Some(image) = image else { continue };
            // What is wrong with it, only `read` tells.
            if self.store.verify(page, image.as_slice()).is_ok() {
                let version = version_of(page, image.as_slice())?;
                self.model.lock().expect(page.0, Some(version))?;
            }
        }
        Ok(())
    }

    async fn write_record(&self) -> Result<(), Trouble> {
        let version = self.next_version.fetch_add(1, Ordering::SeqCst);
        self.model.lock().ask_record(version);
        let bytes = version.to_le_bytes();
        let written = self.store.write_superblock(&bytes).await;
        written.map_err(|error| Trouble::new("a superblock failed", &error))?;
        self.model.lock().acknowledge_record(version);
        Ok(())
    }

    /// Before others go on: what it says must be taken back by their next write.
    async fn close(&self) -> Result<(), Trouble> {
        self.store.close().await.map_err(|error| Trouble::new("the store cannot be closed", &error))
    }

    async fn extend(&self, random: &SeededRandom) -> Result<(), Trouble> {
        let wanted = self.store.page_count() + random.below(12) as u64 * self.options.stride;
        match self.store.extend(wanted).await {
            Ok(()) => {
                let mut model = self.model.lock();
                model.page_count = model.page_count.max(wanted);
                Ok(())
            }
            Err(error) if error.is_no_space() => Ok(()),
            Err(error) => Err(Trouble::new("the store cannot grow", &error)),
        }
    }
}

/// The record's version; `None` if there is none.
pub(super) async fn read_record(store: &InPlaceStore) -> Result<Version, String> {
    let record = store.read_superblock().await.map_err(|error| error.to_string())?;
    let Some(record) = record else { return Ok(None) };
    let bytes = record.try_into().map_err(|_| "the checkpoint record has a wrong length".to_string())?;
    Ok(Some(u64::from_le_bytes(bytes)))
}
