//! The MySQL client/server protocol as a state machine without I/O.
