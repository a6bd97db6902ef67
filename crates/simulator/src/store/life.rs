//! One life of a store: clients with pages of their own, doing a little of everything.

use super::model::{Model, Version};
use super::run::StoreOptions;
use env::sim::SeededRandom;
use env::sync::{Event, Mutex};
use env::{Env, IoBuf};
use pagestore::{
    PageBatch, PageFault, PageId, PageKind, PageSize, PageStore, SegmentStore, StoreError, TreeId, header,
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
    pub(super) store: Arc<SegmentStore>,
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

pub(super) async fn read(store: &SegmentStore, page: u64) -> Result<Version, Trouble> {
    if page >= store.page_count() {
        return Ok(None);
    }
    let (buffer, result) = store.read(PageId(page), IoBuf::zeroed(PAGE_BYTES)).await;
    match result {
        Ok(()) => Ok(version_of(PageId(page), buffer.as_slice()).map(Some)?),
        Err(StoreError::Corrupt(corrupt)) if corrupt.fault == PageFault::Absent => Ok(None),
        Err(error) => Err(Trouble::new(&format!("page {page} cannot be read"), &error)),
    }
}

impl Life {
    pub(super) fn new(
        store: Arc<SegmentStore>,
        model: Arc<Mutex<Model>>,
        options: StoreOptions,
        seed: u64,
        first_version: u64,
    ) -> Arc<Self> {
        Arc::new(Self { store, model, options, seed, next_version: AtomicU64::new(first_version) })
    }

    /// Runs all clients to their end and checks the store.
    pub(super) async fn run(self: &Arc<Self>, env: &Env) -> Result<(), String> {
        self.run_clients(env).await;
        if self.options.has_errors { Ok(()) } else { self.store.check().await }
    }

    async fn run_clients(self: &Arc<Self>, env: &Env) {
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
            0..=10 => self.write(random, client).await,
            11..=12 => self.free(random, client).await,
            13..=16 => {
                let page = self.pick(random, client, 1)[0];
                let found = read(&self.store, page).await?;
                Ok(self.model.lock().expect(page, found)?)
            }
            17 => self.read_several(random).await,
            18 if client == 0 => self.write_record().await,
            19 if client == 0 => self.extend(random).await,
            _ => Ok(()),
        }
    }

    /// Different pages that belong to the client.
    fn pick(&self, random: &SeededRandom, client: usize, count: usize) -> Vec<u64> {
        let mut pages = Vec::new();
        while pages.len() < count {
            let own = random.below(self.options.pages / self.options.clients);
            let page = (own * self.options.clients + client) as u64 * self.options.stride;
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
        pages
    }

    async fn write(&self, random: &SeededRandom, client: usize) -> Result<(), Trouble> {
        let count = if random.below(8) == 0 { 9 } else { 1 + random.below(5) };
        let pages = self.pick(random, client, count);
        let version = self.next_version.fetch_add(1, Ordering::SeqCst);
        let mut batch = PageBatch::new(PageSize::K4, count);
        for page in &pages {
            if *page < self.store.page_count() {
                batch.push(PageId(*page), &image(PageId(*page), version));
                self.model.lock().ask(*page, Some(version));
            }
        }
        let written = batch.pages().to_vec();
        match self.store.write_batch(batch).await {
            Ok(()) => {
                let mut model = self.model.lock();
                written.iter().for_each(|page| model.acknowledge(page.0, Some(version)));
                Ok(())
            }
            Err(error) if error.is_no_space() => {
                self.model.lock().refused += 1;
                Ok(())
            }
            Err(error) => Err(Trouble::new("a batch failed", &error)),
        }
    }

    async fn free(&self, random: &SeededRandom, client: usize) -> Result<(), Trouble> {
        let pages = self.pick(random, client, 1 + random.below(3));
        for page in &pages {
            self.model.lock().ask(*page, None);
        }
        let ids: Vec<PageId> = pages.iter().map(|page| PageId(*page)).collect();
        match self.store.free(&ids).await {
            Ok(()) => {
                let mut model = self.model.lock();
                pages.iter().for_each(|page| model.acknowledge(*page, None));
                Ok(())
            }
            Err(error) if error.is_no_space() => {
                self.model.lock().refused += 1;
                Ok(())
            }
            Err(error) => Err(Trouble::new("a free failed", &error)),
        }
    }

    /// Pages of all clients: nothing is promised about them but that what looks intact is.
    async fn read_several(&self, random: &SeededRandom) -> Result<(), Trouble> {
        let count = 1 + random.below(6);
        let Some(last) = self.store.page_count().checked_sub(count as u64) else { return Ok(()) };
        let first = PageId(random.below(last as usize + 1) as u64);
        let pages: Vec<PageId> = (0..count as u64).map(|index| PageId(first.0 + index)).collect();
        let found = self.store.read_many(&pages).await;
        for (page, image) in pages.into_iter().zip(found) {
            let Some(image) = image else { continue };
            if header::verify(image.as_slice(), page).is_ok() {
                version_of(page, image.as_slice())?;
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
pub(super) async fn read_record(store: &SegmentStore) -> Result<Version, String> {
    let record = store.read_superblock().await.map_err(|error| error.to_string())?;
    let Some(record) = record else { return Ok(None) };
    let bytes = record.try_into().map_err(|_| "the checkpoint record has a wrong length".to_string())?;
    Ok(Some(u64::from_le_bytes(bytes)))
}
