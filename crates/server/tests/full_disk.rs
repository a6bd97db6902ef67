//! A file system that fills up under the data or the log: an error for the statement, nothing lost, and life goes on.
//!
//! Needs to mount a small file system, so it is skipped (and says so) where that is not permitted.

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use support::{TestDirectory, TestServer};

const IMAGE_BYTES: u64 = 160 << 20;
const ROWS_PER_STATEMENT: u64 = 500;

/// A mounted file system of its own; unmounted when dropped.
struct SmallDisk {
    mount: PathBuf,
}

fn run(program: &str, arguments: &[&Path]) -> Result<(), String> {
    let output =
        Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

impl SmallDisk {
    fn mount(directory: &Path) -> Result<Self, String> {
        let image = directory.join("image");
        let mount = directory.join("data");
        let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(IMAGE_BYTES).map_err(|error| error.to_string())?;
        std::fs::create_dir_all(&mount).map_err(|error| error.to_string())?;
        run("mkfs.ext4", &[Path::new("-q"), Path::new("-m"), Path::new("0"), &image])?;
        run("mount", &[Path::new("-o"), Path::new("loop"), &image, &mount])?;
        let _ = std::fs::remove_dir(mount.join("lost+found"));
        Ok(Self { mount })
    }
}

/// Takes all the space that is left, in a file; removing it gives the space back.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).expect("a file can be made");
    for bytes in [1 << 20, 4096] {
        let block = vec![0; bytes];
        while file.write_all(&block).is_ok() {}
    }
    file.sync_all().expect("what was written fits");
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = run("umount", &[Path::new("-l"), &self.mount]);
    }
}

fn count(client: &mut support::RawClient) -> u64 {
    let rows = client.query("SELECT COUNT(*) FROM d.t").expect("reading goes on");
    rows[0][0].as_deref().and_then(|text| text.parse().ok()).expect("a number")
}

#[test]
fn a_full_disk_fails_statements_and_nothing_else() {
    let directory = TestDirectory::new();
    let disk = match SmallDisk::mount(directory.path()) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: no small file system: {reason}"),
    };
    let options = ["--innodb-redo-log-capacity=16M", "--innodb-buffer-pool-size=16M"];
    let server = TestServer::start_in(directory, &options);
    let mut client = server.log_in();
    client.execute("CREATE DATABASE d").expect("created");
    client
        .execute("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, filler VARCHAR(2000))")
        .expect("created");
    let rows = vec!["(REPEAT('x', 2000))"; ROWS_PER_STATEMENT as usize].join(", ");
    let insert = format!("INSERT INTO d.t (filler) VALUES {rows}");
    let mut inserted = 0;
    let error = loop {
        match client.execute(&insert) {
            Ok(()) => inserted += ROWS_PER_STATEMENT,
            Err(error) => break error,
        }
        assert!(inserted < 200_000, "the disk never fills up");
    };
    assert_eq!(error.number, 1114, "{error:?}");
    assert_eq!(count(&mut client), inserted, "the failed statement left nothing");
    client.execute("DELETE FROM d.t LIMIT 500").expect("making room is possible");
    assert_eq!(count(&mut client), inserted - 500);
    drop(client);
    let directory = server.kill_nine();
    let server = TestServer::start_in(directory, &options);
    assert_eq!(count(&mut server.log_in()), inserted - 500, "and recovery needs no room that is not there");
    let directory = server.kill_nine();
    drop(disk);
    drop(directory);
}

#[test]
fn a_log_that_cannot_grow_fails_statements_until_there_is_space() {
    let directory = TestDirectory::new();
    let disk = match SmallDisk::mount(directory.path()) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: no small file system: {reason}"),
    };
    // Most of this log does not exist yet when the disk is full.
    let options = ["--innodb-redo-log-capacity=128M", "--innodb-buffer-pool-size=32M"];
    let server = TestServer::start_in(directory, &options);
    let mut client = server.log_in();
    client.execute("CREATE DATABASE d").expect("created");
    client
        .execute("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, version INT, filler VARCHAR(2000))")
        .expect("created");
    let rows = vec!["(0, REPEAT('x', 2000))"; ROWS_PER_STATEMENT as usize].join(", ");
    client.execute(&format!("INSERT INTO d.t (version, filler) VALUES {rows}")).expect("inserted");
    let ballast = disk.mount.join("ballast");
    fill(&ballast);
    // Nothing but the log grows: the rows keep their size.
    let mut version = 0;
    let update = |version: u64| {
        format!("UPDATE d.t SET version = {version}, filler = REPEAT('{}', 2000)", version % 10)
    };
    let error = loop {
        match client.execute(&update(version + 1)) {
            Ok(()) => version += 1,
            Err(error) => break error,
        }
        assert!(version < 1000, "the log never fills the disk");
    };
    assert_eq!(error.number, 1114, "{error:?}");
    let versions = |client: &mut support::RawClient| {
        let rows = client.query("SELECT MIN(version), MAX(version) FROM d.t").expect("reading goes on");
        rows[0].clone()
    };
    let expected = vec![Some(version.to_string()); 2];
    assert_eq!(versions(&mut client), expected, "the failed statement left nothing");
    assert_eq!(versions(&mut server.log_in()), expected, "new clients are let in");
    std::fs::remove_file(&ballast).expect("removable");
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(error) = client.execute(&update(version + 1)) {
        assert!(error.number == 1114 && Instant::now() < deadline, "there is space again: {error:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    client.execute("INSERT INTO d.t (version) VALUES (0)").expect("and no restart was needed");
    drop(client);
    let directory = server.kill_nine();
    let server = TestServer::start_in(directory, &options);
    let mut client = server.log_in();
    assert_eq!(count(&mut client), ROWS_PER_STATEMENT + 1);
    assert_eq!(versions(&mut client), [Some("0".to_owned()), Some((version + 1).to_string())]);
    drop(client);
    let directory = server.kill_nine();
    drop(disk);
    drop(directory);
}
