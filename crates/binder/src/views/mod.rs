//! Views: read, changed and defined.

pub(crate) mod view;
pub(crate) mod view_change;
pub(crate) mod view_definition;
