//! Queries as other queries with the same rows: subqueries as joins, queries in FROM merged, conditions pushed into them.

pub(crate) mod asked_groups;
pub(crate) mod decorrelate;
pub(crate) mod followed;
pub(crate) mod merge;
pub(crate) mod push;
pub(crate) mod pushed;
pub(crate) mod semijoin;
pub(crate) mod unnest;
pub(crate) mod variables;
