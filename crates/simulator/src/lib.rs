//! Deterministic simulation of the engine: crashes, torn writes and I/O errors from a seed.
