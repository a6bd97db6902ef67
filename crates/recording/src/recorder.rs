//! Records until it is told to stop: the host every second, the server as often as it answers.
//!
//! Invariant: a server that is slow or gone does not hold up the samples of the host, and its absence is a gap in the
//! file. Called by `companion`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use client::Dsn;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::host::Host;
use crate::server::{Sampler, why};
use crate::unseen::Unseen;
use crate::writer::Writer;
use crate::{Values, now_ms};

const FLUSH_EVERY: u32 = 5;
/// An answer that takes longer than one and a half times the distance of samples is a gap.
const SLOW: f64 = 1.5;
/// In distances of samples.
const CONNECT_MAX: u32 = 5;
/// Longer than so many distances the server is given up on and connected to anew.
const ANSWER_MAX: u32 = 120;

/// What to record.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    pub dsn: Dsn,
    pub path: PathBuf,
    pub time: Option<Duration>,
    /// From one sample to the next: a second, or less for whom a day is too long.
    pub every: Duration,
    /// The profile that `device` wrote.
    pub device: Option<Value>,
}

enum Said {
    /// The server's description; it is new, or it was restarted.
    Header(Value, Box<Host>),
    Sample(u64, Values),
    Gap {
        at: u64,
        why: String,
    },
}

/// Records. `is_over` is asked every second; `tell` hears of troubles. Answers the bytes of the file.
pub fn record(
    plan: &RecordPlan,
    is_over: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
) -> Result<u64, String> {
    let mut writer = Writer::create(&plan.path)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let bytes = runtime.block_on(async {
        let (say, mut heard) = mpsc::unbounded_channel();
        let task = tokio::spawn(ask_server(plan.dsn.clone(), plan.every, say));
        let mut lines = Lines::new(plan);
        let start = Instant::now();
        let mut ticks = interval(plan.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut turn = 0;
        loop {
            tokio::select! {
                said = heard.recv() => match said {
                    Some(said) => lines.take(said, &mut writer, tell),
                    None => break,
                },
                _ = ticks.tick() => {
                    lines.host(&mut writer);
                    turn += 1;
                    if turn % FLUSH_EVERY == 0 && let Some(trouble) = writer.flush(now_ms()) {
                        tell(&format!("{trouble}; samples are kept in memory meanwhile"));
                    }
                    if is_over() || plan.time.is_some_and(|time| start.elapsed() >= time) {
                        break;
                    }
                }
            }
        }
        task.abort();
        lines.end_gap(&mut writer);
        writer.end(now_ms())
    })?;
    Ok(bytes)
}

/// What was written last, so that only changes are written.
struct Lines {
    plan: RecordPlan,
    host: Host,
    is_local: bool,
    host_values: Values,
    server_values: Values,
    gap: Option<(u64, String)>,
    /// What was told of as not seen.
    unseen: Vec<Unseen>,
}

impl Lines {
    fn new(plan: &RecordPlan) -> Self {
        Self {
            plan: plan.clone(),
            host: Host::of(&plan.dsn),
            is_local: plan.dsn.is_local(),
            host_values: Values::new(),
            server_values: Values::new(),
            gap: None,
            unseen: Vec::new(),
        }
    }

    fn host(&mut self, writer: &mut Writer) {
        if self.is_local {
            let values = self.host.sample();
            put_changes("host", now_ms(), &mut self.host_values, values, writer);
        }
    }

    fn take(&mut self, said: Said, writer: &mut Writer, tell: &mut dyn FnMut(&str)) {
        match said {
            Said::Header(server, host) => {
                self.end_gap(writer);
                self.host = *host;
                self.host.watch_data(server["variables"]["datadir"].as_str().unwrap_or(""));
                // Everything is written anew behind a header: it begins a file, or a server with counters of its own.
                self.server_values.clear();
                self.host_values.clear();
                let unseen = Unseen::all_of(&server);
                if self.unseen != unseen {
                    unseen
                        .iter()
                        .for_each(|Unseen { what, why }| tell(&format!("not recorded: {what} ({why})")));
                    self.unseen = unseen;
                }
                let host = if self.is_local { self.host.describe() } else { Value::Null };
                writer.put(&json!({
                    "type": "recording", "format": 1, "at": now_ms(), "dsn": self.plan.dsn.to_string(),
                    "recorder": env!("CARGO_PKG_VERSION"), "server": server, "host": host, "device": self.plan.device,
                }));
            }
            Said::Sample(at, values) => {
                self.end_gap(writer);
                put_changes("server", at, &mut self.server_values, values, writer);
            }
            Said::Gap { at, why } => {
                if self.gap.is_none() {
                    tell(&format!(
                        "no answer from the server: {why}; the recording goes on and marks the gap"
                    ));
                    self.gap = Some((at, why));
                }
            }
        }
    }

    fn end_gap(&mut self, writer: &mut Writer) {
        if let Some((at, why)) = self.gap.take() {
            writer.put(&json!({ "type": "gap", "at": at, "until": now_ms(), "why": why }));
        }
    }
}

fn put_changes(kind: &str, at: u64, old: &mut Values, new: Values, writer: &mut Writer) {
    let mut set = Map::new();
    for (name, value) in &new {
        if old.get(name) != Some(value) {
            // Most are whole numbers, which are shorter without a point.
            let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
            set.insert(name.clone(), if is_whole { json!(*value as i64) } else { json!(value) });
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        set.insert(name.clone(), Value::Null);
    }
    writer.put(&json!({ "type": kind, "at": at, "set": set }));
    *old = new;
}

/// Asks until nobody listens.
async fn ask_server(dsn: Dsn, every: Duration, say: mpsc::UnboundedSender<Said>) {
    loop {
        let begin = now_ms();
        let (at, why) = match timeout(every * CONNECT_MAX, Sampler::connect(&dsn)).await {
            Ok(Ok(sampler)) => match ask_while_it_answers(sampler, &dsn, every, &say).await {
                Some(why) => (now_ms(), why),
                None => return,
            },
            Ok(Err(error)) => (begin, why(&error)),
            Err(_) => (begin, format!("no connection within {} s", (every * CONNECT_MAX).as_secs_f64())),
        };
        if say.send(Said::Gap { at, why }).is_err() {
            return;
        }
        tokio::time::sleep(every).await;
    }
}

/// Answers why it ended; `None` when nobody listens any more.
async fn ask_while_it_answers(
    mut sampler: Sampler,
    dsn: &Dsn,
    every: Duration,
    say: &mpsc::UnboundedSender<Said>,
) -> Option<String> {
    let slow = every.mul_f64(SLOW);
    let host = Box::new(Host::of(dsn));
    match sampler.describe(&host).await {
        Ok(server) => say.send(Said::Header(server, host)).ok()?,
        Err(error) => return Some(why(&error)),
    }
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut last: Option<Instant> = None;
    loop {
        ticks.tick().await;
        let (at, begin) = (now_ms(), Instant::now());
        // Behind a tick that came late the next one may be due at once: two samples of one moment tell no rate.
        if last.is_some_and(|last| begin - last < every / 2) {
            continue;
        }
        last = Some(begin);
        let sample = sampler.sample();
        tokio::pin!(sample);
        let result = match timeout(slow, &mut sample).await {
            Ok(result) => result,
            Err(_) => {
                let why = format!("no answer within {} s", slow.as_secs_f64());
                say.send(Said::Gap { at, why }).ok()?;
                match timeout(every * ANSWER_MAX, sample).await {
                    Ok(result) => result,
                    Err(_) => {
                        return Some(format!("no answer within {} s", (every * ANSWER_MAX).as_secs_f64()));
                    }
                }
            }
        };
        match result {
            Ok(mut values) => {
                values.insert("recorder.answer_ms".into(), begin.elapsed().as_millis() as f64);
                let is_late = begin.elapsed() > slow;
                // A late answer tells of the time at which it came, and the next one comes a whole distance later.
                let at = if is_late { now_ms() } else { at };
                if is_late {
                    ticks.reset();
                    last = Some(Instant::now());
                }
                say.send(Said::Sample(at, values)).ok()?;
            }
            Err(error) => return Some(why(&error)),
        }
    }
}
