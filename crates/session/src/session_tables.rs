//! The virtual tables whose rows are sessions, accounts or variables.
use std::sync::{Arc, Weak};

use schema::VirtualTable;

use crate::server::Server;

/// Database and table of each.
pub fn all(server: &Weak<Server>) -> Vec<(&'static str, Arc<dyn VirtualTable>)> {
    let _ = server;
    Vec::new()
}
