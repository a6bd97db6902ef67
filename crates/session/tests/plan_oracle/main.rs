//! The same query gives the same rows whichever plan it is forced to.
//!
//! Everything is made from a seed: `PLAN_SEED=n` replays one, `PLAN_SEEDS=n` runs so many, from `PLAN_FIRST=n` on.
//! `PLAN_QUERIES=n` asks so many queries of joins of each. `PLAN_PAGES=1` compares what plans read besides, over larger
//! tables, and lists the plans that read more than five times what a forced one reads.
mod forces;
mod indexes;
mod joins;
mod pages;
mod planning;
mod queries;
mod random;
mod statistics;
#[path = "../support/mod.rs"]
mod support;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn for_each_seed(count: u64, check: impl AsyncFn(u64)) {
    let first = number("PLAN_FIRST").unwrap_or(1);
    let seeds = match number("PLAN_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("PLAN_SEEDS").unwrap_or(count),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    for seed in seeds {
        runtime.block_on(check(seed));
    }
}

#[test]
fn every_index_gives_the_same_rows() {
    for_each_seed(2, indexes::check);
}

#[test]
fn every_join_plan_gives_the_same_rows() {
    let queries = number("PLAN_QUERIES").unwrap_or(20);
    let mut total = joins::Total::default();
    let seen = std::cell::RefCell::new(&mut total);
    for_each_seed(2, async |seed| {
        let of_seed = joins::check(seed, queries).await;
        seen.borrow_mut().add(of_seed);
    });
    println!("{total}");
}

#[test]
fn chosen_plans_read_about_as_few_pages_as_forced_ones() {
    if number("PLAN_PAGES").is_none() {
        return;
    }
    let queries = number("PLAN_QUERIES").unwrap_or(20);
    for_each_seed(2, async |seed| pages::check(seed, queries).await);
}
