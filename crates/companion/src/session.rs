//! A session of the observed server as its process list shows it.

/// A session as the list of them tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    pub id: i64,
    pub state: String,
    pub text: String,
    pub seconds: f64,
}

impl Session {
    /// Whether its state says that it waits for a lock other than a row's.
    pub(super) fn waits_for_metadata(&self) -> bool {
        let state = self.state.to_lowercase();
        state.starts_with("waiting for") && (state.contains("lock") || state.contains("flush"))
    }
}
