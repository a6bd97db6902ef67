//! All sessions count up one row, one statement each. The final count is the number of acknowledged updates, but for
//! those whose connection was lost meanwhile.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Report;
use crate::load::Load;
use crate::session::{Session, Stop};

#[derive(Default)]
pub struct HotRow {
    acknowledged: AtomicU64,
    unknown: AtomicU64,
}

impl Load for HotRow {
    fn set_up(&self, client: &mut Session) -> Result<(), Stop> {
        client.execute_all(&[
            "CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL)",
            "INSERT INTO counters VALUES (1, 0)",
        ])
    }

    fn step(&self, session: &mut Session) -> Result<(), Stop> {
        match session.execute("UPDATE counters SET n = n + 1 WHERE id = 1") {
            Ok(1) => {
                self.acknowledged.fetch_add(1, Relaxed);
                Ok(())
            }
            Ok(affected) => Err(Stop::Fault(format!("{affected} rows were affected, not one"))),
            Err(stop) => {
                if let Stop::Lost(_) | Stop::Refused(crate::session::KILLED, _) = stop {
                    self.unknown.fetch_add(1, Relaxed);
                }
                Err(stop)
            }
        }
    }

    fn check(&self, client: &mut Session) -> Result<(), Stop> {
        let acknowledged = self.acknowledged.load(Relaxed);
        let count: u64 = client.row("SELECT n FROM counters WHERE id = 1")?;
        if count >= acknowledged {
            return Ok(());
        }
        Err(Stop::Fault(format!("{acknowledged} updates are acknowledged, {count} are seen")))
    }

    fn finish(&self, client: &mut Session, report: &mut Report) -> Result<(), Stop> {
        let (acknowledged, unknown) = (self.acknowledged.load(Relaxed), self.unknown.load(Relaxed));
        let count: u64 = client.row("SELECT n FROM counters WHERE id = 1")?;
        report.row("count, acknowledged, unknown", format!("{count}, {acknowledged}, {unknown}"));
        report.expect((acknowledged..=acknowledged + unknown).contains(&count), || {
            format!("the count is {count}; {acknowledged} updates are acknowledged, {unknown} unknown")
        });
        Ok(())
    }
}
