//! The replicas that have introduced themselves, for SHOW REPLICAS.
//!
//! Invariant: a replica is listed as long as the connection that it came by; who comes again with its number takes its place.
use crate::log::BinaryLog;
use std::sync::Arc;

/// What a replica says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Replica {
    /// Its `server_id`.
    pub server_id: u32,
    /// Its `report_host`.
    pub host: String,
    /// Its `report_port`.
    pub port: u16,
    /// Its `server_uuid`.
    pub uuid: String,
}

/// Keeps a replica in the list.
pub struct Registration {
    log: Arc<BinaryLog>,
    server_id: u32,
    number: u64,
}

impl BinaryLog {
    /// Lists a replica.
    pub fn register(self: &Arc<Self>, replica: Replica) -> Registration {
        let mut replicas = self.replicas.lock();
        replicas.newest += 1;
        let (number, server_id) = (replicas.newest, replica.server_id);
        replicas.listed.insert(server_id, (number, replica));
        Registration { log: self.clone(), server_id, number }
    }

    /// By their numbers.
    pub fn replicas(&self) -> Vec<Replica> {
        self.replicas.lock().listed.values().map(|(_, replica)| replica.clone()).collect()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut replicas = self.log.replicas.lock();
        if replicas.listed.get(&self.server_id).is_some_and(|(number, _)| *number == self.number) {
            replicas.listed.remove(&self.server_id);
        }
    }
}

/// The list, and how many have been in it.
#[derive(Default)]
pub(crate) struct Replicas {
    listed: std::collections::BTreeMap<u32, (u64, Replica)>,
    newest: u64,
}
