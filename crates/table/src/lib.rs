//! Rows of a table in the engine: row codec, primary and secondary index maintenance, scans.
