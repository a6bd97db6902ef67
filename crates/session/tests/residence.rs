//! Prices know what is in memory (decision 0051): the same query is planned in another way where the rows that it looks up
//! have to be read. On a simulated machine, whose server is started again with a smaller pool.
mod support;

use std::sync::Arc;

use engine::{Engine, EngineOptions};
use env::Clock;
use env::sim::{SimOptions, World};
use instance::{Instance, SleepFuture, Timer};
use std::time::Duration;
use support::{Client, serve};

struct SimulatedTimer(Arc<dyn Clock>);

impl Timer for SimulatedTimer {
    fn sleep(&self, duration: Duration) -> SleepFuture {
        self.0.sleep(duration.as_micros() as u64)
    }
}

/// Twice the table `h`, and a third of `t`.
const SMALL_POOL: u64 = 3 << 20;

async fn open(env: env::Env, pool_bytes: u64) -> Arc<Instance> {
    let clock = env.clock.clone();
    let options = EngineOptions {
        page_size_bytes: 4096,
        buffer_pool_bytes: pool_bytes,
        redo_capacity_bytes: 64 << 20,
        loads_hot_pages: false,
        ..EngineOptions::default()
    };
    let engine = Engine::open(env, options).await.expect("the engine opens");
    serve(engine, Arc::new(SimulatedTimer(clock))).await
}

async fn all(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        let answer = client.query(statement).await;
        assert!(!answer.starts_with("ERROR"), "{statement}: {answer}");
    }
}

/// A row of each of 1,000 places in a table is wanted: whether they are looked up one by one.
async fn looks_up(client: &mut Client, table: &str) -> bool {
    let query = format!("select sum(length({table}.pad)) from o join {table} on {table}.id = o.{table}_id");
    let plan = client.query(&format!("explain format=tree {query}")).await;
    assert!(plan.contains("lookup") != plan.contains("hash"), "{plan}");
    plan.contains("lookup")
}

#[test]
fn rows_that_must_be_read_are_not_looked_up_for_nothing() {
    let world = World::new(11, SimOptions::default());
    let env = world.env();
    let filled = async {
        let server = open(env, 64 << 20).await;
        let mut client = Client::connect(&server).await;
        let fill = [
            "create database d",
            "use d",
            "set cte_max_recursion_depth = 100000",
            "create table o (id int primary key, t_id int, h_id int)",
            "create table t (id int primary key, pad char(200))",
            "create table h (id int primary key, pad char(200))",
            "insert into t with recursive n as (select 1 as i union all select i + 1 from n where i < 20000) \
             select i, repeat('t', 200) from n",
            "insert into h select id, repeat('h', 200) from t where id <= 5000",
            "insert into o select id, id * 20, id * 5 from t where id <= 1000",
            "analyze table o, t, h",
        ];
        all(&mut client, &fill).await;
        assert!(looks_up(&mut client, "t").await, "everything is in memory");
        assert!(looks_up(&mut client, "h").await, "everything is in memory");
        drop(client);
        server.engine().close().await.expect("it closes");
    };
    world.block_on(filled).unwrap();
    let world = world.kill(SimOptions::default());
    let env = world.env();
    let again = async {
        let server = open(env, SMALL_POOL).await;
        let mut client = Client::connect(&server).await;
        all(&mut client, &["use d", "select * from o where id = 1"]).await;
        let place = "where id in (1, 700, 1300, 2000, 2800, 3300, 4000, 4600, 7000, 9500, 12000, 14000, 17000, 19000)";
        for table in ["t", "h"] {
            all(&mut client, &[&format!("select count(pad) from {table} {place}")]).await;
            assert!(!looks_up(&mut client, table).await, "{table} is on disk");
        }
        let one_by_one = "set optimizer_switch = 'hash_join=off,block_nested_loop=off'";
        let query = "select sum(length(h.pad)) from o straight_join h on h.id = o.h_id";
        all(&mut client, &[one_by_one, query, "set optimizer_switch = default"]).await;
        assert!(looks_up(&mut client, "h").await, "h is in memory now");
        assert!(!looks_up(&mut client, "t").await, "t is not");
    };
    world.block_on(again).unwrap();
}
