//! Foreign keys and CHECK constraints that a table gets beside those who read and write it and its parents: what obeys them
//! goes on unhindered, what does not ends the change, and then nothing is left of it.
mod support;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use instance::Instance;
use support::{Client, run};

const ROWS: u64 = 512;
const WRITERS: u64 = 3;

async fn client(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    client.query("use d").await;
    client
}

async fn obey(client: &mut Client, text: &str) {
    let answer = client.query(text).await;
    assert!(answer.starts_with("ok"), "{text}: {answer}");
}

/// A parent whose `u` is twice its `id`, and a child of two rows for each of its rows.
async fn family(server: &Arc<Instance>) -> Client {
    let mut client = Client::connect(server).await;
    for text in [
        "create database d",
        "use d",
        "create table p (id int primary key, u int not null, n int, unique (u))",
        "create table c (id int primary key, a int, b int, key by_b (b))",
        "set cte_max_recursion_depth = 10000",
    ] {
        obey(&mut client, text).await;
    }
    let numbers =
        format!("with recursive r as (select 1 n union all select n + 1 from r where n < {ROWS}) select");
    obey(&mut client, &format!("insert into p {numbers} n, n * 2, 0 from r")).await;
    obey(&mut client, &format!("insert into c {numbers} n, n * 2, n from r")).await;
    obey(&mut client, &format!("insert into c {numbers} n + {ROWS}, n * 2, n from r")).await;
    client
}

/// What a writer does with a parent of its own and the children: each transaction leaves no child without its parent.
fn texts(number: u64) -> Vec<String> {
    let (id, new) = (number * 7919 % ROWS + 1, 1_000_000 + number);
    let u = id * 2;
    match number / WRITERS % 6 {
        0 => vec![
            format!("delete from c where a = {u}"),
            format!("delete from p where id = {id}"),
            format!("insert into p values ({id}, {u}, 1)"),
        ],
        1 => vec![
            format!("insert into p values ({new}, {new}, 0)"),
            format!("insert into c (id, a, b) values ({new}, {new}, {new})"),
        ],
        2 => vec![
            format!("update p set n = n + 1 where id = {id}"),
            format!("update c set b = b where a = {u}"),
        ],
        3 => vec![
            format!("insert into p values ({new}, {new}, 0)"),
            format!("update c set a = {new} where a = {u}"),
            format!("update p set u = {} where id = {id}", 3_000_000 + number),
            format!("update p set u = {u} where id = {id}"),
        ],
        4 => vec![format!("insert into c (id, a, b) values ({new}, null, null)")],
        _ => vec![
            format!("delete from p where id = {id} and not exists (select * from c where a = {u})"),
            format!("insert ignore into p values ({id}, {u}, 2)"),
        ],
    }
}

/// Writes until told to stop; gives the number of transactions. Those of different writers have different parents, so only the
/// definition is in their way: whoever has one table and waits for the other is its victim, as in MySQL.
fn writer(
    mut client: Client,
    (first, own): (u64, u64),
    stop: &Rc<Cell<bool>>,
) -> tokio::task::JoinHandle<u64> {
    let stop = stop.clone();
    tokio::task::spawn_local(async move {
        let (mut done, mut number) = (0, first);
        while !stop.get() {
            number += 1;
            if (number * 7919 % ROWS) % WRITERS != own {
                continue;
            }
            client.query("begin").await;
            let mut end = if number % 5 == 0 { "rollback" } else { "commit" };
            for text in texts(number) {
                let answer = client.query(&text).await;
                if answer.starts_with("ERROR 1213") {
                    end = "rollback";
                    break;
                }
                assert!(!answer.starts_with("ERROR"), "{text}: {answer}");
            }
            assert!(client.query(end).await.starts_with("ok"));
            done += 1;
            tokio::task::yield_now().await;
        }
        done
    })
}

/// A change, a statement that it forbids with its error, and what takes the change back.
const CHANGES: [[&str; 4]; 4] = [
    [
        "alter table c add constraint f foreign key (a) references p (u)",
        "insert into c (id, a) values (9000000, 1)",
        "ERROR 1452 (23000)",
        "alter table c drop foreign key f, drop index f",
    ],
    [
        "alter table c add constraint g foreign key (a) references p (u) on delete cascade, add index i (b, a)",
        "insert into c (id, a) values (9000000, 1)",
        "ERROR 1452 (23000)",
        "alter table c drop foreign key g, drop index g, drop index i",
    ],
    [
        "alter table c add constraint k check (a > 0), add constraint l check (id > 0)",
        "insert into c (id, a) values (-1, 1)",
        "ERROR 3819 (HY000)",
        "alter table c drop check k, drop check l",
    ],
    [
        "alter table c add x int default 4 first, add constraint h foreign key (a) references p (u), add constraint m check (x = 4)",
        "insert into c (id, a) values (9000000, 1)",
        "ERROR 1452 (23000)",
        "alter table c drop foreign key h, drop index h, drop check m, drop column x",
    ],
];

#[test]
fn constraints_are_added_beside_writers() {
    run(async |server| {
        let mut client = family(&server).await;
        let mut written = 0;
        for (round, [change, forbidden, error, back]) in CHANGES.into_iter().enumerate() {
            let stop = Rc::new(Cell::new(false));
            let mut writers = Vec::new();
            for own in 0..WRITERS {
                writers.push(writer(self::client(&server).await, (round as u64 * 100_000, own), &stop));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            obey(&mut client, change).await;
            stop.set(true);
            for writer in writers {
                written += writer.await.expect("it ends");
            }
            let sound = "Table\tOp\tMsg_type\tMsg_text\nd.c\tcheck\tstatus\tOK\nd.p\tcheck\tstatus\tOK\n";
            assert_eq!(client.query("check table c, p").await, sound, "{change}");
            let orphans = "select count(*) from c left join p on a = u where a is not null and u is null";
            assert_eq!(client.query(orphans).await, "count(*)\n0\n", "{change}");
            let answer = client.query(forbidden).await;
            assert!(answer.starts_with(error), "{forbidden}: {answer}");
            obey(&mut client, back).await;
        }
        assert!(written > 100, "{written} transactions beside");
        server.engine().verify().await.expect("no page is lost");
    });
}

/// What is committed while the change goes on, and the error that it ends with then; without one it succeeds.
const BESIDE: [(&[&str], &str); 6] = [
    (&["insert into c values (9000000, 1, 1)"], "ERROR 1452 (23000)"),
    (&["delete from p where id = 7"], "ERROR 1452 (23000)"),
    (&["update p set u = 1 where id = 7"], "ERROR 1452 (23000)"),
    (&["update c set b = -1 where id = 7"], "ERROR 3819 (HY000)"),
    (&["begin", "delete from p where id = 7", "insert into p values (5000000, 14, 0)", "commit"], ""),
    (&["begin", "insert into c values (9000000, 1, -1)", "delete from p where id = 8", "rollback"], ""),
];

#[test]
fn what_breaks_a_constraint_meanwhile_ends_the_change() {
    run(async |server| {
        let change =
            "alter table c add constraint f foreign key (a) references p (u), add constraint k check (b > 0)";
        for (texts, error) in BESIDE {
            let mut client = family(&server).await;
            let before = client.query("show create table c").await;
            // Keeps the change from its end.
            let mut reader = self::client(&server).await;
            reader.query("begin").await;
            reader.query("select count(*) from c").await;
            let mut own = self::client(&server).await;
            let changing = tokio::task::spawn_local(async move { own.query(change).await });
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(!changing.is_finished());
            for text in texts {
                obey(&mut client, text).await;
            }
            reader.query("commit").await;
            let answer = changing.await.expect("it ends");
            match error.is_empty() {
                true => assert!(answer.starts_with("ok"), "{texts:?}: {answer}"),
                false => {
                    assert!(answer.starts_with(error), "{texts:?}: {answer}");
                    assert_eq!(client.query("show create table c").await, before);
                    obey(&mut client, "delete from p").await;
                }
            }
            obey(&mut client, "drop database d").await;
        }
        server.engine().verify().await.expect("no page is lost");
    });
}

#[test]
fn rows_that_break_a_constraint_are_found_at_once() {
    run(async |server| {
        let mut client = family(&server).await;
        obey(&mut client, "insert into c values (9000000, 1, -1)").await;
        let before = client.query("show create table c").await;
        for (change, error) in [
            ("alter table c add foreign key (a) references p (u), lock=shared", "ERROR 1452 (23000)"),
            ("alter table c add foreign key (a) references p (u), lock=exclusive", "ERROR 1452 (23000)"),
            ("alter table c add foreign key (a) references p (u), lock=none", "ERROR 1846 (0A000)"),
            ("alter table c add check (b > 0)", "ERROR 3819 (HY000)"),
            ("alter table c add check (b > 0), lock=exclusive", "ERROR 3819 (HY000)"),
        ] {
            let answer = client.query(change).await;
            assert!(answer.starts_with(error), "{change}: {answer}");
            assert_eq!(client.query("show create table c").await, before);
        }
        server.engine().verify().await.expect("no page is lost");
    });
}
