//! Queries and changes: planned or taken from the plan cache, their tables locked, run in a transaction, and explained.

pub(super) mod catalog_view;
pub(super) mod cursor;
pub(super) mod dive;
pub(super) mod evaluate;
pub(super) mod fill;
pub(super) mod kept_rows;
pub(super) mod optimizer_trace;
pub(super) mod plan_cache;
pub(super) mod plan_tables;
pub(super) mod planned;
pub(super) mod planning;
pub(super) mod safe_updates;
pub(super) mod statement_settings;
