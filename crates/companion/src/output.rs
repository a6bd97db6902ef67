//! What the commands print: progress, a line per second, and the summary as text.
//!
//! Invariant: figures go to standard output, progress to standard error; a bar is drawn on a terminal only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use bench::{Progress, Run, Second, Summary};

/// Prints a line to standard output. Who reads it may be gone (`| head`): that is a quiet end and no panic.
macro_rules! say {
    () => {
        $crate::output::print_line(format_args!(""))
    };
    ($($part:tt)*) => {
        $crate::output::print_line(format_args!($($part)*))
    };
}
pub(crate) use say;

/// The line of `say`.
pub fn print_line(text: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}")
        && error.kind() == std::io::ErrorKind::BrokenPipe
    {
        std::process::exit(0);
    }
}

/// A bar that is drawn again in place, or a line now and then where there is no terminal.
pub struct Bar {
    is_terminal: bool,
    last: Option<Instant>,
    is_drawn: bool,
    told: Option<(&'static str, usize)>,
}

impl Bar {
    pub fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), last: None, is_drawn: false, told: None }
    }

    /// A bar for what is mostly done before there would be anything to see.
    pub fn patient() -> Self {
        Self { last: Some(Instant::now()), ..Self::new() }
    }

    /// How far a load is.
    pub fn show(&mut self, progress: Progress) {
        let is_end = progress.done == progress.all;
        // The end of a step is told once.
        let is_told = self.told == Some((progress.step, progress.done));
        if is_told || !is_end && !self.is_time() {
            return;
        }
        self.told = Some((progress.step, progress.done));
        let share = if progress.all == 0 { 1.0 } else { progress.done as f64 / progress.all as f64 };
        let seconds = progress.elapsed.as_secs_f64();
        let left = if share > 0.02 && share < 1.0 {
            format!(", {:.0} s left", seconds / share - seconds)
        } else {
            String::new()
        };
        let rate = progress.rows as f64 / seconds.max(0.001);
        let text = format!(
            "{:7} {:3.0} % {} rows, {} rows/s, {seconds:.0} s{left}",
            progress.step,
            share * 100.0,
            grouped(progress.rows),
            grouped(rate as u64),
        );
        self.draw(share, &text);
    }

    /// How many connections stand.
    pub fn connecting(&mut self, done: usize, all: usize) {
        if self.is_time() || done == all && self.is_drawn {
            let text = format!("connecting {} of {}", grouped(done as u64), grouped(all as u64));
            self.draw(done as f64 / all.max(1) as f64, &text);
        }
    }

    fn is_time(&self) -> bool {
        let pause = Duration::from_millis(if self.is_terminal { 200 } else { 10_000 });
        self.last.is_none_or(|last| last.elapsed() >= pause)
    }

    fn draw(&mut self, share: f64, text: &str) {
        self.last = Some(Instant::now());
        self.is_drawn = true;
        if self.is_terminal {
            let filled = (share * 30.0) as usize;
            let bar = "#".repeat(filled) + &"-".repeat(30 - filled);
            eprint!("\r[{bar}] {text}\x1b[K{}", if share >= 1.0 { "\n" } else { "" });
            // A progress bar that cannot be drawn is not worth an error.
            let _ = std::io::stderr().flush();
        } else {
            eprintln!("{text}");
        }
    }
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Microseconds as milliseconds with what digits matter.
pub fn ms(micros: u64) -> String {
    let ms = micros as f64 / 1000.0;
    if ms < 10.0 {
        format!("{ms:.2}")
    } else if ms < 100.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.0}")
    }
}

/// One line of a second, for people.
pub fn second_line(second: &Second) -> String {
    let mut line = format!(
        "{:5} s  {:>9.0} tps {:>9.0} qps  p50 {:>7} p95 {:>7} p99 {:>7} max {:>7} ms",
        second.t,
        second.rate(),
        second.queries as f64 / second.length.max(1e-9),
        ms(second.p50),
        ms(second.p95),
        ms(second.p99),
        ms(second.max),
    );
    for (count, name) in [
        (second.conflicts, "conflicts"),
        (second.errors, "errors"),
        (second.reconnects, "reconnects"),
        (second.backlog, "waiting"),
    ] {
        if count > 0 {
            line.push_str(&format!("  {count} {name}"));
        }
    }
    line
}

/// The summary, for people.
pub fn summary_text(run: &Run, connections: usize) -> String {
    let summary = &run.summary;
    let seconds = summary.seconds.max(1e-9);
    let mut text = format!(
        "\n{} transactions in {:.1} s over {connections} connections: {:.1} tps, {:.1} qps, {:.1} commits/s\n",
        grouped(summary.events),
        summary.seconds,
        summary.rate(),
        summary.queries as f64 / seconds,
        summary.commits as f64 / seconds,
    );
    text.push_str(&format!(
        "latency ms: mean {:.2}, p50 {}, p95 {}, p99 {}, p99.9 {}, max {}\n",
        summary.mean / 1000.0,
        ms(summary.p50),
        ms(summary.p95),
        ms(summary.p99),
        ms(summary.p999),
        ms(summary.max)
    ));
    text.push_str(&format!(
        "seconds: median {:.1} tps, {} below half of it, {} with none, longest gap {} s\n",
        summary.median_rate, summary.low_seconds, summary.zero_seconds, summary.longest_gap
    ));
    if summary.oldest > 2 * summary.max.max(100_000) {
        text.push_str(&format!(
            "unanswered: {} transactions at the end, the oldest for {} ms, longer than any that ended\n",
            grouped(summary.unfinished),
            ms(summary.oldest)
        ));
    }
    text.push_str(&format!(
        "statements: {} reads, {} writes, {} others, {} rows; {} conflicts, {} errors, {} reconnects\n",
        grouped(summary.reads),
        grouped(summary.writes),
        grouped(summary.queries - summary.reads - summary.writes),
        grouped(summary.rows),
        summary.conflicts,
        summary.errors,
        summary.reconnects
    ));
    text.push_str(&generator_text(summary));
    if let Some((p99, max)) = summary.lateness {
        text.push_str(&format!(
            "open loop: begun within {} ms of the intended time at p99 while a connection was free, {} ms at most\n",
            ms(p99),
            ms(max)
        ));
    }
    if summary.kinds.len() > 1 {
        for kind in &summary.kinds {
            let share = 100.0 * kind.events as f64 / summary.events.max(1) as f64;
            text.push_str(&format!(
                "  {:18} {:>10} {share:5.1} %  p50 {:>7} p95 {:>7} p99 {:>7} max {:>7} ms\n",
                kind.name,
                grouped(kind.events),
                ms(kind.p50),
                ms(kind.p95),
                ms(kind.p99),
                ms(kind.max)
            ));
        }
    }
    if let Some((name, figure)) = &summary.headline {
        let share =
            summary.kinds.first().map_or(0.0, |kind| kind.events as f64 / summary.events.max(1) as f64);
        text.push_str(&format!("{name} {figure:.1} (new orders are {:.1} % of all)\n", share * 100.0));
    }
    text
}

fn generator_text(summary: &Summary) -> String {
    let per_query = summary.generator_cpu * 1e6 / summary.queries.max(1) as f64;
    format!("generator: {:.2} s of processor, {per_query:.1} us per statement\n", summary.generator_cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 12, 1234, 1_234_567].map(grouped), ["0", "12", "1,234", "1,234,567"]);
        assert_eq!([999, 10_000, 123_456].map(ms), ["1.00", "10.0", "123"]);
    }
}
