//! kill -9 at random moments under write load: nothing acknowledged is lost, nothing is half there.
//!
//! The load and what it must leave are in `support/journal.rs`. EVENKEEL_KILL9_CYCLES sets the number of kills (20),
//! EVENKEEL_KILL9_SEED repeats the moments of a run. The data directory lives on from kill to kill, and is made anew after
//! CYCLES_PER_DIRECTORY, because every look reads all of it.

mod support;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use support::journal::{
    Models, Random, SMALL, compare, from_environment, lists_in, prepare, write_until_killed,
};
use support::{TestDirectory, TestServer};

const CYCLES_PER_DIRECTORY: u64 = 50;
const LOAD_MS_MIN: u64 = 30;
const LOAD_MS_MAX: u64 = 900;

/// Kills a server so many times; returns transactions in all.
fn kill_again_and_again(cycles: u64, random: &mut Random) -> u64 {
    let lists_directory = TestDirectory::new();
    let lists = lists_in(lists_directory.path());
    let mut models = Models::default();
    let mut server = TestServer::start(&[]);
    prepare(&mut server.log_in(), SMALL);
    let mut total = 0;
    for cycle in 0..cycles {
        let load = Duration::from_millis(LOAD_MS_MIN + random.below(LOAD_MS_MAX - LOAD_MS_MIN));
        let port = server.port;
        let seeds: Vec<_> = lists.iter().map(|_| random.below(u64::MAX) | 1).collect();
        let directory = std::thread::scope(|scope| {
            for (writer, (list, seed)) in (0..).zip(lists.iter().zip(seeds)) {
                scope.spawn(move || write_until_killed(port, writer, list, seed, SMALL));
            }
            std::thread::sleep(load);
            server.kill_nine()
        });
        server = TestServer::start_in(directory, &[]);
        let finding = compare(&mut server.log_in(), &mut models, &lists, SMALL);
        assert!(finding.is_sound(), "cycle {cycle}: {finding:?}");
        total = finding.transactions;
        println!("cycle {cycle}: killed after {load:?}, {total} transactions are all there");
    }
    total
}

#[test]
fn nothing_acknowledged_is_lost() {
    let cycles = from_environment("EVENKEEL_KILL9_CYCLES", 20);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let seed = from_environment("EVENKEEL_KILL9_SEED", now | 1);
    println!("seed {seed}, {cycles} cycles");
    let mut random = Random(seed);
    let started = Instant::now();
    let mut total = 0;
    for first in (0..cycles).step_by(CYCLES_PER_DIRECTORY as usize) {
        total += kill_again_and_again(CYCLES_PER_DIRECTORY.min(cycles - first), &mut random);
    }
    assert!(total > cycles, "there was no load to speak of");
    println!("{cycles} kills, {total} transactions, 0 lost, 0 half applied, in {:?}", started.elapsed());
}

/// Single events that came due while no server ran run at the next start, once; recurring ones go on; what an event had begun
/// when the server was killed is undone.
#[test]
fn events_live_through_kills() {
    let mut server = TestServer::start(&[]);
    let mut client = server.log_in();
    client.execute_all(&[
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE l (id INT AUTO_INCREMENT PRIMARY KEY, w VARCHAR(20))",
        "CREATE EVENT long_one ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO BEGIN START TRANSACTION; INSERT INTO l (w) VALUES ('half'); DO SLEEP(1000); COMMIT; END",
        "CREATE EVENT missed ON SCHEDULE AT NOW() + INTERVAL 2 SECOND DO INSERT INTO l (w) VALUES ('missed')",
        "CREATE EVENT missed_twice ON SCHEDULE AT NOW() + INTERVAL 3 SECOND ON COMPLETION PRESERVE DO INSERT INTO l (w) VALUES ('preserved')",
        "CREATE EVENT often ON SCHEDULE EVERY 1 SECOND DO INSERT INTO l (w) VALUES ('often')",
        "CREATE EVENT off ON SCHEDULE EVERY 1 SECOND DISABLE DO INSERT INTO l (w) VALUES ('off')",
    ]);
    let count = |client: &mut support::RawClient, word: &str| {
        support::number(client, &format!("SELECT COUNT(*) FROM d.l WHERE w = '{word}'"))
    };
    let wait = |client: &mut support::RawClient, word: &str, least: u64| {
        let since = Instant::now();
        while count(client, word) < least {
            assert!(since.elapsed() < Duration::from_secs(30), "{word} does not run");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait(&mut client, "often", 1);
    let before = count(&mut client, "often");
    let directory = server.kill_nine();
    std::thread::sleep(Duration::from_secs(4));
    server = TestServer::start_in(directory, &[]);
    let mut client = server.log_in();
    wait(&mut client, "often", before + 2);
    for word in ["missed", "preserved"] {
        wait(&mut client, word, 1);
        assert_eq!(count(&mut client, word), 1, "{word}");
    }
    assert_eq!(count(&mut client, "half"), 0, "what was begun is undone");
    assert_eq!(count(&mut client, "off"), 0);
    let directory = server.kill_nine();
    server = TestServer::start_in(directory, &[]);
    let mut client = server.log_in();
    let names =
        client.query("SELECT event_name, status FROM information_schema.events ORDER BY 1").expect("read");
    let shown: Vec<String> = names.iter().flatten().flatten().cloned().collect();
    let ended = "DISABLED";
    let expected = ["long_one", ended, "missed_twice", ended, "off", ended, "often", "ENABLED"];
    assert_eq!(shown, expected);
    let before = count(&mut client, "often");
    wait(&mut client, "often", before + 1);
    for word in ["missed", "preserved"] {
        assert_eq!(count(&mut client, word), 1, "{word} ran again");
    }
}
