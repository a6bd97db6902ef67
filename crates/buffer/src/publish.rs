//! Making a page known that has come into a frame: checked, brought up to date, and marked as dirty as it is.
//!
//! Invariant: page code never sees a page without all its changes, whether they wait in memory (`page_logs`), are what the
//! log has for it after a crash (`redo`), or are in it because it was packed; late changes alone are left to `run`. Called by
//! whoever loads pages (`load`, `prefetch`), with the page's word at `Loading`.

use crate::BufferError;
use crate::frame::FrameIndex;
use crate::free_frame::FreeFrame;
use crate::guard::ExclusiveGuard;
use crate::load::Loader;
use crate::page_table::Word;
use crate::redo::PageLog;
use pagestore::{CorruptPage, PageFault};
use std::sync::atomic::Ordering;
use wal::Lsn;

/// What a frame has of the page that is to be published in it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Image {
    /// What the disk has, or why that is of no use.
    OnDisk(Result<(), PageFault>),
    /// The page as it was when it left its last frame.
    Packed,
}

impl Loader {
    /// Checks the image in the frame, brings it up to date, and makes the page known, with one pin. Without an image the
    /// page must be behind the log.
    pub(crate) fn publish(&self, mut frame: FreeFrame<'_>, image: Image) -> Result<FrameIndex, BufferError> {
        let pool = &*self.pool;
        let read = match image {
            Image::OnDisk(read) => read.and_then(|()| (pool.options.check)(frame.bytes_mut())),
            Image::Packed => Ok(()),
        };
        pool.packed.discard(self.page);
        let log = pool.behind.take(self.page);
        if let (Err(fault), None) = (read, &log)
            && !pool.page_logs.is_absent(self.page)
        {
            return Err(CorruptPage { page: self.page, fault }.into());
        }
        let index = frame.into_index();
        let frame = pool.frame(index);
        // From `Loading` on nobody adds late changes.
        pool.mark_if_late(self.page, index);
        frame.latch.lock_exclusive();
        assert!(frame.page().is_none() && !frame.is_dirty(), "a free frame is empty and clean");
        frame.set_page(Some(self.page));
        pool.admit(index, self.place);
        assert_eq!(frame.pins.fetch_add(1, Ordering::AcqRel), 0, "nobody pins a free frame");
        // SAFETY: the latch was just taken exclusively and the frame holds the page.
        let mut guard = unsafe { ExclusiveGuard::new(pool, index, false) };
        if read.is_err() {
            guard.bytes_mut().fill(0);
        }
        match (log, image) {
            (Some(log), _) => self.bring_up_to_date(&mut guard, read, &log),
            (None, Image::OnDisk(_)) => self.give_changes_back(index, &mut guard, read),
            (None, Image::Packed) => {
                // It has its changes; only that it is dirty has to be known again.
                let mark = |rec_lsn| pool.mark_returned(index, rec_lsn);
                pool.page_logs.arrive(self.page, mark, |_, _| ());
            }
        }
        let replaced = self.pool.table.replace(self.page, Word::Loading, Word::Frame(index));
        assert!(replaced, "a loading page's word is its loader's");
        pool.check_entry(index, self.page);
        Ok(index)
    }

    fn bring_up_to_date(&self, guard: &mut ExclusiveGuard<'_>, read: Result<(), PageFault>, log: &PageLog) {
        let pool = &*self.pool;
        let applied = (pool.options.apply_page_log)(self.page, guard.bytes_mut(), read, log);
        if applied != Ok(false) {
            // The position only gives the page its turn to be written (see `redo`). It lies before the end, so that who
            // waits for all that is dirty now waits for this page too.
            debug_assert!(pool.wal.end_lsn() > Lsn::ZERO, "a page is behind a log that has groups");
            guard.mark_dirty(Lsn(pool.wal.end_lsn().0 - 1));
        }
        if let Err(fault) = applied {
            pool.behind.give_up(CorruptPage { page: self.page, fault });
        }
    }

    /// If the page left memory dirty, makes it what it was then.
    fn give_changes_back(
        &self,
        index: FrameIndex,
        guard: &mut ExclusiveGuard<'_>,
        read: Result<(), PageFault>,
    ) {
        let pool = &*self.pool;
        let mark = |rec_lsn| pool.mark_returned(index, rec_lsn);
        let returned = pool.page_logs.arrive(self.page, mark, |log, image_lsn| {
            // Another image than the one that was changed: a write that replaced it was lost.
            let is_stale = image_lsn > Lsn::ZERO && guard.page_lsn() != image_lsn;
            let read = if is_stale { read.and(Err(PageFault::Stale)) } else { read };
            (pool.options.apply_page_log)(self.page, guard.bytes_mut(), read, log)
        });
        let Some(applied) = returned else {
            if read.is_err() {
                // It has become free meanwhile, and nobody will look at it.
                let _ =
                    (pool.options.apply_page_log)(self.page, guard.bytes_mut(), read, &PageLog::default());
            }
            return;
        };
        if let Err(fault) = applied {
            // It is lost now, and that has to be written.
            guard.note_change(|log| log.begins_with_image = true);
            pool.behind.give_up(CorruptPage { page: self.page, fault });
        }
    }
}
