//! Catching up with those who write: rounds over the records of the change stream.
//!
//! Invariant: a record goes back into the backlog while its transaction is open, and while the row's new entry has a rival in a
//! unique index. Otherwise, when it is done, the trees hold exactly what the row is in a snapshot younger than the record.
//! Whatever changes the row later has a record of its own.
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use datum::SqlError;
use engine::{AccessMode, EntryBatch, Isolation, Transaction};
use rowstore::Pause;
use table::{AttachedStream, ChangeStream, ChangedRow, TableHandle, table_error};

use super::BuildWork;
use super::backlog::{Backlog, decode};
use crate::change::SchemaChange;
use crate::progress::Stage;

/// Each of the sessions on the build's thread has so many turns for one of the build, while that reads, sorts and writes.
const TURNS_OF_OTHERS: usize = 4;

/// So many records are taken up before those who write are let go on, and others have their turn.
const GIVEN_AT_ONCE: usize = 32;

/// Records of nobody: those that come again because of a rival.
const NO_WRITER: u64 = 0;

/// While rows are read, sorted and written.
impl Pause for CatchUp {
    fn pause<'a>(&'a mut self, _: usize) -> Pin<Box<dyn Future<Output = Result<(), SqlError>> + 'a>> {
        Box::pin(async {
            self.put_by().await?;
            // Nobody is held yet, so nobody waits for this to be done: most of the thread is the others'.
            for _ in 0..TURNS_OF_OTHERS {
                env::yield_now().await;
            }
            Ok(())
        })
    }
}

/// What is kept in step with the rows. Of each batch first the old goes, record by record in the order of their rows, then the new
/// comes, row by row in the same order; the reader sees the same all the time.
pub(super) trait Target {
    /// Removes what the row was, if it is still there.
    async fn remove(
        &mut self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        record: &ChangedRow,
    ) -> Result<(), SqlError>;

    /// Adds what the row is for `reader`; it may be there already. Gives error 1062 where another row stands in its way.
    async fn add(
        &mut self,
        change: &mut SchemaChange,
        reader: &mut Transaction,
        row_key: &[u8],
    ) -> Result<Option<SqlError>, SqlError>;
}

/// The changes of one table that a build has to take up.
pub(super) struct CatchUp {
    table: Arc<TableHandle>,
    /// None: nobody writes meanwhile.
    stream: Option<AttachedStream>,
    backlog: Backlog,
    pub work: BuildWork,
    /// Changes of other tables that have rounds of their own, behind those of this one: their records are put by together.
    pub followed: Vec<CatchUp>,
    /// Whether rounds hold those who write.
    holds: bool,
}

/// What a round has done.
#[derive(Default)]
struct RoundReport {
    /// Records that were there and whose transactions had ended.
    records: usize,
    /// Rows that could not be added because of rivals, and what one of them would be told.
    rivals: usize,
    rival: Option<SqlError>,
}

impl CatchUp {
    /// Those who begin to write from now on tell of it, if there is a stream.
    pub fn attach(
        table: &Arc<TableHandle>,
        stream: Option<ChangeStream>,
        work: BuildWork,
        followed: Vec<CatchUp>,
    ) -> CatchUp {
        let stream = stream.map(|stream| table.attach_stream(stream));
        let backlog = Backlog::new(&work.space);
        CatchUp { table: table.clone(), stream, backlog, work, followed, holds: true }
    }

    /// When those have ended who wrote before: the result sees all that the stream does not tell. It may see some of what the
    /// stream tells, too; taking that up again changes nothing.
    pub async fn take_snapshot(&self, change: &SchemaChange) -> Result<Transaction, SqlError> {
        let engine = change.shared_engine();
        let to_sql = |error| table_error(self.table.definition(), error);
        // What the last life left undone writes to the table as well.
        for table in std::iter::once(&self.table).chain(self.followed.iter().map(|other| &other.table)) {
            engine.wait_for_unfinished(table.layout().tree).await.map_err(to_sql)?;
        }
        engine.settle_commits().await.map_err(to_sql)?;
        let mut reader = engine.begin(Isolation::RepeatableRead, AccessMode::ReadOnly);
        reader.take_snapshot();
        Ok(reader)
    }

    /// Keeps what the streams have for later, so that their memory stays small.
    pub async fn put_by(&mut self) -> Result<(), SqlError> {
        self.put_own().await?;
        for other in &mut self.followed {
            other.put_own().await?;
        }
        Ok(())
    }

    async fn put_own(&mut self) -> Result<(), SqlError> {
        match &self.stream {
            Some(stream) => self.backlog.put(&stream.stream().take()).await,
            None => Ok(()),
        }
    }

    /// From now on rounds hold those who write, or do not.
    pub fn set_holding(&mut self, holds: bool) {
        self.holds = holds;
        for other in &mut self.followed {
            other.set_holding(holds);
        }
        if holds {
            return;
        }
        if let Some(attached) = &self.stream {
            attached.stream().release();
        }
    }

    /// One round; gives the number of records that it took up. Those who write are held from then on: fewer records come than are
    /// taken up, so that rounds get shorter whatever they do.
    pub async fn round(
        &mut self,
        target: &mut impl Target,
        change: &mut SchemaChange,
    ) -> Result<usize, SqlError> {
        self.work.progress.enter(Stage::Apply);
        Ok(self.take_up(target, change).await?.records)
    }

    /// The last rounds: the caller keeps writers out. Error 1062 if two rows have the same values in a unique index.
    pub async fn finish(
        mut self,
        target: &mut impl Target,
        change: &mut SchemaChange,
    ) -> Result<(), SqlError> {
        let Some(attached) = &self.stream else { return Ok(()) };
        self.work.progress.enter(Stage::End);
        // Who has just ended may not have said so yet.
        while !attached.stream().open_writers().is_empty() {
            env::yield_now().await;
        }
        let mut rivals = usize::MAX;
        loop {
            let report = self.take_up(target, change).await?;
            match report.rival {
                None => {
                    let writers = self.stream.iter().map(|attached| attached.stream().open_writers().len());
                    debug_assert_eq!(writers.sum::<usize>(), 0, "the caller keeps writers out");
                    return Ok(());
                }
                Some(error) if report.rivals >= rivals => return Err(error),
                Some(_) => rivals = report.rivals,
            }
        }
    }

    async fn take_up(
        &mut self,
        target: &mut impl Target,
        change: &mut SchemaChange,
    ) -> Result<RoundReport, SqlError> {
        let Some(attached) = &self.stream else { return Ok(RoundReport::default()) };
        let stream = attached.stream().clone();
        self.backlog.put(&stream.take()).await?;
        // Behind the records: whoever is not among these had ended, or writes later.
        let open = stream.open_writers();
        let engine = change.shared_engine();
        let settled = engine.settle_commits().await;
        settled.map_err(|error| table_error(self.table.definition(), error))?;
        let mut reader = engine.begin(Isolation::ReadCommitted, AccessMode::ReadOnly);
        let mut round = self.backlog.begin_round().await?;
        let mut report = RoundReport::default();
        if self.holds {
            stream.hold();
        }
        loop {
            let records = round.next().await?;
            if records.is_empty() {
                // What is sorted, and whose commits are waited for, takes no time of the others.
                stream.let_pass();
                return Ok(report);
            }
            reader.begin_statement();
            self.apply(target, (&mut *change, &mut reader), (&records, &open), &mut report).await?;
            self.put_by().await?;
            env::yield_now().await;
        }
    }

    /// Brings what these rows have up to date: first the old goes, then the new comes.
    async fn apply(
        &mut self,
        target: &mut impl Target,
        (change, reader): (&mut SchemaChange, &mut Transaction),
        (records, open): (&EntryBatch, &BTreeSet<u64>),
        report: &mut RoundReport,
    ) -> Result<(), SqlError> {
        let stream = self.stream.as_ref().map(|attached| attached.stream().clone());
        // Little by little, as those who write wait for it.
        let give = |seen, taken| stream.iter().for_each(|stream| stream.give(seen, taken));
        let mut ended = Vec::new();
        for (key, rest) in records.iter() {
            let record = decode(key, rest)?;
            if open.contains(&record.writer) {
                self.backlog.put_one(key, rest).await?;
                continue;
            }
            target.remove(change, reader, &record).await?;
            ended.push(record);
        }
        debug_assert!(
            ended.is_sorted_by_key(|record| &record.row_key),
            "records come in the order of their rows"
        );
        report.records += ended.len();
        give(records.len() - ended.len(), 0);
        for (position, record) in ended.iter().enumerate() {
            if position % GIVEN_AT_ONCE == GIVEN_AT_ONCE - 1 || position + 1 == ended.len() {
                let given = position % GIVEN_AT_ONCE + 1;
                give(given, given);
                env::yield_now().await;
            }
            // In the order of their keys: the last of a row's records does for all.
            if ended.get(position + 1).is_some_and(|next| next.row_key == record.row_key) {
                continue;
            }
            if let Some(rival) = target.add(change, reader, &record.row_key).await? {
                report.rivals += 1;
                debug_assert!(report.rivals <= report.records, "a record has one rival at most");
                report.rival = Some(rival);
                let again = [&NO_WRITER.to_le_bytes()[..], &[0]].concat();
                self.backlog.put_one(&record.row_key, &again).await?;
            }
        }
        Ok(())
    }
}
