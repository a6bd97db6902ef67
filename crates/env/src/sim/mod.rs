//! The simulated machine: disk, clock, randomness and scheduler from one seed.
