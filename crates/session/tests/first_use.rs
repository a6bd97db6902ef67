//! Tables that nobody has used since the start: a start reads none of them, and whatever comes first finds the right
//! counters. On a simulated machine, which is crashed or stopped between one server and the next.
mod support;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use engine::{
    AccessMode, Direction, Engine, EngineOptions, EntryBatch, Isolation, KeyRange, ReadMode, TreeId,
};
use env::Clock;
use env::sim::{SimOptions, World};
use instance::{Instance, KillKind, SleepFuture, Timer};
use support::{Client, serve};

struct SimulatedTimer(Arc<dyn Clock>);

impl Timer for SimulatedTimer {
    fn sleep(&self, duration: Duration) -> SleepFuture {
        self.0.sleep(duration.as_micros() as u64)
    }
}

fn options() -> EngineOptions {
    EngineOptions {
        page_size_bytes: 4096,
        buffer_pool_bytes: 8 << 20,
        redo_capacity_bytes: 64 << 20,
        loads_hot_pages: false,
        ..EngineOptions::default()
    }
}

async fn open(env: env::Env, options: EngineOptions) -> Arc<Instance> {
    let clock = env.clock.clone();
    let engine = Engine::open(env, options).await.expect("the engine opens");
    serve(engine, Arc::new(SimulatedTimer(clock))).await
}

/// Statements that succeed.
async fn all(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        let answer = client.query(statement).await;
        assert!(!answer.starts_with("ERROR"), "{statement}: {answer}");
    }
}

async fn client_of(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    all(&mut client, &["create database if not exists d", "use d"]).await;
    client
}

/// A machine on which a server did this and was cut off.
fn crashed_after(statements: &[&str]) -> World {
    let world = World::new(7, SimOptions::default());
    let env = world.env();
    world
        .block_on(async {
            let server = open(env, options()).await;
            all(&mut client_of(&server).await, statements).await;
        })
        .unwrap();
    world.crash(SimOptions::default())
}

/// A machine on which a server did this and ended in order.
fn stopped_after<T: AsRef<str>>(statements: &[T]) -> World {
    let world = World::new(8, SimOptions::default());
    let env = world.env();
    world
        .block_on(async {
            let server = open(env, options()).await;
            let mut client = client_of(&server).await;
            for statement in statements {
                all(&mut client, &[statement.as_ref()]).await;
            }
            drop(client);
            server.engine().close().await.expect("it closes");
        })
        .unwrap();
    world.kill(SimOptions::default())
}

fn run(world: &World, test: impl AsyncFnOnce(Arc<Instance>)) {
    let env = world.env();
    world.block_on(async { test(open(env, options()).await).await }).unwrap();
}

/// Runs all of them at the same time.
async fn at_once<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut running: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut ended: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, output) in running.iter_mut().zip(&mut ended).filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                *output = Some(value);
            }
        }
        if ended.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    ended.into_iter().flatten().collect()
}

#[test]
fn a_start_reads_no_table() {
    const TABLES: u64 = 300;
    let mut statements = Vec::new();
    for table in 0..TABLES {
        statements.push(format!("create table t{table} (a int auto_increment primary key, b int, key (b))"));
        statements.push(format!("insert into t{table} (b) values (1), (2)"));
    }
    let world = stopped_after(&statements);
    let pages_of = |engine: &Engine| {
        let stats = engine.stats();
        stats.pool_reads + stats.pool_pages_prefetched
    };
    let image = world.kill_image(1, SimOptions::default());
    let env = image.env();
    let of_dictionary = image.block_on(async {
        let engine = Engine::open(env, options()).await.expect("the engine opens");
        let mut transaction = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
        let (range, mode) = (KeyRange::all(), ReadMode::Snapshot);
        let mut cursor = transaction.scan(TreeId::CATALOG, range, Direction::Forward, mode);
        let mut batch = EntryBatch::default();
        while cursor.next_batch(&mut transaction, 100, &mut batch).await.expect("the dictionary is read") {}
        engine.finish_background().await;
        pages_of(&engine)
    });
    let of_dictionary = of_dictionary.unwrap();
    run(&world, async |server| {
        let reads = || pages_of(server.engine());
        server.engine().finish_background().await;
        let started = reads();
        assert_eq!(started, of_dictionary, "a start reads the dictionary and no more");
        let mut client = client_of(&server).await;
        all(&mut client, &["select table_name, table_comment from information_schema.tables"]).await;
        all(&mut client, &["show tables", "show table status like 't'", "explain format=tree select 1"])
            .await;
        assert_eq!(reads(), started, "names are in memory");
        let before = reads();
        let one = "select table_rows, auto_increment from information_schema.tables \
                   where table_schema = 'd' and table_name = 't77'";
        assert_eq!(client.query(one).await, "TABLE_ROWS\tAUTO_INCREMENT\n2\t3\n");
        assert!(reads() - before < 8, "{} pages were read for one table", reads() - before);
        let all_rows = "select count(*), sum(table_rows), sum(auto_increment) from information_schema.tables \
                        where table_schema = 'd'";
        let sums = "count(*)\tsum(table_rows)\tsum(auto_increment)\n300\t600\t900\n";
        assert_eq!(client.query(all_rows).await, sums);
        assert!(reads() - before >= TABLES - 1, "each table was read for its rows");
        let before = reads();
        assert_eq!(client.query(all_rows).await, sums);
        assert_eq!(reads(), before);
    });
}

/// The log is larger than what redo may keep in memory, so pages catch up in later rounds, which take long.
#[test]
fn a_start_does_not_wait_for_later_rounds_of_redo() {
    const TABLES: usize = 12;
    let options = EngineOptions { redo_memory_bytes: 1, ..options() };
    let world = World::new(9, SimOptions::default());
    let env = world.env();
    world
        .block_on(async {
            let server = open(env.clone(), options.clone()).await;
            let mut client = client_of(&server).await;
            for table in 0..TABLES {
                let columns = "a int auto_increment primary key, b varchar(300)";
                all(&mut client, &[&format!("create table t{table} ({columns})")]).await;
                let values = vec!["(repeat('x', 300))"; 200].join(",");
                all(&mut client, &[&format!("insert into t{table} (b) values {values}")]).await;
            }
            drop(client);
            server.engine().close().await.expect("it closes");
            drop(server);
            let server = open(env, options.clone()).await;
            let mut client = client_of(&server).await;
            for table in 0..TABLES {
                all(&mut client, &[&format!("update t{table} set b = repeat('y', 300)")]).await;
            }
        })
        .unwrap();
    let world = world.crash(SimOptions::default());
    let env = world.env();
    world
        .block_on(async {
            let clock = env.clock.clone();
            let engine = Engine::open(env, options).await.expect("the engine opens");
            let opened = engine.stats().pages_behind;
            assert!(opened > 100, "most pages catch up later: {opened}");
            let server = serve(engine, Arc::new(SimulatedTimer(clock))).await;
            let started = server.engine().stats().pages_behind;
            assert!(started > opened / 2, "of {opened} pages {started} are still behind");
            let inserts = (0..TABLES).map(|table| {
                let server = server.clone();
                async move {
                    let mut client = client_of(&server).await;
                    client.query(&format!("insert into t{table} (b) values ('z')")).await
                }
            });
            for answer in at_once(inserts.collect()).await {
                assert_eq!(answer, "ok 1 rows id 201\n");
            }
        })
        .unwrap();
}

#[test]
fn many_first_inserts_get_different_numbers() {
    const SESSIONS: usize = 40;
    let world = stopped_after(&[
        "create table t (a int auto_increment primary key, b int)",
        "insert into t (b) values (0), (0), (0)",
        "delete from t where a = 3",
        "create table h (b int)",
        "insert into h values (0), (0)",
    ]);
    run(&world, async |server| {
        let inserts = (0..SESSIONS).map(|session| {
            let server = server.clone();
            async move {
                let mut client = client_of(&server).await;
                let text = format!("insert into t (b) values ({session}), ({session})");
                let answer = client.query(&text).await;
                all(&mut client, &[&format!("insert into h values ({session}), ({session})")]).await;
                answer
            }
        });
        let mut answers = at_once(inserts.collect()).await;
        answers.sort();
        answers.dedup();
        assert_eq!(answers.len(), SESSIONS, "{answers:?}");
        let mut client = client_of(&server).await;
        let counted = client.query("select count(*), min(a), max(a) from t where a > 2").await;
        assert_eq!(counted, "count(*)\tmin(a)\tmax(a)\n80\t4\t83\n");
        assert_eq!(client.query("select count(*) from h").await, "count(*)\n82\n");
    });
}

/// Whoever reads the counters may be killed, and whoever waits for him too: others go on.
#[test]
fn a_killed_first_use_leaves_it_to_others() {
    let world =
        stopped_after(&["create table t (a int auto_increment primary key)", "insert into t values (9)"]);
    run(&world, async |server| {
        let mut clients = Vec::new();
        for _ in 0..5 {
            clients.push(client_of(&server).await);
        }
        let victims: Vec<_> = clients[..3].iter().map(|client| client.session.process().clone()).collect();
        let inserts = clients.iter_mut().map(|client| client.query("insert into t values (null)"));
        let mut inserts = pin!(at_once(inserts.collect()));
        let mut is_first = true;
        let answers = poll_fn(|context| {
            let polled = inserts.as_mut().poll(context);
            if std::mem::take(&mut is_first) {
                assert!(polled.is_pending(), "the table has to be read first");
                victims.iter().for_each(|victim| victim.kill.kill(KillKind::Query));
                context.waker().wake_by_ref();
            }
            polled
        })
        .await;
        let killed = "ERROR 1317 (70100): Query execution was interrupted\n";
        assert_eq!(answers[..3], [killed; 3]);
        let mut numbers = answers[3..].to_vec();
        numbers.sort();
        assert_eq!(numbers, ["ok 1 rows id 10\n", "ok 1 rows id 11\n"]);
    });
}

/// What a first use may be, each of a table of its own: two rows are there, and the value after 3 is due.
const FIRST_USES: &[(&[&str], &str)] = &[
    (&["insert into {t} (v) values (1)"], "4"),
    (&["insert into {t} values (0, 1)"], "4"),
    (&["insert into {t} values (10, 1)", "insert into {t} (v) values (1)"], "11"),
    (&["insert into {t} (v) select 7 from source limit 1"], "4"),
    (&["insert into {t} (v) select v from {t} order by a limit 1"], "4"),
    (&["replace into {t} (v) values (1)"], "4"),
    (&["replace into {t} values (1, 5)", "insert into {t} (v) values (1)"], "4"),
    (
        &[
            "insert into {t} (a, v) values (1, 1) on duplicate key update a = 20",
            "insert into {t} (v) values (1)",
        ],
        "21",
    ),
    (&["update {t} set a = 30 where a = 1", "insert into {t} (v) values (1)"], "31"),
    (&["delete from {t}", "insert into {t} (v) values (1)"], "4"),
    (&["select * from {t}", "insert into {t} (v) values (1)"], "4"),
    (&["prepare s from 'insert into {t} (v) values (?)'", "set @v = 5", "execute s using @v"], "4"),
    (
        &[
            "prepare s from 'select v from {t} where a = ?'",
            "set @v = 1",
            "execute s using @v",
            "execute s using @v",
            "insert into {t} (v) values (1)",
        ],
        "4",
    ),
    (&["set @v = (select count(*) from {t})", "insert into {t} (v) values (@v)"], "4"),
    (&["select count(*) into @v from {t}", "insert into {t} (v) values (@v)"], "4"),
    (&["create table copy_{t} select * from {t}", "insert into {t} (v) values (1)"], "4"),
    (
        &[
            "create table like_{t} like {t}",
            "insert into like_{t} (v) values (1)",
            "insert into {t} (v) values (1)",
        ],
        "4",
    ),
    (&["alter table {t} force", "insert into {t} (v) values (1)"], "4"),
    (&["alter table {t} add column w int", "insert into {t} (v) values (1)"], "4"),
    (&["alter table {t} add key (v)", "insert into {t} (v) values (1)"], "4"),
    (&["alter table {t} comment 'x'", "insert into {t} (v) values (1)"], "4"),
    (&["alter table {t} auto_increment = 50", "insert into {t} (v) values (1)"], "50"),
    (&["alter table {t} auto_increment = 1", "insert into {t} (v) values (1)"], "3"),
    (&["optimize table {t}", "insert into {t} (v) values (1)"], "4"),
    (&["truncate table {t}", "insert into {t} (v) values (1)"], "1"),
    (&["rename table {t} to {t}_moved, {t}_moved to {t}", "insert into {t} (v) values (1)"], "4"),
    (&["lock tables {t} write", "insert into {t} (v) values (1)", "unlock tables"], "4"),
    (&["begin", "insert into {t} (v) values (1)", "commit"], "4"),
    (&["begin", "insert into {t} (v) values (1)", "rollback", "insert into {t} (v) values (1)"], "5"),
    (&["set foreign_key_checks = 0", "insert into {t} (v) values (1)", "set foreign_key_checks = 1"], "4"),
    (&["explain select * from {t}", "insert into {t} (v) values (1)"], "4"),
    (&["check table {t}", "checksum table {t}", "insert into {t} (v) values (1)"], "4"),
];

#[test]
fn every_first_use_finds_the_counter() {
    let mut setup =
        vec!["create table source (a int)".to_owned(), "insert into source values (1)".to_owned()];
    for number in 0..FIRST_USES.len() {
        setup.push(format!("create table t{number} (a int auto_increment primary key, v int)"));
        setup.push(format!("insert into t{number} (v) values (1), (2), (3)"));
        setup.push(format!("delete from t{number} where a = 3"));
    }
    let setup: Vec<&str> = setup.iter().map(String::as_str).collect();
    run(&crashed_after(&setup), async |server| {
        let mut client = client_of(&server).await;
        for (number, (statements, expected)) in FIRST_USES.iter().enumerate() {
            for statement in *statements {
                let text = statement.replace("{t}", &format!("t{number}"));
                all(&mut client, &[&text]).await;
            }
            let last = client.query("select last_insert_id()").await;
            let found = client.query(&format!("select max(a) from t{number}")).await;
            assert_eq!(found, format!("max(a)\n{expected}\n"), "{statements:?}: {last}");
        }
    });
}

#[test]
fn who_shows_a_table_shows_its_counter_and_rows() {
    const SHOWS: &[(&str, &str)] = &[
        ("show create table {t}", "AUTO_INCREMENT=4"),
        ("show table status like '{t}'", "{t}\tInnoDB\t10\tDynamic\t2\t2048\t4096\t0\t0\t0\t4\t"),
        ("show table status where name = '{t}'", "{t}\tInnoDB\t10\tDynamic\t2\t2048\t4096\t0\t0\t0\t4\t"),
        ("show index from {t}", "PRIMARY\t1\ta\tA\t2\t"),
        ("select auto_increment from information_schema.tables where table_name = '{t}'", "\n4\n"),
        (
            "select table_name from information_schema.tables where auto_increment = 4 and table_name = '{t}'",
            "{t}",
        ),
        ("select cardinality from information_schema.statistics where table_name = '{t}'", "\n2\n"),
        ("explain format=traditional select * from {t}", "ALL\tNULL\tNULL\tNULL\tNULL\t2\t100.00"),
        ("explain select * from {t}", " rows=2)"),
    ];
    let mut setup = Vec::new();
    for number in 0..SHOWS.len() {
        setup.push(format!("create table t{number} (a int auto_increment primary key, v int)"));
        setup.push(format!("insert into t{number} (v) values (1), (2), (3)"));
        setup.push(format!("delete from t{number} where a = 3"));
    }
    run(&stopped_after(&setup), async |server| {
        let mut client = client_of(&server).await;
        for (number, (text, expected)) in SHOWS.iter().enumerate() {
            let name = format!("t{number}");
            let found = client.query(&text.replace("{t}", &name)).await;
            assert!(found.contains(&expected.replace("{t}", &name)), "{text}: {found}");
        }
    });
}

/// Lists do not wait for a change of definition, and have NULL for what it keeps from them.
#[test]
fn a_list_does_not_wait_for_a_change_of_definition() {
    let world =
        crashed_after(&["create table t (a int auto_increment primary key)", "insert into t values (9)"]);
    run(&world, async |server| {
        let mut client = client_of(&server).await;
        let locks = server.catalog().locks();
        let name = catalog::LockName::Table("d".into(), "t".into());
        let changing = locks.try_acquire(catalog::LockOwner(99), &name, catalog::LockMode::Exclusive);
        assert!(changing.is_some());
        let text = "select table_rows, auto_increment from information_schema.tables where table_name = 't'";
        assert_eq!(client.query(text).await, "TABLE_ROWS\tAUTO_INCREMENT\nNULL\tNULL\n");
        drop(changing);
        assert_eq!(client.query(text).await, "TABLE_ROWS\tAUTO_INCREMENT\n1\t10\n");
    });
}

/// Foreign keys reach tables that the statement does not name: rows go and change there, and the next row is right.
#[test]
fn a_cascade_into_a_table_that_nobody_has_used() {
    let mut setup = vec!["create table p (id int primary key, v int)".to_owned()];
    setup.push("insert into p values (1, 1), (2, 2), (3, 3)".to_owned());
    let children = [
        ("counted", "a int auto_increment primary key, p int"),
        ("hidden", "p int, v int"),
        // The key's own column has the counter.
        ("keyed", "p int auto_increment, v int, key (p)"),
    ];
    for (name, columns) in children {
        let key = "foreign key (p) references p (id) on delete cascade on update cascade";
        setup.push(format!("create table {name} ({columns}, {key})"));
        setup.push(format!("insert into {name} (p) values (1), (2), (3), (3)"));
    }
    let setup: Vec<&str> = setup.iter().map(String::as_str).collect();
    run(&crashed_after(&setup), async |server| {
        let mut client = client_of(&server).await;
        all(&mut client, &["update p set id = 7 where id = 3", "delete from p where id = 2"]).await;
        all(&mut client, &["insert into counted (p) values (1)", "insert into hidden (p) values (1)"]).await;
        all(&mut client, &["set foreign_key_checks = 0", "insert into keyed () values ()"]).await;
        assert_eq!(client.query("select * from counted order by a").await, "a\tp\n1\t1\n3\t7\n4\t7\n5\t1\n");
        assert_eq!(client.query("select p from hidden order by p").await, "p\n1\n1\n7\n7\n");
        assert_eq!(client.query("select p from keyed order by p").await, "p\n1\n7\n7\n8\n");
    });
}

/// Rows that no snapshot shows have taken their ids: those of a prepared branch, and those of a statement that the crash
/// has cut off, while they are being undone.
#[test]
fn rows_of_undecided_transactions_have_their_numbers() {
    let world = World::new(11, SimOptions::default());
    let env = world.env();
    world
        .block_on(async {
            let server = open(env, options()).await;
            let mut client = client_of(&server).await;
            all(&mut client, &["create table h (v varchar(9000))", "insert into h values ('first')"]).await;
            all(&mut client, &["create table t (a int auto_increment primary key, v int)"]).await;
            all(&mut client, &["xa start 'x'", "insert into h values ('short'), (repeat('long', 2000))"])
                .await;
            all(&mut client, &["insert into t (v) values (1), (2)", "xa end 'x'", "xa prepare 'x'"]).await;
            let mut loser = client_of(&server).await;
            all(&mut loser, &["begin", "insert into h values ('lost'), ('lost')"]).await;
            all(&mut loser, &["insert into t (v) values (3), (4)"]).await;
            // So that the loser's part of the log is durable.
            all(&mut client_of(&server).await, &["create table durable (a int)"]).await;
            std::mem::forget(loser);
        })
        .unwrap();
    run(&world.crash(SimOptions::default()), async |server| {
        let mut client = client_of(&server).await;
        all(&mut client, &["set innodb_lock_wait_timeout = 1"]).await;
        all(&mut client, &["insert into h values ('next')", "insert into t (v) values (5)"]).await;
        all(&mut client, &["xa commit 'x'", "insert into h values ('last')"]).await;
        assert_eq!(client.query("select left(v, 5) v from h").await, "v\nfirst\nshort\nlongl\nnext\nlast\n");
        assert_eq!(client.query("select * from t").await, "a\tv\n1\t1\n2\t2\n5\t5\n");
        all(&mut client, &["check table h, t"]).await;
    });
}

/// A damaged page is no error of the start, nor of what can do without it: rows that need a number are refused.
#[test]
fn a_table_whose_counter_cannot_be_read_refuses_rows() {
    let world = stopped_after(&[
        "create table t (a int auto_increment primary key, v varchar(60))".to_owned(),
        "insert into t (v) values ('the text of a damaged page')".to_owned(),
        "create table h (v varchar(60))".to_owned(),
        "insert into h (v) values ('the text of a damaged page')".to_owned(),
        "create table sound (a int auto_increment primary key)".to_owned(),
        "insert into sound values (4)".to_owned(),
    ]);
    let text = b"the text of a damaged page";
    let damaged = RefCell::new(0);
    for path in world.paths().iter().filter(|path| path.starts_with("data/")) {
        world.damage(path, |content| {
            let places: Vec<usize> = (0..content.len().saturating_sub(text.len()))
                .filter(|at| content[*at..].starts_with(text))
                .collect();
            places.iter().for_each(|at| content[*at] ^= 1);
            *damaged.borrow_mut() += places.len();
        });
    }
    assert!(damaged.into_inner() >= 2);
    run(&world, async |server| {
        let mut client = client_of(&server).await;
        for table in ["t", "h"] {
            for _ in 0..2 {
                let refused = client.query(&format!("insert into {table} (v) values ('x')")).await;
                assert!(refused.starts_with("ERROR 1712 "), "{refused}");
            }
            all(&mut client, &[&format!("show create table {table}"), "show table status"]).await;
            let read = client.query(&format!("select * from {table}")).await;
            assert!(read.contains("ERROR 1712 "), "{read}");
            all(&mut client, &[&format!("drop table {table}")]).await;
        }
        assert_eq!(client.query("insert into sound values (null)").await, "ok 1 rows id 5\n");
    });
}

/// A plan made before anything was known of its tables is made anew, and counted once.
#[test]
fn a_first_query_is_planned_with_what_is_known() {
    let values: Vec<String> = (0..4000).map(|number| format!("({number}, {number})")).collect();
    let world = stopped_after(&[
        "create table big (a int primary key, b int, key (b))".to_owned(),
        format!("insert into big values {}", values.join(",")),
        "create table small (a int primary key)".to_owned(),
        "insert into small values (1)".to_owned(),
    ]);
    run(&world, async |server| {
        let mut client = client_of(&server).await;
        let query = "select count(*) from big join small on big.a = small.a";
        assert_eq!(client.query(query).await, "count(*)\n1\n");
        let count = "show session status like 'Com_select'";
        assert_eq!(client.query(count).await, "Variable_name\tValue\nCom_select\t1\n");
        let tree = client.query(&format!("explain format=tree {query}")).await;
        let (small, big) = (tree.find("on small").expect("small"), tree.find("on big").expect("big"));
        assert!(small < big, "the smaller table comes first: {tree}");
    });
}
