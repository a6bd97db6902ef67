//! What the summaries cost a statement: `cargo run --release -p telemetry --example cost`.
//!
//! Does for many statements what a session does at the end of each one, and prints nanoseconds for one, with the text's digest
//! known from its plan and made anew.
use std::sync::Arc;
use std::time::Instant;

use env::TaskWaits;
use parser::{SqlMode, normal_text};
use telemetry::{SessionFigures, StatementFigures, Telemetry};

const STATEMENTS: u64 = 2_000_000;
const TEXT: &[u8] = b"SELECT c FROM sbtest1 WHERE id=4711";

fn main() {
    let telemetry = Telemetry::default();
    let session = SessionFigures::default();
    let schema: Arc<str> = Arc::from("sbtest");
    let normal = normal_text(TEXT, SqlMode::default(), 1024).expect("a statement");
    let kept = telemetry.digests.entry(Some(&schema), &normal);
    let figures = StatementFigures { rows_sent: 1, rows_examined: 1, ..StatementFigures::default() };
    let start = Instant::now();
    let each = |name: &str, count: u64, mut one: Box<dyn FnMut(u64) + '_>| {
        let began = Instant::now();
        (0..count).for_each(&mut one);
        println!("{name}: {:.0} ns", began.elapsed().as_nanos() as f64 / count as f64);
    };
    each(
        "a statement with a kept plan",
        STATEMENTS,
        Box::new(|number| {
            let began = Instant::now();
            let ended = Instant::now();
            let elapsed_ns = (ended - began).as_nanos() as u64 + number % 50_000;
            let ended_ns = (ended - start).as_nanos() as u64;
            kept.add(TEXT, ended_ns as i64 / 1000, elapsed_ns, &figures);
            session.end_statement(
                &TaskWaits::default(),
                None,
                true,
                |event| {
                    event.name = "statement/sql/select";
                    event.ended_ns = ended_ns;
                    event.began_ns = ended_ns.saturating_sub(elapsed_ns);
                    event.set_text(TEXT);
                    event.set_digest(Some(&kept));
                    event.set_schema(Some(&schema));
                    event.figures = figures;
                },
                |_| {},
            );
        }),
    );
    each(
        "the digest of a text without a kept plan",
        STATEMENTS / 10,
        Box::new(|_| {
            let normal = normal_text(TEXT, SqlMode::default(), 1024).expect("a statement");
            std::hint::black_box(telemetry.digests.entry(Some(&schema), &normal));
        }),
    );
}
