//! What all connections of a server share.
//!
//! Invariant: at most `max_connections` ordinary clients are in at one time, and one more place is kept for
//! an administrator who comes to see why it is full.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use auth::KeyPair;
use env::sync::{Place, Places};
use parking_lot::RwLock;
use tokio_rustls::TlsAcceptor;

use crate::certificate::TlsFiles;

pub(crate) struct Shared {
    pub server: Arc<instance::Instance>,
    /// Replaced when its files are read again. A leaf lock.
    tls: RwLock<Option<TlsAcceptor>>,
    pub requires_secure_transport: bool,
    places: Places,
    /// Made in the background at start, as it takes a moment; `None` inside when that failed.
    key_pair: OnceLock<Option<KeyPair>>,
}

impl Shared {
    pub(crate) fn new(server: Arc<instance::Instance>, settings: &crate::options::Settings) -> Arc<Self> {
        let shared = Arc::new(Self {
            server,
            tls: RwLock::default(),
            requires_secure_transport: settings.requires_secure_transport,
            places: Places::default(),
            key_pair: OnceLock::new(),
        });
        let for_thread = shared.clone();
        std::thread::spawn(move || {
            for_thread.key_pair();
        });
        shared
    }

    pub(crate) fn tls(&self) -> Option<TlsAcceptor> {
        self.tls.read().clone()
    }

    /// Reads the files that the variables name now, for connections from now on; of unusable ones nothing is taken.
    pub(crate) fn load_tls(&self, datadir: &Path) -> Result<(), String> {
        let files = TlsFiles::of(&self.server.globals, datadir)?;
        *self.tls.write() = Some(files.acceptor()?);
        self.server.tls.set_status(files.status());
        Ok(())
    }

    /// A place for a client; `None` when even the administrator's is taken.
    pub(crate) fn take_place(&self) -> Option<ClientPlace> {
        ClientPlace::take(&self.places, self.server.connection_count_max())
    }

    pub(crate) fn key_pair(&self) -> Option<&KeyPair> {
        self.key_pair.get_or_init(KeyPair::generate).as_ref()
    }
}

/// One client's place among all.
pub(crate) struct ClientPlace {
    _place: Place,
    /// The last place is the administrator's.
    pub is_reserved: bool,
}

impl ClientPlace {
    /// One of `max` or the administrator's.
    fn take(places: &Places, max: u64) -> Option<Self> {
        let place = places.take(max.saturating_add(1))?;
        Some(Self { is_reserved: place.before() >= max, _place: place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_place_is_reserved() {
        let places = Places::default();
        let take = |max| ClientPlace::take(&places, max);
        let held: Vec<_> = (0..3).map(|_| take(2).expect("free")).collect();
        assert_eq!(held.iter().map(|place| place.is_reserved).collect::<Vec<_>>(), [false, false, true]);
        assert!(take(2).is_none());
        assert!(!take(4).expect("the limit was raised").is_reserved);
        drop(held);
        assert!(!take(2).expect("free again").is_reserved);
    }
}
