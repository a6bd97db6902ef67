//! Builds of trees from the rows of a table that others read and write meanwhile (decision 0047).
//!
//! Invariant: the trees are new and the change's own, so nobody sees them before its commit, and dropping the change undoes
//! them. When the last round of catching up has found no open writer, each row of the table has its entries in them. The
//! session calls the parts in their order and holds the metadata locks that each asks for.
mod backlog;
mod catch_up;
mod copied_rows;
mod copy;
mod demand;
mod fill;
mod index;
mod left_out;
mod numbered;
mod sorted;

pub use copy::{CopiedKeys, TableCopy};
pub use demand::{Demands, FollowedParent, LostKeys, RowRule};
pub use fill::TableFill;
pub use index::IndexBuild;
pub use left_out::LeftOut;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use datum::SqlError;
use env::TemporarySpace;
use rowstore::Pause;

use crate::progress::Progress;

/// Memory for the sorts of one build.
const SORT_BYTES: usize = 32 << 20;
/// Rows between two turns for others.
const BATCH_ROWS: usize = 128;

/// What a build works with.
#[derive(Clone)]
pub struct BuildWork {
    /// Where runs go that memory has no room for.
    pub space: Arc<TemporarySpace>,
    pub progress: Arc<Progress>,
}

/// Others have their turn. A statement that was killed is dropped there.
struct Turns;

impl Pause for Turns {
    fn pause<'a>(&'a mut self, _: usize) -> Pin<Box<dyn Future<Output = Result<(), SqlError>> + 'a>> {
        Box::pin(async {
            env::yield_now().await;
            Ok(())
        })
    }
}
