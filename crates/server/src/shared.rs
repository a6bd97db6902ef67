//! What all connections of a server share.
//!
//! Invariant: at most `connection_count_max` ordinary clients are in at one time, and one more place is kept for
//! an administrator who comes to see why it is full.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use auth::KeyPair;
use tokio_rustls::TlsAcceptor;

pub(crate) struct Shared {
    pub server: Arc<session::Server>,
    pub tls: Option<TlsAcceptor>,
    pub requires_secure_transport: bool,
    pub connect_timeout: Duration,
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
            connect_timeout: Duration::from_secs(settings.connect_timeout_s),
            places: Places::new(settings.connection_count_max),
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
pub(crate) struct Places {
    taken: Arc<AtomicUsize>,
    max: usize,
}

/// One client's place, given back when dropped.
pub(crate) struct Place {
    taken: Arc<AtomicUsize>,
    /// The last place is the administrator's.
    pub is_reserved: bool,
}

impl Places {
    fn new(max: usize) -> Self {
        Self { taken: Arc::default(), max }
    }

    /// `None` when even the administrator's place is taken.
    pub(crate) fn take(&self) -> Option<Place> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let place = Place { taken: self.taken.clone(), is_reserved: before >= self.max };
        (before <= self.max).then_some(place)
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
        let places = Places::new(2);
        let held: Vec<_> = (0..3).map(|_| places.take().expect("free")).collect();
        assert_eq!(held.iter().map(|place| place.is_reserved).collect::<Vec<_>>(), [false, false, true]);
        assert!(places.take().is_none());
        drop(held);
        assert!(!places.take().expect("free again").is_reserved);
    }
}
