//! Variables as statements see them: the reading of `@@name`, and values for one statement.

pub(super) mod hinted_settings;
pub(super) mod read;
