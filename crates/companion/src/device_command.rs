//! `evenkeel device`: what the disk under a folder does.
//!
//! Invariant: the profile is one JSON object on one line, as recordings embed it.

use std::path::PathBuf;
use std::time::Duration;

use bench::{DevicePlan, Result, Stop, measure_device};
use clap::Args;
use serde_json::Value;

use crate::output::say;

#[derive(Args)]
pub struct Device {
    /// A folder on the disk, such as the server's data directory.
    folder: PathBuf,
    /// Size of the file that is read and written, in MiB.
    #[arg(long, default_value_t = 1024)]
    size: u64,
    /// Seconds of each of the measurements.
    #[arg(long, default_value_t = 2.0)]
    time: f64,
    /// How many reads or writes are in flight.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16, 64])]
    depth: Vec<usize>,
    /// Write the profile here.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Device {
    pub fn run(&self) -> Result<bool> {
        if !(self.time > 0.0 && self.time < 3600.0)
            || self.size == 0
            || self.depth.iter().any(|depth| !(1..=1024).contains(depth))
        {
            return Err("--time and --size are above 0, a --depth is 1 to 1024".into());
        }
        let stop = Stop::default();
        crate::listen::listen(&stop);
        let plan = DevicePlan {
            folder: self.folder.clone(),
            bytes: self.size << 20,
            duration: Duration::from_secs_f64(self.time),
            depths: self.depth.clone(),
        };
        say!(
            "{:18} {:>8} {:>6} {:>10} {:>9}   {:>8} {:>8} {:>8} {:>8} us",
            "",
            "bytes",
            "depth",
            "per second",
            "MiB/s",
            "p50",
            "p99",
            "p99.9",
            "max"
        );
        let profile = measure_device(&plan, &stop, &mut |figure| say!("{}", line(figure)))?;
        if profile["past_page_cache"] == Value::Bool(false) {
            say!("the file system does not allow to go past the page cache: reads are from memory");
        }
        if let Some(path) = &self.out {
            std::fs::write(path, format!("{profile}\n"))
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(!stop.is_wanted())
    }
}

fn line(figure: &Value) -> String {
    let number = |name: &str| figure.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    format!(
        "{:18} {:>8} {:>6} {:>10} {:>9.1}   {:>8} {:>8} {:>8} {:>8}",
        figure["name"].as_str().unwrap_or(""),
        number("bytes"),
        number("depth"),
        number("per_second"),
        number("mib_per_second"),
        number("p50_us"),
        number("p99_us"),
        number("p999_us"),
        number("max_us"),
    )
}
