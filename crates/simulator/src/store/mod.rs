//! The page store under simulation, on bare pages without trees or log: clients write and read pages of their own, let the
//! store grow and replace its record, and the power is cut at every operation that changes the disk.
//!
//! Promise: after every crash each page is in the version that was acknowledged last, or in one that was asked for later;
//! never torn, never another page's. The same after errors of the disk (`errors`), which may make operations fail.

mod errors;
mod life;
mod many;
mod model;
mod options;
mod run;

pub use errors::run_store_error;
pub use many::run_store_many;
pub use options::{PlantedStoreFault, StoreOptions};
pub use run::run_store_seed;
