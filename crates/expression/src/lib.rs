//! Bound expressions and their evaluation: operators, scalar functions and aggregates.
