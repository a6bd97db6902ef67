//! A computer whose power can be cut: Linux as an ordinary process (User-Mode Linux).
//!
//! Its root is the host's file system, read-only; its disk is a file. SIGKILL of its processes takes from it what a power
//! cut takes: its memory, with the page cache in it. What the disk had been given before stays. What the guest wants to be
//! known later it writes into a directory of the host, or says in lines that begin with "@ ".

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const KERNEL: &str = "linux.uml";
const MEMORY: &str = "mem=384M";
const DEATH_MAX: Duration = Duration::from_secs(30);
const LAST_LINES: usize = 40;
/// Before a line to the host.
const MARK: &str = "@ ";

/// What is missing here of the things that a guest needs, and of `more`.
pub fn missing(more: &[&'static str]) -> Option<String> {
    let is_there = |program: &str| {
        let folders = std::env::var("PATH").unwrap_or_default();
        let folders = folders.split(':').chain(["/usr/sbin", "/sbin"]);
        folders.map(|folder| Path::new(folder).join(program)).any(|path| path.is_file())
    };
    let programs = [KERNEL, "mkfs.ext4", "e2fsck", "ip"];
    let mut programs = programs.iter().chain(more);
    programs.find(|program| !is_there(program)).map(|program| (*program).to_owned())
}

/// A new disk with an empty file system.
pub fn make_disk(path: &Path, bytes: u64, has_journal: bool) {
    let _ = std::fs::remove_file(path);
    File::create(path).and_then(|file| file.set_len(bytes)).expect("a disk can be made");
    let journal = if has_journal { "has_journal" } else { "^has_journal" };
    let mut command = tool("mkfs.ext4");
    let status = command.args(["-q", "-F", "-O", journal]).arg(path).status().expect("mkfs.ext4 was found");
    assert!(status.success(), "mkfs.ext4 ended with {status}");
}

/// A program that may be where only root looks for programs.
pub fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
    command.stdin(Stdio::null());
    command
}

pub struct Guest {
    child: Child,
    lines: Receiver<String>,
    /// What it said last, for whoever has to find out why.
    last: VecDeque<String>,
    is_dead: bool,
}

impl Guest {
    /// Boots; `orders` are in the environment of what runs there. With `log`, every write to the disk goes there too.
    pub fn boot(disk: &Path, log: Option<&Path>, host: &Path, orders: &[(&str, String)]) -> Self {
        let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/power_cut/first_process");
        let first = first.canonicalize().expect("the first process is in the repository");
        let load = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(KERNEL);
        command.args([
            MEMORY,
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "quiet",
            "con=null",
            "con0=null,fd:1",
        ]);
        command.arg(format!("ubd0={}", disk.display())).arg(format!("init={}", first.display()));
        command.arg(format!("CUT_HOST={}", host.display())).arg(format!("CUT_LOAD={}", load.display()));
        if let Some(log) = log {
            command.arg(format!("ubd1={}", log.display())).arg("CUT_LOG=1");
        }
        // A guest's processor is a share of the host's, and a test may run beside much else.
        command.arg("EVENKEEL_TEST_PATIENCE=20");
        for (name, value) in orders {
            command.arg(format!("{name}={value}"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().expect("the kernel was found");
        let output = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, last: VecDeque::new(), is_dead: false }
    }

    /// The next line to the host, without its mark; `None` when there is none until `deadline`.
    pub fn line_until(&mut self, deadline: Instant) -> Option<String> {
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let said = line.strip_prefix(MARK).map(str::to_owned);
                    if self.last.len() == LAST_LINES {
                        self.last.pop_front();
                    }
                    self.last.push_back(line);
                    if said.is_some() {
                        return said;
                    }
                }
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the guest ended by itself:\n{}", self.said_last())
                }
            }
        }
    }

    pub fn said_last(&self) -> String {
        Vec::from(self.last.clone()).join("\n")
    }

    /// Cuts the power; returns when nothing of the guest runs any more. Answers the lines not yet taken.
    pub fn cut(mut self) -> Vec<String> {
        self.kill();
        let lines = self.lines.iter().filter_map(|line| line.strip_prefix(MARK).map(str::to_owned));
        lines.collect()
    }

    fn kill(&mut self) {
        if std::mem::replace(&mut self.is_dead, true) {
            return;
        }
        let group = format!("-{}", self.child.id());
        let signal = |name: &str| {
            let mut command = Command::new("kill");
            command.args([name, "--", &group]).stderr(Stdio::null());
            command.status().expect("kill exists").success()
        };
        signal("-KILL");
        self.child.wait().expect("a child ends");
        // The guest's processes are processes of the host too; one of them may be amid a write to the disk.
        let deadline = Instant::now() + DEATH_MAX;
        while signal("-0") {
            assert!(Instant::now() < deadline, "the guest's processes do not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where the guest has its disk and the host's directory.
pub fn disk_in_the_guest() -> PathBuf {
    PathBuf::from("/mnt/disk")
}

pub fn host_in_the_guest() -> PathBuf {
    PathBuf::from("/mnt/host")
}

/// Tells the host, from within the guest.
pub fn say(text: &str) {
    println!("{MARK}{}", text.replace('\n', " | "));
}
