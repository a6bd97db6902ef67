//! What plans read: requests for pages of the chosen plan beside those of the best forced one.
//!
//! Tables are larger than in `joins`, and analysed: what the planner is told is so. A plan that asks for more than five times
//! the pages of another one is listed, with the hint that makes the better one.
use crate::forces::forces;
use crate::joins::{fill, run};
use crate::queries::Maker;
use crate::random::Random;
use crate::support::{Client, new_server};
use instance::Instance;
use std::sync::Arc;

const TABLES: u64 = 7;
const WORSE: u64 = 5;
/// A plan that asks for fewer is good enough.
const FEW: u64 = 60;

/// The requests that the query makes once it is planned, or `None` if it takes too long.
async fn requests(server: &Arc<Instance>, client: &mut Client, text: &str) -> Option<u64> {
    let before = server.engine().stats().pool_read_requests;
    let answer = client.query(text).await;
    let after = server.engine().stats().pool_read_requests;
    (!answer.starts_with("ERROR") && !answer.contains("ERROR 3024")).then_some(after - before)
}

pub async fn check(seed: u64, queries: u64) {
    let server = new_server().await;
    let mut client = Client::connect(&server).await;
    run(&mut client, "create database oracle").await;
    run(&mut client, "use oracle").await;
    run(&mut client, "set max_execution_time = 2000").await;
    let mut random = Random::new(seed ^ 0x5A5A_0000);
    let indexes = fill(&mut client, &mut random, &[20, 200, 1_000, 3_000]).await;
    for table in 0..TABLES {
        run(&mut client, &format!("analyze table t{table}")).await;
    }
    let (mut compared, mut worse) = (0, 0);
    for number in 0..queries {
        let query = Maker::new(&mut random, TABLES).query();
        let Some(chosen) = requests(&server, &mut client, &query.text("")).await else { continue };
        compared += 1;
        let mut best = (chosen, String::new());
        if chosen > FEW {
            for hints in forces(&query, &indexes, &mut random) {
                let forced = requests(&server, &mut client, &query.text(&hints)).await;
                if let Some(forced) = forced.filter(|forced| *forced < best.0) {
                    best = (forced, hints);
                }
            }
        }
        if chosen > WORSE * best.0.max(1) {
            worse += 1;
            println!("seed {seed}, query {number}: {chosen} requests, {} with {}", best.0, best.1);
            println!("{}", query.text(""));
            let tree = client.query(&format!("explain format=tree {}", query.text(""))).await;
            println!("{}", tree.replace("\\n", "\n"));
            let tree = client.query(&format!("explain format=tree {}", query.text(&best.1))).await;
            println!("{}", tree.replace("\\n", "\n"));
        }
    }
    println!("seed {seed}: {compared} queries, {worse} plans ask for more than {WORSE} times the pages");
}
