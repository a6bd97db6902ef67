//! Draws recordings and runs: one HTML page, SVG and CSV; dips and findings.
#![forbid(unsafe_code)]
