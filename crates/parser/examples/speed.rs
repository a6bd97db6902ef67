//! Nanoseconds for each parse and each digest of a few typical statements, best of many short rounds.
//! Run: `cargo run --release -p parser --example speed`.
use bumpalo::Bump;
use parser::{DigestOutput, DigestSeed, ParseOptions, SqlMode, digest, parse};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 100;

fn best(count: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..count {
            work();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / count as f64);
    }
    best
}

fn main() {
    let join = "SELECT c.id, c.name, SUM(o.total) AS total, COUNT(*) AS orders FROM customers c \
        JOIN orders o ON o.customer_id = c.id JOIN items l ON l.order_id = o.id JOIN products p ON p.id = l.product_id \
        LEFT JOIN regions r ON r.id = c.region_id LEFT JOIN agents a ON a.region_id = r.id AND a.active = 1 \
        WHERE o.created BETWEEN '2024-01-01' AND '2024-12-31' AND p.kind IN (1, 2, 3) AND c.name LIKE 'A%' \
        GROUP BY c.id, c.name HAVING SUM(o.total) > 100 ORDER BY total DESC, c.name LIMIT 20";
    let row =
        "(50, 4993, '68487932199-96439406143-93774651418-41631865787-96406072701-20604855487', 'x-y-z')";
    let insert =
        format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {}{}", row, format!(", {row}").repeat(999));
    let statements = [
        ("point select", "SELECT c FROM sbtest1 WHERE id=500123"),
        ("sum range", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 500123 AND 500222"),
        ("update", "UPDATE sbtest1 SET k=k+1 WHERE id=500123"),
        ("six-way join", join),
        ("1,000-row insert", insert.as_str()),
    ];
    for (name, text) in statements {
        let text = text.as_bytes();
        let count = (100_000 / text.len()).max(1);
        let mut arena = Bump::with_capacity(64 * 1024);
        let parse_ns = best(count, || {
            arena.reset();
            black_box(parse(black_box(text), ParseOptions::default(), &arena).expect("it parses"));
        });
        let mut output = DigestOutput::default();
        let digest_ns = best(count, || {
            black_box(digest(black_box(text), SqlMode::default(), DigestSeed(1, 2), &mut output));
        });
        println!("{name:18} {:6} bytes: parse {parse_ns:9.0} ns, digest {digest_ns:8.1} ns", text.len());
    }
}
