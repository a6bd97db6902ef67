//! Views: read, changed and defined.

pub(crate) mod view;
pub(crate) mod view_change;
pub(crate) mod view_definition;

use datum::{SqlError, error_code};
use schema::ViewDef;

/// Error 1356.
pub fn invalid(view: &ViewDef) -> SqlError {
    error_code::ER_VIEW_INVALID.with(&[&view.database, &view.name])
}
