//! Tests of node code.
