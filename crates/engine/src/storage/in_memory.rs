//! `Engine::in_memory`: the real engine over a disk in memory, for the tests of the layers above.

use crate::engine::Engine;
use crate::storage::memory_disk::MemoryDisk;
use crate::{EngineOptions, FlushAtCommit};
use env::local::{ThreadSpawner, block_on};
use env::real::system_env;
use std::sync::Arc;

impl Engine {
    /// An engine without disk, for the tests of the layers above.
    pub fn in_memory() -> Arc<Engine> {
        let env = system_env(Arc::new(MemoryDisk::default()), Arc::new(ThreadSpawner::new(1)));
        let options = EngineOptions {
            buffer_pool_bytes: 64 << 20,
            buffer_pool_bytes_max: 1 << 30,
            redo_capacity_bytes: 32 << 20,
            flush_at_commit: FlushAtCommit::Durable,
            keep_log_from: None,
            ..EngineOptions::default()
        };
        block_on(Engine::open(env, options)).expect("memory does not fail")
    }
}
