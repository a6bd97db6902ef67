//! Tests of redo records.
