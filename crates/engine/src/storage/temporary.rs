//! Temporary files beside the data: what statements use when nobody has named another place.

use crate::engine::Engine;
use env::TemporarySpace;
use std::sync::Arc;

/// Apart from the engine's own files, which it does not touch.
const DIRECTORY: &str = "tmp";

impl Engine {
    /// Temporary files in the database's directory.
    pub fn temporary_space(&self) -> Arc<TemporarySpace> {
        TemporarySpace::new(self.env.clone(), DIRECTORY)
    }
}
