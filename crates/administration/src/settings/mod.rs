//! Variables and switches: SET, `gtid_purged`, and the tables of the setup of `performance_schema`.

mod purged;
mod set;
mod setup;
