//! How long planning a join of twelve tables takes, by the shape of its conditions.
//!
//! `cargo test --release -p session --test plan_oracle planning -- --ignored --nocapture`
use crate::joins::run;
use crate::support::{Client, new_server};
use std::time::{Duration, Instant};

const TABLES: usize = 12;
const RUNS: usize = 9;

/// What connects the tables: pairs of columns.
fn shapes() -> Vec<(&'static str, Vec<String>)> {
    let others = 1..TABLES;
    let half = TABLES / 2;
    let key = |from: usize, column: usize, to: usize| format!("p{from}.c{column} = p{to}.id");
    let snow = others.clone().map(|to| match to < half {
        true => key(0, to, to),
        false => key(to - half + 1, 2, to),
    });
    let equal = others.clone().map(|to| if to < 10 { format!("p0.k = p{to}.k") } else { key(0, to, to) });
    let clique =
        others.clone().flat_map(|from| (0..from).map(move |to| format!("p{from}.c{to} = p{to}.c{from}")));
    vec![
        ("chain", others.clone().map(|to| key(to - 1, 1, to)).collect()),
        ("star", others.clone().map(|to| key(0, to, to)).collect()),
        ("snowflake", snow.collect()),
        ("one column", equal.collect()),
        ("clique", clique.collect()),
    ]
}

#[test]
#[ignore = "measures"]
fn planning_twelve_tables() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let server = new_server().await;
        let mut client = Client::connect(&server).await;
        run(&mut client, "create database planning").await;
        run(&mut client, "use planning").await;
        run(&mut client, "set cte_max_recursion_depth = 100000").await;
        let columns: String = (0..TABLES).map(|number| format!(", c{number} int")).collect();
        for table in 0..TABLES {
            let create = format!(
                "create table p{table} (id int primary key{columns}, k int, key (k), key (c0), key (c1))"
            );
            run(&mut client, &create).await;
            let rows = 200 * (table + 1);
            let values: String = (0..TABLES).map(|number| format!(", i * {} % {rows}", number + 3)).collect();
            let numbers =
                format!("with recursive n as (select 1 i union all select i + 1 from n where i < {rows})");
            run(&mut client, &format!("insert into p{table} {numbers} select i{values}, i % 50 from n"))
                .await;
            run(&mut client, &format!("analyze table p{table}")).await;
        }
        let tables: Vec<String> = (0..TABLES).map(|table| format!("p{table}")).collect();
        for (name, conditions) in shapes() {
            let (tables, conditions) = (tables.join(", "), conditions.join(" and "));
            let query = format!("explain select count(*) from {tables} where {conditions}");
            let mut best = Duration::MAX;
            for _ in 0..RUNS {
                let begin = Instant::now();
                run(&mut client, &query).await;
                best = best.min(begin.elapsed());
            }
            println!("{name}: {:.1} ms", best.as_secs_f64() * 1e3);
        }
    });
}
