//! The seam to the machine: disk, clock, randomness and task spawning behind traits, with real and simulated implementations.
