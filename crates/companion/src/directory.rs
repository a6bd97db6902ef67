//! `evenkeel doctor DATADIR`: what a server would choose there and why, and what is wrong with the place.
//!
//! Invariant: nothing below the directory is written or created. What only the server knows (its options, the headers of
//! its files) comes from the function that the program's main hands over. Called by `doctor_command`.

use std::path::Path;

use bench::Result;
use report::Finding;
use serde_json::{Value, json};

use crate::directory_host;
use crate::examination::{Examination, Fact};
use crate::output::say;

/// What the server knows: its choices with these options of `serve`, and the headers of the files there.
pub type Examine = fn(&Path, &[String]) -> std::result::Result<Examination, String>;

/// Looks at a directory and prints what there is to say. False: no server would start on it.
pub fn doctor(directory: &Path, options: &[String], examine: Examine, as_json: bool) -> Result<bool> {
    let server = examine(directory, options)?;
    let mut all = directory_host::examine(directory, server.pool_bytes, server.growth_bytes);
    all.take(server);
    if as_json {
        print_json(&all);
    } else {
        print_text(directory, &all);
    }
    Ok(all.obstacles.is_empty())
}

fn print_json(all: &Examination) {
    for Fact { topic, value, why } in &all.facts {
        say!("{}", json!({ "fact": topic, "value": value, "why": why }));
    }
    let line = |finding: &Finding, prevents_start: bool| -> Value {
        json!({ "finding": finding.title, "evidence": finding.evidence, "action": finding.action,
                "effect": finding.effect, "prevents_start": prevents_start })
    };
    all.obstacles.iter().for_each(|finding| say!("{}", line(finding, true)));
    all.findings.iter().for_each(|finding| say!("{}", line(finding, false)));
}

fn print_text(directory: &Path, all: &Examination) {
    say!("{}", directory.display());
    for Fact { topic, value, why } in &all.facts {
        say!("  {topic:16} {value:32} {why}");
    }
    say!();
    if all.obstacles.is_empty() && all.findings.is_empty() {
        say!("nothing to do");
    }
    for (number, finding) in all.obstacles.iter().chain(&all.findings).enumerate() {
        let stops = if number < all.obstacles.len() { " (no server starts)" } else { "" };
        print_finding(number + 1, finding, stops);
    }
}

/// One finding, for people.
pub fn print_finding(number: usize, finding: &Finding, remark: &str) {
    say!("{number}. {}{remark}", finding.title);
    say!("   because  {}", finding.evidence);
    say!("   do       {}", finding.action);
    say!("   so that  {}", finding.effect);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_obstacle_is_a_bad_end_and_a_finding_is_not() {
        let examine: Examine = |_, options| {
            let mut found = Examination::default();
            found.finding("f", String::new(), String::new(), "");
            if !options.is_empty() {
                found.obstacle("o", String::new(), String::new());
            }
            Ok(found)
        };
        let folder = std::env::temp_dir();
        assert_eq!(doctor(&folder, &[], examine, true), Ok(true));
        assert_eq!(doctor(&folder, &["--x".into()], examine, true), Ok(false));
    }
}
