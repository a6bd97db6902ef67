//! What all connections of a server share.
//!
//! Invariant: at most `max_connections` ordinary clients are in at one time, and one more place is kept for
//! an administrator who comes to see why it is full.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use auth::KeyPair;
use tokio_rustls::TlsAcceptor;

pub(crate) struct Shared {
    pub server: Arc<session::Server>,
    pub tls: Option<TlsAcceptor>,
    pub requires_secure_transport: bool,
    pub places: Places,
    /// Made in the background at start, as it takes a moment; `None` inside when that failed.
    key_pair: OnceLock<Option<KeyPair>>,
}

impl Shared {
    pub(crate) fn new(
        server: Arc<session::Server>,
        tls: Option<TlsAcceptor>,
        settings: &crate::options::Settings,
    ) -> Arc<Self> {
        let shared = Arc::new(Self {
            server,
            tls,
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

    pub(crate) fn key_pair(&self) -> Option<&KeyPair> {
        self.key_pair.get_or_init(KeyPair::generate).as_ref()
    }
}

/// Counts clients.
#[derive(Default)]
pub(crate) struct Places {
    taken: Arc<AtomicUsize>,
}

/// One client's place, given back when dropped.
pub(crate) struct Place {
    taken: Arc<AtomicUsize>,
    /// The last place is the administrator's.
    pub is_reserved: bool,
}

impl Places {
    /// One of `max` or the administrator's; `None` when even that is taken.
    pub(crate) fn take(&self, max: usize) -> Option<Place> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let place = Place { taken: self.taken.clone(), is_reserved: before >= max };
        (before <= max).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_place_is_reserved() {
        let places = Places::default();
        let held: Vec<_> = (0..3).map(|_| places.take(2).expect("free")).collect();
        assert_eq!(held.iter().map(|place| place.is_reserved).collect::<Vec<_>>(), [false, false, true]);
        assert!(places.take(2).is_none());
        assert!(!places.take(4).expect("the limit was raised").is_reserved);
        drop(held);
        assert!(!places.take(2).expect("free again").is_reserved);
    }
}
