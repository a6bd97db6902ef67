//! Tests of trees on the simulated machine: a model, crashes, and many tasks on few frames.

mod bed;
mod crash;
mod hostile;
mod model;
mod speed;
mod stress;
mod structure;
