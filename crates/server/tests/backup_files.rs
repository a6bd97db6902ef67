//! `evenkeel backup --to-file` and `--to -`, increments, and what restore and verify make of them, on a real server.

mod support;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use support::{RawClient, TestDirectory, TestServer, evenkeel, number, run_program};

const KEY: &str = "0123456789abcdef0123456789abcdef\n";

struct Place {
    directory: TestDirectory,
    dsn: String,
}

impl Place {
    fn new(server: &TestServer) -> Place {
        let directory = TestDirectory::new();
        fs::write(directory.path().join("key"), KEY).expect("writable");
        Place { directory, dsn: format!("mysql://root@127.0.0.1:{}", server.port) }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn run(&self, words: &[&str]) -> (bool, String) {
        run_program(&self.directory, words)
    }

    /// A backup file, or what was said instead.
    fn back_up(&self, name: &str, words: &[&str]) -> Result<u64, String> {
        let path = self.path(name);
        let words = [&["backup", "--dsn", &self.dsn, "--to-file", &path], words].concat();
        let (is_good, said) = self.run(&words);
        if is_good { Ok(fs::metadata(path).expect("it is there").len()) } else { Err(said) }
    }

    /// A server on what is restored.
    fn restored(&self, words: &[&str]) -> TestServer {
        let to = TestDirectory::new();
        let data = to.path().join("data").display().to_string();
        let (is_good, said) = self.run(&[&["restore", "--to", &data], words].concat());
        assert!(is_good, "{said}");
        let (is_sound, said) = self.run(&["verify", &data]);
        assert!(is_sound, "{said}");
        TestServer::start_in(to, &[])
    }
}

fn fill(client: &mut RawClient) {
    client.execute_all(&["create database d", "create table d.t (id int primary key, n int, filler text)"]);
    for part in 0..20 {
        let rows: Vec<String> = (part * 500..(part + 1) * 500)
            .map(|id| format!("({id}, 0, '{}')", format!("{:x}", id * 7919).repeat(60)))
            .collect();
        client.execute(&format!("insert into d.t values {}", rows.join(","))).expect("rows");
    }
}

#[test]
fn increments_have_what_changed_and_a_chain_gives_each_state() {
    let server = TestServer::start(&["--innodb-redo-log-capacity=8M", "--innodb-buffer-pool-size=8M"]);
    let mut client = server.log_in();
    fill(&mut client);
    drop(client);
    // What a start leaves dirty is written at its end.
    let (_, _, directory) = server.terminate();
    let server = TestServer::start_in(directory, &["--innodb-redo-log-capacity=8M"]);
    let place = Place::new(&server);
    let sealed = ["--compress", "--key-file", &place.path("key")];
    let full = place.back_up("full", &sealed).expect("a backup");
    let mut client = server.log_in();
    let mut chain = Vec::new();
    let mut base = "full".to_owned();
    for round in 1..=3_u32 {
        client.execute("update d.t set n = n + 1 where id < 20").expect("an update");
        let name = format!("increment{round}");
        let words = ["--incremental-from", &place.path(&base)];
        let size = place.back_up(&name, &[&words[..], &sealed].concat()).expect("an increment");
        assert!(size * 4 < full || size < 1 << 20, "{size} of {full}");
        chain.push(place.path(&name));
        base = name;
    }
    for length in 0..=3 {
        let mut words = vec!["--from".to_owned(), place.path("full"), "--key-file".into(), place.path("key")];
        for file in &chain[..length] {
            words.extend(["--increment".to_owned(), file.clone()]);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let restored = place.restored(&words);
        let mut client = restored.log_in();
        assert_eq!(number(&mut client, "select sum(n) from d.t"), 20 * length as u64);
        assert_eq!(number(&mut client, "select count(*) from d.t"), 10_000);
    }
    let key = place.path("key");
    for file in chain.iter().chain([&place.path("full")]) {
        let (is_sound, said) = place.run(&["verify", file, "--key-file", &key]);
        assert!(is_sound && said.contains("complete up to LSN"), "{said}");
        let (is_sound, said) = place.run(&["verify", file]);
        assert!(!is_sound && said.contains("is encrypted: give its key"), "{said}");
    }
    let to = place.path("no");
    let restore = ["restore", "--from", &place.path("full"), "--key-file", &key, "--to", &to];
    let skipped = [&restore[..], &["--increment", &chain[1]]].concat();
    let (is_good, said) = place.run(&skipped);
    assert!(!is_good && said.contains("between them is missing"), "{said}");
    assert!(!PathBuf::from(&to).exists(), "nothing is left");
}

#[test]
fn a_backup_goes_through_a_pipe_and_what_is_wrong_is_said() {
    let server = TestServer::start(&[]);
    let place = Place::new(&server);
    let mut client = server.log_in();
    fill(&mut client);
    let program = |words: &[&str]| {
        let mut command = Command::new(evenkeel(&place.directory).get_program());
        command.args(words);
        command
    };
    let output =
        program(&["backup", "--dsn", &place.dsn, "--to", "-", "--compress=9"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("a full backup"), "{said}");
    let to = TestDirectory::new();
    let data = to.path().join("data").display().to_string();
    let mut restore = program(&["restore", "--from", "-", "--to", &data]);
    let mut child = restore.stdin(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(&output.stdout).expect("it reads");
    assert!(child.wait().expect("it ends").success());
    let restored = TestServer::start_in(to, &[]);
    assert_eq!(number(&mut restored.log_in(), "select count(*) from d.t"), 10_000);
    // Damage and cuts.
    fs::write(place.path("cut"), &output.stdout[..output.stdout.len() - 10]).expect("writable");
    let (is_sound, said) = place.run(&["verify", &place.path("cut")]);
    assert!(!is_sound && said.contains("truncated"), "{said}");
    let mut damaged = output.stdout.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 4;
    fs::write(place.path("damaged"), &damaged).expect("writable");
    let (is_sound, said) = place.run(&["verify", &place.path("damaged")]);
    assert!(!is_sound && said.contains("is damaged at byte"), "{said}");
    // Damage of the head is damage as well, not a file that cannot be looked at.
    damaged[middle] ^= 4;
    damaged[29] ^= 1;
    fs::write(place.path("head"), &damaged).expect("writable");
    let (is_sound, said) = place.run(&["verify", &place.path("head")]);
    assert!(!is_sound && said.starts_with("damaged: ") && said.contains("in its head"), "{said}");
    let no = place.path("no");
    let (is_good, said) = place.run(&["restore", "--from", &place.path("damaged"), "--to", &no]);
    assert!(!is_good && said.contains("is damaged at byte"), "{said}");
    // What is asked for wrongly.
    fs::write(place.path("whole"), &output.stdout).expect("writable");
    let said = place.back_up("whole", &[]).expect_err("it is there");
    assert!(said.contains("is there already"), "{said}");
    fs::write(place.path("short"), "key").expect("writable");
    let said = place.back_up("x", &["--key-file", &place.path("short")]).expect_err("no key");
    assert!(said.contains("too short"), "{said}");
    let other = TestServer::start(&[]);
    let foreign = Place { dsn: format!("mysql://root@127.0.0.1:{}", other.port), ..place };
    let said =
        foreign.back_up("x", &["--incremental-from", &foreign.path("whole")]).expect_err("another server");
    assert!(said.contains("of another server"), "{said}");
    assert!(!PathBuf::from(foreign.path("x.part")).exists(), "nothing is left");
    let error = client.execute("backup instance from 'x'").expect_err("no backup");
    assert_eq!(error.number, 1525);
    client.execute("create user u").expect("a user");
    let dsn = foreign.dsn.replace(&other.port.to_string(), &server.port.to_string()).replace("root", "u");
    let (is_good, said) = foreign.run(&["backup", "--dsn", &dsn, "--to-file", &foreign.path("y")]);
    assert!(!is_good && said.contains("BACKUP_ADMIN"), "{said}");
}

#[test]
fn old_backups_go_and_what_others_need_stays() {
    let archive = TestDirectory::new();
    let option = format!("--log-archive-dir={}", archive.path().join("log").display());
    let server = TestServer::start(&[&option]);
    let place = Place::new(&server);
    server.log_in().execute("create database d").expect("a database");
    fs::create_dir(place.path("all")).expect("writable");
    let names = ["all/a", "all/b", "all/c", "all/d"];
    for (name, base) in names.iter().zip([None, Some("all/a"), None, Some("all/c")]) {
        let words = base.map(|base| ["--incremental-from".to_owned(), place.path(base)]);
        let words: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
        place.back_up(name, &words).expect("a backup");
    }
    fs::write(place.path("all/readme"), "no backup").expect("writable");
    let there =
        || -> Vec<bool> { names.iter().map(|name| PathBuf::from(place.path(name)).exists()).collect() };
    let (directory, log) = (place.path("all"), archive.path().join("log").display().to_string());
    let prune = ["prune", "--backups", &directory, "--archive", &log];
    let (is_good, said) = place.run(&[&prune[..], &["--keep=1", "--dry-run"]].concat());
    assert!(is_good && said.contains("would be removed") && there() == [true; 4], "{said}");
    let (is_good, said) = place.run(&[&prune[..], &["--keep=3"]].concat());
    assert!(is_good && said.contains("since others continue it") && there() == [true; 4], "{said}");
    let (is_good, said) = place.run(&[&prune[..], &["--keep=1"]].concat());
    assert!(is_good && said.contains("the log is needed from LSN"), "{said}");
    assert_eq!(there(), [false, false, true, true], "{said}");
    assert!(
        PathBuf::from(place.path("all/readme")).exists() && archive.path().join("log/needed-from").exists()
    );
    // One that cannot be read may continue anything.
    let key = place.path("key");
    place.back_up("all/sealed", &["--key-file", &key]).expect("a backup");
    let (is_good, said) = place.run(&[&prune[..], &["--keep=0"]].concat());
    assert!(!is_good && said.contains("nothing is removed") && there()[3], "{said}");
}
