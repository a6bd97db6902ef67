//! Tests of the in-place store.
