//! Loads a workload's data: creates, inserts in parallel, then makes the indexes in parallel.
//!
//! Invariant: equal settings load equal rows, in whatever order the pieces are done. Called by `companion`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::{Answer, Connection, Dsn};
use workload::{Chunk, Workload};

use crate::Result;
use crate::stop::Stop;

/// How to load.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    pub dsn: Dsn,
    pub threads: usize,
}

/// How far a load is: pieces done of all, and rows so far.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub done: usize,
    pub all: usize,
    pub rows: u64,
    pub elapsed: Duration,
    pub step: &'static str,
}

struct Work<'a> {
    plan: &'a LoadPlan,
    workload: &'a dyn Workload,
    stop: &'a Stop,
    chunks: Vec<Chunk>,
    next: AtomicUsize,
    done: AtomicUsize,
    rows: AtomicU64,
    statements: Vec<Vec<String>>,
    next_statement: AtomicUsize,
}

/// Loads; `tell` hears how far it is, four times a second. Answers the number of rows.
pub fn load(
    plan: &LoadPlan,
    workload: &dyn Workload,
    stop: &Stop,
    tell: &mut dyn FnMut(Progress),
) -> Result<u64> {
    let start = Instant::now();
    on_connection(plan, async |connection| {
        if !plan.dsn.database.is_empty() {
            connection.ask(&format!("CREATE DATABASE IF NOT EXISTS `{}`", plan.dsn.database)).await?;
            connection.ask(&format!("USE `{}`", plan.dsn.database)).await?;
        }
        for statement in workload.create() {
            connection.ask(&statement).await?;
        }
        Ok(())
    })?;
    let work = Work {
        plan,
        workload,
        stop,
        chunks: workload.chunks(),
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        rows: AtomicU64::new(0),
        statements: by_table(workload.finish()),
        next_statement: AtomicUsize::new(0),
    };
    let mut watch = |step: &'static str, all: usize| {
        let (done, rows) = (work.done.load(Ordering::Relaxed), work.rows.load(Ordering::Relaxed));
        tell(Progress { done, all, rows, elapsed: start.elapsed(), step });
    };
    in_parallel(&work, "rows", work.chunks.len(), &mut watch, insert_some)?;
    work.done.store(0, Ordering::Relaxed);
    in_parallel(&work, "indexes", work.statements.len(), &mut watch, finish_some)?;
    if let Some(failure) = stop.failure() {
        return Err(failure);
    }
    if stop.is_wanted() {
        return Err("the load was stopped before its end".into());
    }
    Ok(work.rows.load(Ordering::Relaxed))
}

/// Statements about one table are run by one connection in their order; foreign keys after all else.
fn by_table(statements: Vec<String>) -> Vec<Vec<String>> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut last = Vec::new();
    for statement in statements {
        if statement.contains("FOREIGN KEY") {
            last.push(statement);
            continue;
        }
        let table = statement.split(" ON ").nth(1).unwrap_or(&statement);
        let table = table.split(['(', ' ']).next().unwrap_or(table).to_owned();
        match groups.iter_mut().find(|(name, _)| *name == table) {
            Some((_, group)) => group.push(statement),
            None => groups.push((table, vec![statement])),
        }
    }
    let mut groups: Vec<Vec<String>> = groups.into_iter().map(|(_, group)| group).collect();
    if !last.is_empty() {
        groups.push(last);
    }
    groups
}

fn in_parallel(
    work: &Work<'_>,
    step: &'static str,
    all: usize,
    watch: &mut dyn FnMut(&'static str, usize),
    part: impl Fn(&Work<'_>) -> Result<()> + Sync,
) -> Result<()> {
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..work.plan.threads.clamp(1, all.max(1)))
            .map(|_| {
                scope.spawn(|| {
                    if let Err(message) = part(work) {
                        failure.lock().expect("nobody panics while holding a failure").get_or_insert(message);
                        work.stop.now();
                    }
                })
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(50));
            watch(step, all);
        }
    });
    watch(step, all);
    failure.into_inner().expect("nobody panics while holding a failure").map_or(Ok(()), Err)
}

fn insert_some(work: &Work<'_>) -> Result<()> {
    on_connection(work.plan, async |connection| {
        use_database(connection, work.plan).await?;
        let mut answer = Answer::counting();
        for setting in ["SET unique_checks=0", "SET foreign_key_checks=0"] {
            connection.query(setting, &mut answer).await?;
        }
        loop {
            let place = work.next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = work.chunks.get(place) else { return Ok(()) };
            connection.query("BEGIN", &mut answer).await?;
            for batch in work.workload.batches(chunk.clone()) {
                if work.stop.is_wanted() {
                    return Ok(());
                }
                connection.send_query(&batch.sql);
                connection.flush().await?;
                connection.receive(&mut answer).await?;
                work.rows.fetch_add(batch.rows, Ordering::Relaxed);
            }
            connection.query("COMMIT", &mut answer).await?;
            work.done.fetch_add(1, Ordering::Relaxed);
        }
    })
}

fn finish_some(work: &Work<'_>) -> Result<()> {
    on_connection(work.plan, async |connection| {
        use_database(connection, work.plan).await?;
        loop {
            let place = work.next_statement.fetch_add(1, Ordering::Relaxed);
            let Some(group) = work.statements.get(place) else { return Ok(()) };
            let is_last = group.iter().any(|statement| statement.contains("FOREIGN KEY"));
            while is_last
                && work.done.load(Ordering::Relaxed) + 1 < work.statements.len()
                && !work.stop.is_wanted()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            for statement in group {
                if work.stop.is_wanted() {
                    return Ok(());
                }
                connection.ask(statement).await?;
            }
            work.done.fetch_add(1, Ordering::Relaxed);
        }
    })
}

async fn use_database(connection: &mut Connection, plan: &LoadPlan) -> client::Result<()> {
    if !plan.dsn.database.is_empty() {
        connection.ask(&format!("USE `{}`", plan.dsn.database)).await?;
    }
    Ok(())
}

/// Connects without a database, which may not exist yet, and does `job`.
fn on_connection(
    plan: &LoadPlan,
    job: impl AsyncFnOnce(&mut Connection) -> client::Result<()>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let dsn = plan.dsn.with_database("");
        let mut connection = Connection::connect(&dsn).await.map_err(|error| format!("{dsn}: {error}"))?;
        job(&mut connection).await.map_err(|error| error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_grouped_by_table_and_foreign_keys_go_last() {
        let statements = [
            "CREATE INDEX a ON t (x)",
            "CREATE INDEX b ON u(y)",
            "ALTER TABLE t ADD FOREIGN KEY (x) REFERENCES u(y)",
            "CREATE INDEX c ON t (z)",
        ];
        let groups = by_table(statements.map(str::to_owned).to_vec());
        assert_eq!(groups.len(), 3);
        assert_eq!(groups[0], ["CREATE INDEX a ON t (x)", "CREATE INDEX c ON t (z)"]);
        assert!(groups[2][0].contains("FOREIGN KEY"));
    }
}
