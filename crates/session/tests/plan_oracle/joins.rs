//! Joins of two to six tables over random rows and statistics, with every plan that hints and switches force.
use crate::forces::forces;
use crate::queries::{Maker, Query};
use crate::random::Random;
use crate::statistics::distort;
use crate::support::{Client, new_server};
use std::fmt;

const TABLES: u64 = 7;

/// A statement that takes longer says nothing of its rows: milliseconds.
const LONGEST: u64 = 4_000;

const INDEXES: [(&str, &str); 11] = [
    ("a", "key a (a)"),
    ("ab", "key ab (a, b)"),
    ("bc", "key bc (b desc, c)"),
    ("s", "key s (s, a)"),
    ("d", "key d (d)"),
    ("cb", "unique key cb (c, b, id)"),
    ("ca", "key ca (c, a)"),
    ("b", "key b (b)"),
    ("sp", "key sp (s(2))"),
    ("f", "key f ((a + 1))"),
    ("ad", "key ad (a desc, d)"),
];

/// What was done.
#[derive(Default)]
pub struct Total {
    pub queries: u64,
    pub executions: u64,
    refused: u64,
    too_long: u64,
    bushy: u64,
}

impl Total {
    pub fn add(&mut self, other: Total) {
        self.queries += other.queries;
        self.executions += other.executions;
        self.refused += other.refused;
        self.too_long += other.too_long;
        self.bushy += other.bushy;
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Total { queries, executions, refused, too_long, bushy } = self;
        write!(f, "{queries} queries, {executions} executions, no difference; {bushy} plans are bushy, ")?;
        write!(f, "{refused} queries are refused, {too_long} executions took too long")
    }
}

/// The tables with their indexes' names.
pub async fn fill(client: &mut Client, random: &mut Random, sizes: &[u64]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for table in 0..TABLES {
        let mut names = vec!["PRIMARY".to_owned()];
        let mut keys = String::new();
        for (name, key) in INDEXES {
            if random.below(4) == 0 {
                names.push(name.to_owned());
                keys.push_str(&format!(", {key}"));
            }
        }
        let a = random.of(&["int", "int", "bigint", "int unsigned"]);
        let columns =
            format!("id int primary key, a {a}, b int, c smallint not null, s varchar(10), d date{keys}");
        run(client, &format!("create table t{table} ({columns})")).await;
        if random.below(4) == 0 {
            run(client, &format!("analyze table t{table}")).await;
        }
        let count = *random.one(sizes);
        let spread = (2 + random.below(count.max(8) * 2)).min(1 << 20);
        let row = |random: &mut Random, id: u64| {
            let mut small = |bound| match random.below(10) {
                0 => "NULL".to_owned(),
                _ => random.below(bound).to_string(),
            };
            let numbers = format!("{id}, {}, {}", small(spread), small(12));
            let (c, text, day) = (random.below(6), random.text(), 1 + random.below(20));
            format!("({numbers}, {c}, {text}, '2024-01-{day:02}')")
        };
        let rows: Vec<String> = (1..=count).map(|id| row(random, id)).collect();
        for rows in rows.chunks(1000) {
            run(client, &format!("insert into t{table} values {}", rows.join(", "))).await;
        }
        if random.below(3) == 0 {
            let buckets = 1 + random.below(20);
            let update = format!("update histogram on b, c, s with {buckets} buckets");
            run(client, &format!("analyze table t{table} {update}")).await;
        }
        all.push(names);
    }
    all
}

pub async fn run(client: &mut Client, statement: &str) {
    let answer = client.query(statement).await;
    assert!(!answer.starts_with("ERROR"), "{statement}: {answer}");
}

/// The rows, or `None` if that took too long.
async fn rows_of(client: &mut Client, query: &Query, hints: &str) -> Option<Vec<String>> {
    let answer = client.query(&query.text(hints)).await;
    if answer.contains("ERROR 3024") {
        return None;
    }
    let mut lines: Vec<String> = answer.lines().map(str::to_owned).collect();
    lines.retain(|line| !line.ends_with("warnings)"));
    if !query.is_ordered {
        lines.sort();
    }
    Some(lines)
}

/// Whether several tables are joined with each other before they go into a hash table.
fn is_bushy(tree: &str) -> bool {
    let lines: Vec<&str> = tree.split("\\n").collect();
    lines.windows(2).any(|pair| {
        pair[0].trim_start().starts_with("-> Hash") && !pair[0].contains("join") && pair[1].contains("join")
    })
}

pub async fn check(seed: u64, queries: u64) -> Total {
    let server = new_server().await;
    let mut client = Client::connect(&server).await;
    run(&mut client, "create database oracle").await;
    run(&mut client, "use oracle").await;
    run(&mut client, &format!("set max_execution_time = {LONGEST}")).await;
    let mut random = Random::new(seed);
    let indexes = fill(&mut client, &mut random, &[0, 1, 3, 8, 20, 45, 90, 150]).await;
    let mut total = Total::default();
    for number in 0..queries {
        if number % 10 == 0 {
            for table in 0..TABLES {
                match random.below(3) {
                    0 => run(&mut client, &format!("analyze table t{table}")).await,
                    _ => distort(&server, "oracle", &format!("t{table}"), &mut random),
                }
            }
        }
        let query = Maker::new(&mut random, TABLES).query();
        if crate::number("PLAN_SEED").is_some() {
            println!("query {number}: {}", query.text(""));
        }
        let Some(expected) = rows_of(&mut client, &query, "").await else {
            total.too_long += 1;
            continue;
        };
        total.queries += 1;
        total.refused += u64::from(expected.iter().any(|line| line.starts_with("ERROR")));
        let tree = client.query(&format!("explain format=tree {}", query.text(""))).await;
        total.bushy += u64::from(is_bushy(&tree));
        for hints in forces(&query, &indexes, &mut random) {
            match rows_of(&mut client, &query, &hints).await {
                None => total.too_long += 1,
                Some(rows) => {
                    let texts = (query.text(""), query.text(&hints));
                    assert_eq!(expected, rows, "seed {seed}, query {number}:\n{}\n{}", texts.0, texts.1);
                    total.executions += 1;
                }
            }
        }
    }
    assert!(total.refused * 5 <= total.queries, "seed {seed}: {} queries are refused", total.refused);
    total
}
