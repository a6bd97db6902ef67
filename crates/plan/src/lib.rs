//! Physical plans as plain data: the planner makes them, the executor runs them.
