//! What a disk does: random and sequential reads and writes by size and depth, and how long a sync takes.
//!
//! Invariant: reads and writes go past the page cache where the file system allows it; the profile says whether it did.
//! The file is made and removed in the folder that is asked about. Called by `companion`.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::fs::OFlags;
use serde_json::{Value, json};
use workload::Random;

use crate::Result;
use crate::bucket::histogram;
use crate::stop::Stop;

const ALIGNMENT: usize = 4096;
const FILL_BYTES: usize = 1 << 20;

/// What to measure.
#[derive(Debug, Clone)]
pub struct DevicePlan {
    pub folder: PathBuf,
    /// The size of the file.
    pub bytes: u64,
    /// Time of each measurement.
    pub duration: Duration,
    pub depths: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    RandomRead,
    RandomWrite,
    SequentialRead,
    SequentialWrite,
}

impl Does {
    fn name(self) -> &'static str {
        match self {
            Self::RandomRead => "random_read",
            Self::RandomWrite => "random_write",
            Self::SequentialRead => "sequential_read",
            Self::SequentialWrite => "sequential_write",
        }
    }

    fn is_write(self) -> bool {
        matches!(self, Self::RandomWrite | Self::SequentialWrite)
    }
}

/// Measures; `tell` hears of each figure as it is there.
pub fn measure_device(plan: &DevicePlan, stop: &Stop, tell: &mut dyn FnMut(&Value)) -> Result<Value> {
    let path = plan.folder.join(format!("evenkeel-device-{}.tmp", std::process::id()));
    let removed = Removed(path.clone());
    let (file, is_direct) = open(&path)?;
    fill(&file, plan.bytes, stop).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut figures = Vec::new();
    let mut add = |figure: Value| {
        tell(&figure);
        figures.push(figure);
    };
    for does in [Does::RandomRead, Does::RandomWrite] {
        for size in [4096, 16_384] {
            for depth in &plan.depths {
                add(measure(&file, does, size, *depth, plan, stop)?);
            }
        }
    }
    for does in [Does::SequentialRead, Does::SequentialWrite] {
        add(measure(&file, does, FILL_BYTES, 4, plan, stop)?);
    }
    for size in [512, 4096, 16_384] {
        add(measure_sync(&plan.folder, size, plan, stop)?);
    }
    for size in [4096, 16_384] {
        add(measure_through(&path, size, plan, stop)?);
    }
    drop(removed);
    Ok(json!({
        "type": "device", "folder": plan.folder.display().to_string(), "file_bytes": plan.bytes,
        "past_page_cache": is_direct, "block_device": block_device(&plan.folder),
        "fua": queue_word(&plan.folder, "fua"), "write_cache": queue_word(&plan.folder, "write_cache"), "figures": figures,
    }))
}

/// Removes the file when the measurement ends, however it ends.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        // Nothing is left to be done about a file that cannot be removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn open(path: &Path) -> Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    open_with(&options, path, OFlags::empty())
}

/// Opens past the page cache if the file system allows it; answers whether it does.
fn open_with(options: &OpenOptions, path: &Path, flags: OFlags) -> Result<(File, bool)> {
    let open = |flags: OFlags| options.clone().custom_flags(flags.bits() as i32).open(path);
    match open(flags | OFlags::DIRECT) {
        Ok(file) => Ok((file, true)),
        Err(_) => {
            open(flags).map(|file| (file, false)).map_err(|error| format!("{}: {error}", path.display()))
        }
    }
}

/// Bytes at an address that a write past the page cache may have.
struct Aligned {
    bytes: Vec<u8>,
    begin: usize,
    size: usize,
}

impl Aligned {
    fn new(size: usize, seed: u64) -> Self {
        let mut random = Random::new(seed, 0);
        let bytes: Vec<u8> =
            std::iter::repeat_with(|| random.word().to_le_bytes()).flatten().take(size + ALIGNMENT).collect();
        let begin = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, begin, size }
    }

    fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..self.begin + self.size]
    }
}

fn fill(file: &File, bytes: u64, stop: &Stop) -> std::io::Result<()> {
    let mut buffer = Aligned::new(FILL_BYTES, 1);
    let mut at = 0;
    while at < bytes && !stop.is_wanted() {
        file.write_all_at(buffer.get(), at)?;
        at += FILL_BYTES as u64;
    }
    file.sync_all()
}

fn measure(
    file: &File,
    does: Does,
    size: usize,
    depth: usize,
    plan: &DevicePlan,
    stop: &Stop,
) -> Result<Value> {
    let is_over = AtomicBool::new(stop.is_wanted());
    let next = AtomicU64::new(0);
    let blocks = (plan.bytes / size as u64).max(1);
    let start = Instant::now();
    let all: std::io::Result<Vec<Histogram<u64>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..depth)
            .map(|number| {
                let (is_over, next) = (&is_over, &next);
                scope.spawn(move || {
                    let mut random = Random::new(start.elapsed().as_nanos() as u64, number as u64);
                    let mut buffer = Aligned::new(size, number as u64);
                    let mut latencies = histogram();
                    // Each does one at least, so that a very slow disk has a figure too.
                    while latencies.is_empty() || !is_over.load(Ordering::Relaxed) {
                        let block = match does {
                            Does::RandomRead | Does::RandomWrite => random.below(blocks),
                            _ => next.fetch_add(1, Ordering::Relaxed) % blocks,
                        };
                        let (begin, at) = (Instant::now(), block * size as u64);
                        if does.is_write() {
                            file.write_all_at(buffer.get(), at)?;
                        } else {
                            file.read_exact_at(buffer.get(), at)?;
                        }
                        latencies.saturating_record((begin.elapsed().as_nanos() / 1000).max(1) as u64);
                    }
                    Ok(latencies)
                })
            })
            .collect();
        while start.elapsed() < plan.duration && !stop.is_wanted() {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().expect("a measuring thread does not panic")).collect()
    });
    let mut latencies = histogram();
    for one in all.map_err(|error| format!("{}: {error}", does.name()))? {
        latencies.add(one).expect("all histograms have the same bounds");
    }
    Ok(figure(does.name(), size, depth, &latencies, start.elapsed()))
}

/// Appends and syncs, as a log does.
fn measure_sync(folder: &Path, size: usize, plan: &DevicePlan, stop: &Stop) -> Result<Value> {
    let path = folder.join(format!("evenkeel-sync-{}.tmp", std::process::id()));
    let _removed = Removed(path.clone());
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path).map_err(failed)?;
    let bytes = vec![7; size];
    file.write_all_at(&vec![0; FILL_BYTES * 8], 0).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    let mut latencies = histogram();
    let (start, mut at) = (Instant::now(), 0);
    while latencies.is_empty() || start.elapsed() < plan.duration && !stop.is_wanted() {
        let begin = Instant::now();
        file.write_all_at(&bytes, at % (FILL_BYTES as u64 * 8 - size as u64)).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        latencies.saturating_record((begin.elapsed().as_nanos() / 1000).max(1) as u64);
        at += size as u64;
    }
    Ok(figure("write_and_sync", size, 1, &latencies, start.elapsed()))
}

/// Overwrites what is there, each write durable by itself: the kernel gives it the mark FUA where the disk has that, and
/// else a flush of the disk's cache behind it.
fn measure_through(path: &Path, size: usize, plan: &DevicePlan, stop: &Stop) -> Result<Value> {
    let mut options = OpenOptions::new();
    options.write(true);
    let (file, _) = open_with(&options, path, OFlags::DSYNC)?;
    let mut buffer = Aligned::new(size, 3);
    let mut latencies = histogram();
    let (start, blocks, mut block) = (Instant::now(), (plan.bytes / size as u64).max(1), 0);
    while latencies.is_empty() || start.elapsed() < plan.duration && !stop.is_wanted() {
        let begin = Instant::now();
        let done = file.write_all_at(buffer.get(), block % blocks * size as u64);
        done.map_err(|error| format!("{}: {error}", path.display()))?;
        latencies.saturating_record((begin.elapsed().as_nanos() / 1000).max(1) as u64);
        block += 1;
    }
    Ok(figure("write_through", size, 1, &latencies, start.elapsed()))
}

fn figure(name: &str, size: usize, depth: usize, latencies: &Histogram<u64>, elapsed: Duration) -> Value {
    let rate = latencies.len() as f64 / elapsed.as_secs_f64();
    json!({
        "name": name, "bytes": size, "depth": depth, "per_second": rate.round(),
        "mib_per_second": (rate * size as f64 / 104_857.6).round() / 10.0, "p50_us": latencies.value_at_quantile(0.5),
        "p95_us": latencies.value_at_quantile(0.95), "p99_us": latencies.value_at_quantile(0.99),
        "p999_us": latencies.value_at_quantile(0.999), "max_us": latencies.max(),
    })
}

/// The kernel's name of the disk under a folder, where it has one.
fn block_device(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(folder).ok()?.dev();
    let link = format!("/sys/dev/block/{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    Some(std::fs::canonicalize(link).ok()?.file_name()?.to_string_lossy().into_owned())
}

/// What the kernel says of the queue of the disk under a folder: `fua` is 1 where a write may be durable by itself.
fn queue_word(folder: &Path, name: &str) -> Option<String> {
    let disk = Path::new("/sys/class/block").join(block_device(folder)?);
    let words = [disk.join("queue").join(name), disk.join("../queue").join(name)];
    let text = words.iter().find_map(|word| std::fs::read_to_string(word).ok())?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_measured_and_left_as_it_was() {
        let folder = std::env::temp_dir().join(format!("evenkeel-device-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let plan = DevicePlan {
            folder: folder.clone(),
            bytes: 4 << 20,
            duration: Duration::from_millis(20),
            depths: vec![1, 2],
        };
        let mut told = 0;
        let profile = measure_device(&plan, &Stop::default(), &mut |_| told += 1).unwrap();
        assert_eq!(told, 2 * 2 * 2 + 2 + 3 + 2);
        let figures = profile["figures"].as_array().unwrap();
        assert!(figures.iter().all(|figure| figure["per_second"].as_f64().unwrap() > 0.0), "{figures:?}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
