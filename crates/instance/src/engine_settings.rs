//! System variables that the engine and the memory of sessions obey while they work: what MySQL makes of a value, and telling them.
//!
//! Invariant: a value that `adjust` returns can be told to the engine by `obey`; what was not given in any way leaves
//! the pace of write-back to the engine. Called by SET, at start, and by SHOW STATUS.

use datum::{Condition, ErrorCode, TimeZone, error_code};
use engine::FlushAtCommit;

use crate::instance::Instance;
use variables::{GlobalVariables, Setting, VariableId};

/// The wordings are MySQL's, one for each rule.
const WRONG_ARGUMENTS: ErrorCode = ErrorCode::new(1210, "HY000", "%s");

/// Sizes of memory and log are whole megabytes.
const BLOCK_BYTES: u64 = 1 << 20;
/// A smaller buffer pool counts as one instance.
const INSTANCES_FROM_BYTES: u64 = 1 << 30;

const POOL_SIZE: &str = "innodb_buffer_pool_size";
const POOL_CHUNK: &str = "innodb_buffer_pool_chunk_size";
const REDO_CAPACITY: &str = "innodb_redo_log_capacity";
const FLUSH_AT_COMMIT: &str = "innodb_flush_log_at_trx_commit";
const FLUSH_AT_TIMEOUT: &str = "innodb_flush_log_at_timeout";
const IO_CAPACITY: &str = "innodb_io_capacity";
const IO_CAPACITY_MAX: &str = "innodb_io_capacity_max";
const DIRTY_PCT: &str = "innodb_max_dirty_pages_pct";
const DIRTY_PCT_LWM: &str = "innodb_max_dirty_pages_pct_lwm";

const SESSIONS_LIMIT: &str = "global_connection_memory_limit";
const EVENT_SCHEDULER: &str = "event_scheduler";

const DUMP_AT_SHUTDOWN: &str = "innodb_buffer_pool_dump_at_shutdown";
const DUMP_PCT: &str = "innodb_buffer_pool_dump_pct";

impl Instance {
    /// The value that SET GLOBAL really gives a variable, with warnings for what it changes.
    pub fn adjust(&self, name: &'static str, setting: Setting, warnings: &mut Vec<Condition>) -> Setting {
        let other = |name| self.globals.by_name(name);
        match (name, &setting) {
            (POOL_SIZE, Setting::Unsigned(bytes)) => {
                let bytes = whole_blocks(name, *bytes, warnings);
                Setting::Unsigned(self.pool_bytes(bytes, warnings))
            }
            (REDO_CAPACITY, Setting::Unsigned(bytes)) => {
                Setting::Unsigned(whole_blocks(name, *bytes, warnings))
            }
            (IO_CAPACITY, setting) if setting.as_unsigned() > other(IO_CAPACITY_MAX).as_unsigned() => {
                limited(name, "higher", IO_CAPACITY_MAX, name, other(IO_CAPACITY_MAX), warnings)
            }
            (IO_CAPACITY_MAX, setting) if setting.as_unsigned() < other(IO_CAPACITY).as_unsigned() => {
                limited(name, "lower", IO_CAPACITY, name, other(IO_CAPACITY), warnings)
            }
            (DIRTY_PCT_LWM, setting) if as_double(setting) > as_double(&other(DIRTY_PCT)) => {
                let shown = "innodb_max_dirty_page_pct_lwm";
                limited(name, "higher", DIRTY_PCT, shown, other(DIRTY_PCT), warnings)
            }
            (DIRTY_PCT, setting) if as_double(setting) < as_double(&other(DIRTY_PCT_LWM)) => {
                let first = format!("{DIRTY_PCT} cannot be set lower than {DIRTY_PCT_LWM}.");
                let second = format!("Lowering innodb_max_dirty_page_pct_lwm to {}", setting.display());
                warn(&[&first, &second], warnings);
                setting.clone()
            }
            _ => setting,
        }
    }

    /// The pool consists of whole chunks of all instances.
    fn pool_bytes(&self, bytes: u64, warnings: &mut Vec<Condition>) -> u64 {
        let present = self.globals.by_name(POOL_SIZE).as_unsigned();
        if bytes == present {
            return bytes;
        }
        let unit = pool_unit(&self.globals, bytes);
        let largest = (self.engine().buffer_pool_bytes_max() / unit * unit).max(present);
        let rounded = bytes.next_multiple_of(unit).min(largest);
        if rounded == present {
            let chunk = self.globals.by_name(POOL_CHUNK).as_unsigned();
            let text =
                format!("InnoDB: Cannot resize buffer pool to lesser than chunk size of {chunk} bytes.");
            warn(&[&text], warnings);
        } else if rounded != bytes {
            warnings.push(error_code::ER_TRUNCATED_WRONG_VALUE.with(&[&POOL_SIZE, &bytes]).into_warning());
        }
        rounded
    }

    /// Tells the engine of a new global value. `is_default`: SET .. = DEFAULT.
    pub fn obey(&self, id: VariableId, setting: &Setting, is_default: bool) {
        if self.obey_logs(id.definition().name, setting) {
            return;
        }
        let engine = self.engine();
        match id.definition().name {
            POOL_SIZE => engine.set_buffer_pool_bytes(setting.as_unsigned()),
            REDO_CAPACITY => engine.set_redo_capacity(setting.as_unsigned()),
            FLUSH_AT_COMMIT => engine.set_flush_at_commit(match setting.as_unsigned() {
                0 => FlushAtCommit::Lazy,
                1 => FlushAtCommit::Durable,
                _ => FlushAtCommit::Written,
            }),
            FLUSH_AT_TIMEOUT => engine.set_lazy_sync_us(setting.as_unsigned() * 1_000_000),
            SESSIONS_LIMIT => self.memory.limit_tracked(setting.as_unsigned()),
            EVENT_SCHEDULER => self.events.switch(setting.as_text() == "ON"),
            DUMP_AT_SHUTDOWN => engine.set_saves_hot_pages(setting.as_boolean()),
            DUMP_PCT => engine.set_hot_percent(setting.as_unsigned() as u32),
            IO_CAPACITY => engine.set_write_cap((!is_default).then(|| setting.as_unsigned())),
            DIRTY_PCT => {
                engine.set_dirty_share_max(as_double(setting) / 100.0);
                if as_double(&self.globals.by_name(DIRTY_PCT_LWM)) > as_double(setting) {
                    self.globals.set(VariableId::known(DIRTY_PCT_LWM), setting.clone());
                }
            }
            name if name.starts_with("rpl_semi_sync_source_") => {
                self.binary_log().iter().for_each(|log| log.semi_sync_changed());
            }
            _ => {}
        }
    }

    /// At start: what was given or stored holds from the beginning.
    pub fn obey_given<'a>(&self, given: impl Iterator<Item = &'a str>) {
        let chunk = self.globals.by_name(POOL_CHUNK).as_unsigned();
        let asked = self.globals.by_name(POOL_SIZE).as_unsigned();
        if chunk > asked {
            let whole = (asked / BLOCK_BYTES * BLOCK_BYTES).max(BLOCK_BYTES);
            self.globals.set(VariableId::known(POOL_CHUNK), Setting::Unsigned(whole));
        }
        for name in given {
            let Some(id) = VariableId::by_name(name) else { continue };
            if id.definition().name == POOL_SIZE {
                let whole = asked.next_multiple_of(pool_unit(&self.globals, asked));
                self.globals.set(id, Setting::Unsigned(whole));
                if self.engine().has_buffer_pool_bytes(whole) {
                    continue;
                }
            }
            self.obey(id, &self.globals.get(id), false);
        }
    }

    /// `Innodb_buffer_pool_resize_status`.
    pub fn pool_resize_status(&self) -> String {
        let status = self.engine().buffer_pool_resize();
        let (from, to) = (status.from_bytes, status.to_bytes);
        match status.completed_unix_us {
            _ if to == 0 => String::new(),
            None => format!("Resizing buffer pool from {from} to {to}."),
            Some(_) if status.is_refused => {
                format!("Failed to resize buffer pool to {to}: the system refused the memory.")
            }
            Some(_) if from == to => {
                format!("Size did not change (old size = new size = {to}. Nothing to do.")
            }
            Some(unix_us) => format!("Completed resizing buffer pool at {}.", server_time(unix_us)),
        }
    }

    /// `Innodb_buffer_pool_load_status`.
    pub fn pool_load_status(&self) -> String {
        let status = self.engine().buffer_pool_warm_up();
        match status.completed_unix_us {
            Some(unix_us) => format!("Buffer pool(s) load completed at {}", server_time(unix_us)),
            None if status.has_begun => {
                format!("Loaded {}/{} pages", status.pages_done, status.pages_total)
            }
            None => "Buffer pool(s) load not started".to_owned(),
        }
    }
}

/// A moment as InnoDB's status texts show it.
fn server_time(unix_us: u64) -> String {
    let zone = TimeZone::parse("SYSTEM").unwrap_or_else(TimeZone::utc);
    let local = i64::try_from(unix_us).ok().and_then(|micros| zone.to_local(micros));
    let Some(local) = local else { return String::new() };
    let date = local.date();
    let (year, month, day) = (date.year() % 100, date.month(), date.day());
    let (hour, minute, second) = (local.hour(), local.minute(), local.second());
    format!("{year:02}{month:02}{day:02} {hour:2}:{minute:02}:{second:02}")
}

fn pool_unit(globals: &GlobalVariables, bytes: u64) -> u64 {
    let instances = match bytes {
        INSTANCES_FROM_BYTES.. => globals.by_name("innodb_buffer_pool_instances").as_unsigned().max(1),
        _ => 1,
    };
    globals.by_name(POOL_CHUNK).as_unsigned().max(1) * instances
}

fn whole_blocks(name: &'static str, bytes: u64, warnings: &mut Vec<Condition>) -> u64 {
    let whole = bytes / BLOCK_BYTES * BLOCK_BYTES;
    // A number beyond the limits has its warning already, and limits are whole megabytes.
    if whole != bytes {
        warnings.push(error_code::ER_TRUNCATED_WRONG_VALUE.with(&[&name, &bytes]).into_warning());
    }
    whole
}

/// A value that another variable limits becomes that one's.
fn limited(
    name: &str,
    direction: &str,
    limit_name: &str,
    shown_name: &str,
    limit: Setting,
    warnings: &mut Vec<Condition>,
) -> Setting {
    let first = format!("{name} cannot be set {direction} than {limit_name}.");
    let second = format!("Setting {shown_name} to {}", limit.display());
    warn(&[&first, &second], warnings);
    limit
}

fn warn(texts: &[&str], warnings: &mut Vec<Condition>) {
    warnings.extend(texts.iter().map(|text| WRONG_ARGUMENTS.with(&[text]).into_warning()));
}

fn as_double(setting: &Setting) -> f64 {
    if let Setting::Double(number) = setting { *number } else { 0.0 }
}
