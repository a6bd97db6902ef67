//! Each rule fires on the figures that it is about, and not on those of a healthy server. Tests of `findings`.

use recording::Recording;
use serde_json::json;

use super::*;

fn patient(log_waits: f64, flush: &str) -> Subject {
    let mut recording = Recording::default();
    let variables = json!({
        "innodb_flush_log_at_trx_commit": flush, "innodb_log_buffer_size": "16777216", "max_connections": "151",
    });
    recording.headers.push(json!({"type": "recording", "at": 0, "server": {"variables": variables}}));
    for second in 1..10_u32 {
        let values = [
            ("Innodb_log_waits", log_waits * f64::from(second)),
            ("Innodb_os_log_written", 100_000.0 * f64::from(second)),
            ("Max_used_connections", 10.0),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value));
        recording.add_sample(true, u64::from(second) * 1000, values.into());
    }
    Subject::new("x", recording)
}

#[test]
fn a_healthy_server_has_no_findings() {
    assert_eq!(findings(&patient(0.0, "1")), []);
}

#[test]
fn each_rule_brings_its_evidence() {
    let found = findings(&patient(3.0, "2"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].evidence.contains("3.0 waits")
            && found[0].action.contains("innodb_log_buffer_size = 67108864")
    );
    assert!(found[1].evidence.contains("innodb_flush_log_at_trx_commit = 2"));
}
