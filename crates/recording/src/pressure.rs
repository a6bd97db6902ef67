//! The kernel's pressure figures of a host or a control group.
use crate::Values;
use std::fs;

/// Microseconds for which something (`some`) or everything (`full`) waited.
pub fn pressure(folder: &str, prefix: &str, values: &mut Values) {
    for what in ["cpu", "io", "memory"] {
        let file =
            if prefix == "psi" { format!("{folder}/{what}") } else { format!("{folder}/{what}.pressure") };
        for line in fs::read_to_string(file).unwrap_or_default().lines() {
            let kind = line.split(' ').next().unwrap_or("");
            if let Some(total) = line.split("total=").nth(1).and_then(|total| total.trim().parse().ok()) {
                values.insert(format!("{prefix}.{what}.{kind}_us"), total);
            }
        }
    }
}
