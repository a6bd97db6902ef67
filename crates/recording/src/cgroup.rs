//! The control group of the server's process: what it used, and the limits on its disks.
//!
//! Invariant: both kinds of hierarchies are read, and a file that is absent takes nothing from the rest. Called by `host`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Values;
use crate::pressure::pressure;

/// The folder of a process's group, unless the group is the host itself, which is sampled anyway.
pub fn cgroup_of(process: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = format!("/sys/fs/cgroup{path}");
    (path != "/" && Path::new(&folder).exists()).then_some(folder)
}

/// What the group used and waited for.
pub fn cgroup_values(folder: &str, values: &mut Values) {
    for line in fs::read_to_string(format!("{folder}/cpu.stat")).unwrap_or_default().lines() {
        if let Some((name, value)) = line.split_once(' ') {
            values.insert(format!("cgroup.cpu.{name}"), value.parse().unwrap_or(0.0));
        }
    }
    for line in fs::read_to_string(format!("{folder}/io.stat")).unwrap_or_default().lines() {
        for (name, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
            *values.entry(format!("cgroup.io.{name}")).or_default() += value.parse().unwrap_or(0.0);
        }
    }
    if let Ok(text) = fs::read_to_string(format!("{folder}/memory.current")) {
        values.insert("cgroup.memory".into(), text.trim().parse().unwrap_or(0.0));
    }
    pressure(folder, "cgroup.psi", values);
}

/// The folder with the limits on disks of a process's group, unless the group is the host itself.
pub fn limits_of(process: u32) -> Option<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let old = text
        .lines()
        .find_map(|line| line.split_once(":blkio:"))
        .map(|(_, path)| ("/sys/fs/cgroup/blkio", path));
    let new = text.lines().find_map(|line| line.strip_prefix("0::")).map(|path| ("/sys/fs/cgroup", path));
    let (root, path) = [old, new].into_iter().flatten().find(|(_, path)| *path != "/")?;
    Some(Path::new(&format!("{root}{path}")).to_owned())
}

/// The smallest limit of each kind that is set.
pub fn limit_values(folder: &Path, values: &mut Values) {
    let mut put = |name: &str, limit: f64| {
        let least = values.entry(format!("cgroup.limit.{name}")).or_insert(limit);
        *least = least.min(limit);
    };
    // 8:0 rbps=max wbps=max riops=max wiops=500
    for word in fs::read_to_string(folder.join("io.max")).unwrap_or_default().split_whitespace() {
        if let Some((name, limit)) = word.split_once('=')
            && let Ok(limit) = limit.parse()
        {
            put(name, limit);
        }
    }
    for (file, name) in
        [("read_iops", "riops"), ("write_iops", "wiops"), ("read_bps", "rbps"), ("write_bps", "wbps")]
    {
        let text =
            fs::read_to_string(folder.join(format!("blkio.throttle.{file}_device"))).unwrap_or_default();
        for limit in text.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()) {
            put(name, limit);
        }
    }
}

/// Operations and bytes of the group on all disks, as the older kind of groups counts them; the newer one's `io.stat`
/// is among the values of `cgroup_values`, under the same names.
pub fn operation_values(folder: &Path, values: &mut Values) {
    for (file, ends) in [("io_serviced", ["rios", "wios"]), ("io_service_bytes", ["rbytes", "wbytes"])] {
        let Ok(text) = fs::read_to_string(folder.join(format!("blkio.throttle.{file}"))) else { continue };
        for (kind, end) in ["Read", "Write"].into_iter().zip(ends) {
            let counts = text.lines().filter_map(|line| {
                let mut words = line.split_whitespace().skip(1);
                (words.next()? == kind).then(|| words.next()?.parse::<f64>().ok())?
            });
            values.insert(format!("cgroup.io.{end}"), counts.sum());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_kinds_of_groups_are_read() {
        let folder = std::env::temp_dir().join(format!("evenkeel-limits-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("io.max"), "8:0 rbps=max wbps=max riops=max wiops=500\n8:16 wiops=200\n")
            .unwrap();
        fs::write(folder.join("blkio.throttle.read_bps_device"), "254:0 1048576\n").unwrap();
        let mut values = Values::new();
        limit_values(&folder, &mut values);
        let wanted = [("cgroup.limit.rbps", 1_048_576.0), ("cgroup.limit.wiops", 200.0)];
        assert_eq!(values, wanted.map(|(name, value)| (name.to_owned(), value)).into());
        fs::write(
            folder.join("blkio.throttle.io_serviced"),
            "254:0 Read 7\n254:0 Write 9\n254:0 Total 16\n8:0 Read 1\nTotal 17\n",
        )
        .unwrap();
        let mut values = Values::new();
        operation_values(&folder, &mut values);
        let wanted = [("cgroup.io.rios", 8.0), ("cgroup.io.wios", 9.0)];
        assert_eq!(values, wanted.map(|(name, value)| (name.to_owned(), value)).into());
        fs::remove_dir_all(folder).unwrap();
    }
}
