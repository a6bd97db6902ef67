//! Reads recordings and runs back: headers, series of values by name, gaps, and the seconds of a run.
//!
//! Invariant: a file that was cut short anywhere gives all that is whole in it. Used by `report` and `companion`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

/// The file's first bytes if it is packed.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A time without samples of the server, in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    pub at: u64,
    pub until: u64,
    pub why: String,
}

/// The values of one name: when it changed, and to what. `NaN` is "gone".
pub type Series = Vec<(u64, f64)>;

/// What a file, or several, hold.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// Descriptions of the server; a second one is a restart.
    pub headers: Vec<Value>,
    /// What was run.
    pub bench: Option<Value>,
    pub seconds: Vec<Value>,
    pub summary: Option<Value>,
    pub gaps: Vec<Gap>,
    /// Where parts begin that follow each other, in milliseconds since 1970, and what they are called.
    pub marks: Vec<(u64, String)>,
    /// When the server was sampled, and when the host.
    pub server_times: Vec<u64>,
    pub host_times: Vec<u64>,
    pub series: BTreeMap<String, Series>,
}

impl Recording {
    /// Adds what the file holds.
    pub fn read(&mut self, path: &Path) -> Result<(), String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = if bytes.starts_with(&MAGIC) { unpack(&bytes) } else { bytes };
        let mut is_any = false;
        for line in text.split(|byte| *byte == b'\n') {
            // The last line may have been cut short.
            if let Ok(line) = serde_json::from_slice::<Value>(line) {
                is_any |= self.take(line);
            }
        }
        if is_any { Ok(()) } else { Err(format!("{} is no recording and no run", path.display())) }
    }

    fn take(&mut self, line: Value) -> bool {
        let number = |name: &str| line.get(name).and_then(Value::as_u64).unwrap_or(0);
        let kind = line.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
        match kind.as_str() {
            "recording" => self.headers.push(line),
            "bench" => self.bench = Some(line),
            "second" => self.seconds.push(line),
            "summary" => self.summary = Some(line),
            "gap" => {
                let why = line.get("why").and_then(Value::as_str).unwrap_or("").to_owned();
                self.gaps.push(Gap { at: number("at"), until: number("until"), why });
            }
            "server" | "host" => {
                let at = number("at");
                if kind == "server" {
                    self.server_times.push(at)
                } else {
                    self.host_times.push(at)
                }
                let Some(Value::Object(set)) = line.get("set") else { return false };
                for (name, value) in set {
                    let value = value.as_f64().unwrap_or(f64::NAN);
                    self.series.entry(name.clone()).or_default().push((at, value));
                }
            }
            _ => return false,
        }
        true
    }

    /// Adds a sample of the server (or of the host) that was taken just now, as a file of them would give it.
    pub fn add_sample(&mut self, is_server: bool, at: u64, values: crate::Values) {
        if is_server {
            self.server_times.push(at)
        } else {
            self.host_times.push(at)
        }
        for (name, value) in values {
            self.series.entry(name).or_default().push((at, value));
        }
    }

    /// Takes over what another recording has from one time until another, moved so that it begins at `to`. What was
    /// recorded before ends there as with a restart: nothing is counted across.
    pub fn append(&mut self, other: &Self, from: u64, until: u64, to: u64) {
        if let Some(header) = other.headers.last() {
            let mut header = header.clone();
            header["at"] = to.into();
            self.headers.push(header);
        }
        let moved = |times: &[u64]| -> Vec<u64> {
            times.iter().filter(|at| (from..=until).contains(*at)).map(|at| at - from + to).collect()
        };
        self.server_times.extend(moved(&other.server_times));
        self.host_times.extend(moved(&other.host_times));
        for (name, series) in &mut self.series {
            if !other.series.contains_key(name) {
                series.push((to, f64::NAN));
            }
        }
        for (name, series) in &other.series {
            let mine = self.series.entry(name.clone()).or_default();
            mine.push((to, other.at(name, from).unwrap_or(f64::NAN)));
            let inside = series.iter().filter(|(at, _)| from < *at && *at <= until);
            mine.extend(inside.map(|(at, value)| (at - from + to, *value)));
        }
        for gap in other.gaps.iter().filter(|gap| gap.at < until && gap.until > from) {
            let (at, end) = (gap.at.max(from) - from + to, gap.until.min(until) - from + to);
            self.gaps.push(Gap { at, until: end, why: gap.why.clone() });
        }
    }

    /// Forgets what was before a time, but for what values were then.
    pub fn forget_before(&mut self, time: u64) {
        for times in [&mut self.server_times, &mut self.host_times] {
            let gone = times.partition_point(|at| *at < time);
            times.drain(..gone);
        }
        for series in self.series.values_mut() {
            let gone = series.partition_point(|(at, _)| *at < time);
            series.drain(..gone.saturating_sub(1));
        }
        self.gaps.retain(|gap| gap.until >= time);
    }

    /// The value of a name at a time: the last one set before or then.
    #[must_use]
    pub fn at(&self, name: &str, time: u64) -> Option<f64> {
        let series = self.series.get(name)?;
        let after = series.partition_point(|(at, _)| *at <= time);
        let value = series[..after].last()?.1;
        (!value.is_nan()).then_some(value)
    }

    /// How much a counter grew per second between two times of samples; `None` over a restart.
    #[must_use]
    pub fn rate(&self, name: &str, from: u64, to: u64) -> Option<f64> {
        if self.headers.iter().skip(1).any(|header| {
            let at = header.get("at").and_then(Value::as_u64).unwrap_or(0);
            from < at && at <= to
        }) {
            return None;
        }
        let grown = self.at(name, to)? - self.at(name, from)?;
        (grown >= 0.0 && to > from).then(|| grown * 1000.0 / (to - from) as f64)
    }

    /// The last value of a name.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<f64> {
        self.at(name, u64::MAX)
    }

    /// A setting of the server, as it was last described.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let server = self.headers.last()?.get("server")?;
        Some(server.get("variables")?.get(name)?.as_str()?.to_owned())
    }
}

/// All whole frames.
fn unpack(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(mut decoder) = zstd::Decoder::new(bytes) {
        let mut part = vec![0; 64 * 1024];
        // A frame that was cut short ends the file.
        while let Ok(count @ 1..) = decoder.read(&mut part) {
            text.extend_from_slice(&part[..count]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_recording_that_was_cut_short_reads() {
        let path = std::env::temp_dir().join(format!("evenkeel-reader-{}", std::process::id()));
        let lines = [
            json!({"type": "recording", "at": 1000, "server": {"variables": {"port": "3306"}}}),
            json!({"type": "server", "at": 1000, "set": {"Questions": 10, "state.Query/": 1}}),
            json!({"type": "server", "at": 2000, "set": {"state.Query/": null}}),
        ];
        let second = json!({"type": "server", "at": 3000, "set": {"Questions": 50}});
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut bytes = zstd::bulk::compress(text.as_bytes(), 3).unwrap();
        let mut frame = zstd::bulk::compress(format!("{second}\n").as_bytes(), 3).unwrap();
        bytes.append(&mut frame.clone());
        frame.truncate(frame.len() / 2);
        bytes.append(&mut frame);
        std::fs::write(&path, bytes).unwrap();
        let mut recording = Recording::default();
        recording.read(&path).unwrap();
        assert_eq!(recording.server_times, [1000, 2000, 3000]);
        assert_eq!(recording.rate("Questions", 1000, 3000), Some(20.0));
        assert_eq!(recording.at("Questions", 2500), Some(10.0));
        assert_eq!(recording.at("state.Query/", 2500), None);
        assert_eq!(recording.variable("port").as_deref(), Some("3306"));
        std::fs::write(&path, "hello").unwrap();
        assert!(Recording::default().read(&path).is_err());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_restart_has_no_rate() {
        let mut recording = Recording::default();
        for line in [
            json!({"type": "recording", "at": 0, "server": {}}),
            json!({"type": "server", "at": 1000, "set": {"Questions": 10}}),
            json!({"type": "recording", "at": 1500, "server": {}}),
            json!({"type": "server", "at": 2000, "set": {"Questions": 30}}),
        ] {
            assert!(recording.take(line));
        }
        assert_eq!(recording.rate("Questions", 1000, 2000), None);
    }

    #[test]
    fn parts_follow_each_other_without_a_rate_across() {
        let mut part = Recording::default();
        for line in [
            json!({"type": "recording", "at": 500, "server": {}}),
            json!({"type": "server", "at": 1000, "set": {"Questions": 10}}),
            json!({"type": "server", "at": 2000, "set": {"Questions": 30}}),
            json!({"type": "server", "at": 3000, "set": {"Questions": 60}}),
            json!({"type": "gap", "at": 2500, "until": 9000, "why": "late"}),
        ] {
            assert!(part.take(line));
        }
        let mut all = Recording::default();
        all.append(&part, 1500, 3000, 0);
        all.append(&part, 1500, 3000, 1500);
        assert_eq!(all.server_times, [500, 1500, 2000, 3000]);
        assert_eq!([all.rate("Questions", 500, 1500), all.rate("Questions", 2000, 3000)], [None, Some(30.0)]);
        assert_eq!((all.gaps[1].at, all.gaps[1].until), (2500, 3000));
    }
}
