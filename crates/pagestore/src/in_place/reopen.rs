//! What an opening does before anything relies on what it has found: damaged pages come back from the doublewrite file,
//! and what may never have become durable is written once more.
//!
//! A process may have been killed after a failed sync. The kernel then shows what it wrote, holds it for clean, and loses
//! it in the next power cut; a sync by the opening does nothing about that. Doubtful are the last batch in the doublewrite
//! file, its pages at home and the newest superblock slot: whatever came before has been synced, or else they would not have
//! been written; and a growth counts only when the superblock names it. Batch and slot go into a new doublewrite file
//! first, which takes the name of the old one, and then to their places, where a crash may now tear them.
//!
//! Without room for that file (the disk is full) only damaged and empty places are written, and a sync speaks for the rest. If
//! the process was killed before it had synced the batch, nothing of it is at home, so the batch can first be written once
//! more where it is: a page that never was at home has no other image.
//!
//! Invariant: until a doublewrite file is durable no page at home is overwritten, so an opening can be cut off
//! anywhere and done again. `InPlaceStore::open` calls it.

use super::doublewrite::{self, Found, read_if_present};
use super::superblock::{self, SLOT_BYTES, SuperblockState};
use super::{DOUBLEWRITE_FILE, open_file, path_of};
use crate::{PageSize, StoreError, header};
use env::{Env, File, IoBuf, OpenOptions};
use std::cmp::Ordering;
use std::sync::Arc;

const NEW_FILE: &str = "doublewrite.new";

pub(super) struct Reopened {
    pub(super) copies: Arc<dyn File>,
    /// Pages below this can be written.
    pub(super) page_count: u64,
    pub(super) sequence: u64,
    pub(super) newest_lsn: u64,
    pub(super) superblock: SuperblockState,
}

pub(super) async fn reopen(
    env: &Env,
    directory: &str,
    data: &Arc<dyn File>,
    copies: Arc<dyn File>,
    page_size: PageSize,
    superblock: SuperblockState,
) -> Result<Reopened, StoreError> {
    let length = data.len().await?;
    let slot = read_if_present(&copies, doublewrite::slot_offset(page_size), SLOT_BYTES).await?;
    let mut superblock = match slot {
        Some(copy) => superblock::newer(superblock, copy.as_slice()),
        None => superblock,
    };
    let mut found = doublewrite::read(&copies, page_size).await?;
    let homes = keep_newest(data, page_size, length, &mut found).await?;
    debug_assert_eq!(homes.len(), found.pages.len(), "what is at home is told of each copy");
    let renewed = renew(env, directory, page_size, &found, &superblock).await?;
    let is_renewed = renewed.is_some();
    if !is_renewed && homes.contains(&Home::Empty) && !homes.iter().any(Home::is_begun) {
        doublewrite::write_again(&copies, page_size).await?;
    }
    for ((page, copy), home) in found.pages.iter().zip(homes) {
        if is_renewed || matches!(home, Home::Empty | Home::Damaged) {
            debug_assert!(
                (page.0 + 1) * page_size.bytes() as u64 <= length,
                "only places in the file are written"
            );
            let (_, result) =
                data.write_at(page.0 * page_size.bytes() as u64, IoBuf::copy_of(copy.as_slice())).await;
            result?;
        }
    }
    let pages_held = length / page_size.bytes() as u64;
    let page_count = match superblock.page_count {
        // Of an older store, which counts a growth as soon as the file is longer.
        0 if is_renewed => {
            write_end_again(data, page_size, length).await?;
            pages_held
        }
        0 => pages_held,
        // A growth that was cut off is done again.
        known => known.min(pages_held),
    };
    if is_renewed {
        superblock = superblock::write_again(data, page_size, superblock).await?;
    } else {
        // A first start may have been killed before it had made the names of its files durable.
        env.disk.sync_dir(directory).await?;
        // Pages can then be written back as far as the file reaches.
        let present = copies.len().await?;
        match doublewrite::fill(&copies, page_size, present).await {
            Err(error) if !error.is_no_space() => return Err(error.into()),
            _ => {}
        }
        data.sync().await?;
    }
    debug_assert!(page_count <= pages_held, "pages below the end can be written");
    let Found { sequence, newest_lsn, .. } = found;
    Ok(Reopened { copies: renewed.unwrap_or(copies), page_count, sequence, newest_lsn, superblock })
}

/// What lies in a page's place, beside the copy in the last batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Older,
    Same,
    /// Nothing was ever written there.
    Empty,
    Damaged,
}

impl Home {
    /// The batch had begun to come home, so its copies were durable.
    fn is_begun(&self) -> bool {
        matches!(self, Home::Same | Home::Damaged)
    }
}

/// Forgets the copies of pages that are newer at home (then the doublewrite file is not what was written last) or do not
/// exist; says of the others what is at home.
async fn keep_newest(
    data: &Arc<dyn File>,
    page_size: PageSize,
    length: u64,
    found: &mut Found,
) -> Result<Vec<Home>, StoreError> {
    let size = page_size.bytes() as u64;
    let (mut kept, mut homes) = (Vec::new(), Vec::new());
    for (page, copy) in std::mem::take(&mut found.pages) {
        let Some(offset) = page.0.checked_mul(size).filter(|offset| offset + size <= length) else {
            continue;
        };
        let home = read_if_present(data, offset, size as usize).await?;
        let image = home.as_ref().map_or(&[][..], |home| home.as_slice());
        homes.push(if image.iter().all(|byte| *byte == 0) {
            Home::Empty
        } else if header::verify(image, page).is_err() {
            Home::Damaged
        } else {
            match header::lsn(image).cmp(&header::lsn(copy.as_slice())) {
                Ordering::Greater => continue,
                Ordering::Equal => Home::Same,
                Ordering::Less => Home::Older,
            }
        });
        kept.push((page, copy));
    }
    found.pages = kept;
    Ok(homes)
}

/// The new doublewrite file; None if the disk has no room for it.
async fn renew(
    env: &Env,
    directory: &str,
    page_size: PageSize,
    found: &Found,
    superblock: &SuperblockState,
) -> Result<Option<Arc<dyn File>>, StoreError> {
    let path = |name: &str| path_of(directory, name);
    let file = match open_file(env, directory, NEW_FILE, OpenOptions::create().direct()).await {
        Err(error) if error.is_no_space() => return Ok(None),
        file => file?,
    };
    match doublewrite::write_anew(&file, page_size, found, superblock::slot(page_size, superblock)).await {
        Ok(()) => {}
        Err(error) if error.is_no_space() => {
            env.disk.remove(&path(NEW_FILE)).await?;
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    }
    env.disk.rename(&path(NEW_FILE), &path(DOUBLEWRITE_FILE)).await?;
    env.disk.sync_dir(directory).await?;
    Ok(Some(open_file(env, directory, DOUBLEWRITE_FILE, OpenOptions::existing().direct()).await?))
}

/// The last page of an older store, if nobody has used it yet: the growth was perhaps never synced. If it is used, it was.
async fn write_end_again(data: &Arc<dyn File>, page_size: PageSize, length: u64) -> Result<(), StoreError> {
    let size = page_size.bytes() as u64;
    let Some(last) = (length / size).checked_sub(1) else { return Ok(()) };
    let (page, result) = data.read_at(last * size, IoBuf::zeroed(size as usize)).await;
    result?;
    if page.as_slice().iter().all(|byte| *byte == 0) {
        let (_, result) = data.write_at(last * size, page).await;
        result?;
    }
    Ok(())
}
