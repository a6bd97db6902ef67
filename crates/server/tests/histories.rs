//! Random transactions on several connections show no anomaly that their isolation level forbids.
//!
//! A short run of what `cargo run -p histories` does at length; EVENKEEL_HISTORY_SEED chooses other transactions.

mod support;

use histories::{Level, Plan, Reads, Report, Server, Workload, check, permitted, run};
use support::TestServer;

const TRANSACTIONS: u32 = 400;
const CONNECTIONS: u32 = 6;

fn run_level(server: &Server, level: Level, reads: Reads, seed: u64) -> Report {
    let mut report = Report::default();
    for workload in Workload::ALL {
        let plan = Plan {
            level,
            reads,
            workload,
            connections: CONNECTIONS,
            transactions: TRANSACTIONS,
            seed,
            database: format!("{}_{reads:?}_{workload:?}", level.short_name()).to_lowercase(),
            reconnects: false,
        };
        let history = run(server, &plan).expect("the server answers as it should");
        report.add(check(&history));
    }
    report
}

#[test]
fn histories_show_only_what_their_level_permits() {
    let seed = std::env::var("EVENKEEL_HISTORY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let server = TestServer::start(&[]);
    let at = Server { host: "127.0.0.1".to_owned(), port: server.port };
    let plain = Level::ALL.map(|level| (level, Reads::Plain));
    for (level, reads) in plain.into_iter().chain([(Level::RepeatableRead, Reads::Locking)]) {
        let report = run_level(&at, level, reads, seed);
        let permitted = permitted(level, reads);
        for (class, witnesses) in &report.anomalies {
            assert!(permitted.contains(class), "{level:?}, {reads:?}, seed {seed}: {}", witnesses[0]);
        }
        // A level at which hardly anything commits shows nothing.
        assert!(report.committed > report.transactions / 3, "{level:?}: {} committed", report.committed);
    }
}
