//! A damaged page in the data directory of a real server: an error of its table, told by name, and of nothing else.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{RawClient, TestDirectory, TestServer, evenkeel};

/// Changes a byte wherever the text is stored and `is_wanted` takes the file's content at that place.
fn damage(directory: &Path, text: &str, is_wanted: impl Fn(&[u8], usize) -> bool) {
    let files = std::fs::read_dir(directory.join("data")).expect("the store's files");
    let mut places = 0;
    for path in files.map(|entry| entry.expect("listed").path()).collect::<Vec<PathBuf>>() {
        let mut content = std::fs::read(&path).expect("readable");
        let found: Vec<usize> = (0..content.len().saturating_sub(text.len()))
            .filter(|at| content[*at..].starts_with(text.as_bytes()) && is_wanted(&content, *at))
            .collect();
        found.iter().for_each(|at| content[*at] ^= 1);
        places += found.len();
        if !found.is_empty() {
            std::fs::write(&path, content).expect("writable");
        }
    }
    assert!(places > 0, "'{text}' is stored");
}

fn verify(directory: &TestDirectory) -> (Option<i32>, String) {
    ask(directory, "verify", &[])
}

/// Runs a command on the data directory of a stopped server; answers its exit status and what it says.
fn ask(directory: &TestDirectory, command: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(evenkeel(directory).get_program());
    let output = program.arg(command).arg(directory.path().join("data")).args(arguments).output();
    let output = output.expect("the program was built");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}

fn fill(client: &mut RawClient) {
    client.execute("create database d").expect("a database");
    for table in ["rows_bad", "index_bad", "sound"] {
        let columns = "id int primary key, k varbinary(60), filler varchar(400), key kk (k)";
        client.execute(&format!("create table d.{table} ({columns})")).expect("a table");
        let rows: Vec<String> = (0..400)
            .map(|id| format!("({id}, 'key {id} of {table}', '{}row {id} of {table}')", "x".repeat(200)))
            .collect();
        client.execute(&format!("insert into d.{table} values {}", rows.join(","))).expect("rows");
    }
}

fn error_of(client: &mut RawClient, text: &str) -> String {
    format!("{:?}", client.query(text).expect_err(text))
}

#[test]
fn a_damaged_page_is_an_error_of_its_table_alone() {
    let server = TestServer::start(&[]);
    fill(&mut server.log_in());
    let (refused, message) = verify(&server.directory);
    assert_eq!(refused, Some(2), "{message}");
    assert!(message.contains("another server"), "{message}");
    let (_, _, directory) = server.terminate();
    let (sound, text) = verify(&directory);
    assert_eq!(sound, Some(0), "{text}");
    assert!(text.contains("rows and indexes of 3 agree") && text.contains("everything is sound"), "{text}");

    damage(&directory.path().join("data"), "row 200 of rows_bad", |_, _| true);
    // Rows have it too, in another order of the columns' bytes: only entries of the index end like this.
    damage(&directory.path().join("data"), "key 201 of index_bad", has_no_row_near);
    let (damaged, text) = verify(&directory);
    assert_eq!(damaged, Some(1), "{text}");
    assert!(text.contains("table d.rows_bad: page"), "{text}");
    assert!(text.contains("table d.index_bad, index kk: page"), "{text}");
    assert!(text.contains("rows and indexes of 1 agree"), "{text}");

    let page = text.split("table d.rows_bad: page ").nth(1).expect("it is named").split(' ').next();
    let (status, text) = ask(&directory, "inspect", &["page", page.expect("a number")]);
    assert!(status == Some(0) && text.contains("wrong checksum") && text.contains("kind Node"), "{text}");
    for (arguments, expected) in [
        (&["superblock"][..], "checkpoint_lsn"),
        (&["page", "2"][..], "of the region are in use"),
        (&["log"][..], "end of"),
    ] {
        let (status, text) = ask(&directory, "inspect", arguments);
        assert!(status == Some(0) && text.contains(expected), "{text}");
    }

    let server = TestServer::start_in(directory, &[]);
    let mut client = server.log_in();
    let error = error_of(&mut client, "select count(filler) from d.rows_bad");
    assert!(error.contains("1712") && error.contains("PRIMARY of table d.rows_bad (page"), "{error}");
    assert_eq!(client.query("select id from d.rows_bad where id = 1").expect("another page").len(), 1);
    let error = error_of(&mut client, "select count(k) from d.index_bad force index (kk) where k > ''");
    assert!(error.contains("1712") && error.contains("kk of table d.index_bad (page"), "{error}");
    assert_eq!(client.query("select count(filler) from d.sound").expect("sound").len(), 1);
    client.execute("insert into d.sound values (1000, 'new', 'new')").expect("the others take rows");
    let rows = client.query("check table d.index_bad").expect("an answer");
    assert_eq!(rows.last().expect("rows")[3].as_deref(), Some("Corrupt"));
    client.query("optimize table d.index_bad").expect("an answer");
    let rows = client.query("check table d.index_bad").expect("an answer");
    assert_eq!(rows.last().expect("rows")[3].as_deref(), Some("OK"), "made anew from the rows");
    client.execute("drop table d.rows_bad").expect("the damaged table can be dropped");
    drop(client);
    let (status, _, directory) = server.terminate();
    assert!(status.success());
    let (sound, text) = verify(&directory);
    assert_eq!(sound, Some(0), "{text}");
    TestServer::start_in(directory, &[]).log_in().ping().expect("it starts again");
}

/// Whether the place is in a page of an index: the rows are full of x.
fn has_no_row_near(content: &[u8], at: usize) -> bool {
    const PAGE_BYTES: usize = 8192;
    let around = &content[at.saturating_sub(PAGE_BYTES / 4)..(at + PAGE_BYTES / 4).min(content.len())];
    !around.windows(40).any(|bytes| bytes.iter().all(|byte| *byte == b'x'))
}

/// What this version cannot read is neither taken for an empty directory nor called damaged.
#[test]
fn a_directory_with_a_segment_store_is_refused() {
    let directory = TestDirectory::new();
    let store = directory.path().join("data").join("data");
    std::fs::create_dir_all(&store).expect("writable");
    for file in ["superblock.db", "segments-0000.db"] {
        std::fs::write(store.join(file), b"pages").expect("writable");
    }
    let socket = format!("--socket={}", directory.path().join("sock").display());
    let started = evenkeel(&directory).args(["--port=0", &socket]).output().expect("the program was built");
    assert!(!started.status.success(), "{started:?}");
    let told = String::from_utf8_lossy(&started.stderr).into_owned();
    let (could_not_look, seen) = verify(&directory);
    assert_eq!(could_not_look, Some(2), "{seen}");
    for text in [told, seen] {
        assert!(text.contains("segment page store"), "{text}");
        assert!(text.contains("dump the data with the version that created it"), "{text}");
    }
    assert_eq!(std::fs::read(store.join("segments-0000.db")).expect("left alone"), b"pages");
}
