//! `Env`: the five handles to the machine that are passed down through every storage crate.

use crate::{Clock, Disk, Processors, Random, Spawner};
use std::sync::Arc;

/// Cheap to clone; every component keeps its own copy.
#[derive(Clone)]
pub struct Env {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub processors: Arc<dyn Processors>,
    pub spawner: Arc<dyn Spawner>,
}
