//! `Env`: the four handles to the machine that are passed down through every storage crate.

use crate::{Clock, Disk, Random, Spawner};
use std::sync::Arc;

/// Cheap to clone; every component keeps its own copy.
#[derive(Clone)]
pub struct Env {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub spawner: Arc<dyn Spawner>,
}
