//! What the host does: processors, the server's process, disks, cgroup and pressure, from /proc and /sys.
//!
//! Invariant: a file that is absent or not readable takes nothing from the rest. Counters are as the kernel has them,
//! in hundredths of a second, sectors of 512 bytes and microseconds. Used by `recorder`, `bench`, `companion`.

use std::fs;
use std::path::{Path, PathBuf};

use client::Dsn;
use serde_json::{Value, json};

use crate::Values;
use crate::cgroup::{cgroup_of, cgroup_values, limit_values, limits_of, operation_values};
use crate::pressure::pressure;
use crate::unseen::Unseen;

/// Every so many samples all processes are looked at; each time while no processor idles.
const ALL_PROCESSES_EVERY: u64 = 10;
/// Ticks of idleness between two samples below which the processors count as taken.
const IDLE_TICKS_MIN: f64 = 10.0;
const PROCESSES_SHOWN: usize = 5;

/// The host, and the process of the server if it is here.
#[derive(Debug, Clone, Default)]
pub struct Host {
    server: Option<u32>,
    /// Whether the server should be a process of this host.
    is_local: bool,
    cgroup: Option<String>,
    /// The limits on disks of the server's group, which the older kind of cgroups has in a folder of its own.
    limits: Option<PathBuf>,
    /// Where the server's data lies, as this process sees it.
    data: Option<PathBuf>,
    turn: u64,
    idle: f64,
    processes: Vec<(u32, f64)>,
    /// When they were looked at.
    looked: u64,
    /// The busiest, as they were found last.
    shown: Values,
}

impl Host {
    /// Looks for the process that listens where the server is.
    #[must_use]
    pub fn of(dsn: &Dsn) -> Self {
        let server = listening_process(dsn);
        let (cgroup, limits) = (server.and_then(cgroup_of), server.and_then(limits_of));
        Self { server, is_local: dsn.is_local(), cgroup, limits, ..Self::default() }
    }

    /// Watches the room on the disk of the server's data; `folder` is as the server names it.
    pub fn watch_data(&mut self, folder: &str) {
        let Some(process) = self.server.filter(|_| !folder.is_empty()) else { return };
        let way = if folder.starts_with('/') { "root" } else { "cwd" };
        self.data =
            Some(Path::new("/proc").join(process.to_string()).join(way).join(folder.trim_start_matches('/')));
    }

    /// Where the server's data lies, once that is watched.
    pub(crate) fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// Disk operations so far: those of the server's control group, or where it has none of its own, those of the whole
    /// host, and whether they are that.
    #[must_use]
    pub fn operations(&self) -> Option<(u64, bool)> {
        let mut values = Values::new();
        self.cgroup.iter().for_each(|cgroup| cgroup_values(cgroup, &mut values));
        self.limits.iter().for_each(|folder| operation_values(folder, &mut values));
        let own = values.get("cgroup.io.rios").zip(values.get("cgroup.io.wios"));
        match own {
            Some((reads, writes)) => Some(((reads + writes) as u64, false)),
            None if self.is_local => host_operations().map(|operations| (operations, true)),
            None => None,
        }
    }

    /// The server's process.
    #[must_use]
    pub fn server(&self) -> Option<u32> {
        self.server
    }

    /// What of a server on this host cannot be sampled.
    #[must_use]
    pub fn unseen(&self) -> Vec<Unseen> {
        let Some(process) = self.server else {
            let what = "processor, memory and input/output of the server's process";
            let why = "no process is seen that listens there; root sees those of all accounts";
            return if self.is_local { vec![Unseen::new(what, why)] } else { Vec::new() };
        };
        let io = fs::read_to_string(format!("/proc/{process}/io"));
        let why = io.err().map(|error| format!("/proc/{process}/io: {error}"));
        why.into_iter().map(|why| Unseen::new("input and output of the server's process", why)).collect()
    }

    /// One sample.
    pub fn sample(&mut self) -> Values {
        let mut values = Values::new();
        processors(&mut values);
        disks(&mut values);
        pressure("/proc/pressure", "psi", &mut values);
        memory(&mut values);
        if let Some(process) = self.server {
            process_values(process, &mut values);
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup_values(cgroup, &mut values);
        }
        if let Some(folder) = &self.limits {
            limit_values(folder, &mut values);
            operation_values(folder, &mut values);
        }
        if let Some(room) = self.data.as_ref().and_then(|data| rustix::fs::statvfs(data).ok()) {
            values.insert("host.data_free_bytes".into(), (room.f_bavail * room.f_frsize) as f64);
            values.insert("host.data_bytes".into(), (room.f_blocks * room.f_frsize) as f64);
        }
        let idle = values.get("cpu.idle").copied().unwrap_or(0.0);
        let is_taken = idle - std::mem::replace(&mut self.idle, idle) < IDLE_TICKS_MIN;
        if is_taken || self.turn.is_multiple_of(ALL_PROCESSES_EVERY) {
            self.shown = self.busiest();
        }
        values.extend(self.shown.clone());
        self.turn += 1;
        values
    }

    /// The processes that used the processors most since they were looked at last.
    fn busiest(&mut self) -> Values {
        let mut values = Values::new();
        let mut now = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            if let Some((name, ticks)) = ticks_of(process) {
                now.push((process, name, ticks));
            }
        }
        let before =
            |process| self.processes.iter().find(|(other, _)| *other == process).map(|(_, ticks)| *ticks);
        let turns = (self.turn - std::mem::replace(&mut self.looked, self.turn)).max(1);
        if !self.processes.is_empty() {
            let mut used: Vec<(f64, String)> = now
                .iter()
                .map(|(process, name, ticks)| {
                    (ticks - before(*process).unwrap_or(0.0), format!("{name}[{process}]"))
                })
                .collect();
            used.sort_by(|left, right| right.0.total_cmp(&left.0));
            for (ticks, name) in used.into_iter().take(PROCESSES_SHOWN).filter(|(ticks, _)| *ticks > 0.0) {
                values.insert(format!("process.{name}"), ticks / turns as f64);
            }
        }
        self.processes = now.into_iter().map(|(process, _, ticks)| (process, ticks)).collect();
        values
    }

    /// What stays the same: name, kernel, processors, memory.
    #[must_use]
    pub fn describe(&self) -> Value {
        let word = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("");
        let count = processors.lines().filter(|line| line.starts_with("processor")).count();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap_or("0");
        json!({
            "name": word("/proc/sys/kernel/hostname"), "kernel": word("/proc/sys/kernel/osrelease"),
            "processors": count, "model": model.trim_start_matches(['\t', ' ', ':']),
            "memory_kb": total.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()),
            "server_process": self.server, "cgroup": self.cgroup,
        })
    }
}

/// Operations that all disks of this host have done.
fn host_operations() -> Option<u64> {
    let mut values = Values::new();
    disks(&mut values);
    let ends = [".reads", ".writes", ".flushes"];
    let operations = values.iter().filter(|(name, _)| ends.iter().any(|end| name.ends_with(end)));
    let sum: f64 = operations.map(|(_, value)| value).sum();
    (!values.is_empty()).then_some(sum as u64)
}

fn numbers(text: &str) -> impl Iterator<Item = f64> + '_ {
    text.split_whitespace().filter_map(|word| word.parse().ok())
}

fn processors(values: &mut Values) {
    const NAMES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    for line in fs::read_to_string("/proc/stat").unwrap_or_default().lines() {
        if let Some(rest) = line.strip_prefix("cpu ") {
            for (name, value) in NAMES.iter().zip(numbers(rest)) {
                values.insert(format!("cpu.{name}"), value);
            }
        }
        for (head, name) in
            [("procs_running", "cpu.running"), ("procs_blocked", "cpu.blocked"), ("ctxt", "cpu.switches")]
        {
            if let Some(value) = line.strip_prefix(head).and_then(|rest| numbers(rest).next()) {
                values.insert(name.into(), value);
            }
        }
    }
}

fn disks(values: &mut Values) {
    const NAMES: [(usize, &str); 10] = [
        (0, "reads"),
        (2, "read_sectors"),
        (3, "read_ms"),
        (4, "writes"),
        (6, "write_sectors"),
        (7, "write_ms"),
        (8, "in_flight"),
        (9, "busy_ms"),
        (10, "queue_ms"),
        (15, "flushes"),
    ];
    for line in fs::read_to_string("/proc/diskstats").unwrap_or_default().lines() {
        let mut words = line.split_whitespace().skip(2);
        let Some(name) = words.next() else { continue };
        // Partitions and made-up disks would count the same operation twice.
        let is_disk = Path::new("/sys/block").join(name).exists();
        if !is_disk || ["loop", "ram", "dm-", "md", "zram"].iter().any(|head| name.starts_with(head)) {
            continue;
        }
        let figures: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        if figures.iter().all(|figure| *figure == 0.0) {
            continue;
        }
        for (place, what) in NAMES {
            if let Some(value) = figures.get(place) {
                values.insert(format!("disk.{name}.{what}"), *value);
            }
        }
    }
}

fn memory(values: &mut Values) {
    for line in fs::read_to_string("/proc/meminfo").unwrap_or_default().lines() {
        for name in ["MemAvailable", "Dirty", "Writeback", "Cached"] {
            if let Some(value) = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) {
                values.insert(format!("memory.{name}_kb"), numbers(value).next().unwrap_or(0.0));
            }
        }
    }
}

/// A process's name and the processor time that it has used.
fn ticks_of(process: u32) -> Option<(String, f64)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    Some((name, fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?))
}

fn process_values(process: u32, values: &mut Values) {
    if let Some((_, ticks)) = ticks_of(process) {
        values.insert("server.cpu".into(), ticks);
    }
    if let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) {
        // T is a process that a signal or a debugger holds.
        let state = stat.rsplit_once(')').and_then(|(_, tail)| tail.trim_start().chars().next());
        values.insert(
            "server.stopped".into(),
            f64::from(u8::from(state.is_some_and(|state| "Tt".contains(state)))),
        );
    }
    for line in fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default().lines() {
        if let Some((name @ ("read_bytes" | "write_bytes" | "syscr" | "syscw"), value)) =
            line.split_once(": ")
        {
            values.insert(format!("server.{name}"), value.parse().unwrap_or(0.0));
        }
    }
    for line in fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default().lines() {
        for (head, name) in [("VmRSS:", "server.rss_kb"), ("Threads:", "server.threads")] {
            if let Some(value) = line.strip_prefix(head) {
                values.insert(name.into(), numbers(value).next().unwrap_or(0.0));
            }
        }
    }
}

/// The process that has the socket on which the server listens.
fn listening_process(dsn: &Dsn) -> Option<u32> {
    let inode = match &dsn.socket {
        Some(path) => {
            let table = fs::read_to_string("/proc/net/unix").ok()?;
            let path = path.to_str()?;
            let line = table.lines().find(|line| line.ends_with(path))?;
            line.split_whitespace().nth(6)?.to_owned()
        }
        None if dsn.is_local() => {
            let port = format!(":{:04X}", dsn.port);
            let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
            tables.iter().find_map(|table| {
                let table = fs::read_to_string(table).ok()?;
                let line = table.lines().find(|line| {
                    let mut words = line.split_whitespace().skip(1);
                    // 0A is the state of a socket that listens.
                    words.next().is_some_and(|address| address.ends_with(&port)) && words.nth(1) == Some("0A")
                })?;
                Some(line.split_whitespace().nth(9)?.to_owned())
            })?
        }
        None => return None,
    };
    let wanted = format!("socket:[{inode}]");
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let files = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
        if links.any(|link| link.to_str() == Some(&wanted)) {
            return Some(process);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_process_is_found_and_sampled() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let dsn = Dsn::parse(&format!("127.0.0.1:{port}")).unwrap();
        let mut host = Host::of(&dsn);
        assert_eq!(host.server(), Some(std::process::id()));
        host.watch_data(std::env::temp_dir().to_str().unwrap());
        let values = host.sample();
        assert_eq!(values["server.stopped"], 0.0);
        assert!(values["host.data_bytes"] > values["host.data_free_bytes"]);
        assert!(values["cpu.idle"] > 0.0);
        assert!(values["server.rss_kb"] > 0.0);
        assert!(host.describe()["processors"].as_u64().unwrap() > 0);
    }
}
