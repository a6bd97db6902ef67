//! What a server knows of a data directory for `evenkeel doctor DATADIR`: its choices with the options given, and whether
//! the headers of the files there are sound.
//!
//! Invariant: nothing is written, and no page beyond the headers is read: `verify` does that. Called by `main` through
//! `companion`.

use std::net::{TcpListener, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use companion::{Examination, size_text};
use engine::Inspected;
use env::local::{ThreadSpawner, block_on};
use env::real::uring::Reactor;

use crate::data_directory::{hint_of_missing_files, hold_for_reading};
use crate::machine;
use crate::options::{Command, Settings, parse_command_line};

const DATA_FILE: &str = "data/pages.db";

/// Looks at a directory for a server with these options of `serve`.
pub fn examine(directory: &Path, options: &[String]) -> Result<Examination, String> {
    let mut arguments = vec!["serve".to_owned()];
    arguments.extend_from_slice(options);
    arguments.push(format!("--datadir={}", directory.display()));
    let Command::Serve(mut settings) = parse_command_line(&arguments)? else {
        return Err("behind -- come options of `evenkeel serve`, as --port=3307".into());
    };
    let mut found = Examination::default();
    let in_use = files(&mut found, directory);
    memory(&mut found, &mut settings, directory);
    machine_use(&mut found, &mut settings);
    durability(&mut found, &settings);
    if !in_use {
        port(&mut found, &settings);
    }
    for warning in &settings.warnings {
        found.finding(
            "an option is not taken as it was given",
            warning.clone(),
            "correct it; evenkeel serve --help lists the options".into(),
            "the server runs as you think it does",
        );
    }
    Ok(found)
}

fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |about| about.len())
}

/// The headers. True when a server has the directory.
fn files(found: &mut Examination, directory: &Path) -> bool {
    let shown = directory.display();
    let entries = std::fs::read_dir(directory).map_or(0, Iterator::count);
    let hint = hint_of_missing_files(directory, entries == 0);
    if let Some(what) = hint.strip_prefix("; ") {
        found.obstacle("this is not the data of a server", what.into(), format!("ls -la {shown}"));
        return false;
    }
    if let Err(why) = crate::copy_directory::refuse_unfinished(directory) {
        found.obstacle("a copy was not finished", why, format!("rm -r {shown}, then the copy again"));
        return false;
    }
    if entries == 0 {
        found.fact("data", "none yet", "the first start makes it");
        return false;
    }
    let _lock = match hold_for_reading(directory) {
        Ok(lock) => lock,
        Err(why) => {
            found.fact("data", "in use", format!("{why}; its headers were left alone"));
            return true;
        }
    };
    let size = size_text(file_bytes(&directory.join(DATA_FILE)));
    let environment = || env::real::scratch_env(directory, Arc::new(ThreadSpawner::new(1)));
    let damaged = |found: &mut Examination, what: &str, why: String| {
        found.obstacle(
            what,
            why,
            format!("evenkeel verify {shown}  (what else is concerned), then restore the last backup"),
        );
    };
    match block_on(engine::inspect(&environment(), Inspected::Superblock)) {
        Ok(text) if text.contains("not valid") => {
            found.fact("data", size, "one superblock of two is valid: a start takes that one");
        }
        Ok(_) => found.fact("data", size, "both superblocks are sound"),
        Err(error) => damaged(found, "no superblock can be used", error.to_string()),
    }
    match block_on(engine::inspect(&environment(), Inspected::Log(None))) {
        Ok(text) => {
            let groups = text.lines().filter(|line| line.starts_with("group ")).count();
            let last = text.lines().last().unwrap_or_default();
            if last == "end of the log" {
                found.fact("log", "sound", format!("{groups} groups behind the checkpoint"));
            } else if last.starts_with("there is more") {
                let why =
                    format!("more than {groups} groups behind the checkpoint; the next start reads them");
                found.fact("log", "sound at its beginning", why);
            } else {
                damaged(found, "the log is damaged behind the checkpoint", last.to_owned());
            }
        }
        Err(error) => damaged(found, "the log cannot be read from the checkpoint on", error.to_string()),
    }
    false
}

fn memory(found: &mut Examination, settings: &mut Settings, directory: &Path) {
    let machine = machine::memory_bytes();
    let asked = settings.buffer_pool_bytes;
    settings.fit_to_machine(machine);
    let (pool, data) = (settings.buffer_pool_bytes, file_bytes(&directory.join(DATA_FILE)));
    let how = if pool < asked { "cut to what the machine has" } else { "innodb-buffer-pool-size" };
    let all = size_text(machine);
    found.fact(
        "buffer pool",
        size_text(pool),
        format!("{how}; at most 75 % of the {all} this process may use"),
    );
    let sessions = settings.session_memory_bytes(machine);
    let how = match settings.session_memory_bytes_given {
        0 => "as much as the pool, within half of what it leaves; session-memory-size",
        _ => "session-memory-size",
    };
    found.fact("for statements", size_text(sessions), how);
    let wanted = (data + data / 10).min(machine / 4 * 3);
    if machine > 0 && data > pool && wanted >= pool + pool / 2 {
        found.finding(
            "the buffer pool is small for the data",
            format!("the data has {}, the pool {}, and the machine {all}", size_text(data), size_text(pool)),
            format!("evenkeel serve --innodb-buffer-pool-size={}M", wanted >> 20),
            "reads that wait for the disk become reads from memory",
        );
    }
    if let Err(why) = settings.check_address_space(env::real::address_space_limit()) {
        found.obstacle("the address space is limited", why, "ulimit -v unlimited".into());
    }
    let log = std::fs::read_dir(directory.join("wal")).into_iter().flatten().flatten();
    let log: u64 = log.map(|entry| file_bytes(&entry.path())).sum();
    found.pool_bytes = pool;
    found.growth_bytes = settings.redo_capacity_bytes.saturating_sub(log) + data / 10;
}

fn machine_use(found: &mut Examination, settings: &mut Settings) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (workers, why) = match settings.worker_count {
        0 => (processors, "one for each processor this process may use; worker-threads".to_owned()),
        count => (count, format!("worker-threads; this process may use {processors} processors")),
    };
    found.fact("workers", workers.to_string(), why);
    // Only the server's own limit counts, which it raises like this.
    if let Some(files) = env::real::open_as_many_files_as_possible() {
        settings.fit_to_files(files, workers);
    }
    let connections = settings.variables.iter().find(|(name, _)| name == "max_connections");
    let connections = connections.map_or("151", |(_, count)| count);
    found.fact("connections", connections, "max-connections, as far as there are files for them");
    match Reactor::new(1) {
        Ok(_) => found.fact("input and output", "io_uring", "the kernel allows it"),
        Err(error) => {
            found.fact("input and output", "a pool of threads", format!("no io_uring: {error}"));
            found.finding(
                "io_uring is forbidden",
                format!("the kernel answers: {error}"),
                "sysctl -w kernel.io_uring_disabled=0, or allow it in the container's seccomp profile".into(),
                "reads and writes need no thread of their own",
            );
        }
    }
}

fn durability(found: &mut Examination, settings: &Settings) {
    let log = size_text(settings.redo_capacity_bytes);
    found.fact(
        "log",
        format!("up to {log}"),
        "innodb-redo-log-capacity: a longer one spares writes of pages",
    );
    let (value, why) = match settings.flush_log_at_commit {
        1 => ("durable", "innodb-flush-log-at-trx-commit=1: a commit is answered when it is on the disk"),
        _ => ("relaxed", "innodb-flush-log-at-trx-commit is not 1"),
    };
    found.fact("commits", value, why);
    if settings.flush_log_at_commit != 1 {
        found.finding(
            "a crash may lose what was committed",
            format!("innodb-flush-log-at-trx-commit={}", settings.flush_log_at_commit),
            "leave it out, or set it to 1, unless that is wanted".into(),
            "commits survive a power cut; each costs a sync",
        );
    }
    match &settings.binary_log {
        Some(name) => found.fact("binary log", name.as_str(), "log-bin: replicas can follow"),
        None => found.fact("binary log", "off", "log-bin: no replica can follow"),
    }
}

/// Whether somebody has the port already.
fn port(found: &mut Examination, settings: &Settings) {
    if !settings.listens_on_tcp {
        found.fact("port", "none", "skip-networking");
        return;
    }
    let (host, port) = (settings.bind_address.as_str(), settings.port);
    let host = if host == "*" { "0.0.0.0" } else { host };
    found.fact("port", format!("{host}:{port}"), "bind-address and port");
    let addresses: Vec<_> = match (host, port).to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => {
            let why = format!("bind-address={host}: {error}");
            found.obstacle("the address is not known", why, "--bind-address=127.0.0.1".into());
            return;
        }
    };
    if let Some(error) = addresses.iter().find_map(|address| TcpListener::bind(address).err()) {
        found.obstacle(
            "the port cannot be had",
            format!("{host}:{port}: {error}"),
            format!("ss -ltnp 'sport = :{port}' tells who has it; --port={}", port.saturating_add(1)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examined(directory: &Path, options: &[&str]) -> Examination {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        examine(directory, &options).expect("valid options")
    }

    fn obstacles(found: &Examination) -> Vec<&str> {
        found.obstacles.iter().map(|finding| finding.title.as_str()).collect()
    }

    #[test]
    fn choices_follow_from_options_and_the_machine() {
        let nowhere = std::env::temp_dir().join("evenkeel-doctor-nowhere");
        let found = examined(&nowhere, &["--worker-threads=3", "--innodb-flush-log-at-trx-commit=2"]);
        let value = |topic: &str| {
            let fact = found.facts.iter().find(|fact| fact.topic == topic);
            fact.map(|fact| fact.value.as_str())
        };
        assert_eq!((value("workers"), value("commits")), (Some("3"), Some("relaxed")));
        assert_eq!((value("data"), value("buffer pool")), (Some("none yet"), Some("128 MiB")));
        assert!(found.findings.iter().any(|finding| finding.evidence.contains("trx-commit=2")));
        assert!(examine(&nowhere, &["--frobnicate".into()]).is_err());
        assert!(examine(&nowhere, &["--help".into()]).is_err());
    }

    #[test]
    fn a_taken_port_and_foreign_data_are_obstacles() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = format!("--port={}", taken.local_addr().expect("bound").port());
        let folder = std::env::temp_dir().join(format!("evenkeel-doctor-foreign-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("ibdata1"), "x").expect("written");
        let found = examined(&folder, &[&port]);
        assert_eq!(obstacles(&found), ["this is not the data of a server", "the port cannot be had"]);
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
