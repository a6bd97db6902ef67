//! What the host gives to a data directory: file system, disk, room, rights, memory, limits and clock.
//!
//! Invariant: each finding has its evidence and the command that mends it. Called by `directory`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::Access;
use rustix::process::{Resource, geteuid, getrlimit};

use crate::examination::{Examination, size_text};
use crate::place::{Place, existing, room};

/// Left free beside what the server is known to want.
const ROOM_BYTES: u64 = 1 << 30;
const FILES_FREE_MIN: u64 = 1000;
/// So far in the future a file's time is no error of rounding.
const CLOCK_SLACK: Duration = Duration::from_secs(60);
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0";

/// Looks at the host for a server with such a pool, whose files may still grow so much.
pub fn examine(directory: &Path, pool_bytes: u64, growth_bytes: u64) -> Examination {
    let mut found = Examination::default();
    let folder = existing(directory);
    rights(&mut found, directory, &folder);
    if let Some(place) = Place::of(&folder) {
        file_system(&mut found, directory, &place);
        disk(&mut found, &place);
    }
    space(&mut found, &folder, growth_bytes);
    memory(&mut found, pool_bytes);
    limits(&mut found);
    clock(&mut found, directory);
    found
}

fn rights(found: &mut Examination, directory: &Path, folder: &Path) {
    let shown = directory.display();
    let Ok(about) = std::fs::metadata(folder) else { return };
    if !directory.exists() {
        found.fact("directory", "does not exist", "the first start makes it, for its owner alone");
    } else if !about.is_dir() {
        found.obstacle(
            "this is a file",
            format!("{shown} is not a directory"),
            "name the directory: evenkeel doctor DATADIR".into(),
        );
        return;
    }
    let user = geteuid().as_raw();
    if rustix::fs::access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
        found.obstacle(
            "no right to write there",
            format!(
                "{} belongs to user {} and has mode {:o}; this is user {user}",
                folder.display(),
                about.uid(),
                about.mode() & 0o777
            ),
            format!("sudo install -d -o {user} -m 700 {shown}"),
        );
    }
    if !directory.exists() {
        return;
    }
    found.fact(
        "directory",
        format!("user {}, mode {:o}", about.uid(), about.mode() & 0o777),
        "the server runs as its owner",
    );
    if about.uid() != user {
        found.finding(
            "the directory belongs to another user",
            format!("{shown} is of user {}, and this is user {user}", about.uid()),
            format!("sudo -u '#{}' evenkeel serve --datadir {shown}", about.uid()),
            "the files of a start have the same owner as those that are there",
        );
    }
    if about.mode() & 0o1000 != 0 {
        found.finding(
            "everybody may make files there",
            format!("{shown} has mode {:o}, as folders for temporary files have", about.mode() & 0o7777),
            format!("evenkeel serve --datadir {shown}/evenkeel, or another folder of its own"),
            "only the server's user reads and removes its files",
        );
    } else if about.mode() & 0o077 != 0 {
        found.finding(
            "others may look into the data",
            format!("{shown} has mode {:o}", about.mode() & 0o777),
            format!("chmod 700 {shown}"),
            "only the server's user reads the tables",
        );
    }
}

fn file_system(found: &mut Examination, directory: &Path, place: &Place) {
    let (shown, kind, point) = (directory.display(), place.kind.as_str(), &place.mount_point);
    found.fact("file system", format!("{kind} at {point}"), format!("{} ({})", place.source, place.options));
    let trouble = match kind {
        "tmpfs" | "ramfs" => Some((
            "the data is in memory",
            "choose a directory on a disk: evenkeel serve --datadir /var/lib/evenkeel".to_owned(),
            "the data outlives a power cut",
        )),
        "overlay" => Some((
            "the data goes with its container",
            format!("mount a volume there: --volume evenkeel-data:{shown}"),
            "the data outlives the container",
        )),
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" => Some((
            "the data is on another machine",
            format!("evenkeel device {shown}  (what a sync costs), then a local disk if that is too much"),
            "a commit takes a sync of the disk and no way through the network",
        )),
        _ if kind.starts_with("fuse") => Some((
            "the file system is a program",
            format!("evenkeel device {shown}  (what a sync costs), then a file system of the kernel"),
            "a sync is known to reach the disk",
        )),
        _ => None,
    };
    if let Some((title, action, effect)) = trouble {
        found.finding(title, format!("{point} is a {kind}"), action, effect);
    }
    if place.has_option("nobarrier") || place.has_option("barrier=0") {
        found.finding(
            "a power cut may lose what was committed",
            format!("{point} is mounted without barriers ({})", place.options),
            format!("mount -o remount,barrier=1 {point}"),
            "a sync empties the cache of the disk",
        );
    }
}

fn disk(found: &mut Examination, place: &Place) {
    let Some(disk) = place.disk() else { return };
    let rotates = match disk.rotates {
        Some(true) => "rotates",
        Some(false) => "does not rotate",
        None => "virtual",
    };
    let cache = if disk.write_cache.is_empty() { "unknown" } else { &disk.write_cache };
    found.fact(
        "disk",
        format!("{}, {rotates}", disk.name),
        format!("write cache: {cache}, scheduler: {}; evenkeel device DATADIR measures it", disk.scheduler),
    );
    if disk.rotates != Some(true) && matches!(disk.scheduler.as_str(), "bfq" | "cfq") {
        found.finding(
            "the scheduler of the disk is one for rotating disks",
            format!("{} has {}", disk.name, disk.scheduler),
            format!("echo none > /sys/block/{}/queue/scheduler", disk.name),
            "operations go to the disk at once",
        );
    }
}

fn space(found: &mut Examination, folder: &Path, growth_bytes: u64) {
    let Some(room) = room(folder) else { return };
    let (free, all) = (size_text(room.bytes_free), size_text(room.bytes));
    let wanted = growth_bytes + ROOM_BYTES;
    found.fact("room", format!("{free} of {all} free"), format!("{} are wanted soon", size_text(wanted)));
    if room.is_read_only {
        found.obstacle(
            "the file system is read-only",
            format!("{} cannot be written", folder.display()),
            "mount -o remount,rw on it; if the kernel made it so, look for errors of the disk: dmesg | tail"
                .into(),
        );
    }
    if room.bytes_free < wanted {
        found.finding(
            "the disk is nearly full",
            format!("{free} are free; the log and the data may take {} soon", size_text(wanted)),
            format!(
                "make room or a larger disk; what takes it: du -xh {} | sort -h | tail",
                folder.display()
            ),
            "changes do not fail with error 1114",
        );
    }
    if room.files > 0 && room.files_free < FILES_FREE_MIN {
        found.finding(
            "the file system has hardly a file left",
            format!("{} of {} are free (df -i)", room.files_free, room.files),
            "remove files that are not needed".into(),
            "the log and temporary files can be made",
        );
    }
}

fn memory(found: &mut Examination, pool_bytes: u64) {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        number.unwrap_or(0) * 1024
    };
    let (available, pool) = (bytes("MemAvailable"), size_text(pool_bytes));
    let swap = bytes("SwapTotal");
    found.fact(
        "memory",
        format!("{} of {} available", size_text(available), size_text(bytes("MemTotal"))),
        if swap == 0 { "no swap".to_owned() } else { format!("swap of {}", size_text(swap)) },
    );
    if available > 0 && pool_bytes > available {
        let fits = (available / 4 * 3) >> 20;
        found.finding(
            "the buffer pool does not fit into the memory that is free now",
            format!("it may have {pool}, and {} are available", size_text(available)),
            format!("evenkeel serve --innodb-buffer-pool-size={fits}M, or end what else takes memory"),
            "the kernel does not end the server when the pool has filled",
        );
    }
    let setting = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/vm/{name}")).unwrap_or_default();
        text.trim().parse::<u64>().unwrap_or(0)
    };
    let swappiness = setting("swappiness");
    if swap > 0 && swappiness > 10 {
        found.finding(
            "the kernel likes to swap",
            format!("vm.swappiness is {swappiness} and there is swap"),
            "sysctl -w vm.swappiness=1".into(),
            "pages of the pool stay in memory when files are copied on this host",
        );
    }
    let left = bytes("CommitLimit").saturating_sub(bytes("Committed_AS"));
    if setting("overcommit_memory") == 2 && left < pool_bytes {
        found.obstacle(
            "the kernel does not promise so much memory",
            format!("vm.overcommit_memory is 2, {} are left, and the pool may have {pool}", size_text(left)),
            "sysctl -w vm.overcommit_memory=0, or a smaller --innodb-buffer-pool-size".into(),
        );
    }
}

fn limits(found: &mut Examination) {
    let shown = |limit: Option<u64>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    let files = getrlimit(Resource::Nofile);
    found.fact(
        "open files",
        shown(files.maximum),
        format!("ulimit -Hn; the soft limit, {}, is raised by the server", shown(files.current)),
    );
    if let Some(limit) = getrlimit(Resource::Fsize).current {
        found.finding(
            "files may not grow",
            format!("this process may write files of {} (ulimit -f)", size_text(limit)),
            "ulimit -f unlimited, or LimitFSIZE=infinity in the unit".into(),
            "the data grows until the disk is full",
        );
    }
}

fn clock(found: &mut Examination, directory: &Path) {
    let read = |name: &str| {
        std::fs::read_to_string(format!("{CLOCK_SOURCE}/{name}"))
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    };
    let (source, sources) = (read("current_clocksource"), read("available_clocksource"));
    if !source.is_empty() {
        found.fact("clock", source.as_str(), format!("of {sources}"));
    }
    if matches!(source.as_str(), "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies") {
        let better = sources.split(' ').find(|name| ["tsc", "kvm-clock", "arch_sys_counter"].contains(name));
        found.finding(
            "reading the clock is slow",
            format!("the kernel's clock is {source}, which takes a system call"),
            match better {
                Some(better) => format!("echo {better} > {CLOCK_SOURCE}/current_clocksource"),
                None => "dmesg | grep -i tsc tells why the processor's own clock is not used".into(),
            },
            "each statement's times are taken in nanoseconds",
        );
    }
    let now = SystemTime::now();
    let newest = newest_file(directory);
    if let Some(ahead) = newest.and_then(|newest| newest.duration_since(now).ok())
        && ahead > CLOCK_SLACK
    {
        found.finding(
            "the clock is behind the data",
            format!("a file in {} is {} s younger than now", directory.display(), ahead.as_secs()),
            "timedatectl set-ntp true, or chronyc makestep".into(),
            "NOW(), events and the expiry of binary logs are right",
        );
    }
}

/// Of the directory and the folders in it.
fn newest_file(directory: &Path) -> Option<SystemTime> {
    let times = |folder: &Path| -> Vec<(std::path::PathBuf, Option<SystemTime>)> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| (entry.path(), entry.metadata().and_then(|about| about.modified()).ok()))
            .collect()
    };
    let top = times(directory);
    let below = top.iter().filter(|(path, _)| path.is_dir()).flat_map(|(path, _)| times(path));
    below.chain(top.iter().cloned()).filter_map(|(_, time)| time).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(found: &Examination) -> Vec<&str> {
        found.obstacles.iter().chain(&found.findings).map(|finding| finding.title.as_str()).collect()
    }

    #[test]
    fn kinds_of_file_systems_have_their_findings() {
        let judged = |kind: &str, options: &str| {
            let mut found = Examination::default();
            let place = Place { kind: kind.into(), options: options.into(), ..Place::default() };
            file_system(&mut found, Path::new("/data"), &place);
            titles(&found).join("; ")
        };
        assert_eq!(judged("ext4", "rw"), "");
        assert_eq!(judged("tmpfs", "rw"), "the data is in memory");
        assert_eq!(judged("nfs4", "rw"), "the data is on another machine");
        assert_eq!(judged("fuse.sshfs", "rw"), "the file system is a program");
        assert_eq!(judged("ext4", "rw,nobarrier"), "a power cut may lose what was committed");
    }

    #[test]
    fn what_is_wrong_with_a_directory_is_found() {
        let folder = std::env::temp_dir().join(format!("evenkeel-doctor-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("later"), "x").unwrap();
        let later = SystemTime::now() + Duration::from_secs(5000);
        std::fs::File::options()
            .append(true)
            .open(folder.join("later"))
            .unwrap()
            .set_modified(later)
            .unwrap();
        let mut mode = std::fs::metadata(&folder).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(&folder, mode).unwrap();
        let found = examine(&folder, 1 << 60, 1 << 60);
        for title in [
            "others may look into the data",
            "the disk is nearly full",
            "the buffer pool does not fit into the memory that is free now",
            "the clock is behind the data",
        ] {
            assert!(titles(&found).contains(&title), "{title}: {:?}", titles(&found));
        }
        let file = examine(&folder.join("later"), 0, 0);
        assert_eq!(file.obstacles[0].title, "this is a file");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
