//! The workloads by name.

mod auto_increment;
mod bank;
mod convoy;
mod deadlocks;
mod foreign_keys;
mod hot_row;
mod long_snapshot;
mod neighbours;
mod queue;
mod release;
mod unique;

use crate::session::Stop;
use crate::{Plan, Report, Server, load};

type Run = fn(&Server, &Plan, &mut Report) -> Result<(), Stop>;

/// A workload: what it is called, what it checks, and how many sessions it is meant for.
#[derive(Debug)]
pub struct Workload {
    pub name: &'static str,
    pub about: &'static str,
    pub sessions: u32,
    /// Its sessions and queries may be killed meanwhile.
    pub bears_kills: bool,
    run: Run,
}

impl Workload {
    pub const ALL: [Workload; 11] = [
        Workload {
            name: "neighbours",
            about: "long statements, and who shares their thread; SESSIONS multiplies the limits",
            sessions: 1,
            bears_kills: false,
            run: neighbours::run,
        },
        Workload {
            name: "bank",
            about: "transfers between accounts; every reader at every level sees the same sum",
            sessions: 64,
            bears_kills: true,
            run: |server, plan, report| load::run(server, plan, &bank::Bank, report),
        },
        Workload {
            name: "unique",
            about: "sessions insert the same keys; each key has one winner, the others get 1062",
            sessions: 64,
            bears_kills: true,
            run: |server, plan, report| load::run(server, plan, &unique::Unique::default(), report),
        },
        Workload {
            name: "queue",
            about: "a job queue with SKIP LOCKED; no job is done twice, none is lost, nobody waits",
            sessions: 13,
            bears_kills: true,
            run: |server, plan, report| load::run(server, plan, &queue::Queue::default(), report),
        },
        Workload {
            name: "foreign_keys",
            about: "parents and children come and go; no child is without its parent",
            sessions: 64,
            bears_kills: true,
            run: |server, plan, report| load::run(server, plan, &foreign_keys::ForeignKeys, report),
        },
        Workload {
            name: "auto_increment",
            about: "numbers are given once, in one piece per statement, and rise within a session",
            sessions: 64,
            bears_kills: true,
            run: |server, plan, report| {
                load::run(server, plan, &auto_increment::AutoIncrement::new(plan.sessions), report)
            },
        },
        Workload {
            name: "hot_row",
            about: "all sessions count up one row; transactions per second, and the exact count",
            sessions: 256,
            bears_kills: true,
            run: |server, plan, report| load::run(server, plan, &hot_row::HotRow::default(), report),
        },
        Workload {
            name: "deadlocks",
            about: "five random of 100 rows per transaction; how fast cycles are broken, and exact sums",
            sessions: 64,
            bears_kills: true,
            run: |server, plan, report| {
                load::run(server, plan, &deadlocks::Deadlocks::new(server, plan), report)
            },
        },
        Workload {
            name: "convoy",
            about: "16 to SESSIONS sessions wait for one row; what handing it over costs for each",
            sessions: 1024,
            bears_kills: false,
            run: convoy::run,
        },
        Workload {
            name: "long_snapshot",
            about: "one snapshot read again and again beside updates; their speed, the server's memory",
            sessions: 16,
            bears_kills: false,
            run: long_snapshot::run,
        },
        Workload {
            name: "release",
            about: "sessions that hold locks are killed, dropped, left idle; how long others go on waiting",
            sessions: 1,
            bears_kills: false,
            run: release::run,
        },
    ];

    pub fn named(name: &str) -> Option<&'static Workload> {
        const ALL: &[Workload] = &Workload::ALL;
        ALL.iter().find(|workload| workload.name == name)
    }

    /// Runs it; what stands in its way is a fault of the report.
    pub fn run(&self, server: &Server, plan: &Plan) -> Report {
        let mut report = Report::new(self.name);
        if plan.kills_per_second > 0 && !self.bears_kills {
            report.fault("this workload has no kills");
        } else if let Err(stop) = (self.run)(server, plan, &mut report) {
            report.fault(format!("{stop:?}"));
        }
        report
    }
}
