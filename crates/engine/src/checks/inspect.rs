//! One superblock, page or stretch of the log as text, for people who look into a database at rest.
//!
//! Invariant: damage is shown, not refused, as far as there is something to show. Called by the `inspect` command, on a
//! disk whose changes stay in memory.

use crate::EngineError;
use crate::checkpoints::superblock::Superblock;
use crate::log::log_record;
use crate::log::log_record::KIND_FIRST;
use crate::recovery::log_error;
use crate::storage::files::{DATA_DIRECTORY, LOG_DIRECTORY, store_error};
use btree::LateRecord;
use btree::redo::{Change, RENEWED_LOG, renewed_changes};
use env::{Env, IoBuf};
use pagestore::{InPlaceStore, PageId, PageStore, header};
use wal::{LogGroup, Lsn, WalReader};

/// So much of the log is shown at once.
const GROUPS_MAX: usize = 200;

/// What to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspected {
    /// The checkpoint record.
    Superblock,
    /// One page by its id.
    Page(u64),
    /// From this LSN on, or from the checkpoint.
    Log(Option<u64>),
}

/// Shows it.
pub async fn inspect(env: &Env, what: Inspected) -> Result<String, EngineError> {
    match what {
        Inspected::Superblock => superblocks(env).await,
        Inspected::Page(page) => show_page(env, PageId(page)).await,
        Inspected::Log(from) => show_log(env, from).await,
    }
}

async fn superblocks(env: &Env) -> Result<String, EngineError> {
    let slots = InPlaceStore::describe_superblocks(env, DATA_DIRECTORY).await.map_err(store_error)?;
    let record = checkpoint(env).await?;
    Ok(format!("{slots}checkpoint record of the newest: {record:#?}\n"))
}

async fn checkpoint(env: &Env) -> Result<Superblock, EngineError> {
    let store = InPlaceStore::open(env, DATA_DIRECTORY).await.map_err(store_error)?;
    let record = store.read_superblock().await.map_err(store_error)?.unwrap_or_default();
    Superblock::decode(&record).map_err(|what| EngineError::Corrupt { what })
}

async fn show_page(env: &Env, page: PageId) -> Result<String, EngineError> {
    let store = InPlaceStore::open(env, DATA_DIRECTORY).await.map_err(store_error)?;
    let (bytes, read) = store.read(page, IoBuf::zeroed(store.page_size().bytes())).await;
    let verdict =
        read.map_or_else(|error| error.to_string(), |()| "checksum and identity are right".to_owned());
    let bytes = bytes.as_slice();
    Ok(format!("{verdict}\n{}\n{}", header::describe(bytes), btree::describe_page(bytes)))
}

async fn show_log(env: &Env, from: Option<u64>) -> Result<String, EngineError> {
    let from = match from {
        Some(lsn) => Lsn(lsn),
        None => Lsn(checkpoint(env).await?.checkpoint_lsn),
    };
    let reader = WalReader::open(env, LOG_DIRECTORY, from, Lsn::ZERO).await;
    let mut reader = reader.map_err(|error| log_error(&error))?;
    let mut text = String::new();
    for _ in 0..GROUPS_MAX {
        match reader.next_group().await {
            Ok(Some(group)) => show_group(&group, &mut text),
            Ok(None) => {
                text.push_str("end of the log\n");
                return Ok(text);
            }
            Err(error) => {
                text.push_str(&format!("{error}\n"));
                return Ok(text);
            }
        }
    }
    text.push_str("there is more: give the last LSN to go on\n");
    Ok(text)
}

fn show_group(group: &LogGroup<'_>, text: &mut String) {
    text.push_str(&format!("group {} to {}\n", group.start, group.end));
    for (lsn, record) in group.records() {
        let described = if record.kind >= KIND_FIRST {
            match log_record::decode(record.kind, record.payload) {
                Ok(decoded) => format!("transaction {}: {decoded:?}", record.txn),
                Err(_) => format!("unknown record of kind {}", record.kind),
            }
        } else {
            describe_change(record.kind, record.payload)
        };
        text.push_str(&format!("  {lsn} {described}\n"));
    }
}

fn describe_change(kind: u8, payload: &[u8]) -> String {
    if kind == RENEWED_LOG {
        return match renewed_changes(payload) {
            Ok((page, changes)) => format!("page {page}: what the disk lacks, said again: {changes:?}"),
            Err(_) => "a page's log that cannot be read".into(),
        };
    }
    match (LateRecord::decode(kind, payload), Change::decode(kind, payload)) {
        (Some(Ok(late)), _) => format!("late: {late:?}"),
        (_, Ok((page, change))) if change.is_image() => format!("page {page}: an image"),
        (_, Ok((page, change))) => format!("page {page}: {change:?}"),
        (_, Err(_)) => format!("a page change of kind {kind} that cannot be read"),
    }
}
