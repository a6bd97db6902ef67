//! Each stall has its cause, by forty seconds of which one is different. Tests of `causes`.

use recording::{Gap, Recording, Values};

use super::*;

type Sample = Vec<(&'static str, f64)>;

/// Forty seconds of the same, but for the values of the second at 20 (counters keep what they grew by then).
fn cause(usual: &Sample, then: &Sample, gap: Option<&str>) -> Option<String> {
    const GAUGES: [&str; 7] =
        ["state.", "trx.", "server.stopped", "host.", "cgroup.limit", "process.", "Innodb_row_lock_c"];
    let mut recording = Recording::default();
    let mut counters = Values::new();
    for second in 0..40_u64 {
        let mut values = Values::new();
        let mut now: Values = usual.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        if second == 20 {
            now.extend(then.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        }
        for (name, value) in now {
            let is_gauge = GAUGES.iter().any(|head| name.starts_with(head));
            let counter = counters.entry(name.clone()).or_default();
            *counter += value;
            values.insert(name, if is_gauge { value } else { *counter });
        }
        let (host, server) = values.into_iter().partition(|(name, _)| {
            ["cpu.", "server.", "host.", "cgroup.", "process.", "psi."]
                .iter()
                .any(|head| name.starts_with(head))
        });
        recording.add_sample(true, second * 1000, server);
        recording.add_sample(false, second * 1000, host);
    }
    if let Some(why) = gap {
        recording.gaps.push(Gap { at: 19_500, until: 21_000, why: why.into() });
    }
    Causes::new(&Subject::new("x", recording)).of(20)
}

#[test]
fn each_stall_has_its_cause() {
    let usual: Sample = vec![
        ("Questions", 1000.0),
        ("Innodb_rows_updated", 4000.0),
        ("Connections", 0.0),
        ("server.stopped", 0.0),
        ("host.data_free_bytes", 5e9),
        ("host.data_bytes", 9e9),
        ("Innodb_row_lock_current_waits", 0.0),
        ("trx.rows_modified", 30.0),
        ("Innodb_buffer_pool_pages_flushed", 50.0),
        ("cpu.user", 60.0),
        ("cpu.system", 20.0),
        ("cpu.idle", 120.0),
        ("server.cpu", 50.0),
        ("psi.io.some_us", 100_000.0),
        ("Handler_read_rnd_next", 10.0),
    ];
    let stalls: [(Sample, &str); 13] = [
        (vec![("server.stopped", 1.0)], "was stopped"),
        (vec![("host.data_free_bytes", 1000.0)], "no room"),
        (vec![("cgroup.limit.wiops", 20.0)], "limited to 20.0 writes per second"),
        (vec![("state.Query/Waiting for global read lock", 8.0)], "8 sessions waited for a global read lock"),
        (vec![("state.Query/Waiting for backup lock", 8.0)], "global read lock"),
        (vec![("state.Query/Waiting for table metadata lock", 7.0)], "metadata lock"),
        (
            vec![("trx.rows_modified", 2e5), ("Innodb_row_lock_current_waits", 8.0)],
            "changed very many rows: 200.0k uncommitted; 8",
        ),
        (vec![("Innodb_rows_updated", 2e5)], "a statement changed very many rows"),
        (vec![("Innodb_row_lock_current_waits", 8.0)], "8 sessions waited for rows"),
        (vec![("Connections", 900.0)], "900 connections came"),
        (vec![("Innodb_buffer_pool_pages_flushed", 9000.0)], "flushed in haste"),
        (
            vec![("cpu.user", 190.0), ("cpu.idle", 0.0), ("server.cpu", 15.0), ("process.stress[7]", 150.0)],
            "(stress)",
        ),
        (vec![("Handler_read_rnd_next", 5e6)], "read very many rows"),
    ];
    for (then, wanted) in stalls {
        let found = cause(&usual, &then, None);
        assert!(found.as_ref().is_some_and(|found| found.contains(wanted)), "{wanted}: {found:?}");
    }
    assert_eq!(cause(&usual, &Vec::new(), None), None);
    assert_eq!(cause(&usual, &Vec::new(), Some("reset")), Some("the server did not answer: reset".into()));
    assert!(cause(&usual, &vec![("psi.io.some_us", 900_000.0)], None).unwrap().contains("the disk was slow"));
}

#[test]
fn a_stall_that_lasts_longer_than_all_else_is_still_none_of_what_is_usual() {
    let mut recording = Recording::default();
    for second in 0..20_u64 {
        let is_low = second >= 9;
        let waiting = [("state.Execute/Waiting for global read lock".to_owned(), 7.0)];
        let values = if is_low { Values::from(waiting) } else { Values::from([("x".to_owned(), 1.0)]) };
        recording.add_sample(true, second * 1000 + 500, values);
        let events = if is_low { 0 } else { 500 };
        let line =
            serde_json::json!({"t": second, "at": (second + 1) * 1000, "events": events, "length": 1.0});
        recording.seconds.push(line);
    }
    let found = Causes::new(&Subject::new("x", recording)).of(15);
    assert!(found.as_ref().is_some_and(|found| found.contains("global read lock")), "{found:?}");
}
