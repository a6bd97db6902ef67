//! The companion against a server of ours: every workload loads, runs and stays consistent, and what was recorded is drawn.
//!
//! The server and the companion are the same program in processes of their own.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::TestServer;

fn companion(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(arguments).output().expect("the program was built")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn good(arguments: &[&str]) -> String {
    let output = companion(arguments);
    let text = text(&output);
    assert!(output.status.success(), "{arguments:?} ended with {}: {text}", output.status);
    text
}

fn dsn(server: &TestServer) -> String {
    format!("mysql://root@127.0.0.1:{}", server.port)
}

#[test]
fn every_workload_loads_runs_and_stays_consistent() {
    let server = TestServer::start(&[]);
    let dsn = dsn(&server);
    let script = server.directory.path().join("shop.sql");
    fs::write(&script, "-- create:\nDROP TABLE IF EXISTS w;\nCREATE TABLE w (a INT PRIMARY KEY);\n-- run:\nSELECT * FROM w WHERE a = {row};\n").unwrap();
    let files = format!("sql:{}", script.display());
    let mixes = [
        "point_select",
        "read_only",
        "read_write",
        "write_only",
        "update_index",
        "update_non_index",
        "insert",
        "delete",
        "select_random_points",
        "select_random_ranges",
        "bulk_insert",
    ];
    let others = ["insert:0", "insert:5", "scan", "hotrow", "queue", "stress:rw", "graph", &files];
    let names = mixes.iter().map(|mix| format!("oltp:{mix}"));
    let names = names.chain(["a", "d", "e", "f"].map(|mix| format!("ycsb:{mix}")));
    for name in names.chain(others.map(str::to_owned)) {
        for how in [&["--pipeline=1"][..], &["--text", "--pipeline=4"]] {
            let mut arguments = vec!["bench", "run", &name, "--dsn", &dsn, "--rows=300", "--connections=3"];
            arguments.extend([
                "--time=60",
                "--events=4",
                "--quiet",
                "--load",
                "--check",
                "--fail-if=errors>0",
                "--fail-if=events==0",
            ]);
            arguments.extend(how);
            let text = good(&arguments);
            assert!(!text.contains("BROKEN"), "{name}: {text}");
        }
    }
}

#[test]
fn tpcc_keeps_its_conditions_its_mix_and_its_figures() {
    let server = TestServer::start(&[]);
    let dsn = dsn(&server);
    let mut arguments =
        vec!["bench", "run", "tpcc", "--dsn", &dsn, "--scale=2", "--items=200", "--customers=60"];
    arguments.extend([
        "--connections=3",
        "--time=120",
        "--events=100",
        "--quiet",
        "--load",
        "--check",
        "--json",
    ]);
    let text = good(&arguments);
    assert!(!text.contains("BROKEN") && text.matches("holds").count() == 11, "{text}");
    let summary = text.lines().find(|line| line.starts_with('{')).expect("the summary is JSON");
    for kind in
        ["new_order", "payment", "order_status", "delivery", "stock_level", "TpmC", "commits_per_second"]
    {
        assert!(summary.contains(&format!("\"{kind}\"")), "{kind} is missing: {summary}");
    }
}

#[test]
fn a_run_is_recorded_drawn_judged_and_kept() {
    let server = TestServer::start(&[]);
    let dsn = dsn(&server);
    let path = |name: &str| server.directory.path().join(name).display().to_string();
    let (run, record, page) = (path("run.jsonl"), path("run.rec"), path("run.html"));
    let (svg, csv, history) = (path("run.svg"), path("run.csv"), path("history.jsonl"));
    let mut arguments =
        vec!["bench", "run", "oltp:read_write", "--dsn", &dsn, "--rows=1000", "--load", "--quiet"];
    arguments.extend(["--connections=4", "--time=3", "--rate=50", "--out", &run, "--record", &record]);
    arguments.extend(["--history-file", &history]);
    assert!(good(&arguments).contains("the first run of its kind"));
    assert_eq!(fs::read_to_string(&run).unwrap().matches("\"type\":\"second\"").count(), 3);
    good(&["report", &run, &record, "--out", &page, "--svg", &svg, "--csv", &csv]);
    let page = fs::read_to_string(&page).unwrap();
    for panel in ["Throughput", "Latency", "Checkpoint age", "Dirty pages", "Pool hits", "Processors"] {
        assert!(page.contains(&format!("\"title\":\"{panel}\"")), "{panel} is missing");
    }
    assert!(page.contains("No second was below half") || page.contains("of median"));
    assert!(fs::read_to_string(&svg).unwrap().ends_with("</svg>\n"));
    assert!(fs::read_to_string(&csv).unwrap().starts_with("second,"));
    good(&["doctor", &record]);
    good(&["doctor", "--dsn", &dsn, "--time=2"]);
    assert!(good(&["bench", "history", "--history-file", &history]).contains("the first"));
    assert!(good(&["top", "--dsn", &dsn, "--looks=1"]).contains("Who waits for whom"));
}

#[test]
fn servers_are_compared_in_turn() {
    let servers = [TestServer::start(&[]), TestServer::start(&[])];
    let names: Vec<String> =
        servers.iter().zip(["a", "b"]).map(|(server, name)| format!("{name}={}", dsn(server))).collect();
    let page = servers[0].directory.path().join("compare.html").display().to_string();
    let mut arguments =
        vec!["compare", "oltp:read_write", &names[0], &names[1], "--rows=500", "--load", "--publish"];
    arguments.extend(["--connections=2", "--time=1", "--blocks=2", "--out", &page]);
    let text = good(&arguments);
    assert!(text.contains("equal and full") && text.contains("95 % interval"), "{text}");
    assert!(Path::new(&page).exists());
}

#[test]
fn what_is_wrong_is_said_and_told_by_the_status() {
    let server = TestServer::start(&[]);
    let dsn = dsn(&server);
    let refused = |arguments: &[&str], word: &str| {
        let output = companion(arguments);
        assert!(!output.status.success() && text(&output).contains(word), "{arguments:?}: {}", text(&output));
    };
    refused(&["bench", "run", "nothing", "--dsn", &dsn], "no workload");
    refused(&["bench", "run", "oltp:point_select", "--dsn", &dsn, "--dist=round"], "none of uniform");
    refused(&["bench", "run", "oltp:point_select", "--dsn", &dsn, "--fail-if=colour>1"], "no figure colour");
    refused(&["bench", "run", "hotrow", "--dsn", &dsn, "--time=1"], "1049");
    let mut arguments = vec!["bench", "run", "hotrow", "--dsn", &dsn, "--load", "--time=1", "--quiet"];
    arguments.push("--fail-if=tps>0");
    refused(&arguments, "failed: tps");
    refused(&["record", "--dsn", &dsn, "/nowhere/at/all"], "No such file");
    refused(&["report", "Cargo.toml"], "no recording");
}

#[test]
fn an_account_of_few_rights_is_told_what_it_does_not_see() {
    let server = TestServer::start(&[]);
    server.log_in().execute("CREATE USER few@localhost").unwrap();
    let few = format!("mysql://few@127.0.0.1:{}", server.port);
    let unseen = "transactions (ERROR 1227";
    for arguments in [&["doctor", "--time=2"][..], &["record", "--time=2"], &["top", "--looks=1"]] {
        let file = server.directory.path().join("few.rec");
        let mut arguments = [arguments, &["--dsn", &few]].concat();
        if arguments[0] == "record" {
            arguments.push(file.to_str().unwrap());
        }
        let text = good(&arguments).replace("transactions: ERROR", "transactions (ERROR");
        assert!(text.contains(unseen), "{arguments:?}: {text}");
        assert!(text.contains("sessions of other accounts"), "{arguments:?}: {text}");
    }
    let root = good(&["doctor", "--time=2", "--dsn", &dsn(&server)]);
    assert!(!root.contains("not seen"), "{root}");
}

#[test]
fn a_ping_tells_a_server_that_refuses_from_one_that_is_gone() {
    let server = TestServer::start(&[]);
    let stranger = format!("mysql://nobody:wrong@127.0.0.1:{}", server.port);
    assert!(good(&["ping", "--dsn", &stranger]).contains("alive"));
    assert!(good(&["ping", "--login", "--dsn", &dsn(&server)]).contains("alive"));
    let refused = companion(&["ping", "--login", "--dsn", &stranger]);
    assert!(!refused.status.success() && text(&refused).contains("Access denied"), "{}", text(&refused));
    let gone = dsn(&server);
    drop(server);
    assert!(!companion(&["ping", "--dsn", &gone]).status.success());
}

#[test]
fn a_data_directory_is_examined_before_and_after_and_when_damaged() {
    let server = TestServer::start(&[]);
    let place = server.directory.path().join("data").display().to_string();
    let running = good(&["doctor", &place]);
    assert!(running.contains("another server") && running.contains("buffer pool"), "{running}");
    let (_, _, directory) = server.terminate();
    let sound = good(&["doctor", &place, "--", "--port=0"]);
    assert!(
        sound.contains("both superblocks are sound") && sound.contains("behind the checkpoint"),
        "{sound}"
    );
    let new = directory.path().join("new").display().to_string();
    assert!(good(&["doctor", "--datadir", &new, "--", "--port=0"]).contains("none yet"));
    assert!(!Path::new(&new).exists());
    let pages = Path::new(&place).join("data/pages.db");
    let mut bytes = fs::read(&pages).unwrap();
    bytes[..8192].fill(0x55);
    fs::write(&pages, bytes).unwrap();
    let damaged = companion(&["doctor", &place, "--", "--port=0"]);
    assert!(!damaged.status.success() && text(&damaged).contains("evenkeel verify"), "{}", text(&damaged));
}
