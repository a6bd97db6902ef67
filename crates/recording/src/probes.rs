//! The questions that a server is asked each second, each in the forms that different servers understand.
//!
//! Invariant: the first form that a server answers is kept for the connection; a question without one is left out. What
//! performance_schema tells is not asked while that is off: its tables are there then, and empty.
//! Used by `server`.

/// How an answer becomes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Each row is a name and a number.
    Pairs,
    /// One row whose columns are numbers.
    Row,
    /// Each row is two words and a count.
    Counts,
    /// The text of SHOW ENGINE INNODB STATUS.
    Monitor,
}

/// A question.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// What it asks for, as people say it.
    pub what: &'static str,
    /// What the names of its values begin with.
    pub prefix: &'static str,
    pub form: Form,
    pub variants: &'static [&'static str],
}

/// All of them.
pub const PROBES: [Probe; 6] = [
    Probe { what: "counters", prefix: "", form: Form::Pairs, variants: &["SHOW GLOBAL STATUS"] },
    Probe {
        what: "metrics of InnoDB",
        prefix: "metric.",
        form: Form::Pairs,
        variants: &[
            "SELECT name, count FROM information_schema.innodb_metrics WHERE status = 'enabled'",
            "SELECT name, count FROM information_schema.innodb_metrics WHERE enabled = 1",
        ],
    },
    Probe {
        what: "states of sessions",
        prefix: "state.",
        form: Form::Counts,
        variants: &[
            "SELECT command, COALESCE(state, ''), COUNT(*) FROM performance_schema.processlist WHERE id <> CONNECTION_ID() GROUP BY 1, 2",
            "SELECT command, COALESCE(state, ''), COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() GROUP BY 1, 2",
        ],
    },
    Probe {
        what: "transactions",
        prefix: "trx.",
        form: Form::Row,
        variants: &[
            "SELECT COUNT(*) AS active, COALESCE(MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())), 0) AS oldest_seconds, \
             COALESCE(SUM(trx_state = 'LOCK WAIT'), 0) AS lock_waiting, COALESCE(SUM(trx_rows_locked), 0) AS rows_locked, \
             COALESCE(SUM(trx_rows_modified), 0) AS rows_modified FROM information_schema.innodb_trx",
        ],
    },
    Probe {
        what: "waits for locks",
        prefix: "lock.",
        form: Form::Row,
        variants: &[
            "SELECT COUNT(*) AS waits FROM performance_schema.data_lock_waits",
            "SELECT COUNT(*) AS waits FROM information_schema.innodb_lock_waits",
        ],
    },
    Probe {
        what: "checkpoint age",
        prefix: "monitor.",
        form: Form::Monitor,
        variants: &["SHOW ENGINE INNODB STATUS"],
    },
];
