//! Conditions on a run's figures, as `--fail-if 'p99_ms>20'` gives them.
//!
//! Invariant: a name that no run has is refused before the run begins. Called by `companion`.

use serde_json::Value;

use crate::outcome::Summary;

/// A comparison of one figure with a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    name: String,
    operator: &'static str,
    limit: f64,
}

const OPERATORS: [&str; 6] = [">=", "<=", "==", "!=", ">", "<"];

impl Condition {
    /// Reads `zero_seconds>0`; latencies may be named in milliseconds, as `p99_ms`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = OPERATORS.iter().filter_map(|operator| text.find(operator).map(|at| (at, *operator)));
        let Some((at, operator)) = found.min_by_key(|(at, operator)| (*at, 2 - operator.len())) else {
            return Err(format!(
                "{text}: a condition is a figure, one of {}, and a number",
                OPERATORS.join(" ")
            ));
        };
        let name = text[..at].trim().to_owned();
        let limit = text[at + operator.len()..].trim();
        let limit = limit.parse().map_err(|_| format!("{text}: {limit} is no number"))?;
        let condition = Self { name, operator, limit };
        let sample =
            Summary { headline: Some(("TpmC".into(), 0.0)), lateness: Some((0, 0)), ..Summary::default() };
        match condition.figure(&sample.json()) {
            Some(_) => Ok(condition),
            None => Err(format!("{text}: a run has no figure {}", condition.name)),
        }
    }

    fn figure(&self, summary: &Value) -> Option<f64> {
        match self.name.strip_suffix("_ms") {
            Some(name) => Some(summary.get(format!("{name}_us"))?.as_f64()? / 1000.0),
            None => summary.get(&self.name)?.as_f64(),
        }
    }

    /// The sentence that says how the condition is met, if it is.
    #[must_use]
    pub fn met(&self, summary: &Summary) -> Option<String> {
        let figure = self.figure(&summary.json())?;
        let is_met = match self.operator {
            ">=" => figure >= self.limit,
            "<=" => figure <= self.limit,
            "==" => figure == self.limit,
            "!=" => figure != self.limit,
            ">" => figure > self.limit,
            _ => figure < self.limit,
        };
        is_met.then(|| format!("{} is {figure}, which is {} {}", self.name, self.operator, self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_met() {
        let summary = Summary { zero_seconds: 2, p99: 25_000, ..Summary::default() };
        let met = |text: &str| Condition::parse(text).unwrap().met(&summary).is_some();
        assert!(met("zero_seconds>0"));
        assert!(met("p99_ms >= 25"));
        assert!(!met("p99_ms>25"));
        assert!(met("errors==0"));
        assert!(Condition::parse("colour>0").is_err());
        assert!(Condition::parse("tps").is_err());
        assert!(Condition::parse("tps>fast").is_err());
    }
}
