//! The session that asked for a statement, as the families of this crate see it.
//!
//! A family's parts are methods here and call those of the session, which a crate above it cannot add to. Made by the door
//! of this crate (`lib.rs`) for one statement.
use std::ops::{Deref, DerefMut};

use session::Session;

/// A session for the time of one statement.
pub(crate) struct Caller<'s>(pub &'s mut Session);

impl Deref for Caller<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.0
    }
}

impl DerefMut for Caller<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        self.0
    }
}
