//! Tests of the protocol as a client sees it.
