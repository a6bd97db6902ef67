//! MySQL's SQL text into an arena-allocated syntax tree, and statement digests.
