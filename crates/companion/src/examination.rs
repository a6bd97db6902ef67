//! What an examination of a directory has found: facts, findings and how sizes are written. Made by the host's own part, shown by `doctor`.
use report::Finding;

/// One thing that is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub topic: &'static str,
    pub value: String,
    pub why: String,
}

/// What was found of a data directory.
#[derive(Debug, Default)]
pub struct Examination {
    pub facts: Vec<Fact>,
    /// A server starts, and somebody will be sorry.
    pub findings: Vec<Finding>,
    /// A server does not start.
    pub obstacles: Vec<Finding>,
    /// What the buffer pool will take.
    pub pool_bytes: u64,
    /// What the log and the data may still grow by soon.
    pub growth_bytes: u64,
}

impl Examination {
    pub fn fact(&mut self, topic: &'static str, value: impl Into<String>, why: impl Into<String>) {
        self.facts.push(Fact { topic, value: value.into(), why: why.into() });
    }

    pub fn finding(&mut self, title: &str, evidence: String, action: String, effect: &str) {
        self.findings.push(finding(title, evidence, action, effect));
    }

    pub fn obstacle(&mut self, title: &str, evidence: String, action: String) {
        self.obstacles.push(finding(title, evidence, action, "a server can start"));
    }

    pub(super) fn take(&mut self, other: Self) {
        self.facts.extend(other.facts);
        self.findings.extend(other.findings);
        self.obstacles.extend(other.obstacles);
    }
}

pub fn finding(title: &str, evidence: String, action: String, effect: &str) -> Finding {
    Finding { title: title.into(), evidence, action, effect: effect.into() }
}

/// Bytes with the unit that people would take.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if bytes >= unit {
            let number = bytes as f64 / unit as f64;
            let digits = usize::from(number < 100.0 && !bytes.is_multiple_of(unit));
            return format!("{number:.digits$} {name}");
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_as_people_say_them() {
        let said = [5, 1 << 10, 128 << 20, (3 << 30) / 2, 300 << 30].map(size_text);
        assert_eq!(said, ["5 bytes", "1 KiB", "128 MiB", "1.5 GiB", "300 GiB"]);
    }
}
