//! What lies on disk: files, trees, and the forms of records and of long values.

pub(crate) mod chains;
pub(crate) mod files;
pub(crate) mod in_memory;
pub(crate) mod live_trees;
pub(crate) mod memory_disk;
pub(crate) mod meta_row;
pub(crate) mod record;
pub(crate) mod temporary;
pub(crate) mod trees;
