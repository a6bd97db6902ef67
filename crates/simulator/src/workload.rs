//! Clients that work on a subject at the same time and note in the history what they did and were told.
//!
//! Every value is unique, so a recovered value tells who wrote it. Tables are created and dropped in
//! transactions together with their row in the catalog, under a metadata lock as the layers above take it.

use crate::history::{Contents, History, TransactionNumber, catalog_key, table_of_key};
use crate::metadata_locks::MetadataLocks;
use crate::subject::{Refusal, Subject, Table};
use env::sim::SeededRandom;
use env::sync::{Event, Mutex};
use env::{Env, Random, yield_now};
use std::future::Future;
use std::sync::Arc;

/// Fewer tables would make most operations meet on the same keys.
const TABLES_MIN: usize = 3;

/// A variant of transactions that keeps its snapshot.
const REPEATABLE_READ: u64 = 1;

/// So many transactions, one of them only watches.
const WATCH_SHARE: usize = 16;

/// How much work there is.
#[derive(Debug, Clone)]
pub struct WorkloadOptions {
    pub clients: usize,
    /// Over all clients.
    pub transactions: usize,
    /// Different keys per table.
    pub keys: usize,
    /// Bytes of an ordinary value at most; one in sixteen is `large_value_bytes` long.
    pub value_bytes: usize,
    pub large_value_bytes: usize,
}

impl Default for WorkloadOptions {
    fn default() -> Self {
        Self { clients: 4, transactions: 150, keys: 150, value_bytes: 300, large_value_bytes: 6000 }
    }
}

/// Shared by the clients of one run and by whoever checks it.
pub struct Shared {
    pub history: Mutex<History>,
    /// The first contradiction a client has met.
    pub violation: Mutex<Option<String>>,
    /// Why the store stopped working, when it did.
    pub fatal: Mutex<Option<String>>,
    tables: MetadataLocks,
    left: Mutex<usize>,
}

impl Shared {
    pub fn new(contents: &Contents, options: &WorkloadOptions) -> Arc<Self> {
        let catalog = contents.get(&Table::CATALOG).into_iter().flatten();
        let tables = MetadataLocks::new(catalog.map(|(key, _)| table_of_key(key)));
        Arc::new(Self {
            history: Mutex::new(History::new(contents)),
            violation: Mutex::new(None),
            fatal: Mutex::new(None),
            tables,
            left: Mutex::new(options.transactions),
        })
    }

    /// Allows another run of so many transactions.
    pub fn refill(&self, transactions: usize) {
        *self.left.lock() = transactions;
    }

    /// Whether the store can go on after a result; notes when it cannot.
    fn healthy(&self, result: &Result<(), Refusal>) -> bool {
        if let Err(Refusal::Fatal(what)) = result {
            self.fatal.lock().get_or_insert_with(|| what.clone());
            return false;
        }
        true
    }

    fn end_of_rollback(&self, result: &Result<(), Refusal>) -> End {
        if self.healthy(result) { End::RolledBack } else { End::OutOfOrder }
    }

    fn report(&self, violation: String) {
        self.violation.lock().get_or_insert(violation);
    }
}

/// Runs all clients to their end.
pub async fn run<S: Subject>(
    env: Env,
    subject: Arc<S>,
    shared: Arc<Shared>,
    options: WorkloadOptions,
    seed: u64,
) {
    let mut ends = Vec::new();
    for index in 0..options.clients {
        let end = Arc::new(Event::new());
        ends.push(end.clone());
        let mut client = Client {
            env: env.clone(),
            subject: subject.clone(),
            shared: shared.clone(),
            options: options.clone(),
            random: SeededRandom::new(seed.wrapping_mul(1000).wrapping_add(index as u64)),
            values: 0,
            index,
        };
        let work = async move {
            client.work().await;
            drop(client);
            end.set();
        };
        env.spawner.spawn("client", Box::pin(work));
    }
    for end in ends {
        end.wait().await;
    }
}

struct Client<S: Subject> {
    env: Env,
    subject: Arc<S>,
    shared: Arc<Shared>,
    options: WorkloadOptions,
    random: SeededRandom,
    values: u64,
    index: usize,
}

/// A transaction at work.
struct Work<S: Subject> {
    transaction: S::Transaction,
    number: TransactionNumber,
    /// The places of the effects that stand, in order.
    effects: Vec<(Table, Vec<u8>)>,
    /// Tables under a shared metadata lock.
    used: Vec<Table>,
    created: Vec<Table>,
    dropped: Vec<Table>,
}

/// How a transaction goes on after an operation.
enum Flow {
    On,
    /// It is over: rolled back, or the store is out of order.
    Over,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Committed,
    RolledBack,
    /// Its client went away without a word.
    Vanished,
    /// The store does not work any more.
    OutOfOrder,
}

impl<S: Subject> Client<S> {
    async fn work(&mut self) {
        loop {
            {
                let mut left = self.shared.left.lock();
                if *left == 0 || self.shared.violation.lock().is_some() {
                    return;
                }
                *left -= 1;
            }
            let goes_on = match self.random.below(WATCH_SHARE) {
                0 => self.watch().await,
                _ => self.one_transaction().await,
            };
            if !goes_on {
                return;
            }
            if self.random.below(8) == 0 {
                self.env.clock.sleep(self.random.below(2000) as u64).await;
            }
        }
    }

    fn begin(&self, variant: u64) -> Work<S> {
        Work {
            transaction: self.subject.begin(variant),
            number: self.shared.history.lock().begin(),
            effects: Vec::new(),
            used: Vec::new(),
            created: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// Reads a table for a while, and whatever others do it must stay as it was. False when the store is out of order.
    async fn watch(&mut self) -> bool {
        let mut work = self.begin(REPEATABLE_READ);
        let number = work.number;
        let watched = self.watch_table(&mut work).await;
        let used = std::mem::take(&mut work.used);
        let end = match watched {
            Ok(()) => self.finish_watching(work).await,
            Err(refusal) => self.survive(number, refusal, work).await,
        };
        self.shared.tables.release(&used, &[], &[], false);
        end != End::OutOfOrder
    }

    async fn watch_table(&mut self, work: &mut Work<S>) -> Result<(), Refusal> {
        let Some(table) = self.use_table(work) else { return Ok(()) };
        let first = S::scan(&mut work.transaction, table, false).await?;
        for _ in 0..self.random.below(12) {
            self.env.clock.sleep(self.random.below(8_000) as u64).await;
            let key = self.key();
            let found = S::get(&mut work.transaction, table, &key, false).await?;
            let expected = first.iter().find(|(other, _)| *other == key).map(|(_, value)| value);
            if found.as_ref() != expected {
                self.shared.report(format!("a snapshot of {table:?} has changed at {key:?}"));
            }
            if self.random.below(3) == 0 {
                let again = S::scan(&mut work.transaction, table, false).await?;
                if again != first {
                    self.shared.report(format!("a snapshot of {table:?} has changed"));
                }
            }
        }
        Ok(())
    }

    async fn finish_watching(&self, work: Work<S>) -> End {
        self.shared.history.lock().undo(work.number, &[]);
        let result = S::rollback(work.transaction).await;
        self.shared.end_of_rollback(&result)
    }

    /// False when the store is out of order.
    async fn one_transaction(&mut self) -> bool {
        let mut work = self.begin(self.random.u64());
        let number = work.number;
        let result = self.operations(&mut work).await;
        let (used, created, dropped) = (
            std::mem::take(&mut work.used),
            std::mem::take(&mut work.created),
            std::mem::take(&mut work.dropped),
        );
        let can_prepare = created.is_empty() && dropped.is_empty();
        let end = match result {
            Ok(Flow::On) if S::PREPARES && can_prepare && self.random.below(4) == 0 => {
                self.prepare_and_decide(work).await
            }
            Ok(Flow::On) => self.finish(work).await,
            Ok(Flow::Over) => {
                self.shared.history.lock().undo(number, &[]);
                End::RolledBack
            }
            Err(refusal) => self.survive(number, refusal, work).await,
        };
        // A session that vanished is rolled back some time later; until then its tables may not be dropped, and
        // when that is nobody tells.
        let used = if end == End::Vanished { Vec::new() } else { used };
        let created = if end == End::Committed { created } else { Vec::new() };
        self.shared.tables.release(&used, &created, &dropped, end == End::Committed);
        end != End::OutOfOrder
    }

    /// After a refusal that is not part of the play.
    async fn survive(&mut self, number: TransactionNumber, refusal: Refusal, work: Work<S>) -> End {
        self.shared.history.lock().undo(number, &[]);
        match refusal {
            Refusal::Transaction => End::RolledBack,
            Refusal::Statement(_) | Refusal::Mismatch => {
                let result = S::rollback(work.transaction).await;
                self.shared.end_of_rollback(&result)
            }
            fatal @ Refusal::Fatal(_) => self.shared.end_of_rollback(&Err(fatal)),
        }
    }

    async fn operations(&mut self, work: &mut Work<S>) -> Result<Flow, Refusal> {
        let few_tables = self.shared.tables.count() < TABLES_MIN;
        match self.random.below(16) {
            0 => return self.create_table(work).await,
            _ if few_tables => return self.create_table(work).await,
            1 => {
                let random = |count| self.random.below(count);
                if let Some(table) = self.shared.tables.lock_for_drop(TABLES_MIN, random) {
                    return self.drop_table(work, table).await;
                }
            }
            _ => {}
        }
        let count = 1 + self.random.below(6);
        let mut savepoint = None;
        for _ in 0..count {
            if self.random.below(10) == 0 {
                savepoint = Some((S::savepoint(&work.transaction), work.effects.len()));
            }
            if let Some((mark, effects)) = savepoint
                && self.random.below(5) == 0
            {
                savepoint = None;
                S::rollback_to(&mut work.transaction, mark).await?;
                work.effects.truncate(effects);
                self.shared.history.lock().undo(work.number, &work.effects);
            }
            let Some(table) = self.use_table(work) else { continue };
            S::begin_statement(&mut work.transaction);
            if let Flow::Over = self.one_operation(work, table).await? {
                return Ok(Flow::Over);
            }
            if self.random.below(4) == 0 {
                yield_now().await;
            }
        }
        Ok(Flow::On)
    }

    async fn one_operation(&mut self, work: &mut Work<S>, table: Table) -> Result<Flow, Refusal> {
        let key = self.key();
        let result = match self.random.below(10) {
            0..=3 => {
                let value = self.value(work.number);
                let result = S::insert(&mut work.transaction, table, &key, &value).await;
                self.note(work, table, &key, Some(value), result)
            }
            4..=6 => {
                let value = self.value(work.number);
                let result = S::update(&mut work.transaction, table, &key, &value).await;
                self.note(work, table, &key, Some(value), result)
            }
            7 => {
                let result = S::delete(&mut work.transaction, table, &key).await;
                self.note(work, table, &key, None, result)
            }
            8 => self.read(work, table, &key).await,
            _ => self.scan(work, table).await,
        };
        match result {
            Ok(()) | Err(Refusal::Mismatch | Refusal::Statement(_)) => Ok(Flow::On),
            Err(Refusal::Transaction) => Ok(Flow::Over),
            Err(fatal @ Refusal::Fatal(_)) => Err(fatal),
        }
    }

    fn note(
        &self,
        work: &mut Work<S>,
        table: Table,
        key: &[u8],
        effect: Option<Vec<u8>>,
        result: Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if result.is_ok() {
            self.shared.history.lock().note(work.number, table, key, effect);
            work.effects.push((table, key.to_vec()));
        }
        result
    }

    async fn read(&mut self, work: &mut Work<S>, table: Table, key: &[u8]) -> Result<(), Refusal> {
        let lock = self.random.below(2) == 0;
        let found = S::get(&mut work.transaction, table, key, lock).await?;
        self.check_read(work.number, table, key, found, !lock);
        Ok(())
    }

    fn check_read(
        &self,
        number: TransactionNumber,
        table: Table,
        key: &[u8],
        found: Option<Vec<u8>>,
        snapshot: bool,
    ) {
        let mut history = self.shared.history.lock();
        if let Some(own) = history.own_effect(number, table, key) {
            if own != found {
                drop(history);
                self.shared.report(format!("{number:?} does not see its own change of {key:?} in {table:?}"));
            }
        } else if let (Some(value), true) = (found, snapshot) {
            let seen = history.observe(number, table, key, &value);
            drop(history);
            if let Err(violation) = seen {
                self.shared.report(violation);
            }
        }
    }

    async fn scan(&mut self, work: &mut Work<S>, table: Table) -> Result<(), Refusal> {
        let lock = self.random.below(4) == 0;
        let rows = S::scan(&mut work.transaction, table, lock).await?;
        if !rows.is_sorted_by(|left, right| left.0 < right.0) {
            self.shared.report(format!("a scan of {table:?} is not in order"));
        }
        for (key, value) in rows {
            self.check_read(work.number, table, &key, Some(value), !lock);
        }
        Ok(())
    }

    async fn create_table(&mut self, work: &mut Work<S>) -> Result<Flow, Refusal> {
        let table = S::create_table(&mut work.transaction).await?;
        let (key, value) = (catalog_key(table), self.value(work.number));
        let result = S::insert(&mut work.transaction, Table::CATALOG, &key, &value).await;
        self.note(work, Table::CATALOG, &key, Some(value), result)?;
        for _ in 0..self.random.below(self.options.keys) {
            let (key, value) = (self.key(), self.value(work.number));
            let result = S::insert(&mut work.transaction, table, &key, &value).await;
            match self.note(work, table, &key, Some(value), result) {
                Ok(()) | Err(Refusal::Mismatch) => {}
                Err(other) => return Err(other),
            }
        }
        work.created.push(table);
        Ok(Flow::On)
    }

    async fn drop_table(&mut self, work: &mut Work<S>, table: Table) -> Result<Flow, Refusal> {
        work.dropped.push(table);
        let key = catalog_key(table);
        let result = S::delete(&mut work.transaction, Table::CATALOG, &key).await;
        if result == Err(Refusal::Mismatch) {
            self.shared.report(format!("{table:?} has lost its row in the catalog"));
        }
        self.note(work, Table::CATALOG, &key, None, result)?;
        S::drop_table(&mut work.transaction, table).await?;
        Ok(Flow::On)
    }

    /// Ends a transaction whose operations went well.
    async fn finish(&mut self, work: Work<S>) -> End {
        let number = work.number;
        match self.random.below(8) {
            0 => {
                let result = S::rollback(work.transaction).await;
                self.shared.history.lock().undo(number, &[]);
                self.shared.end_of_rollback(&result)
            }
            1 if work.effects.is_empty() || self.random.below(2) == 0 => {
                // A session that disappears.
                self.shared.history.lock().undo(number, &[]);
                drop(work.transaction);
                End::Vanished
            }
            _ => {
                self.shared.history.lock().ask_commit(number);
                let result = S::commit(work.transaction).await;
                if !self.shared.healthy(&result) {
                    // Whether it happened is known after the restart.
                    return End::OutOfOrder;
                }
                let mut history = self.shared.history.lock();
                if result.is_ok() {
                    history.acknowledge(number);
                    End::Committed
                } else {
                    history.refuse_commit(number);
                    End::RolledBack
                }
            }
        }
    }

    /// A transaction whose client first asks that it be kept, and decides a moment later.
    async fn prepare_and_decide(&mut self, work: Work<S>) -> End {
        let number = work.number;
        let history = || self.shared.history.lock();
        history().ask_prepare(number);
        let prepared = match S::prepare(work.transaction, number.0).await {
            Ok(prepared) => prepared,
            Err(refusal) => {
                if !self.shared.healthy(&Err(refusal)) {
                    return End::OutOfOrder;
                }
                // It is rolled back some time later.
                history().refuse_commit(number);
                return End::Vanished;
            }
        };
        history().prepared(number);
        if self.random.below(2) == 0 {
            self.env.clock.sleep(self.random.below(5000) as u64).await;
        }
        let commit = self.random.below(3) > 0;
        history().ask_decision(number, commit);
        let decided = S::decide(prepared, commit).await;
        if !self.shared.healthy(&decided) {
            return End::OutOfOrder;
        }
        match (decided, commit) {
            (Ok(()), _) => {
                history().decided(number, commit);
                if commit { End::Committed } else { End::RolledBack }
            }
            // It stays prepared, or its rollback goes on: nobody here will know when it ends.
            (Err(_), true) => {
                history().prepared(number);
                End::Vanished
            }
            (Err(_), false) => End::Vanished,
        }
    }

    /// Some table, under a shared metadata lock that is taken once per transaction.
    fn use_table(&self, work: &mut Work<S>) -> Option<Table> {
        self.shared.tables.share(&mut work.used, |count| self.random.below(count))
    }

    fn key(&self) -> Vec<u8> {
        let number = self.random.below(self.options.keys);
        // Keys share long prefixes and differ in length, which is what truncation in the tree lives on.
        format!("customer/{:03}/{}", number / 4, "x".repeat(number % 4 * 9)).into_bytes()
    }

    fn value(&mut self, number: TransactionNumber) -> Vec<u8> {
        self.values += 1;
        let large = self.random.below(16) == 0;
        let length =
            if large { self.options.large_value_bytes } else { self.random.below(self.options.value_bytes) };
        let mut value = format!("{}.{}.{} ", number.0, self.index, self.values).into_bytes();
        let filler = b'a' + (number.0 % 26) as u8;
        value.resize(value.len().max(length), filler);
        value
    }
}

/// Everything that is stored, found through the catalog.
pub fn read_contents<S: Subject>(subject: &Arc<S>) -> impl Future<Output = Result<Contents, String>> + Send {
    let subject = subject.clone();
    async move {
        let mut transaction = subject.begin(1);
        let failed = |table, refusal| format!("{table:?} cannot be read: {refusal:?}");
        let scan = S::scan(&mut transaction, Table::CATALOG, false).await;
        let catalog = scan.map_err(|refusal| failed(Table::CATALOG, refusal))?;
        let mut contents = Contents::new();
        for (key, _) in &catalog {
            let table = table_of_key(key);
            let rows =
                S::scan(&mut transaction, table, false).await.map_err(|refusal| failed(table, refusal))?;
            if !rows.is_sorted_by(|left, right| left.0 < right.0) {
                return Err(format!("{table:?} is not in order"));
            }
            contents.insert(table, rows);
        }
        contents.insert(Table::CATALOG, catalog);
        S::rollback(transaction).await.map_err(|refusal| failed(Table::CATALOG, refusal))?;
        Ok(contents)
    }
}
