//! One connection's part of a workload, and the count of what it did.
//!
//! Invariant: `transaction` leaves no transaction open unless it fails; whoever sees a failure rolls back. Made by
//! `Workload::session`, driven by `bench`.

use client::{Answer, Connection, Error, Result, Statement, Value};

use crate::{graph, hot_row, insert, oltp, queue, scan, sql_files, stress, tpcc, ycsb};

/// What was done since the count was last taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub reads: u64,
    pub writes: u64,
    /// BEGIN, COMMIT and their like.
    pub others: u64,
    /// Rows that came.
    pub rows: u64,
    /// COMMITs, and statements that commit by themselves.
    pub commits: u64,
    /// The kind of the last transaction.
    pub kind: usize,
    /// How many transactions the last call was (several when they are pipelined).
    pub events: u64,
}

impl Tally {
    /// All statements.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.others
    }
}

/// What a statement is to the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    Read,
    Write,
    /// A write that commits by itself.
    Commits,
    Other,
}

/// A connection as a session uses it: statements go out at once or several together, and are counted.
pub struct Link<'a> {
    connection: &'a mut Connection,
    tally: &'a mut Tally,
    pipeline: usize,
    waiting: usize,
    failed: Option<Error>,
    answer: Answer,
}

impl<'a> Link<'a> {
    fn new(connection: &'a mut Connection, tally: &'a mut Tally, pipeline: usize) -> Self {
        Self {
            connection,
            tally,
            pipeline: pipeline.max(1),
            waiting: 0,
            failed: None,
            answer: Answer::counting(),
        }
    }

    fn count(&mut self, does: Does) {
        match does {
            Does::Read => self.tally.reads += 1,
            Does::Write => self.tally.writes += 1,
            Does::Commits => {
                self.tally.writes += 1;
                self.tally.commits += 1;
            }
            Does::Other => self.tally.others += 1,
        }
    }

    /// Sends a statement whose rows nobody needs; up to `pipeline` of them go together.
    pub async fn put(&mut self, does: Does, statement: &mut Statement, values: &[Value<'_>]) -> Result<()> {
        self.connection.send(statement, values);
        self.count(does);
        self.waiting += 1;
        if self.waiting >= self.pipeline { self.drain().await } else { Ok(()) }
    }

    /// Receives what was sent; the first failure is told after all answers came.
    pub async fn drain(&mut self) -> Result<()> {
        if self.waiting == 0 {
            return Ok(());
        }
        self.connection.flush().await?;
        while self.waiting > 0 {
            self.waiting -= 1;
            match self.connection.receive(&mut self.answer).await {
                Ok(()) => self.tally.rows += self.answer.row_count,
                Err(error) if error.is_fatal() => return Err(error),
                Err(error) => self.failed = self.failed.take().or(Some(error)),
            }
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Asks and keeps the answer's rows in `answer`.
    pub async fn ask(
        &mut self,
        does: Does,
        statement: &mut Statement,
        values: &[Value<'_>],
        answer: &mut Answer,
    ) -> Result<()> {
        self.drain().await?;
        self.connection.run(statement, values, answer).await?;
        self.count(does);
        self.tally.rows += answer.row_count;
        Ok(())
    }

    /// Begins a transaction.
    pub async fn begin(&mut self, statement: &mut Statement) -> Result<()> {
        self.put(Does::Other, statement, &[]).await
    }

    /// Commits, and waits until it is done.
    pub async fn commit(&mut self, statement: &mut Statement) -> Result<()> {
        self.put(Does::Other, statement, &[]).await?;
        self.drain().await?;
        self.tally.commits += 1;
        Ok(())
    }

    /// Notes which kind of transaction this is.
    pub fn kind(&mut self, kind: usize) {
        self.tally.kind = kind;
    }

    /// Notes that the call did several transactions.
    pub fn events(&mut self, events: u64) {
        self.tally.events = events;
    }

    /// How many commands may go together.
    pub fn pipeline(&self) -> usize {
        self.pipeline
    }
}

/// One connection's work, of any workload.
pub enum Session {
    Tpcc(Box<tpcc::Terminal>),
    Oltp(Box<oltp::Client>),
    Ycsb(Box<ycsb::Client>),
    Insert(Box<insert::Client>),
    Scan(Box<scan::Client>),
    HotRow(Box<hot_row::Client>),
    Queue(Box<queue::Client>),
    Stress(Box<stress::Client>),
    Graph(Box<graph::Client>),
    SqlFiles(Box<sql_files::Client>),
}

/// Calls the same method of whichever session it is.
macro_rules! each {
    ($session:expr, $client:ident => $call:expr) => {
        match $session {
            Session::Tpcc($client) => $call,
            Session::Oltp($client) => $call,
            Session::Ycsb($client) => $call,
            Session::Insert($client) => $call,
            Session::Scan($client) => $call,
            Session::HotRow($client) => $call,
            Session::Queue($client) => $call,
            Session::Stress($client) => $call,
            Session::Graph($client) => $call,
            Session::SqlFiles($client) => $call,
        }
    };
}

impl Session {
    /// Makes a new connection ready: prepares the statements there.
    pub async fn prepare(&mut self, connection: &mut Connection, is_prepared: bool) -> Result<()> {
        for statement in each!(self, client => client.statements()) {
            statement.forget();
            if is_prepared {
                connection.prepare(statement).await?;
            }
        }
        Ok(())
    }

    /// Does one transaction (or, pipelined, several); adds what was done to `tally`.
    pub async fn transaction(
        &mut self,
        connection: &mut Connection,
        tally: &mut Tally,
        pipeline: usize,
    ) -> Result<()> {
        tally.events = 1;
        let mut link = Link::new(connection, tally, pipeline);
        each!(self, client => client.transaction(&mut link).await)
    }
}
