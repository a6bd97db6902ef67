//! Every recorded schedule gives MySQL's answers here too, but for the differences that are known and listed.
//!
//! `UPDATE_SCHEDULES=host:port` records the answers of the server there instead (MySQL 9.7 for what is committed).

mod support;

use schedules::{KnownDifferences, Library, Target, Verdict, check_all, folder, record_all};
use support::TestServer;

/// Most of a schedule's time is spent waiting for answers.
const THREADS: usize = 16;

#[test]
fn schedules_give_the_recorded_answers() {
    let mut library = Library::read(&folder()).expect("the schedules are well formed");
    if let Ok(at) = std::env::var("UPDATE_SCHEDULES") {
        let target = Target::parse(&at).expect("UPDATE_SCHEDULES is host:port");
        let faults = record_all(&target, &mut library, THREADS);
        library.write().expect("the recordings are written");
        assert!(faults.is_empty(), "not recorded: {faults:#?}");
        return;
    }
    let known = KnownDifferences::read(&folder()).expect("the list is well formed");
    // Definitions that step aside while they wait would make the clock decide who goes first; MySQL's never do.
    let server = TestServer::start(&["--ddl-lock-step=600000"]);
    let target = Target { host: "127.0.0.1".to_owned(), port: server.port };
    let verdicts = check_all(&target, &library, &known, THREADS);
    let faults: Vec<&(String, Verdict)> = verdicts.iter().filter(|(_, verdict)| verdict.is_fault()).collect();
    assert!(faults.is_empty(), "{} of {} schedules: {faults:#?}", faults.len(), verdicts.len());
}
