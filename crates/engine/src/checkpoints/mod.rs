//! Moving the start of recovery forward: the checkpoint, and what has to be logged again for it.

pub(crate) mod checkpoint;
pub(crate) mod forward;
pub(crate) mod late;
pub(crate) mod marks;
pub(crate) mod page_logs;
pub(crate) mod superblock;
