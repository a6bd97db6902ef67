//! Tests of the pool as a whole.
