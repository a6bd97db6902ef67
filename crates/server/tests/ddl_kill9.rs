//! kill -9 while a table is changed beside those who write to it: afterwards the table is whole, its definition is the old or
//! the new one, what was acknowledged is there, and no tree is left that belongs to nobody.
//!
//! EVENKEEL_DDL_KILLS sets the number of kills (8, or fewer on a slow machine), EVENKEEL_KILL9_SEED repeats the moments of a run.

mod support;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use support::journal::{Random, from_environment};
use support::{RawClient, ServerError, TestDirectory, TestServer, evenkeel};

const ROWS: i64 = 8192;
const WRITERS: i64 = 3;
const KILLS: u64 = 8;
/// No kill comes after this, unless their number was asked for.
const TIME_MAX: Duration = Duration::from_secs(15);
const LOAD_MS_MIN: u64 = 20;
const LOAD_MS_MAX: u64 = 1200;
/// Of changes.
const KINDS: u64 = 9;
/// After so many changes the table is made anew: many of them leave a column, an index or a constraint.
const CHANGES_PER_TABLE: u64 = 36;

/// What the dictionary says of the table.
#[derive(Clone, Debug, PartialEq)]
struct Definition {
    columns: Vec<String>,
    indexes: Vec<String>,
    /// Foreign keys and CHECK constraints.
    constraints: Vec<String>,
}

impl Definition {
    fn read(client: &mut RawClient) -> Definition {
        let mut names = |text: &str| {
            let rows = client.query(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
            rows.into_iter().map(|mut row| row[0].take().expect("a name")).collect()
        };
        let of_table = "where table_schema = 'd' and table_name = 't'";
        let mut definition = Definition {
            columns: names(&format!(
                "select column_name from information_schema.columns {of_table} order by ordinal_position"
            )),
            indexes: names(&format!(
                "select distinct index_name from information_schema.statistics {of_table} order by index_name"
            )),
            constraints: names(&format!(
                "select constraint_name from information_schema.table_constraints {of_table} \
                 and constraint_type in ('CHECK', 'FOREIGN KEY')"
            )),
        };
        definition.sort();
        definition
    }

    fn sort(&mut self) {
        self.indexes.sort();
        self.constraints.sort();
    }

    fn add(&mut self, column: Option<String>, index: Option<String>) {
        self.columns.extend(column);
        self.indexes.extend(index);
        self.sort();
    }

    fn add_constraint(&mut self, name: &str) {
        self.constraints.push(name.to_owned());
        self.sort();
    }
}

/// The change with this number, and what it makes of the definition.
fn change(number: u64, before: &Definition) -> (String, Definition) {
    let mut after = before.clone();
    let (column, index) = (format!("c{number}"), format!("i{number}"));
    let turn = (number / KINDS % 2) as usize;
    let text = match number % KINDS {
        0 => {
            after.add(None, Some(index.clone()));
            format!("alter table t add index {index} (a, b), algorithm=inplace, lock=none")
        }
        1 => "optimize table t".to_owned(),
        2 => {
            after.add(Some(column.clone()), Some(index.clone()));
            format!(
                "alter table t add column {column} int not null default 7, add unique {index} ({column}, id)"
            )
        }
        3 => {
            after.add(Some(column.clone()), None);
            format!("alter table t add column {column} varchar(20) default 'new' first, force, lock=none")
        }
        4 => format!("alter table t modify a {}", ["bigint", "int"][turn]),
        5 => format!(
            "alter table t drop primary key, add primary key (id {}), lock=none",
            ["desc", "asc"][turn]
        ),
        6 => format!("alter table t convert to character set {}", ["latin1", "utf8mb4"][turn]),
        7 => {
            after.add(Some(column.clone()), Some(index.clone()));
            after.add_constraint(&index);
            format!(
                "alter table t add column {column} int default 7, \
                 add constraint {index} foreign key ({column}) references p (id)"
            )
        }
        _ => {
            after.add_constraint(&index);
            format!("alter table t add constraint {index} check (id >= 0 and a is not null)")
        }
    };
    if number % KINDS == 3 {
        let last = after.columns.pop().expect("the new one");
        after.columns.insert(0, last);
    }
    (text, after)
}

/// Who writes to its own rows, and knows what they must be.
struct Writer {
    number: i64,
    random: Random,
    next: i64,
    /// By id: what `a` is; rows that are not there are not here.
    rows: BTreeMap<i64, i64>,
    /// A change that was not acknowledged, and its row afterwards.
    pending: Option<(i64, Option<i64>)>,
}

impl Writer {
    fn new(number: i64, random: Random) -> Writer {
        let rows = (0..ROWS).filter(|id| id % WRITERS == number).map(|id| (id, 0)).collect();
        Writer { number, random, next: 1, rows, pending: None }
    }

    /// Writes until the server is gone.
    fn write(&mut self, mut client: RawClient) {
        while self.step(&mut client).is_ok() {}
    }

    fn step(&mut self, client: &mut RawClient) -> Result<(), Gone> {
        let id = self.random.below((ROWS / WRITERS) as u64) as i64 * WRITERS + self.number;
        let value = self.next;
        self.next += 1;
        if value % 5 == 0 {
            execute(client, "begin")?;
            execute(client, &format!("update t set a = -{value}, b = 'undone' where id = {id}"))?;
            return execute(client, "rollback");
        }
        let (text, after) = match self.rows.contains_key(&id) {
            true if value % 4 == 0 => (format!("delete from t where id = {id}"), None),
            true => (format!("update t set a = {value}, b = 'changed {value}' where id = {id}"), Some(value)),
            false => (format!("insert into t (id, a, b) values ({id}, {value}, 'again')"), Some(value)),
        };
        self.pending = Some((id, after));
        execute(client, &text)?;
        self.settle(id, after);
        Ok(())
    }

    fn settle(&mut self, id: i64, after: Option<i64>) {
        self.pending = None;
        match after {
            Some(value) => self.rows.insert(id, value),
            None => self.rows.remove(&id),
        };
    }

    /// Compares with what is there.
    fn compare(&mut self, found: &BTreeMap<i64, i64>) {
        if let Some((id, after)) = self.pending.take()
            && found.get(&id).copied() == after
        {
            self.settle(id, after);
        }
        let own = found.iter().filter(|(id, _)| *id % WRITERS == self.number);
        let own: BTreeMap<i64, i64> = own.map(|(id, value)| (*id, *value)).collect();
        let wrong: Vec<i64> = self.rows.keys().chain(own.keys()).copied().collect();
        let wrong = wrong.into_iter().filter(|id| self.rows.get(id) != own.get(id));
        let wrong: Vec<_> = wrong.map(|id| (id, self.rows.get(&id), own.get(&id))).take(10).collect();
        assert!(wrong.is_empty(), "id, written, found: {wrong:?}");
    }
}

/// The server was killed.
struct Gone;

fn execute(client: &mut RawClient, text: &str) -> Result<(), Gone> {
    unless_gone(text, client.execute(text))
}

fn unless_gone<T>(text: &str, result: Result<T, ServerError>) -> Result<T, Gone> {
    match result {
        Ok(done) => Ok(done),
        Err(ServerError { number: 0, .. }) => Err(Gone),
        Err(error) => panic!("{text}: {error:?}"),
    }
}

/// Changes the table until the server is gone. Answers how many changes were acknowledged, with the definition after them
/// and that after the one that was begun.
fn change_until_killed(client: &mut RawClient, first: u64, mut known: Definition) -> (u64, [Definition; 2]) {
    for number in first.. {
        let (text, after) = change(number, &known);
        match unless_gone(&text, client.query(&text)) {
            Ok(_) => known = after,
            Err(Gone) => return (number - first, [known, after]),
        }
    }
    unreachable!("the server is killed before that")
}

fn prepare(client: &mut RawClient) {
    client.execute_all(&[
        "create database if not exists d",
        "use d",
        "drop table if exists t",
        "create table if not exists p (id int primary key)",
        "insert ignore into p values (7)",
        "create table t (id int primary key, a int, b varchar(200))",
        "insert into t values (0, 0, repeat('x', 80))",
    ]);
    let mut present = 1;
    while present < ROWS {
        client.execute_all(&[&format!("insert into t select id + {present}, 0, b from t")]);
        present *= 2;
    }
}

/// Everything in the directory is sound, and each tree is a table's.
fn verify(directory: &TestDirectory, when: &str) {
    let program = evenkeel(directory);
    let data = directory.path().join("data");
    let output = Command::new(program.get_program()).arg("verify").arg(data).output();
    let output = output.expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let is_sound = output.status.success() && !text.contains("belongs to no");
    assert!(is_sound, "{when}: {text}{}", String::from_utf8_lossy(&output.stderr));
}

/// A table and what is known of it.
struct Subject {
    writers: Vec<Writer>,
    definition: Definition,
    next_change: u64,
}

impl Subject {
    fn new(client: &mut RawClient, random: &mut Random) -> Subject {
        prepare(client);
        let writers = (0..WRITERS).map(|number| Writer::new(number, Random(random.below(u64::MAX) | 1)));
        Subject {
            writers: writers.collect(),
            definition: Definition::read(client),
            next_change: random.below(KINDS),
        }
    }

    /// Lets all work for a while and kills the server; answers what the definition may be then, and how many
    /// changes were acknowledged.
    fn work_until_killed(
        &mut self,
        server: TestServer,
        load: Duration,
    ) -> (TestDirectory, [Definition; 2], u64) {
        let in_database = || {
            let mut client = server.log_in();
            client.execute_all(&["use d"]);
            client
        };
        let clients: Vec<RawClient> = self.writers.iter().map(|_| in_database()).collect();
        let mut own = in_database();
        let (first, known) = (self.next_change, self.definition.clone());
        std::thread::scope(|scope| {
            for (writer, client) in self.writers.iter_mut().zip(clients) {
                scope.spawn(move || writer.write(client));
            }
            let changes = scope.spawn(move || change_until_killed(&mut own, first, known));
            std::thread::sleep(load);
            let directory = server.kill_nine();
            let (acknowledged, definitions) =
                changes.join().expect("a change that is refused is shown above");
            (directory, definitions, acknowledged)
        })
    }

    /// What the server has after its restart.
    fn look(&mut self, client: &mut RawClient, known: &[Definition; 2]) {
        self.definition = Definition::read(client);
        assert!(known.contains(&self.definition), "{:?} is none of {known:?}", self.definition);
        client.execute_all(&["use d"]);
        let checked = client.query("check table t").expect("it can be checked");
        assert_eq!(checked[0][3].as_deref(), Some("OK"), "{checked:?}");
        let rows = client.query("select id, a from t").expect("it can be read");
        let number =
            |cell: &Option<String>| cell.as_ref().and_then(|text| text.parse().ok()).expect("a number");
        let found = rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect();
        self.writers.iter_mut().for_each(|writer| writer.compare(&found));
    }
}

#[test]
fn changes_of_tables_survive_kills() {
    let asked = from_environment("EVENKEEL_DDL_KILLS", 0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let mut random = Random(from_environment("EVENKEEL_KILL9_SEED", now | 1));
    println!("seed {}", random.0);
    let began = Instant::now();
    let mut server = TestServer::start(&[]);
    let mut subject = Subject::new(&mut server.log_in(), &mut random);
    let (mut kills, mut written) = (0, 0);
    while kills < asked || asked == 0 && kills < KILLS && began.elapsed() < TIME_MAX {
        let load = Duration::from_millis(LOAD_MS_MIN + random.below(LOAD_MS_MAX - LOAD_MS_MIN));
        let (directory, known, acknowledged) = subject.work_until_killed(server, load);
        verify(&directory, "killed");
        server = TestServer::start_in(directory, &[]);
        subject.look(&mut server.log_in(), &known);
        kills += 1;
        let changes = subject.next_change + acknowledged;
        let (last, _) = change(changes, &known[0]);
        println!("kill {kills} after {load:?}, {acknowledged} changes before it, then: {last}");
        // Whether the last one was made or not, its number is used up.
        subject.next_change = changes + 1;
        if subject.next_change > CHANGES_PER_TABLE {
            written += subject.writers.iter().map(|writer| writer.next).sum::<i64>();
            subject = Subject::new(&mut server.log_in(), &mut random);
        }
    }
    written += subject.writers.iter().map(|writer| writer.next).sum::<i64>();
    assert!(written > kills as i64 * WRITERS, "there was no load to speak of");
    let (status, _, directory) = server.terminate();
    assert!(status.success(), "the server ended with {status}");
    verify(&directory, "stopped");
    println!("{kills} kills, {written} changes of rows, in {:?}", began.elapsed());
}
