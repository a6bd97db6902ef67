//! Looking for damage: pages met by readers, whole databases at rest, and single pages as text.

pub(crate) mod damage;
pub(crate) mod inspect;
pub(crate) mod survey;
pub(crate) mod verify;
