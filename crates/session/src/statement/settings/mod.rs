//! Variables and switches: SET, values for one statement, and the tables of the setup of `performance_schema`.

pub(super) mod hinted_settings;
pub(super) mod set;
pub(super) mod setup;
