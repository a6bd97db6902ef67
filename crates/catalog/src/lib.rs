//! The data dictionary in the engine itself, data definition statements and metadata locks.
