//! Draws recordings and runs: one HTML page without outside resources, SVG and CSV; dips and findings.
//!
//! ```text
//! Recording ──▶ Subject (a name, a grid of seconds) ──▶ panels ──▶ page (HTML) | svg | csv
//!                                                  └──▶ dips      findings (doctor)
//! ```
//!
//! Invariant: a second without a sample is a hole in every line, never a line drawn across. Callers: `companion`.
#![forbid(unsafe_code)]

mod causes;
mod chart;
mod csv;
mod dips;
mod findings;
mod grid;
mod low_places;
mod marks;
mod number_text;
mod page;
mod panels;
mod scale;
mod subject;
mod svg;

pub use chart::Chart;
pub use csv::csv;
pub use dips::{Dip, dips};
pub use findings::{Finding, findings};
pub use page::{Page, Table, data, html, live_html};
pub use panels::{Line, Panel, chosen, panels};
pub use subject::Subject;
pub use svg::svg;
